/* worker.c - a trainer on a thread: commands in, records out. */
#include "lab_fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/wake.h"
#include "store/store.h"
#include "train/worker.h"

#include <poll.h>
#include <sched.h>
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
    int64_t step;  /* of the newest record */
    bool in_order; /* every record was one step later than the last */
    struct qn_note ends;
    struct qn_note reply;
};

static struct bench start(struct fixture *f, const char *const *settings,
                          bool paused)
{
    struct bench b = {.in_order = true};
    struct qn_trainer *t = NULL;
    struct qn_spec spec = fixture_spec(f, settings);
    assert_ok(qn_wake_new(&b.wake, &err));
    struct qn_outlet *outlet = qn_outlet_new(b.wake);
    struct qn_sink sink = qn_outlet_sink(outlet);
    assert_ok(qn_trainer_create(&f->env, &spec, &sink, &t, &err));
    assert_ok(qn_worker_start(t, outlet, paused, &b.worker, &err));
    return b;
}

static void finish(struct bench *b, bool save)
{
    qn_worker_free(b->worker, save);
    qn_wake_free(b->wake);
}

/* Take all there is; true when a note of this kind was among it. */
static bool take(struct bench *b, enum qn_note_kind kind)
{
    struct qn_step_record r;
    struct qn_note n;
    bool found = false;
    while (qn_worker_take_step(b->worker, &r)) {
        b->in_order &= r.step == b->step + 1;
        b->step = r.step;
    }
    while (qn_worker_take_note(b->worker, &n)) {
        found |= n.kind == kind;
        if (n.kind == QN_NOTE_REPLY) {
            b->reply = n;
        }
        if (n.kind == QN_NOTE_DONE || n.kind == QN_NOTE_STOPPED ||
            n.kind == QN_NOTE_FAILED) {
            b->ends = n;
        }
    }
    return found;
}

static void wait_note(struct bench *b, enum qn_note_kind kind)
{
    while (!take(b, kind)) {
        struct pollfd fd = {.fd = qn_wake_fd(b->wake), .events = POLLIN};
        if (poll(&fd, 1, 60000) == 0) {
            fail_msg("note %d has not come for a minute", (int)kind);
        }
        qn_wake_clear(b->wake);
    }
}

static void every_step_arrives_in_order_and_the_end_is_told(void **state)
{
    struct bench b = start(*state, (const char *[]){"steps=60", NULL}, false);
    wait_note(&b, QN_NOTE_DONE);
    assert_true(b.in_order);
    assert_int_equal(b.step, 60);
    assert_int_equal(qn_worker_dropped_steps(b.worker), 0);
    finish(&b, false);
}

static void a_held_worker_makes_no_step_before_it_is_resumed(void **state)
{
    struct bench b = start(*state, (const char *[]){"steps=60", NULL}, true);
    /* Each answer is a turn of its loop in which it could have stepped. */
    for (uint64_t i = 1; i <= 10; i++) {
        struct qn_command ask = {
            .kind = QN_CMD_EVALUATE, .split = QN_VALID, .ticket = i};
        assert_true(qn_worker_post(b.worker, &ask));
        wait_note(&b, QN_NOTE_REPLY);
        assert_int_equal(b.reply.ticket, i);
        assert_int_equal(b.reply.status, QN_OK);
        assert_int_equal(b.reply.step, 0);
        for (int j = 0; j < 1000; j++) {
            (void)sched_yield();
        }
    }
    assert_int_equal(b.step, 0);
    struct qn_command go = {.kind = QN_CMD_RESUME};
    assert_true(qn_worker_post(b.worker, &go));
    wait_note(&b, QN_NOTE_DONE);
    assert_int_equal(b.step, 60);
    finish(&b, false);
}

static void a_paused_worker_answers_and_makes_no_step(void **state)
{
    struct bench b =
        start(*state, (const char *[]){"steps=1000000", NULL}, false);
    struct qn_command pause = {.kind = QN_CMD_PAUSE};
    struct qn_command ask = {.kind = QN_CMD_SAMPLE,
                             .length = 10,
                             .temperature = 1,
                             .seed = 3,
                             .ticket = 1,
                             .text = "the"};
    struct qn_command save = {.kind = QN_CMD_CHECKPOINT, .ticket = 2};
    assert_true(qn_worker_post(b.worker, &pause));
    wait_note(&b, QN_NOTE_PAUSE);
    (void)take(&b, QN_NOTE_PAUSE);
    int64_t at = b.step;
    assert_true(qn_worker_post(b.worker, &ask));
    wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(b.reply.status, QN_OK);
    assert_int_equal(strlen(b.reply.text), 13);
    assert_memory_equal(b.reply.text, "the", 3);
    assert_true(qn_worker_post(b.worker, &save));
    wait_note(&b, QN_NOTE_CHECKPOINT);
    while (b.reply.ticket != 2) {
        wait_note(&b, QN_NOTE_REPLY);
    }
    assert_int_equal(b.reply.status, QN_OK);
    assert_int_equal(b.reply.step, at);
    assert_int_equal(b.step, at);
    finish(&b, false);
}

static void a_stop_that_saves_leaves_a_checkpoint(void **state)
{
    struct fixture *f = *state;
    struct bench b =
        start(f, (const char *[]){"steps=1000000", "name=kept", NULL}, false);
    struct qn_command stop = {.kind = QN_CMD_STOP, .save = true};
    assert_true(qn_worker_post(b.worker, &stop));
    wait_note(&b, QN_NOTE_STOPPED);
    char *path = NULL;
    char *folder = NULL;
    int64_t step = -1;
    assert_ok(qn_store_find(f->store, "kept", &path, NULL, &err));
    assert_ok(qn_run_dir_find_checkpoint(path, "last", &folder, &step, &err));
    assert_int_equal(step, b.ends.step);
    free(path);
    free(folder);
    finish(&b, false);
}

/* "data.valid=" a text on which one evaluation takes much longer than any of
 * these tests; the caller frees it. */
static char *long_validation(struct fixture *f)
{
    struct qn_str text = {0};
    for (int i = 0; i < 200000; i++) {
        qn_str_add(&text, "the cat sat on the mat; ");
    }
    char *path = fixture_write(f, "long.txt", text.text);
    char *setting = qn_xasprintf("data.valid=%s", path);
    qn_str_free(&text);
    free(path);
    return setting;
}

static struct bench start_long(struct fixture *f, bool paused)
{
    char *valid = long_validation(f);
    struct bench b =
        start(f,
              (const char *[]){valid, "steps=1000000", "model.hidden=64",
                               "eval.batch=1", NULL},
              paused);
    free(valid);
    return b;
}

static void an_end_interrupts_a_long_evaluation(void **state)
{
    struct bench b = start_long(*state, true);
    struct qn_command ask = {
        .kind = QN_CMD_EVALUATE, .split = QN_VALID, .ticket = 5};
    struct qn_command stop = {.kind = QN_CMD_STOP, .save = false};
    assert_true(qn_worker_post(b.worker, &ask));
    assert_true(qn_worker_post(b.worker, &stop));
    wait_note(&b, QN_NOTE_STOPPED);
    assert_int_equal(b.reply.ticket, 5);
    assert_int_equal(b.reply.status, QN_ESTOPPED);
    finish(&b, false);
}

/* The first stop saves, which evaluates; the second gives that up. */
static void a_harder_stop_cuts_the_saving_of_the_first_short(void **state)
{
    struct bench b = start_long(*state, false);
    struct qn_command stop = {.kind = QN_CMD_STOP, .save = true};
    assert_true(qn_worker_post(b.worker, &stop));
    stop.save = false;
    assert_true(qn_worker_post(b.worker, &stop));
    wait_note(&b, QN_NOTE_STOPPED);
    assert_int_equal(b.ends.kind, QN_NOTE_STOPPED);
    finish(&b, false);
}

static void commands_after_the_end_are_refused(void **state)
{
    struct bench b = start(*state, (const char *[]){"steps=1", NULL}, false);
    wait_note(&b, QN_NOTE_DONE);
    struct qn_command ask = {
        .kind = QN_CMD_EVALUATE, .split = QN_VALID, .ticket = 9};
    /* DONE is told before the thread ends. */
    while (!qn_worker_ended(b.worker)) {
        (void)sched_yield();
    }
    assert_false(qn_worker_post(b.worker, &ask));
    finish(&b, true);
}

static void a_wrong_value_is_answered_and_changes_nothing(void **state)
{
    struct bench b =
        start(*state, (const char *[]){"steps=1000000", NULL}, true);
    struct qn_command set = {
        .kind = QN_CMD_SET, .key = "model.hidden", .text = "7", .ticket = 4};
    assert_true(qn_worker_post(b.worker, &set));
    wait_note(&b, QN_NOTE_REPLY);
    assert_int_equal(b.reply.status, QN_EUSAGE);
    assert_non_null(strstr(b.reply.text, "model.hidden"));
    finish(&b, false);
}

static void texts_are_cut_between_code_points(void **state)
{
    (void)state;
    struct qn_note n;
    char text[sizeof n.text + 2];
    memset(text, 'a', sizeof text);
    /* Two bytes of which the second would be one too many. */
    memcpy(text + sizeof n.text - 2, "\xc3\xa9", 3);
    qn_note_set_text(&n, text);
    assert_int_equal(strlen(n.text), sizeof n.text - 2);
    qn_note_set_text(&n, "short");
    assert_string_equal(n.text, "short");
}

#define WITH_FIXTURE(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(every_step_arrives_in_order_and_the_end_is_told),
        WITH_FIXTURE(a_held_worker_makes_no_step_before_it_is_resumed),
        WITH_FIXTURE(a_paused_worker_answers_and_makes_no_step),
        WITH_FIXTURE(a_stop_that_saves_leaves_a_checkpoint),
        WITH_FIXTURE(an_end_interrupts_a_long_evaluation),
        WITH_FIXTURE(a_harder_stop_cuts_the_saving_of_the_first_short),
        WITH_FIXTURE(commands_after_the_end_are_refused),
        WITH_FIXTURE(a_wrong_value_is_answered_and_changes_nothing),
        cmocka_unit_test(texts_are_cut_between_code_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
