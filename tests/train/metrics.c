/* metrics.c - steps and evaluations are those that the lines say. */
#include "metrics_text.h"

#include "train/metrics_line.h"
#include "train/record.h"

#include <stdio.h>
#include <sys/stat.h>

/* What is collected by the general reader of lines, each number on its own. */
struct slow {
    struct qn_metrics m;
    int segments;
};

static void slow_eval(struct qn_metrics *m, const json_t *line)
{
    struct qn_eval_record *r = &m->eval[m->n_evals];
    static const char *const keys[] = {"bpc", "perplexity", "accuracy"};
    *r = (struct qn_eval_record){
        .step = qn_line_int(line, "step"),
        .e = {.loss = qn_line_number(line, "loss"),
              .accuracy = qn_line_number(line, "accuracy"),
              .seconds = qn_line_number(line, "seconds"),
              .predictions = qn_line_int(line, "predictions")},
        .value = (double)NAN};
    for (int i = 2; i >= 0; i--) {
        if (json_object_get(line, keys[i]) != NULL) {
            r->e.reading = (enum qn_reading)i;
            r->value = qn_line_number(line, keys[i]);
        }
    }
    m->n_evals +=
        qn_split_parse(qn_line_text(line, "split"), &r->e.split) ? 1 : 0;
}

static bool slow_line(void *user, const json_t *line)
{
    struct slow *s = user;
    const char *event = qn_line_text(line, "event");
    bool has_step = json_is_integer(json_object_get(line, "step"));
    if (json_is_integer(json_object_get(line, "segment")) &&
        json_is_number(json_object_get(line, "from"))) {
        s->segments++;
    } else if (has_step && qn_str_eq(event, "step")) {
        s->m.step[s->m.n_steps++] = (struct qn_step_record){
            .segment = s->segments + 1,
            .step = qn_line_int(line, "step"),
            .epoch = qn_line_number(line, "epoch"),
            .loss = qn_line_number(line, "loss"),
            .accuracy = qn_line_number(line, "accuracy"),
            .lr = qn_line_number(line, "lr"),
            .grad_norm = qn_line_number(line, "grad_norm"),
            .tokens_per_s = qn_line_number(line, "tokens_per_s"),
            .seconds = qn_line_number(line, "seconds")};
    } else if (has_step && qn_str_eq(event, "eval")) {
        slow_eval(&s->m, line);
    }
    return true;
}

static void read_slowly(const struct qn_str *text, struct qn_metrics *out)
{
    struct slow s = {.segments = 0};
    struct qn_bytes bytes = {text->text, text->len};
    s.m.step = qn_xcalloc(text->len, sizeof *s.m.step);
    s.m.eval = qn_xcalloc(text->len, sizeof *s.m.eval);
    assert_int_equal(qn_lines_parse(&bytes, slow_line, &s, NULL), QN_OK);
    *out = s.m;
}

static void both_readers_agree_about_random_histories(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct history h = {.seed = seed << 32};
        struct qn_metrics a = {.n_steps = 0}, b = {.n_steps = 0};
        add_lines(&h, 1 + (int)draw(&h, 100));
        add_torn(&h);
        read_slowly(&h.text, &a);
        assert_int_equal(qn_metrics_parse(h.text.text, h.text.len, &b, NULL),
                         QN_OK);
        assert_same_metrics(&a, &b);
        qn_metrics_free(&a);
        qn_metrics_free(&b);
        qn_str_free(&h.text);
    }
}

/* Both ways on one line: what the fast one takes is what the other says.
 * Returns whether it was taken. */
static bool agree(const char *text, size_t len)
{
    struct qn_metric_line fast, any;
    char *copy = qn_xmalloc(len); /* so that a sanitizer sees a step too far */
    memcpy(copy, text, len);
    bool taken = qn_metric_line_scan(copy, len, &fast);
    if (taken) {
        assert_int_equal(qn_metric_line_parse(copy, len, &any, NULL), QN_OK);
        assert_int_equal(any.kind, QN_METRIC_STEP);
        assert_int_equal(fast.kind, QN_METRIC_STEP);
        if (!same_step(&fast.step, &any.step)) {
            fail_msg("%.*s", (int)len, text);
        }
    }
    free(copy);
    return taken;
}

static void change_a_byte(struct history *h, char *line, size_t len)
{
    static const char others[] = "0123456789.-+eE,:\"{}nul \\x";
    line[draw(h, len)] = others[draw(h, sizeof others - 1)];
}

static void
the_fast_way_takes_nothing_that_the_other_reads_otherwise(void **state)
{
    (void)state;
    struct history h = {.seed = 7};
    int taken = 0, taken_changed = 0;
    for (int i = 0; i < 10000; i++) {
        qn_str_clear(&h.text);
        add_step(&h, i % 2 == 0);
        size_t len = h.text.len - 1;
        taken += agree(h.text.text, len) ? 1 : 0;
        change_a_byte(&h, h.text.text, len);
        taken_changed += agree(h.text.text, len) ? 1 : 0;
        (void)agree(h.text.text, draw(&h, len));
    }
    assert_true(taken > 9990);
    assert_true(taken_changed > 1000); /* a digit for another */
    qn_str_free(&h.text);
}

static void a_step_that_no_run_has_is_left_to_the_other_way(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "9007199254740993",  "-5", "5.0", "05", "1e3", "null",
        "123456789012345678"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"event\":\"step\",\"step\":%s,\"epoch\":1,"
                       "\"loss\":1,\"lr\":1,\"grad_norm\":1,"
                       "\"tokens_per_s\":1,\"seconds\":1}",
                       steps[i]);
        assert_false(agree(line, strlen(line)));
    }
}

static void what_a_run_records_is_read_the_fast_way(void **state)
{
    const char *scratch = *state;
    struct qn_run_dir *d = make_run(scratch, "t");
    struct qn_record *r = qn_record_new(d);
    struct qn_step_record step = {.segment = 1,
                                  .step = 12345678901,
                                  .epoch = 0.1,
                                  .loss = 1.0 / 3,
                                  .accuracy = 0.875,
                                  .lr = 1e-5,
                                  .grad_norm = (double)NAN,
                                  .tokens_per_s = 91000,
                                  .seconds = 4.1e-9};
    qn_record_step(r, &step);
    step.accuracy = (double)NAN;
    step.step++;
    qn_record_step(r, &step);
    struct qn_bytes text;
    assert_int_equal(
        qn_run_dir_read(qn_run_dir_path(d), "metrics.jsonl", &text, NULL),
        QN_OK);
    const char *second = strchr(text.data, '\n') + 1;
    assert_true(agree(text.data, (size_t)(second - text.data) - 1));
    assert_true(agree(second, strlen(second) - 1));
    struct qn_metrics m;
    assert_int_equal(qn_metrics_read(qn_run_dir_path(d), &m, NULL), QN_OK);
    assert_int_equal(m.n_steps, 2);
    assert_true(same_step(&m.step[1], &step));
    qn_metrics_free(&m);
    qn_bytes_free(&text);
    qn_record_free(r);
    qn_run_dir_close(d);
}

static enum qn_status parse(const char *text, struct qn_metrics *m,
                            struct qn_err *err)
{
    *m = (struct qn_metrics){.n_steps = 0};
    return qn_metrics_parse(text, strlen(text), m, err);
}

static void resumes_cut_what_stands_before_them(void **state)
{
    (void)state;
    struct qn_metrics m;
    assert_int_equal(parse("{\"event\":\"step\",\"step\":1,\"loss\":1}\n"
                           "{\"event\":\"step\",\"step\":2,\"loss\":2}\n"
                           "{\"event\":\"step\",\"step\":3,\"loss\":3}\n"
                           "{\"event\":\"eval\",\"step\":3,\"split\":\"valid\","
                           "\"loss\":9}\n"
                           "{\"segment\":2,\"from\":2}\n"
                           "{\"event\":\"step\",\"step\":3,\"loss\":4}\n"
                           "{\"segment\":3,\"from\":1}\n"
                           "{\"event\":\"step\",\"step\":2,\"loss\":5}\n"
                           "{\"event\":\"step\",\"step\":3,\"lo",
                           &m, NULL),
                     QN_OK);
    assert_int_equal(m.n_steps, 2);
    assert_int_equal(m.n_evals, 0);
    assert_true(m.step[0].loss == 1 && m.step[0].segment == 1);
    assert_true(m.step[1].loss == 5 && m.step[1].segment == 3);
    qn_metrics_free(&m);
}

static void a_damaged_line_is_named(void **state)
{
    (void)state;
    struct qn_metrics m;
    struct qn_err err = {""};
    assert_int_equal(parse("{}\n{\"step\":1\n{}\n", &m, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "line 2 is no JSON object"));
    assert_int_equal(parse("{}\n{}\n[]\n", &m, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "line 3 is no JSON object: it is an"));
    /* Even one that a resume has replaced. */
    assert_int_equal(parse("x\n{\"segment\":2,\"from\":0}\n", &m, &err),
                     QN_EFORMAT);
    assert_true(m.n_steps == 0 && m.step == NULL);
}

static void
lines_of_zeros_are_torn_at_the_end_and_damage_elsewhere(void **state)
{
    (void)state;
    static const char text[] = "{\"event\":\"step\",\"step\":1,\"loss\":2}\n"
                               "{\"ev\0\0\0\n\0\n{}\n";
    struct qn_metrics m = {.n_steps = 0};
    struct qn_err err = {""};
    assert_int_equal(qn_metrics_parse(text, sizeof text - 4, &m, &err), QN_OK);
    assert_int_equal(m.n_steps, 1);
    qn_metrics_free(&m);
    assert_int_equal(qn_metrics_parse(text, sizeof text - 1, &m, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "line 2 is no JSON object"));
}

static void a_file_that_is_missing_or_no_file_says_so(void **state)
{
    const char *scratch = *state;
    struct qn_metrics m = {.n_steps = 7};
    struct qn_err err = {""};
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_OK);
    assert_int_equal(m.n_steps, 0);
    qn_metrics_free(&m);
    char *none = qn_path_join(scratch, "none");
    assert_int_equal(qn_metrics_read(none, &m, &err), QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "none/metrics.jsonl: cannot open"));
    free(none);
    put(scratch, "metrics.jsonl", "{}\n7\n");
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "metrics.jsonl: line 2 is no"));
    char *path = qn_path_join(scratch, "metrics.jsonl");
    assert_int_equal(qn_remove_tree(path, NULL), QN_OK);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody will ever write */
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_EIO);
    assert_non_null(strstr(err.text, "metrics.jsonl: is not a regular"));
    assert_int_equal(qn_remove_tree(path, NULL), QN_OK);
    assert_int_equal(qn_make_dirs(path, NULL), QN_OK);
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_EIO);
    assert_non_null(strstr(err.text, "metrics.jsonl: cannot read"));
    free(path);
}

static void no_line_is_too_long_but_one_beyond_reason(void **state)
{
    const char *scratch = *state;
    static const char start[] =
        "{\"event\":\"step\",\"step\":1,\"loss\":2,\"x\":\"";
    const size_t most = (size_t)17 << 20;
    char *text = qn_xmalloc(most + 1);
    struct qn_metrics m;
    struct qn_err err = {""};
    memset(text, 'x', most);
    memcpy(text, start, sizeof start - 1);
    memcpy(text + (2 << 20), "\"}\n", 4); /* with a NUL */
    put(scratch, "metrics.jsonl", text);
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_OK);
    assert_true(m.n_steps == 1 && m.step[0].loss == 2);
    qn_metrics_free(&m);
    memset(text + (2 << 20), 'x', 4);
    text[most] = '\0';
    put(scratch, "metrics.jsonl", text);
    assert_int_equal(qn_metrics_read(scratch, &m, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "longer than"));
    free(text);
}

static void seconds_are_those_of_the_newest_step_that_has_them(void **state)
{
    (void)state;
    struct qn_metrics m;
    assert_int_equal(parse("{\"event\":\"step\",\"step\":3,\"seconds\":null}\n"
                           "{\"event\":\"step\",\"step\":4,\"seconds\":1.5}\n"
                           "{\"event\":\"step\",\"step\":6,\"seconds\":2.5}\n"
                           "{\"event\":\"step\",\"step\":7}\n"
                           "{\"event\":\"step\",\"step\":8,\"seconds\":3}\n",
                           &m, NULL),
                     QN_OK);
    static const double wanted[] = {0, 0, 0, 0, 1.5, 1.5, 2.5, 2.5, 3, 3};
    for (int i = 0; i < 10; i++) {
        assert_true(qn_metrics_seconds(&m, i) == wanted[i]);
    }
    qn_metrics_free(&m);
    assert_true(qn_metrics_seconds(&m, 5) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_readers_agree_about_random_histories),
        cmocka_unit_test(
            the_fast_way_takes_nothing_that_the_other_reads_otherwise),
        cmocka_unit_test(a_step_that_no_run_has_is_left_to_the_other_way),
        cmocka_unit_test_setup_teardown(what_a_run_records_is_read_the_fast_way,
                                        make_scratch, remove_scratch),
        cmocka_unit_test(resumes_cut_what_stands_before_them),
        cmocka_unit_test(a_damaged_line_is_named),
        cmocka_unit_test(
            lines_of_zeros_are_torn_at_the_end_and_damage_elsewhere),
        cmocka_unit_test_setup_teardown(
            a_file_that_is_missing_or_no_file_says_so, make_scratch,
            remove_scratch),
        cmocka_unit_test_setup_teardown(
            no_line_is_too_long_but_one_beyond_reason, make_scratch,
            remove_scratch),
        cmocka_unit_test(seconds_are_those_of_the_newest_step_that_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
