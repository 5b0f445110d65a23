/* log.c - what happened to the runs, as lines. */
#include "lab_fixture.h"

#include "base/str.h"
#include "lab/note_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_line(const char *log, const char *line)
{
    if (strstr(log, line) == NULL) {
        fail_msg("no '%s' in:\n%s", line, log);
    }
}

static void assert_text(const struct qn_note *n, const char *text)
{
    struct qn_str s = {0};
    assert_true(qn_note_text(n, &s));
    assert_string_equal(s.text, text);
    qn_str_free(&s);
}

static void notes_read_as_sentences(void **state)
{
    (void)state;
    struct qn_note n = {.step = 500, .kind = QN_NOTE_EVAL, .split = QN_VALID};
    n.loss = 0.6931471805599453;
    assert_text(&n, "step 500  valid loss 0.6931  1.0000 bpc");
    n.reading = QN_READ_PERPLEXITY;
    assert_text(&n, "step 500  valid loss 0.6931  perplexity 2.0000");
    n.reading = QN_READ_BPC;
    n.loss = 1e37;
    assert_text(&n, "step 500  valid loss 1e+37  1.443e+37 bpc");
    n.loss = -(double)NAN;
    assert_text(&n, "step 500  valid loss nan  nan bpc");
    n.loss = 0.6931471805599453;
    n.on_request = true;
    assert_text(&n, "step 500  valid loss 0.6931  1.0000 bpc  (asked for)");
    n.kind = QN_NOTE_CHECKPOINT;
    assert_text(&n, "checkpoint at step 500");
    n.is_best = true;
    assert_text(&n, "checkpoint at step 500 (best)");
    n.kind = QN_NOTE_PAUSE;
    assert_text(&n, "paused at step 500");
    assert_int_equal(qn_note_level(&n), QN_LOG_INFO);
    strcpy(n.text, "the loss is not finite");
    assert_text(&n, "paused at step 500: the loss is not finite");
    assert_int_equal(qn_note_level(&n), QN_LOG_WARN);
    n.kind = QN_NOTE_FAILED;
    assert_int_equal(qn_note_level(&n), QN_LOG_ERROR);
    n.kind = QN_NOTE_SAMPLE;
    strcpy(n.text, "two\nlines\x1b[31m");
    assert_text(&n, "step 500  sample: two lines [31m");
    n.kind = QN_NOTE_SET;
    strcpy(n.key, "optim.lr");
    strcpy(n.text, "0.5");
    assert_text(&n, "step 500  optim.lr = 0.5");
    strcpy(n.text, "1000000000");
    assert_text(&n, "step 500  optim.lr = 1e+09");
    strcpy(n.key, "steps");
    assert_text(&n, "step 500  steps = 1000000000");
}

static void replies_make_no_line(void **state)
{
    (void)state;
    struct qn_note n = {.kind = QN_NOTE_REPLY};
    struct qn_str s = {0};
    assert_false(qn_note_text(&n, &s));
    assert_int_equal(s.len, 0);
}

static void a_run_leaves_its_lines_in_order(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=6", NULL}, true);
    qn_ticket ticket;
    assert_ok(qn_lab_set(f->lab, id, "optim.lr", "0.25", &err));
    assert_ok(qn_lab_evaluate(f->lab, id, QN_TEST, &ticket, &err));
    (void)wait_answer(f, ticket);
    qn_lab_release(f->lab);
    wait_state(f, id, QN_LAB_DONE);
    char *log = take_log(f);
    assert_line(log, "step 0  optim.lr = 0.25\nstep 0  test loss ");
    assert_line(log, "(asked for)\nstep 6  valid loss ");
    assert_line(log, "bpc\ncheckpoint at step 6 (best)\ndone at step 6");
    assert_line(log, "  best valid loss ");
    free(log);
    log = take_log(f);
    assert_string_equal(log, "");
    free(log);
}

static void with_two_runs_each_line_says_which(void **state)
{
    struct lab_fixture *f = *state;
    static const char *const twin[] = {"steps=3", "name=twin", NULL};
    qn_run_id a =
        start_run(f, (const char *[]){"steps=2", "name=single", NULL}, true);
    qn_run_id b = start_run(f, twin, true);
    qn_run_id c = start_run(f, twin, true);
    qn_lab_release(f->lab);
    wait_state(f, a, QN_LAB_DONE);
    wait_state(f, b, QN_LAB_DONE);
    wait_state(f, c, QN_LAB_DONE);
    char *log = take_log(f);
    assert_line(log, "single: done at step 2");
    assert_line(log, "twin (run 2): done at step 3");
    assert_line(log, "twin (run 3): done at step 3");
    free(log);
}

static void notices_of_a_trainer_come_through_the_log(void **state)
{
    struct lab_fixture *f = *state;
    qn_log_write(qn_lab_env(f->lab)->log, QN_LOG_WARN, "something to know");
    char line[64];
    enum qn_log_level level = QN_LOG_INFO;
    assert_true(qn_lab_poll(f->lab));
    assert_true(qn_lab_take_log(f->lab, line, sizeof line, &level));
    assert_string_equal(line, "something to know");
    assert_int_equal(level, QN_LOG_WARN);
    assert_false(qn_lab_poll(f->lab));
}

/* Before its first step; the run alone, not what the program holds. */
static void a_run_says_what_memory_it_takes(void **state)
{
    struct lab_fixture *f = *state;
    const char *const more[] = {"steps=9"};
    qn_run_id again, id = start_run(f, (const char *[]){"steps=3", NULL}, true);
    char *log = take_log(f);
    assert_line(log, " takes ");
    assert_line(log, " MB of memory\n");
    free(log);
    qn_lab_release(f->lab);
    wait_state(f, id, QN_LAB_DONE);
    free(take_log(f));
    assert_ok(
        qn_lab_resume_stored(f->lab, view(f, id).dir, more, 1, &again, &err));
    log = take_log(f);
    assert_line(log, " MB of memory\n");
    free(log);
    wait_state(f, again, QN_LAB_DONE);
}

static void a_log_that_nobody_reads_keeps_the_newest(void **state)
{
    struct lab_fixture *f = *state;
    for (int i = 0; i < 5000; i++) {
        qn_log_write(qn_lab_env(f->lab)->log, QN_LOG_INFO, "line %d", i);
    }
    char line[64];
    int n = 0;
    while (qn_lab_take_log(f->lab, line, sizeof line, NULL)) {
        n++;
    }
    assert_int_equal(n, 4096);
    assert_string_equal(line, "line 4999");
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_read_as_sentences),
        cmocka_unit_test(replies_make_no_line),
        WITH_LAB(a_run_leaves_its_lines_in_order),
        WITH_LAB(with_two_runs_each_line_says_which),
        WITH_LAB(notices_of_a_trainer_come_through_the_log),
        WITH_LAB(a_run_says_what_memory_it_takes),
        WITH_LAB(a_log_that_nobody_reads_keeps_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
