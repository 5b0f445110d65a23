/* values.c - every type of setting from text and back, right and wrong. */
#include "base/rng.h"
#include "nn/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Set one key, beside what a spec needs; QN_EUSAGE with the sentence. */
static enum qn_status set_one(const char *key, const char *value,
                              struct qn_spec *spec, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    qn_settings_set(s, "data.train", "text", QN_FROM_USER);
    qn_settings_set(s, key, value, QN_FROM_USER);
    enum qn_status status = qn_settings_finish(s, spec, err);
    qn_settings_free(s);
    return status;
}

static void takes(const char *key, const char *value, const char *text)
{
    struct qn_spec spec;
    struct qn_err err;
    struct qn_str out = {0};
    if (set_one(key, value, &spec, &err) != QN_OK) {
        fail_msg("refused: %s", err.text);
    }
    qn_spec_text(&spec, key, &out);
    assert_string_equal(out.text, text);
    qn_str_free(&out);
}

static void refuses(const char *key, const char *value, const char *sentence)
{
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(set_one(key, value, &spec, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
}

static void texts_are_utf8_of_limited_length(void **state)
{
    (void)state;
    char longest[QN_TEXT_LEN + 1];
    memset(longest, 'x', sizeof longest);
    longest[QN_TEXT_LEN] = '\0';
    takes("name", "lamb\xc3\xa9", "lamb\xc3\xa9");
    takes("notes", "two\nlines", "two\nlines");
    refuses("name", longest, "name has 256 bytes, must have at most 255");
    takes("name", longest + 1, longest + 1);
    refuses("name", "a\nb",
            "name is 'a?b', must be one line without control characters");
    refuses("notes", "a\xff", "notes is 'a?', must be valid UTF-8, or none");
}

static void whole_numbers_have_a_range(void **state)
{
    (void)state;
    takes("model.layers", "64", "64");
    takes("eval.limit", "1e5", "100000");
    takes("eval.limit", "none", "none");
    takes("seed", "9007199254740992", "9007199254740992");
    refuses("model.layers", "0", "model.layers is 0, must be 1..64");
    refuses("model.layers", "65", "model.layers is 65, must be 1..64");
    refuses("model.layers", "1e30", "model.layers is 1e+30, must be 1..64");
    refuses("model.layers", "two",
            "model.layers is 'two', must be a whole number 1..64");
    refuses("model.layers", "2.5",
            "model.layers is '2.5', must be a whole number 1..64");
    refuses("model.layers", "",
            "model.layers is '', must be a whole number 1..64");
    refuses("model.hidden", "none",
            "model.hidden is 'none', must be a whole number 1..8192");
    refuses("eval.batch", "x",
            "eval.batch is 'x', must be a whole number 1..100000, or none");
}

static void numbers_have_open_ranges(void **state)
{
    (void)state;
    takes("optim.lr", "3e-4", "0.0003");
    takes("model.dropout", "0", "0");
    takes("optim.clip_norm", "none", "none");
    refuses("optim.lr", "0", "optim.lr is 0, must be above 0");
    /* As floats these would be 0 or infinite. */
    refuses("stats.near", "1e-50", "stats.near is 1e-50, must be 1e-5..1e3");
    refuses("stats.near", "1e50", "stats.near is 1e+50, must be 1e-5..1e3");
    takes("stats.near", "1e-5", "1e-05");
    takes("stop.spike", "3", "3");
    takes("stop.spike", "none", "none");
    refuses("stop.spike", "1", "stop.spike is 1, must be 1.01..1000");
    refuses("optim.eps", "1e-50", "optim.eps is 1e-50, must be 1e-30..1e30");
    takes("optim.eps", "1e-30", "1e-30");
    refuses("optim.lr", "nan", "optim.lr is 'nan', must be a number above 0");
    refuses("model.dropout", "1", "model.dropout is 1, must be 0 to below 1");
    refuses("model.dropout", "-0.1",
            "model.dropout is -0.1, must be 0 to below 1");
    refuses("optim.clip_norm", "0", "optim.clip_norm is 0, must be above 0");
}

static void booleans_are_true_and_false_only(void **state)
{
    (void)state;
    takes("data.lower", "true", "true");
    takes("data.lower", "false", "false");
    refuses("data.lower", "1", "data.lower is '1', must be true or false");
    refuses("data.lower", "True",
            "data.lower is 'True', must be true or false");
}

static void choices_are_exact(void **state)
{
    (void)state;
    takes("model.activation", "delu", "delu");
    takes("model.pooling", "ifo", "ifo");
    takes("stop.nan", "ignore", "ignore");
    takes("stop.nan", "rollback", "rollback");
    takes("data.level", "word", "word");
    refuses("data.level", "line",
            "data.level: 'line' is none of char, word, byte");
    refuses("model.pooling", "fifo",
            "model.pooling: 'fifo' is none of f, fo, ifo (did you mean "
            "'ifo'?)");
}

static void a_set_is_printed_in_the_order_of_its_choices(void **state)
{
    (void)state;
    takes("stats.of", "c", "c");
    takes("stats.of", "o,f,h,z,c", "c,z,h,f,o");
    takes("stats.of", " o , z ", "z,o");
    takes("stats.of", "h,h", "h");
    refuses("stats.of", "", "stats.of: '' is none of c, z, h, f, o");
    refuses("stats.of", "c,", "stats.of: '' is none of c, z, h, f, o");
    refuses("stats.of", "c,q", "stats.of: 'q' is none of c, z, h, f, o");
    refuses("stats.of", "none", "stats.of: 'none' is none of c, z, h, f, o");
    refuses("stats.of", "c,zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
            "stats.of is 'c,zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz', must be a list "
            "of c, z, h, f, o");
}

static void a_set_is_bits_of_quantities(void **state)
{
    (void)state;
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(set_one("stats.of", "o,z", &spec, &err), QN_OK);
    assert_true(spec.stats.of == (1u << QN_CANDIDATE | 1u << QN_OUTGATE));
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        const char *name = qn_quantity_name((enum qn_quantity)i);
        assert_int_equal(set_one("stats.of", name, &spec, &err), QN_OK);
        assert_true(spec.stats.of == 1u << i);
    }
}

static void lists_have_commas(void **state)
{
    (void)state;
    takes("model.window", "6,2", "6,2");
    takes("model.window", " 6 , 2 ", "6,2");
    refuses("model.window", "6,",
            "model.window is '', must be a whole number 1..64");
    refuses("model.window", "0,2", "model.window is 0, must be 1..64");
    refuses("model.window", "",
            "model.window is '', must be a whole number 1..64");
}

static void periods_have_units(void **state)
{
    (void)state;
    takes("stats.every", "50 steps", "50 steps");
    takes("stats.every", "50", "50 steps");
    takes("stats.every", "1 step", "1 step");
    takes("stats.every", "1 epoch", "1 epoch");
    takes("stats.every", "2.5 epochs", "2.5 epochs");
    takes("stats.every", "0.00001 epochs", "1e-05 epochs");
    takes("stats.every", "30 s", "30 s");
    takes("stats.every", "30s", "30 s");
    takes("stats.every", "5 minutes", "5 minutes");
    takes("stats.every", "120 minutes", "2 hours");
    takes("stats.every", "5evals", "5 evals");
    takes("stats.every", "none", "none");
    refuses("stats.every", "5 parsecs",
            "stats.every is '5 parsecs', must be a period such as 50 steps, 1 "
            "epoch, 5 minutes, 3 evals, or none");
    refuses("stats.every", "2.5 steps",
            "stats.every is '2.5 steps', must be a whole number of steps or "
            "evals");
    refuses("stats.every", "0 steps",
            "stats.every is '0 steps', must be a period such as 50 steps, 1 "
            "epoch, 5 minutes, 3 evals, or none");
    refuses("eval.every", "2 evals",
            "eval.every is '2 evals', must be a number of steps, epochs or "
            "seconds");
}

static void durations_are_times(void **state)
{
    (void)state;
    takes("stop.after", "100 minutes", "100 minutes");
    takes("stop.after", "2 hours", "2 hours");
    takes("stop.after", "30 s", "30 s");
    takes("stop.after", "1.5 s", "1.5 s");
    takes("stop.after", "none", "none");
    refuses("stop.after", "100",
            "stop.after is '100', must be a time such as 100 minutes, 2 "
            "hours, 30 s, or none");
    refuses("stop.after", "3 epochs",
            "stop.after is '3 epochs', must be a time such as 100 minutes, 2 "
            "hours, 30 s, or none");
}

static void splits_are_paths_or_fractions(void **state)
{
    (void)state;
    takes("data.valid", "0.1", "0.1");
    takes("data.valid", "none", "0");
    takes("data.valid", "a/b.txt", "a/b.txt");
    refuses("data.valid", "0.6",
            "data.valid is 0.6, must be a path, or "
            "0..0.5");
    refuses("data.valid", "", "data.valid is '', must be a path, or 0..0.5");
}

/* Of a fold, which only classifiers have. */
static void takes_fold(const char *value, const char *text)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    struct qn_str out = {0};
    qn_settings_set(s, "task", "classify", QN_FROM_USER);
    qn_settings_set(s, "data.train", "docs", QN_FROM_USER);
    qn_settings_set(s, "data.fold", value, QN_FROM_USER);
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("refused: %s", err.text);
    }
    qn_spec_text(&spec, "data.fold", &out);
    assert_string_equal(out.text, text);
    qn_str_free(&out);
    qn_settings_free(s);
}

static void a_fold_is_a_part_of_some(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "0",
                                        "6",
                                        "0 of 5",
                                        "6 of 5",
                                        "1 of 1",
                                        "1 of 0",
                                        "1 of",
                                        "1 of ",
                                        " 1 of 5",
                                        "1 of 5 ",
                                        "1  of 5",
                                        "of 5",
                                        "-1 of 5",
                                        "1 of -5",
                                        "1/5",
                                        "1.0",
                                        "1 of 5 of 5",
                                        "1 OF 5",
                                        "1 of 1001",
                                        "99999999",
                                        "one",
                                        "1 of 4294967301"};
    takes_fold("1 of 5", "1 of 5");
    takes_fold("5 of 5", "5 of 5");
    takes_fold("2", "2 of 5");
    takes_fold("1000 of 1000", "1000 of 1000");
    takes_fold("none", "none");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char sentence[128];
        (void)snprintf(sentence, sizeof sentence,
                       "data.fold is '%s', must be a part such as \"1 of 5\", "
                       "or none",
                       wrong[i]);
        refuses("data.fold", wrong[i], sentence);
    }
}

static void refuses_word(const char *value, const char *sentence)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_set(s, "data.train", "text", QN_FROM_USER);
    qn_settings_set(s, "data.level", "word", QN_FROM_USER);
    qn_settings_set(s, "data.eos", value, QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
    qn_settings_free(s);
}

static void a_word_has_no_white_space(void **state)
{
    (void)state;
    refuses_word("", "data.eos is '', must be one word without white space");
    refuses_word("a b",
                 "data.eos is 'a b', must be one word without white space");
    refuses_word("a\t",
                 "data.eos is 'a?', must be one word without white space");
    refuses_word("\001",
                 "data.eos is '?', must be one word without white space");
    refuses_word("a\xff", "data.eos is 'a?', must be valid UTF-8");
}

static void long_values_are_cut_in_sentences(void **state)
{
    (void)state;
    char value[400];
    struct qn_spec spec;
    struct qn_err err;
    memset(value, 'y', sizeof value);
    value[sizeof value - 1] = '\0';
    assert_int_equal(set_one("model.layers", value, &spec, &err), QN_EUSAGE);
    assert_true(strlen(err.text) < 160);
    assert_non_null(strstr(err.text, "yyy...', must be a whole number"));
}

/* Random bytes, random numbers, and halves of right values. */
static size_t random_value(char *out, uint64_t key)
{
    static const char *const pieces[] = {
        "1", "-",    "0.5",      "none", " steps", " epochs",  "e9",
        ",", "true", "\xc3\xa9", "\xff", "s",      "builtin:", "999999999999",
        ".", "'"};
    size_t len = 0;
    size_t n = (size_t)(qn_rng_uniform(key, 0) * 8);
    for (size_t i = 0; i < n; i++) {
        uint64_t r = qn_mix64(key + 77 * (i + 1));
        if (r % 4 == 0) {
            out[len++] = (char)(1 + (r >> 8) % 255);
            continue;
        }
        const char *piece = pieces[(r >> 8) % 16];
        memcpy(out + len, piece, strlen(piece));
        len += strlen(piece);
    }
    out[len] = '\0';
    return len;
}

/* Whatever is accepted reads back as itself; the rest has a sentence. */
static void random_values_are_refused_or_read_back(void **state)
{
    (void)state;
    int n_taken = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        char value[256];
        struct qn_spec spec;
        struct qn_err err = {{0}};
        const char *key = qn_key_at((int)(i % (uint64_t)qn_n_keys()))->key;
        (void)random_value(value, qn_mix64(i + 1));
        if (set_one(key, value, &spec, &err) != QN_OK) {
            assert_true(strlen(err.text) > 0);
            continue;
        }
        struct qn_str text = {0};
        qn_spec_text(&spec, key, &text);
        takes(key, text.text, text.text);
        qn_str_free(&text);
        n_taken++;
    }
    assert_true(n_taken > 500);
}

static void random_assignments_are_said_to_be_wrong(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        char text[256];
        struct qn_spec spec;
        struct qn_err err = {{0}};
        struct qn_settings *s = qn_settings_new();
        text[0] = '!'; /* begins no key of ours */
        (void)random_value(text + 1, qn_mix64(i + 1));
        qn_settings_assign(s, "data.train=text", QN_FROM_USER);
        qn_settings_assign(s, text, QN_FROM_USER);
        assert_int_equal(qn_settings_finish(s, &spec, &err), QN_EUSAGE);
        assert_true(strncmp(err.text, "unknown setting '", 17) == 0 ||
                    strstr(err.text, "is not of the form KEY=VALUE"));
        qn_settings_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_utf8_of_limited_length),
        cmocka_unit_test(whole_numbers_have_a_range),
        cmocka_unit_test(numbers_have_open_ranges),
        cmocka_unit_test(booleans_are_true_and_false_only),
        cmocka_unit_test(choices_are_exact),
        cmocka_unit_test(a_set_is_printed_in_the_order_of_its_choices),
        cmocka_unit_test(a_set_is_bits_of_quantities),
        cmocka_unit_test(lists_have_commas),
        cmocka_unit_test(periods_have_units),
        cmocka_unit_test(durations_are_times),
        cmocka_unit_test(splits_are_paths_or_fractions),
        cmocka_unit_test(a_fold_is_a_part_of_some),
        cmocka_unit_test(a_word_has_no_white_space),
        cmocka_unit_test(long_values_are_cut_in_sentences),
        cmocka_unit_test(random_values_are_refused_or_read_back),
        cmocka_unit_test(random_assignments_are_said_to_be_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
