/* measuring.c - what is asked of runs and of the machine: JSON and tables. */
#include "shell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What "quern <format> --json" prints, as one value. */
static json_t *ask(const char *command)
{
    char *out = quern_out("%s --json", command);
    json_t *value = parse(out);
    /* One line, its newline at the end and nowhere else. */
    assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
    free(out);
    return value;
}

static void train(const char *name)
{
    free(quern_out("train " TINY "steps=40 eval.every=20 name=%s", name));
}

static void eval_reports_what_training_reported(void **state)
{
    (void)state;
    train("a");
    json_t *runs = ask("runs");
    json_t *e = ask("eval a");
    const json_t *best = json_object_get(runs, "best");
    assert_string_equal(string(e, "run"), string(runs, "run"));
    assert_string_equal(string(e, "split"), "valid");
    assert_true(number(e, "loss") == number(best, "loss"));
    assert_true(number(e, "predictions") == 71);
    assert_true(number(e, "seconds") >= 0);
    assert_true(fabs(number(e, "bpc") - number(e, "loss") / log(2)) < 1e-12);
    assert_null(json_object_get(e, "perplexity")); /* of words only */
    json_decref(e);
    e = ask("eval a --split test eval.limit=10 --checkpoint last");
    assert_string_equal(string(e, "split"), "test");
    assert_true(number(e, "predictions") == 10);
    json_decref(e);
    json_decref(runs);
}

static void eval_takes_another_text_with_the_same_symbols(void **state)
{
    (void)state;
    train("a");
    write_file("other.txt", "cat on the mat; the cat", 23);
    json_t *e = ask("eval a --split test data.test=other.txt");
    assert_true(number(e, "predictions") == 22);
    json_decref(e);
    write_file("other.txt", "QUERN", 5);
    struct outcome o = quern("eval a --split test data.test=other.txt");
    assert_int_equal(o.status, 2);
    assert_non_null(strstr(o.err, "Q"));
    outcome_free(&o);
}

/* Shares add up to 1. */
static double check_shares(const json_t *row)
{
    double sum = number(row, "negative") + number(row, "near") +
                 number(row, "positive") + number(row, "nan");
    /* Quotients of integers below 2^53: a few roundings. */
    assert_true(fabs(sum - 1) < 1e-12);
    return number(row, "near");
}

static void stats_pool_their_layers(void **state)
{
    (void)state;
    train("a");
    json_t *s = ask("stats a --near 0.2 --of c");
    const json_t *layers = json_object_get(s, "layers");
    const json_t *pooled = json_object_get(s, "pooled");
    assert_true(number(s, "threshold") == 0.2);
    assert_string_equal(string(s, "split"), "valid");
    assert_int_equal(json_array_size(layers), 2);
    assert_int_equal(json_array_size(pooled), 1);
    double near = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(layers, i);
        assert_true(number(row, "layer") == (double)i + 1);
        assert_true(number(row, "count") == 71 * 12);
        near += check_shares(row) / 2;
    }
    const json_t *all = json_array_get(pooled, 0);
    assert_string_equal(string(all, "of"), "c");
    assert_true(number(all, "count") == 2 * 71 * 12);
    /* Layers have equal counts, so their mean is the pooled share. */
    assert_true(fabs(check_shares(all) - near) < 1e-12);
    json_decref(s);
    /* A wider threshold makes more of them near. */
    json_t *wide = ask("stats a --near 0.5");
    assert_true(number(json_array_get(json_object_get(wide, "pooled"), 0),
                       "near") >= near);
    json_decref(wide);
}

/* Line number i of text that has one value a line. */
static json_t *line_of(const char *text, int i)
{
    while (i-- > 0) {
        text = strchr(text, '\n');
        assert_non_null(text);
        text++;
    }
    char *line = qn_xstrndup(text, strcspn(text, "\n"));
    json_t *value = parse(line);
    free(line);
    return value;
}

static const json_t *row(const json_t *stats, const char *key, size_t i)
{
    return json_array_get(json_object_get(stats, key), i);
}

static void stats_count_all_quantities_at_several_thresholds(void **state)
{
    (void)state;
    static const double t[] = {0.3, 0.1, 0.05};
    train("a");
    char *out = quern_out("stats a --of o,c,z,h,f --near 0.3,0.1,0.05 --json");
    for (int i = 0; i < 3; i++) {
        json_t *s = line_of(out, i);
        assert_true(number(s, "threshold") == t[i]);
        /* The first is counted, 0.1 is the edge of a bin, 0.05 lies within. */
        assert_int_equal(json_is_true(json_object_get(s, "exact")), i < 2);
        assert_int_equal(json_array_size(json_object_get(s, "layers")), 10);
        for (size_t q = 0; q < 5; q++) {
            static const char *const names[] = {"c", "z", "h", "f", "o"};
            assert_string_equal(string(row(s, "layers", 2 * q), "of"),
                                names[q]);
            assert_string_equal(string(row(s, "pooled", q), "of"), names[q]);
            (void)check_shares(row(s, "pooled", q));
            assert_true(number(row(s, "pooled", q), "count") == 2 * 71 * 12);
            /* Counts that bins do not tell are not made up. */
            assert_int_equal(
                json_object_get(row(s, "pooled", q), "n_near") != NULL, i < 2);
            assert_int_equal(
                json_object_get(row(s, "layers", q), "n_near") != NULL, i < 2);
            assert_non_null(json_object_get(row(s, "pooled", q), "n_zero"));
        }
        json_decref(s);
    }
    /* What bins tell exactly is what a count tells. */
    json_t *from_bins = line_of(out, 1);
    json_t *counted = ask("stats a --of c,z,h,f,o --near 0.1");
    assert_true(json_equal(from_bins, counted));
    json_decref(from_bins);
    json_decref(counted);
    free(out);
}

static void stats_are_a_table_for_each_quantity_and_threshold(void **state)
{
    (void)state;
    train("a");
    char *out = quern_out("stats a --of h,f --near 0.1,0.05");
    const char *at = out;
    static const char *const heads[] = {
        "h on valid, near zero: |x| < 0.1\n",
        "f on valid, near zero: |x| < 0.1\n",
        "h on valid, near zero: |x| < 0.05 (interpolated)\n",
        "f on valid, near zero: |x| < 0.05 (interpolated)\n"};
    for (int i = 0; i < 4; i++) {
        at = strstr(at, heads[i]);
        assert_non_null(at);
    }
    assert_null(strstr(out, "  c on"));
    free(out);
}

static void stats_count_what_the_run_counted(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=4 stats.of=z name=a"));
    json_t *own = ask("stats a");
    json_t *other = ask("stats a stats.of=f,o");
    json_t *named = ask("stats a stats.of=f,o --of h");
    assert_string_equal(string(row(own, "pooled", 0), "of"), "z");
    assert_string_equal(string(row(other, "pooled", 1), "of"), "o");
    assert_string_equal(string(row(named, "pooled", 0), "of"), "h");
    assert_int_equal(json_array_size(json_object_get(named, "pooled")), 1);
    json_decref(own);
    json_decref(other);
    json_decref(named);
}

static void words_are_read_as_perplexity(void **state)
{
    (void)state;
    char *lines = quern_out("train " TINY "data.level=word steps=8 name=w "
                            "--json");
    const char *done = strstr(lines, "\"event\":\"done\"");
    assert_non_null(done);
    assert_non_null(strstr(done, "\"perplexity\":"));
    assert_null(strstr(lines, "bpc"));
    free(lines);
    json_t *e = ask("eval w");
    /* The same function of the same double, written with all its digits. */
    double off = number(e, "perplexity") / exp(number(e, "loss")) - 1;
    assert_true(fabs(off) < 1e-14);
    assert_null(json_object_get(e, "bpc"));
    json_decref(e);
    char *text = quern_out("eval w");
    assert_non_null(strstr(text, "  perplexity "));
    assert_null(strstr(text, "bpc"));
    free(text);
    text = quern_out("runs");
    assert_non_null(strstr(text, "(perplexity "));
    free(text);
    assert_int_equal(sh("grep -q '\"perplexity\":' store/*-w/metrics.jsonl"),
                     0);
    assert_int_equal(sh("grep -q bpc store/*-w/metrics.jsonl"), 1);
    text = quern_out("train " TINY "data.level=word steps=8 eval.every=4");
    assert_non_null(strstr(text, "step 4  valid loss "));
    assert_non_null(strstr(text, "  perplexity "));
    assert_null(strstr(text, "bpc"));
    free(text);
}

static void a_sample_begins_with_its_prompt_and_repeats(void **state)
{
    (void)state;
    train("a");
    char *one = quern_out("sample a --prompt 'the ' --length 20");
    char *two = quern_out("sample a --prompt 'the ' --length 20");
    assert_string_equal(one, two);
    assert_memory_equal(one, "the ", 4);
    assert_int_equal(strlen(one), 4 + 20 + 1);
    json_t *s = ask("sample a --prompt 'the ' --length 20");
    assert_memory_equal(string(s, "text"), one, 24);
    json_decref(s);
    free(one);
    free(two);
}

static void an_empty_prompt_is_none(void **state)
{
    (void)state;
    train("a");
    char *own = quern_out("sample a --length 6 sample.prompt='the '");
    char *empty =
        quern_out("sample a --length 6 sample.prompt='the ' --prompt ''");
    assert_memory_equal(own, "the ", 4);
    assert_int_equal(strlen(own), 4 + 6 + 1);
    assert_int_equal(strlen(empty), 6 + 1);
    free(own);
    free(empty);
}

static void params_counts_every_tensor(void **state)
{
    (void)state;
    json_t *p = ask("params " TINY);
    const json_t *tensors = json_object_get(p, "tensors");
    double sum = 0;
    size_t i;
    json_t *t;
    json_array_foreach(tensors, i, t)
    {
        const json_t *shape = json_object_get(t, "shape");
        double n = 1;
        for (size_t d = 0; d < json_array_size(shape); d++) {
            n *= json_number_value(json_array_get(shape, d));
        }
        sum += n;
    }
    assert_true(sum == number(p, "trainable"));
    assert_true(number(p, "all") >= number(p, "trainable"));
    assert_string_equal(string(json_array_get(tensors, 0), "name"),
                        "embedding.weight");
    json_decref(p);
    /* The text is not needed where the size of its vocabulary is given. */
    p = ask("params -p ptb-char/drelu-2x250 data.vocab_size=49");
    /* 49*50 + 4*6*50*250 + 4*2*250*250 + 4*2*4*250 + 250*49 + 49, with four
     * arrays of batch norm for each layer, as the paper counts. */
    assert_true(number(p, "all") == 822749);
    json_decref(p);
    p = ask("params data.vocab_size=65 model.embed=3 model.layers=1 "
            "model.hidden=4 model.window=1");
    assert_true(number(p, "all") == 65 * 3 + 4 * 4 * 3 + 4 * 4 + 4 * 65 + 65);
    json_decref(p);
    struct outcome o = quern("params model.hidden=4");
    assert_int_equal(o.status, 2);
    assert_non_null(strstr(o.err, "data.train is not set"));
    outcome_free(&o);
}

static void params_of_a_run_are_those_of_its_settings(void **state)
{
    (void)state;
    train("a");
    json_t *of_text = ask("params " TINY);
    assert_int_equal(sh("rm text.txt"), 0); /* its own vocabulary will do */
    json_t *of_run = ask("params a");
    assert_true(json_equal(of_text, of_run));
    json_decref(of_text);
    json_decref(of_run);
    json_t *wider = ask("params a model.hidden=24");
    json_t *same = ask("params data.vocab_size=11 "
                       "model.layers=2 model.embed=6 model.hidden=24");
    assert_true(json_equal(wider, same));
    json_decref(wider);
    json_decref(same);
    struct outcome o = quern("params a -p demo");
    assert_int_equal(o.status, 2);
    outcome_free(&o);
}

static void weights_that_are_imported_measure_the_same(void **state)
{
    (void)state;
    train("a");
    json_t *before = ask("eval a --checkpoint last");
    assert_int_equal(sh("cp store/*-a/checkpoints/40/model.safetensors w.st"),
                     0);
    json_t *made = ask("import w.st " TINY "name=b");
    char *command = qn_xasprintf("eval %s", string(made, "run"));
    json_t *after = ask(command);
    assert_true(number(before, "loss") == number(after, "loss"));
    free(command);
    json_decref(before);
    json_decref(made);
    json_decref(after);
    struct outcome o = quern("import w.st " TINY "data.train=w.st");
    assert_true(o.status != 0);
    outcome_free(&o);
}

static void runs_are_listed_with_their_states(void **state)
{
    (void)state;
    char *out = quern_out("runs");
    assert_non_null(strstr(out, "no runs in"));
    free(out);
    train("one");
    train("two");
    out = quern_out("runs --json");
    char *second = strchr(out, '\n') + 1;
    second[-1] = '\0';
    json_t *a = parse(out);
    json_t *b = parse(second);
    /* Of two runs of one second either may come first. */
    const char *first = string(a, "name");
    assert_true(strcmp(first, "one") == 0 || strcmp(first, "two") == 0);
    assert_string_not_equal(first, string(b, "name"));
    assert_string_equal(string(b, "state"), "done");
    assert_true(number(b, "step") == 40);
    assert_true(number(json_object_get(b, "best"), "step") > 0);
    json_decref(a);
    json_decref(b);
    free(out);
}

/* Column of the word in the line that text begins with. */
static long column_of(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_true(at != NULL && at < strchr(text, '\n'));
    return (long)(at - text);
}

static void runs_stand_in_columns(void **state)
{
    (void)state;
    train("a");
    assert_int_equal(sh("mv store/2*-a store/1-a"), 0);
    free(quern_out("train " TINY "steps=3 name='gr\xc3\xb6\xc3\x9f"
                   "er than'"));
    char *out = quern_out("runs");
    assert_memory_equal(out, "name         run ", 17);
    /* Of two runs of one second either may come first. */
    const char *narrow = strstr(out, "\na            1-a ");
    const char *wide = strstr(out, "\ngr");
    assert_true(narrow != NULL && wide != NULL);
    long column = column_of(out, " state");
    assert_int_equal(column_of(narrow + 1, " done "), column);
    /* Two characters of its name, which its id has too, have two bytes. */
    assert_int_equal(column_of(wide + 1, " done "), column + 4);
    assert_true(column_of(narrow + 1, " at step ") > column);
    free(out);
}

static void put_parent(const char *id, const char *parent)
{
    assert_int_equal(sh("mkdir store/%s", id), 0);
    assert_int_equal(
        sh("echo '{\"name\":\"%s\"}' > store/%s/spec.json", id, id), 0);
    assert_int_equal(sh("echo '{}' > store/%s/code.json", id), 0);
    assert_int_equal(sh("echo '{\"relation\":\"fork\",\"run\":\"%s\","
                        "\"name\":\"x\",\"step\":800,\"sha256\":\"\"}' "
                        "> store/%s/parent.json",
                        parent, id),
                     0);
}

static void runs_tell_what_they_come_from(void **state)
{
    (void)state;
    train("first");
    assert_int_equal(sh("mv store/2*-first store/1-a"), 0);
    put_parent("2-b", "1-a");
    put_parent("3-c", "0-gone");
    char *out = quern_out("runs");
    char *own_line = strstr(out, "  1-a ");
    *strchr(own_line, '\n') = '\0';
    assert_null(strstr(own_line, "  from "));
    char *others = own_line + strlen(own_line) + 1;
    assert_non_null(strstr(others, "  -  from first\n"));
    assert_non_null(strstr(others, "  -  from 0-gone\n"));
    free(out);
    out = quern_out("runs --json");
    assert_non_null(strstr(out, "\"parent\":null}\n"));
    assert_non_null(strstr(out, "\"parent\":\"1-a\"}\n"));
    assert_non_null(strstr(out, "\"parent\":\"0-gone\"}\n"));
    free(out);
}

static void put_unreadable(const char *id)
{
    assert_int_equal(sh("mkdir -p store/%s/checkpoints", id), 0);
    assert_int_equal(sh("echo '{' > store/%s/spec.json", id), 0);
}

static void runs_that_cannot_be_read_are_counted(void **state)
{
    (void)state;
    static const char *const said[] = {"1-a", "; 1 more run cannot be read\n",
                                       "; 2 more runs cannot be read\n"};
    static const char *const ids[] = {"1-a", "2-b", "3-c"};
    for (int i = 0; i < 3; i++) {
        put_unreadable(ids[i]);
        struct outcome o = quern("runs");
        assert_non_null(strstr(o.err, said[i]));
        assert_true(i > 0 || strstr(o.err, "more run") == NULL);
        outcome_free(&o);
    }
}

static void of_several_of_a_name_the_newest_is_taken_and_said(void **state)
{
    (void)state;
    train("twin");
    train("twin");
    struct outcome o = quern("eval twin");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "2 runs are called twin"));
    outcome_free(&o);
}

static void presets_are_listed_with_what_they_set(void **state)
{
    (void)state;
    char *out = quern_out("presets --json");
    char *line = strtok(out, "\n");
    json_t *p = parse(line);
    assert_string_equal(string(p, "preset"), "demo");
    assert_true(json_array_size(json_object_get(p, "settings")) > 5);
    json_decref(p);
    free(out);
}

static void doctor_gives_a_verdict_for_each_check(void **state)
{
    (void)state;
    json_t *d = ask("doctor");
    const json_t *checks = json_object_get(d, "checks");
    size_t i;
    json_t *check;
    assert_true(json_is_true(json_object_get(d, "ok")));
    assert_true(json_array_size(checks) >= 8);
    json_array_foreach(checks, i, check)
    {
        assert_true(strlen(string(check, "check")) > 0);
        assert_true(strlen(string(check, "text")) > 0);
        const char *verdict = string(check, "verdict");
        assert_true(strcmp(verdict, "ok") == 0 ||
                    strcmp(verdict, "warning") == 0);
    }
    json_decref(d);
    struct outcome o = quern("doctor --store text.txt/store");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.out, "text.txt"));
    outcome_free(&o);
}

/* The store's line, which must have this verdict; the caller frees it. */
static char *store_line(const char *store, const char *verdict)
{
    struct outcome o = quern("doctor --store %s", store);
    const char *line = strstr(o.out, " store ");
    assert_non_null(line);
    while (line > o.out && line[-1] != '\n') {
        line--;
    }
    char *copy = qn_xstrndup(line, strcspn(line, "\n"));
    if (!qn_starts_with(copy, verdict)) {
        fail_msg("doctor --store %s: %s", store, copy);
    }
    outcome_free(&o);
    return copy;
}

static void doctor_tries_the_store(void **state)
{
    (void)state;
    char *line = store_line("new", "ok ");
    assert_non_null(strstr(line, "new will be made when needed, "));
    assert_non_null(strstr(line, "B free"));
    free(line);
    assert_int_equal(sh("test -e new"), 1);
    assert_int_equal(sh("mkdir old"), 0);
    line = store_line("old", "ok ");
    assert_non_null(strstr(line, "old can be written, "));
    free(line);
    assert_int_equal(sh("rmdir old"), 0); /* nothing is left in it */
    line = store_line("text.txt", "problem ");
    assert_null(strstr(strstr(line, "text.txt") + 1, "text.txt"));
    free(line);
    /* Root may do there what permissions say, and all the same cannot. */
    if (qn_path_is_dir("/proc/self")) {
        line = store_line("/proc/x", "problem ");
        assert_non_null(strstr(line, "cannot be made: /proc cannot be"));
        free(line);
    }
}

static void a_store_and_a_data_folder_may_be_named_in_two_ways(void **state)
{
    (void)state;
    assert_int_equal(sh("mkdir texts && mv text.txt texts/"), 0);
    free(quern_out("train " TINY "steps=2 name=x --data texts --store other"));
    char *runs = quern_out("runs --store=other");
    assert_non_null(strstr(runs, "-x"));
    free(runs);
    (void)setenv("QUERN_DATA", "texts", 1);
    (void)setenv("QUERN_STORE", "other", 1);
    free(quern_out("eval x"));
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(eval_reports_what_training_reported),
        WITH_SHELL(eval_takes_another_text_with_the_same_symbols),
        WITH_SHELL(stats_pool_their_layers),
        WITH_SHELL(stats_count_all_quantities_at_several_thresholds),
        WITH_SHELL(stats_are_a_table_for_each_quantity_and_threshold),
        WITH_SHELL(stats_count_what_the_run_counted),
        WITH_SHELL(words_are_read_as_perplexity),
        WITH_SHELL(a_sample_begins_with_its_prompt_and_repeats),
        WITH_SHELL(an_empty_prompt_is_none),
        WITH_SHELL(params_counts_every_tensor),
        WITH_SHELL(params_of_a_run_are_those_of_its_settings),
        WITH_SHELL(weights_that_are_imported_measure_the_same),
        WITH_SHELL(runs_are_listed_with_their_states),
        WITH_SHELL(runs_stand_in_columns),
        WITH_SHELL(runs_tell_what_they_come_from),
        WITH_SHELL(runs_that_cannot_be_read_are_counted),
        WITH_SHELL(of_several_of_a_name_the_newest_is_taken_and_said),
        WITH_SHELL(presets_are_listed_with_what_they_set),
        WITH_SHELL(doctor_gives_a_verdict_for_each_check),
        WITH_SHELL(doctor_tries_the_store),
        WITH_SHELL(a_store_and_a_data_folder_may_be_named_in_two_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
