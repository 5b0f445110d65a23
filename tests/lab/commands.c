/* commands.c - what a person does to a run and asks of it. */
#include "lab_fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "lab/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const endless[] = {"steps=1000000", NULL};

/* The step at which events.jsonl has this event; -1 = it has none. */
struct event_search {
    const char *event;
    int64_t step;
    char value[64];
};

static bool look(void *user, const json_t *line)
{
    struct event_search *s = user;
    const char *event = json_string_value(json_object_get(line, "event"));
    const char *value = json_string_value(json_object_get(line, "value"));
    if (event != NULL && strcmp(event, s->event) == 0) {
        s->step = json_integer_value(json_object_get(line, "step"));
        (void)snprintf(s->value, sizeof s->value, "%s",
                       value != NULL ? value : "");
    }
    return true;
}

static struct event_search recorded(const char *dir, const char *event)
{
    struct event_search s = {.event = event, .step = -1};
    assert_ok(qn_run_dir_lines(dir, QN_EVENTS, look, &s, &err));
    return s;
}

/* The learning rate that was in effect in a step. */
static double rate_at(struct lab_fixture *f, qn_run_id id, int64_t step)
{
    const struct qn_series *lr = qn_lab_series(f->lab, id, "lr");
    struct qn_point p = qn_series_at(lr, qn_series_find(lr, (double)step));
    assert_true(p.step == (double)step);
    return p.value;
}

/* Its weights are no numbers: nothing can be drawn, and that is the answer. */
static void a_question_that_a_live_run_cannot_answer_fails(void **state)
{
    struct lab_fixture *f = *state;
    static const char *const ruined[] = {
        "steps=1000000",        "optim.kind=sgd",  "optim.lr=1e30",
        "optim.clip_norm=none", "stop.nan=ignore", NULL};
    const struct qn_text_request request = {
        .length = 3, .temperature = 1, .seed = 1};
    qn_ticket ticket;
    qn_run_id id = start_run(f, ruined, false);
    wait_step(f, id, 20);
    assert_ok(qn_lab_sample(f->lab, id, &request, &ticket, &err));
    struct qn_note answer = wait_answer(f, ticket);
    assert_int_equal(answer.status, QN_ESTATE);
    assert_non_null(strstr(answer.text, "not a number"));
    assert_true(qn_lab_state_active(view(f, id).state));
}

static void a_set_holds_from_the_step_after_the_recorded_one(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    wait_step(f, id, 3);
    assert_ok(qn_lab_set(f->lab, id, "optim.lr", "0.5", &err));
    while (view(f, id).spec->optim.lr != 0.5) {
        wait_news(f);
    }
    struct event_search set = recorded(view(f, id).dir, "set");
    assert_string_equal(set.value, "0.5");
    assert_true(set.step >= 3);
    wait_step(f, id, set.step + 1);
    assert_true(rate_at(f, id, set.step) == 0.01);
    assert_true(rate_at(f, id, set.step + 1) == 0.5);
}

static void setting_more_steps_moves_the_end(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=10", NULL}, true);
    assert_ok(qn_lab_set(f->lab, id, "steps", "14", &err));
    qn_lab_release(f->lab);
    wait_state(f, id, QN_LAB_DONE);
    assert_int_equal(view(f, id).step, 14);
    assert_int_equal(view(f, id).steps_total, 14);
}

static void a_wrong_set_is_refused_at_once(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_run_id id = start_run(f, endless, false);
    assert_int_equal(qn_lab_set(f->lab, id, "optim.lr", "-1", &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "optim.lr"));
    assert_int_equal(qn_lab_set(f->lab, id, "model.hidden", "3", &err),
                     QN_EUSAGE);
    assert_int_equal(qn_lab_set(f->lab, id, "optim.rate", "3", &err),
                     QN_EUSAGE);
    assert_int_equal(qn_lab_set(f->lab, 77, "optim.lr", "1", &err),
                     QN_ENOTFOUND);
}

static void pausing_twice_and_resuming_twice_is_harmless(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    assert_ok(qn_lab_pause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_PAUSED);
    int64_t at = view(f, id).step;
    assert_ok(qn_lab_unpause(f->lab, id, &err));
    assert_ok(qn_lab_unpause(f->lab, id, &err));
    wait_step(f, id, at + 2);
    assert_int_equal(view(f, id).state, QN_LAB_RUNNING);
    assert_int_equal(recorded_events(view(f, id).dir, "pause"), 1);
    assert_int_equal(recorded_events(view(f, id).dir, "resume"), 1);
}

static void a_run_that_stops_shows_no_other_state_on_the_way(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    assert_ok(qn_lab_unpause(f->lab, id, &err));
    assert_ok(qn_lab_pause(f->lab, id, &err));
    assert_ok(qn_lab_stop(f->lab, id, true, &err));
    while (view(f, id).state != QN_LAB_STOPPED) {
        assert_int_equal(view(f, id).state, QN_LAB_STOPPING);
        wait_news(f);
    }
    assert_int_equal(recorded_events(view(f, id).dir, "pause"), 2);
}

static void a_paused_run_evaluates_and_writes(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, false);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_PAUSED);
    qn_ticket loss;
    qn_ticket text;
    struct qn_text_request request = {
        .prompt = "the ", .length = 6, .temperature = 1, .seed = 1};
    assert_ok(qn_lab_evaluate(f->lab, id, QN_TEST, &loss, &err));
    assert_ok(qn_lab_sample(f->lab, id, &request, &text, &err));
    struct qn_note answer = wait_answer(f, loss);
    assert_int_equal(answer.status, QN_OK);
    assert_int_equal(answer.split, QN_TEST);
    assert_int_equal(answer.predictions, 71);
    assert_true(isfinite(answer.loss));
    answer = wait_answer(f, text);
    assert_int_equal(answer.status, QN_OK);
    assert_int_equal(strlen(answer.text), 10);
    assert_memory_equal(answer.text, "the ", 4);
    assert_int_equal(view(f, id).state, QN_LAB_PAUSED);
}

static void a_run_that_has_ended_answers_from_its_folder(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=4", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    /* DONE is told just before the thread ends; both sides of that answer. */
    for (int i = 0; i < 2; i++) {
        qn_ticket ticket;
        assert_ok(qn_lab_evaluate(f->lab, id, QN_VALID, &ticket, &err));
        struct qn_note answer = wait_answer(f, ticket);
        assert_int_equal(answer.status, QN_OK);
        assert_int_equal(answer.predictions, 71);
        /* The same weights and text as the evaluation at the end. */
        assert_true(answer.loss == view(f, id).best_loss);
        (void)qn_lab_poll(f->lab);
    }
    qn_ticket ticket;
    struct qn_text_request request = {
        .prompt = "", .length = 6, .temperature = 1, .seed = 1};
    assert_ok(qn_lab_sample(f->lab, id, &request, &ticket, &err));
    assert_int_equal(wait_answer(f, ticket).status, QN_OK);
}

/* The length of 6 symbols drawn for 'prompt', NULL = the run's, in bytes. */
static size_t drawn(struct lab_fixture *f, qn_run_id id, const char *prompt)
{
    const struct qn_text_request request = {
        .prompt = prompt, .length = 6, .temperature = 1, .seed = 1};
    qn_ticket ticket;
    assert_ok(qn_lab_sample(f->lab, id, &request, &ticket, &err));
    struct qn_note answer = wait_answer(f, ticket);
    assert_int_equal(answer.status, QN_OK);
    return strlen(answer.text);
}

static void an_empty_prompt_is_none_and_no_prompt_the_run_s(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(
        f, (const char *[]){"steps=1000000", "sample.prompt=the ", NULL},
        false);
    wait_step(f, id, 1);
    /* The text's symbols are ASCII: a byte each. */
    assert_int_equal(drawn(f, id, NULL), 10);
    assert_int_equal(drawn(f, id, ""), 6);
    assert_ok(qn_lab_stop(f->lab, id, true, &err));
    wait_state(f, id, QN_LAB_STOPPED);
    assert_int_equal(drawn(f, id, NULL), 10);
    assert_int_equal(drawn(f, id, ""), 6);
}

static void a_question_on_the_way_when_the_run_ends_is_answered(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, endless, true);
    qn_ticket ticket;
    /* The stop interrupts the evaluation or comes before it. */
    assert_ok(qn_lab_evaluate(f->lab, id, QN_VALID, &ticket, &err));
    assert_ok(qn_lab_stop(f->lab, id, true, &err));
    struct qn_note answer = wait_answer(f, ticket);
    assert_int_equal(answer.status, QN_OK);
    assert_true(isfinite(answer.loss));
    wait_state(f, id, QN_LAB_STOPPED);
}

static void an_answer_wakes_a_loop_that_only_sleeps(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    const struct lab_run *run = qn_lab_find(f->lab, id);
    if (run->worker != NULL) {
        qn_worker_join(run->worker);
    }
    while (qn_lab_poll(f->lab)) {
        free(take_log(f));
    }
    qn_ticket ticket;
    struct qn_note note;
    assert_ok(qn_lab_evaluate(f->lab, id, QN_VALID, &ticket, &err));
    do {
        wait_news(f); /* sleeps before it looks */
    } while (!qn_lab_answer(f->lab, ticket, &note));
    assert_int_equal(note.status, QN_OK);
}

static void several_questions_to_an_ended_run_are_all_answered(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    qn_ticket ticket[4];
    for (int i = 0; i < 4; i++) {
        assert_ok(qn_lab_evaluate(f->lab, id, i % 2 == 0 ? QN_VALID : QN_TEST,
                                  &ticket[i], &err));
    }
    qn_lab_forget(f->lab, ticket[0]);
    qn_lab_forget(f->lab, ticket[2]);
    assert_int_equal(wait_answer(f, ticket[3]).split, QN_TEST);
    assert_int_equal(wait_answer(f, ticket[1]).status, QN_OK);
    /* Forgotten and taken ones are never waited for. */
    assert_int_equal(wait_answer(f, ticket[0]).status, QN_ENOTFOUND);
    assert_int_equal(wait_answer(f, ticket[1]).status, QN_ENOTFOUND);
}

static void a_failed_question_carries_its_sentence(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_run(f, (const char *[]){"steps=2", "data.test=0", NULL}, true);
    qn_ticket ticket;
    assert_ok(qn_lab_evaluate(f->lab, id, QN_TEST, &ticket, &err));
    struct qn_note answer = wait_answer(f, ticket);
    assert_int_equal(answer.status, QN_EUSAGE);
    assert_non_null(strstr(answer.text, "test"));
}

static void commands_to_an_ended_run_are_refused(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    /* Whether or not its thread has ended yet. */
    assert_int_equal(qn_lab_pause(f->lab, id, &err), QN_ESTATE);
    assert_non_null(strstr(err.text, view(f, id).run));
    assert_int_equal(qn_lab_unpause(f->lab, id, &err), QN_ESTATE);
    assert_int_equal(qn_lab_stop(f->lab, id, true, &err), QN_ESTATE);
    assert_int_equal(qn_lab_set(f->lab, id, "optim.lr", "1", &err), QN_ESTATE);
    assert_int_equal(view(f, id).state, QN_LAB_DONE);
}

static void a_prompt_that_does_not_fit_is_refused(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    char prompt[2000];
    memset(prompt, 't', sizeof prompt);
    prompt[sizeof prompt - 1] = '\0';
    qn_run_id id = start_run(f, endless, true);
    qn_ticket ticket = 0;
    struct qn_text_request request = {
        .prompt = prompt, .length = 1, .temperature = 1, .seed = 1};
    assert_int_equal(qn_lab_sample(f->lab, id, &request, &ticket, &err),
                     QN_EUSAGE);
    assert_int_equal(ticket, 0);
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(a_question_that_a_live_run_cannot_answer_fails),
        WITH_LAB(a_set_holds_from_the_step_after_the_recorded_one),
        WITH_LAB(setting_more_steps_moves_the_end),
        WITH_LAB(a_wrong_set_is_refused_at_once),
        WITH_LAB(pausing_twice_and_resuming_twice_is_harmless),
        WITH_LAB(a_run_that_stops_shows_no_other_state_on_the_way),
        WITH_LAB(a_paused_run_evaluates_and_writes),
        WITH_LAB(a_run_that_has_ended_answers_from_its_folder),
        WITH_LAB(an_empty_prompt_is_none_and_no_prompt_the_run_s),
        WITH_LAB(a_question_on_the_way_when_the_run_ends_is_answered),
        WITH_LAB(an_answer_wakes_a_loop_that_only_sleeps),
        WITH_LAB(several_questions_to_an_ended_run_are_all_answered),
        WITH_LAB(a_failed_question_carries_its_sentence),
        WITH_LAB(commands_to_an_ended_run_are_refused),
        WITH_LAB(a_prompt_that_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
