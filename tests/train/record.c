/* record.c - lines are written in order, however the disk behaves. */
#include "train/record.h"

#include "fixture.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct qn_run_dir *make_dir(const struct fixture *f)
{
    static const struct qn_run_files files = {
        .name = "r", .spec_json = "{}", .vocab_txt = "a\n", .code_json = "{}"};
    struct qn_run_dir *d = NULL;
    struct qn_err err;
    if (qn_run_dir_create(f->store, &files, &d, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return d;
}

static void event(struct qn_record *r, const char *name, int64_t step)
{
    (void)qn_record_begin(r, name, step);
    qn_record_end(r);
}

static struct qn_bytes read_events(const struct qn_run_dir *d)
{
    struct qn_bytes bytes;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_read(qn_run_dir_path(d), "events.jsonl", &bytes, &err),
        QN_OK);
    return bytes;
}

static void a_short_line_does_not_overtake_a_long_one(void **state)
{
    struct fixture *f = *state;
    struct qn_run_dir *d = make_dir(f);
    struct qn_record *r = qn_record_new(d);
    struct qn_err err;
    event(r, "first", 1); /* 27 bytes with its newline */
    rlim_t before = fixture_limit_files(60);
    event(r, "a_name_of_more_than_the_room_that_is_left", 2);
    event(r, "b", 3); /* would fit */
    bool waits = qn_record_trouble(r) != NULL;
    enum qn_status flushed = qn_record_flush(r, &err);
    (void)fixture_limit_files(before);
    assert_true(waits);
    assert_int_equal(flushed, QN_EIO);
    assert_int_equal(qn_record_flush(r, &err), QN_OK);
    assert_null(qn_record_trouble(r));
    event(r, "c", 4);
    struct qn_bytes text = read_events(d);
    assert_string_equal(
        text.data,
        "{\"event\":\"first\",\"step\":1}\n"
        "{\"event\":\"a_name_of_more_than_the_room_that_is_left\",\"step\":2}\n"
        "{\"event\":\"b\",\"step\":3}\n"
        "{\"event\":\"c\",\"step\":4}\n");
    qn_bytes_free(&text);
    qn_record_free(r);
    qn_run_dir_close(d);
}

static void what_waits_is_tried_at_the_end(void **state)
{
    struct fixture *f = *state;
    struct qn_run_dir *d = make_dir(f);
    struct qn_record *r = qn_record_new(d);
    rlim_t before = fixture_limit_files(10);
    event(r, "late", 1);
    (void)fixture_limit_files(before);
    qn_record_free(r);
    struct qn_bytes text = read_events(d);
    assert_string_equal(text.data, "{\"event\":\"late\",\"step\":1}\n");
    qn_bytes_free(&text);
    qn_run_dir_close(d);
}

static void a_segment_begins_in_every_file(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"metrics.jsonl", "events.jsonl",
                                        "stats.jsonl"};
    struct qn_run_dir *d = make_dir(f);
    struct qn_record *r = qn_record_new(d);
    qn_record_segment(r, 2, 800, NULL);
    for (int i = 0; i < 3; i++) {
        struct qn_bytes text;
        struct qn_err err;
        assert_int_equal(
            qn_run_dir_read(qn_run_dir_path(d), files[i], &text, &err), QN_OK);
        assert_string_equal(text.data, "{\"segment\":2,\"from\":800}\n");
        qn_bytes_free(&text);
    }
    qn_record_free(r);
    qn_run_dir_close(d);
}

/* But there is no accuracy at all of a language model. */
static void numbers_that_are_not_finite_are_null(void **state)
{
    struct fixture *f = *state;
    struct qn_run_dir *d = make_dir(f);
    struct qn_record *r = qn_record_new(d);
    struct qn_step_record step = {.step = 3,
                                  .loss = (double)NAN,
                                  .accuracy = (double)NAN,
                                  .lr = 0.5,
                                  .seconds = 1.25};
    qn_record_step(r, &step);
    step.accuracy = 0.75;
    qn_record_step(r, &step);
    struct qn_bytes text;
    struct qn_err err;
    assert_int_equal(
        qn_run_dir_read(qn_run_dir_path(d), "metrics.jsonl", &text, &err),
        QN_OK);
    assert_string_equal(text.data, "{\"event\":\"step\",\"step\":3,\"epoch\":0,"
                                   "\"loss\":null,\"lr\":0.5,\"grad_norm\":0,"
                                   "\"tokens_per_s\":0,\"seconds\":1.25}\n"
                                   "{\"event\":\"step\",\"step\":3,\"epoch\":0,"
                                   "\"loss\":null,\"accuracy\":0.75,\"lr\":0.5,"
                                   "\"grad_norm\":0,\"tokens_per_s\":0,"
                                   "\"seconds\":1.25}\n");
    qn_bytes_free(&text);
    qn_record_free(r);
    qn_run_dir_close(d);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_short_line_does_not_overtake_a_long_one),
        CASE(what_waits_is_tried_at_the_end),
        CASE(a_segment_begins_in_every_file),
        CASE(numbers_that_are_not_finite_are_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
