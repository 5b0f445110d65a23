/* disk.c - a run on a thread waits for room and goes on by itself. */
#include "fixture.h"

#include "base/wake.h"
#include "train/worker.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct bench {
    struct qn_wake *wake;
    struct qn_worker *worker;
    int notes[QN_NOTE_FAILED + 1]; /* of each kind, so far */
    struct qn_note newest;
};

static void start(struct bench *b, struct fixture *f,
                  const char *const *settings)
{
    struct qn_trainer *t;
    struct qn_err err;
    struct qn_spec spec = fixture_spec(f, settings);
    memset(b, 0, sizeof *b);
    assert_int_equal(qn_wake_new(&b->wake, &err), QN_OK);
    struct qn_outlet *outlet = qn_outlet_new(b->wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    assert_int_equal(qn_trainer_create(&f->env, &spec, &sink, &t, &err), QN_OK);
    assert_int_equal(qn_worker_start(t, outlet, true, &b->worker, &err), QN_OK);
}

static void post(struct bench *b, enum qn_command_kind kind)
{
    struct qn_command c = {.kind = kind, .save = true};
    assert_true(qn_worker_post(b->worker, &c));
}

/* Take notes until one of this kind; false after a minute. */
static bool wait_for(struct bench *b, enum qn_note_kind kind)
{
    for (;;) {
        while (qn_worker_take_note(b->worker, &b->newest)) {
            b->notes[b->newest.kind]++;
            if (b->newest.kind == kind) {
                return true;
            }
        }
        struct pollfd fd = {.fd = qn_wake_fd(b->wake), .events = POLLIN};
        if (poll(&fd, 1, 60000) == 0) {
            return false;
        }
        qn_wake_clear(b->wake);
    }
}

static void finish(struct bench *b)
{
    qn_worker_free(b->worker, false);
    qn_wake_free(b->wake);
}

static const char *const settings[] = {"steps=30", "checkpoint.every=5", NULL};

static void a_run_goes_on_by_itself_when_there_is_room(void **state)
{
    struct bench b;
    start(&b, *state, settings);
    rlim_t before = fixture_limit_files(2000);
    post(&b, QN_CMD_RESUME);
    bool paused = wait_for(&b, QN_NOTE_PAUSE);
    /* It is tried again while nothing is asked of it. */
    (void)poll(NULL, 0, (int)(1500 * QN_DISK_TRY_SECONDS));
    (void)fixture_limit_files(before);
    assert_true(paused);
    assert_non_null(strstr(b.newest.text, "is tried again until it works"));
    assert_true(wait_for(&b, QN_NOTE_RESUME));
    assert_true(wait_for(&b, QN_NOTE_DONE));
    assert_int_equal(b.notes[QN_NOTE_PAUSE], 1);
    assert_int_equal(b.notes[QN_NOTE_RESUME], 1);
    finish(&b);
}

static void while_it_waits_it_can_be_ended(void **state)
{
    struct bench b;
    start(&b, *state, settings);
    rlim_t before = fixture_limit_files(2000);
    post(&b, QN_CMD_RESUME);
    bool paused = wait_for(&b, QN_NOTE_PAUSE);
    post(&b, QN_CMD_STOP);
    bool failed = wait_for(&b, QN_NOTE_FAILED);
    qn_worker_join(b.worker);
    (void)fixture_limit_files(before);
    assert_true(paused && failed);
    assert_non_null(strstr(b.newest.text, "cannot write"));
    finish(&b);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_run_goes_on_by_itself_when_there_is_room),
        CASE(while_it_waits_it_can_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
