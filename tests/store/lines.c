/* lines.c - tests of reading a run's lines back. */
#include "make_run.h"

#include "base/rng.h"

/* The lines that were passed, as compact JSON parted by ";". */
struct seen {
    struct qn_str text;
    int most; /* stop after so many; 0 = never */
    int n;
};

static bool see(void *user, const json_t *line)
{
    struct seen *s = user;
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER);
    qn_str_addf(&s->text, "%s;", text);
    free(text);
    return ++s->n != s->most;
}

static enum qn_status read_lines(const char *folder, int most, struct seen *s,
                                 struct qn_err *err)
{
    *s = (struct seen){.most = most};
    qn_str_add(&s->text, "");
    return qn_run_dir_lines(folder, QN_METRICS, see, s, err);
}

static void check_lines(const char *folder, const char *file,
                        const char *expected)
{
    struct seen s;
    put(folder, "metrics.jsonl", file);
    assert_int_equal(read_lines(folder, 0, &s, NULL), QN_OK);
    assert_string_equal(s.n > 0 ? s.text.text : "", expected);
    qn_str_free(&s.text);
}

static void lines_come_in_order(void **state)
{
    check_lines(*state, "{\"step\":1}\n{\"step\":2}\n{\"a\":null}\n",
                "{\"step\":1};{\"step\":2};{\"a\":null};");
    check_lines(*state, "", "");
}

static void a_torn_last_line_is_left_out(void **state)
{
    check_lines(*state, "{\"step\":1}\n{\"step\":2}", "{\"step\":1};");
    check_lines(*state, "{\"st", "");
}

/* As a power cut leaves it, which nobody has mended yet. */
static void last_lines_that_hold_nul_bytes_are_left_out(void **state)
{
    static const char zeros[] =
        "{\"step\":1}\n{\"st\0\0\0}\n\0\0\n{\"step\":\0";
    static const char between[] = "{\"step\":1}\n\0\0\n{\"step\":3}\n";
    struct seen s;
    struct qn_err err;
    char *path = qn_path_join(*state, "metrics.jsonl");
    assert_int_equal(qn_file_write(path, zeros, sizeof zeros - 1, NULL), QN_OK);
    assert_int_equal(read_lines(*state, 0, &s, NULL), QN_OK);
    assert_string_equal(s.text.text, "{\"step\":1};");
    qn_str_free(&s.text);
    assert_int_equal(qn_file_write(path, between, sizeof between - 1, NULL),
                     QN_OK);
    assert_int_equal(read_lines(*state, 0, &s, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, ": line 2 is no JSON object: "));
    qn_str_free(&s.text);
    free(path);
}

static void a_resume_replaces_later_steps_before_it(void **state)
{
    check_lines(*state,
                "{\"step\":1}\n{\"step\":2}\n{\"x\":0}\n{\"step\":3}\n"
                "{\"segment\":2,\"from\":1}\n{\"step\":2}\n",
                "{\"step\":1};{\"x\":0};{\"segment\":2,\"from\":1};"
                "{\"step\":2};");
}

static void a_resume_to_before_another_replaces_its_steps_too(void **state)
{
    check_lines(*state,
                "{\"step\":1}\n{\"step\":5}\n{\"segment\":2,\"from\":5}\n"
                "{\"step\":6}\n{\"segment\":3,\"from\":2}\n{\"step\":3}\n",
                "{\"step\":1};{\"segment\":2,\"from\":5};"
                "{\"segment\":3,\"from\":2};{\"step\":3};");
}

static void the_word_segment_elsewhere_is_no_resume(void **state)
{
    check_lines(*state,
                "{\"step\":9}\n{\"event\":\"segment\",\"from\":1,\"step\":2}\n"
                "{\"segment\":2}\n{\"segment\":\"x\",\"from\":1}\n",
                "{\"step\":9};{\"event\":\"segment\",\"from\":1,\"step\":2};"
                "{\"segment\":2};{\"segment\":\"x\",\"from\":1};");
}

static void the_reader_may_stop(void **state)
{
    struct seen s;
    put(*state, "metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n[broken\n");
    assert_int_equal(read_lines(*state, 2, &s, NULL), QN_OK);
    assert_int_equal(s.n, 2);
    qn_str_free(&s.text);
}

static void check_damaged(const char *folder, const char *file, int line)
{
    struct seen s;
    struct qn_err err;
    put(folder, "metrics.jsonl", file);
    assert_int_equal(read_lines(folder, 0, &s, &err), QN_EFORMAT);
    char *start = qn_xasprintf(
        "%s/metrics.jsonl: line %d is no JSON object: ", folder, line);
    assert_true(qn_starts_with(err.text, start));
    free(start);
    qn_str_free(&s.text);
}

static void a_damaged_line_is_an_error_with_its_number(void **state)
{
    check_damaged(*state, "{\"step\":1}\n{\"step\":2\n{\"step\":3}\n", 2);
    check_damaged(*state, "[1]\n", 1);
    check_damaged(*state, "\n", 1);
    check_damaged(*state, "{\"a\":\"\xff\"}\n", 1);
    check_damaged(*state, "{} {}\n", 1);
}

static void a_missing_file_has_no_lines_and_a_missing_run_fails(void **state)
{
    struct seen s;
    struct qn_err err;
    assert_int_equal(read_lines(*state, 0, &s, NULL), QN_OK);
    assert_int_equal(s.n, 0);
    qn_str_free(&s.text);
    char *no_run = qn_path_join(*state, "none");
    assert_int_equal(read_lines(no_run, 0, &s, &err), QN_ENOTFOUND);
    qn_str_free(&s.text);
    free(no_run);
}

/* A history as a plain list of steps: what a resume replaces is taken off. */
struct history {
    int64_t step[512];
    size_t n;
};

static bool collect(void *user, const json_t *line)
{
    struct history *h = user;
    const json_t *step = json_object_get(line, "step");
    if (step != NULL) {
        h->step[h->n++] = json_integer_value(step);
    }
    return true;
}

static void one_random_history(const char *folder, uint64_t seed)
{
    struct history expected = {.n = 0}, found = {.n = 0};
    struct qn_str file = {0};
    int64_t step = 0;
    int segment = 1;
    qn_str_add(&file, "");
    for (uint64_t i = 0; i < 60; i++) {
        uint64_t bits = qn_mix64(seed * 100 + i);
        if (bits % 8 != 0) {
            qn_str_addf(&file, "{\"step\":%" PRId64 "}\n", ++step);
            expected.step[expected.n++] = step;
            continue;
        }
        step = (int64_t)((bits >> 8) % (uint64_t)(step + 1));
        qn_str_addf(&file, "{\"segment\":%d,\"from\":%" PRId64 "}\n", ++segment,
                    step);
        while (expected.n > 0 && expected.step[expected.n - 1] > step) {
            expected.n--;
        }
    }
    put(folder, "metrics.jsonl", file.text);
    qn_str_free(&file);
    assert_int_equal(
        qn_run_dir_lines(folder, QN_METRICS, collect, &found, NULL), QN_OK);
    assert_int_equal(found.n, expected.n);
    assert_memory_equal(found.step, expected.step,
                        sizeof *found.step * found.n);
}

static void resumes_leave_the_history_of_an_undisturbed_run(void **state)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        one_random_history(*state, seed);
    }
}

static void check_tail(const char *folder, size_t bytes, const char *expected)
{
    struct seen s = {.most = 0};
    struct qn_err err = {""};
    qn_str_add(&s.text, "");
    if (qn_run_dir_tail(folder, QN_METRICS, bytes, see, &s, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(s.n > 0 ? s.text.text : "", expected);
    qn_str_free(&s.text);
}

static void a_tail_has_whole_lines_after_the_last_resume(void **state)
{
    struct qn_err err;
    put(*state, "metrics.jsonl",
        "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"ste");
    check_tail(*state, 1000, "{\"step\":1};{\"step\":2};{\"step\":3};");
    check_tail(*state, 5 + 11 + 3, "{\"step\":3};");
    check_tail(*state, 5 + 11, ""); /* whether that line is whole is unknown */
    check_tail(*state, 5, "");
    put(*state, "metrics.jsonl",
        "{\"step\":1}\n{\"step\":9}\n{\"segment\":2,\"from\":1}\n"
        "no object\n{\"step\":2}\n");
    check_tail(*state, 1000, "{\"step\":2};");
    assert_int_equal(qn_run_dir_tail("/no/run", QN_METRICS, 9, see, NULL, &err),
                     QN_ENOTFOUND);
    assert_string_equal(err.text, "/no/run/metrics.jsonl: cannot open: "
                                  "No such file or directory");
}

static void a_tail_that_cannot_be_read_is_not_an_empty_one(void **state)
{
    struct qn_err err = {""};
    char *path = qn_path_join(*state, "metrics.jsonl");
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    assert_int_equal(qn_run_dir_tail(*state, QN_METRICS, 9, see, NULL, &err),
                     QN_EIO);
    assert_non_null(strstr(err.text, "metrics.jsonl: cannot read: "));
    free(path);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(lines_come_in_order),
        IN_SCRATCH(a_torn_last_line_is_left_out),
        IN_SCRATCH(last_lines_that_hold_nul_bytes_are_left_out),
        IN_SCRATCH(a_resume_replaces_later_steps_before_it),
        IN_SCRATCH(a_resume_to_before_another_replaces_its_steps_too),
        IN_SCRATCH(the_word_segment_elsewhere_is_no_resume),
        IN_SCRATCH(the_reader_may_stop),
        IN_SCRATCH(a_damaged_line_is_an_error_with_its_number),
        IN_SCRATCH(a_missing_file_has_no_lines_and_a_missing_run_fails),
        IN_SCRATCH(a_tail_has_whole_lines_after_the_last_resume),
        IN_SCRATCH(a_tail_that_cannot_be_read_is_not_an_empty_one),
        IN_SCRATCH(resumes_leave_the_history_of_an_undisturbed_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
