/* prompt.c - tests of what a sample begins with. */
#include "train/text.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct qn_vocab *words_of(const char *text)
{
    struct qn_vocab *v = qn_vocab_new_words(NULL, NULL);
    assert_int_equal(qn_vocab_learn(v, text, strlen(text), NULL), QN_OK);
    return v;
}

/* The ids of the prompt, as digits. */
static void check_ids(const struct qn_vocab *v, const struct qn_spec *spec,
                      const char *prompt, const char *digits)
{
    int32_t *ids;
    size_t n;
    assert_int_equal(qn_text_prompt(v, spec, prompt, &ids, &n, NULL), QN_OK);
    assert_int_equal(n, strlen(digits));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ids[i], digits[i] - '0');
    }
    free(ids);
}

static void check_refused(const struct qn_vocab *v, const struct qn_spec *spec,
                          const char *prompt, const char *sentence)
{
    int32_t *ids;
    size_t n;
    struct qn_err err;
    assert_int_equal(qn_text_prompt(v, spec, prompt, &ids, &n, &err),
                     QN_EUSAGE);
    assert_string_equal(err.text, sentence);
}

static void a_prompt_of_words_leaves_its_line_open(void **state)
{
    (void)state;
    struct qn_spec spec = {.data.level = QN_LEVEL_WORD};
    struct qn_vocab *v = words_of("the cat sat\n"); /* 0 1 2, end 3 */
    check_ids(v, &spec, "the cat", "01");
    check_ids(v, &spec, " the  cat ", "01");
    check_ids(v, &spec, "the cat\n", "013");
    check_ids(v, &spec, "cat\n\nsat", "1332");
    spec.data.lower = true;
    check_ids(v, &spec, "THE Cat", "01");
    qn_vocab_free(v);
}

static void an_empty_prompt_of_words_begins_a_line(void **state)
{
    (void)state;
    struct qn_spec spec = {.data.level = QN_LEVEL_WORD};
    struct qn_vocab *v = words_of("the cat sat\n");
    check_ids(v, &spec, "", "3");
    check_ids(v, &spec, "  ", "3");
    check_ids(v, &spec, "\n", "3");
    qn_vocab_free(v);
    v = qn_vocab_new_words(NULL, NULL);
    qn_vocab_add_word(v, "a", 1);
    check_ids(v, &spec, "", ""); /* a vocabulary without the end of a line */
    qn_vocab_free(v);
}

static void an_unknown_word_is_unk_or_named_with_the_nearest(void **state)
{
    (void)state;
    struct qn_spec spec = {.data.level = QN_LEVEL_WORD};
    struct qn_vocab *v = words_of("the chairman sat\n");
    check_refused(v, &spec, "the chairmen sat",
                  "prompt: the word \"chairmen\" is not in the run's "
                  "vocabulary, which has \"chairman\"");
    check_refused(v, &spec, "zebra",
                  "prompt: the word \"zebra\" is not in the run's vocabulary");
    check_refused(v, &spec, "the \xff", "prompt: byte 4 is not valid UTF-8");
    qn_vocab_add_unk(v);
    check_ids(v, &spec, "the zebra sat", "042");
    qn_vocab_free(v);
}

static void a_prompt_of_characters_is_written_as_the_text(void **state)
{
    (void)state;
    struct qn_spec spec = {.data.level = QN_LEVEL_CHAR, .data.lower = true};
    struct qn_vocab *v = qn_vocab_new(QN_SYMBOL_CODE_POINT);
    assert_int_equal(qn_vocab_learn(v, " ab", 3, NULL), QN_OK);
    check_ids(v, &spec, "aB", "12");
    check_ids(v, &spec, "", "");
    check_refused(v, &spec, "a\xc3\xa9",
                  "prompt: \"\xc3\xa9\" (U+00E9) is not in the run's "
                  "vocabulary");
    spec.data.stream = QN_STREAM_PTB49;
    check_ids(v, &spec, "a\nb", "102");
    qn_vocab_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prompt_of_words_leaves_its_line_open),
        cmocka_unit_test(an_empty_prompt_of_words_begins_a_line),
        cmocka_unit_test(an_unknown_word_is_unk_or_named_with_the_nearest),
        cmocka_unit_test(a_prompt_of_characters_is_written_as_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
