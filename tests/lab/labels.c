/* labels.c - what the lab knows of classifiers: accuracy, and what they say. */
#include "lab_fixture.h"

#include "base/file.h"
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

/* 40 documents, whose words say all there is to know. */
static char *write_documents(struct lab_fixture *f)
{
    struct qn_str text = {0};
    for (int i = 0; i < 40; i++) {
        qn_str_addf(&text, "%d\t0\tthe film %d was %s", i % 2, i,
                    i % 2 == 1 ? "bright" : "dull");
        for (int w = 0; w < i % 5; w++) {
            qn_str_addf(&text, " and %s", w % 2 == 0 ? "long" : "loud");
        }
        qn_str_add(&text, "\n");
    }
    char *path = fixture_write(f->base, "documents.tsv", text.text);
    qn_str_free(&text);
    return path;
}

static struct qn_spec classifier(struct lab_fixture *f,
                                 const char *const *assignments)
{
    static const char *const base[] = {"task=classify",
                                       "data.valid=none",
                                       "data.test=0.2",
                                       "data.fold=1 of 4",
                                       "batch=4",
                                       "threads=2",
                                       "model.layers=1",
                                       "model.hidden=8",
                                       "model.embed=6",
                                       "optim.lr=0.05",
                                       "steps=20",
                                       "eval.every=5",
                                       "stats.every=none",
                                       "checkpoint.every=none",
                                       NULL};
    struct qn_settings *s = qn_settings_new();
    char *path = write_documents(f);
    qn_settings_set(s, "data.train", path, QN_FROM_USER);
    free(path);
    for (const char *const *a = base; *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_PRESET);
    }
    for (const char *const *a = assignments; a != NULL && *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_USER);
    }
    struct qn_spec spec;
    assert_ok(qn_settings_finish(s, &spec, &err));
    qn_settings_free(s);
    return spec;
}

static qn_run_id start_classifier(struct lab_fixture *f,
                                  const char *const *assignments, bool hold)
{
    struct qn_spec spec = classifier(f, assignments);
    qn_run_id id = 0;
    assert_ok(qn_lab_train(f->lab, &spec, hold, &id, &err));
    return id;
}

/* --- curves -------------------------------------------------------------- */

static size_t points(struct lab_fixture *f, qn_run_id id, const char *metric)
{
    return qn_series_len(qn_lab_series(f->lab, id, metric));
}

static void a_classifier_has_curves_of_accuracy_live_and_stored(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_classifier(f, NULL, false);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_lab_run live = view(f, id), stored;
    assert_int_equal(points(f, id, "train.accuracy"), 20);
    assert_int_equal(points(f, id, "valid.accuracy"), 4);
    assert_int_equal(points(f, id, "test.accuracy"), 0);
    const struct qn_series *s = qn_lab_series(f->lab, id, "train.accuracy");
    assert_true(live.accuracy == qn_series_at(s, 19).value);
    assert_true(live.accuracy >= 0 && live.accuracy <= 1);
    s = qn_lab_series(f->lab, id, "valid.accuracy");
    size_t at = qn_series_find(s, (double)live.best_step);
    assert_true(live.best_accuracy == qn_series_at(s, at).value);

    struct qn_train_env env = f->base->env;
    struct qn_lab *lab = NULL;
    qn_run_id there = 0;
    env.log = NULL;
    assert_ok(qn_lab_new(&env, &lab, &err));
    assert_ok(qn_lab_open_stored(lab, live.run, &there, &err));
    assert_true(qn_lab_run(lab, there, &stored));
    for (const char *const *name = qn_lab_metric_names(); *name; name++) {
        assert_same_series(qn_lab_series(f->lab, id, *name),
                           qn_lab_series(lab, there, *name));
    }
    assert_true(stored.accuracy == live.accuracy);
    assert_true(live.seconds > 0 && stored.seconds == live.seconds);
    assert_int_equal(stored.best_step, live.best_step);
    assert_true(stored.best_accuracy == live.best_accuracy);
    assert_true(stored.best_loss == live.best_loss);
    qn_lab_free(lab, false);
}

static void a_text_has_no_point_of_accuracy(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_run(f, (const char *[]){"steps=6", "eval.every=3", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    assert_int_equal(points(f, id, "valid.loss"), 2);
    assert_int_equal(points(f, id, "train.accuracy"), 0);
    assert_int_equal(points(f, id, "valid.accuracy"), 0);
    assert_true(isnan(view(f, id).accuracy));
    assert_true(isnan(view(f, id).best_accuracy));
    const struct qn_spec *spec = view(f, id).spec;
    assert_false(qn_lab_has_metric(spec, "valid.accuracy"));
    assert_true(qn_lab_has_metric(spec, "valid.loss"));
}

static void a_gap_in_the_accuracy_is_filled_from_the_folder(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_classifier(
        f, (const char *[]){"steps=200", "eval.every=none", NULL}, false);
    const struct lab_run *run = qn_lab_find(f->lab, id);
    struct qn_step_record lost;
    for (int i = 0; i < 10;) {
        i += qn_worker_take_step(run->worker, &lost);
    }
    wait_state(f, id, QN_LAB_DONE);
    assert_int_equal(points(f, id, "train.accuracy"), 200);
}

/* --- the best ------------------------------------------------------------ */

/* Evaluations of a run that does not train: loss, accuracy. */
static struct qn_lab_run best_of(struct lab_fixture *f, const char *metric)
{
    static const double told[][2] = {
        {0.5, 0.75}, {0.6, 0.80}, {0.4, 0.80}, {0.7, 0.60}};
    struct qn_spec spec = classifier(f, (const char *[]){metric, NULL});
    struct lab_run *run = qn_lab_add_run(f->lab, "nowhere/run", &spec);
    struct qn_evaluation e = {.split = QN_TEST, .loss = 0.1, .accuracy = 0.99};
    qn_lab_intake_eval(run, 1, &e);
    e = (struct qn_evaluation){
        .split = QN_VALID, .loss = (double)NAN, .accuracy = (double)NAN};
    qn_lab_intake_eval(run, 5, &e);
    /* An output that is no number is right by chance. */
    e.accuracy = 0.95;
    qn_lab_intake_eval(run, 6, &e);
    assert_false(view(f, run->id).has_best);
    for (int i = 0; i < 4; i++) {
        e.loss = told[i][0];
        e.accuracy = told[i][1];
        qn_lab_intake_eval(run, 10 * (i + 1), &e);
    }
    return view(f, run->id);
}

static void the_best_is_that_of_least_loss(void **state)
{
    struct qn_lab_run run = best_of(*state, "checkpoint.metric=valid.loss");
    assert_true(run.has_best);
    assert_int_equal(run.best_step, 30);
    assert_true(run.best_loss == 0.4 && run.best_accuracy == 0.8);
}

static void or_the_first_of_greatest_accuracy(void **state)
{
    struct qn_lab_run run = best_of(*state, "checkpoint.metric=valid.accuracy");
    assert_true(run.has_best);
    assert_int_equal(run.best_step, 20);
    assert_true(run.best_loss == 0.6 && run.best_accuracy == 0.8);
}

/* --- time ---------------------------------------------------------------- */

static void the_time_left_is_by_the_seconds_of_all_steps(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_spec spec =
        classifier(f, (const char *[]){"stop.after=30 s", NULL});
    struct lab_run *run = qn_lab_add_run(f->lab, "nowhere/run", &spec);
    run->state = QN_LAB_RUNNING;
    run->steps_total = 40;
    assert_true(isinf(view(f, run->id).seconds_left));
    /* The speed in words says nothing of steps whose length is not known. */
    struct qn_step_record r = {.step = 10, .loss = 0.7, .tokens_per_s = 1e6};
    qn_lab_intake_step(run, &r);
    assert_true(isinf(view(f, run->id).seconds_left));
    r.seconds = 5; /* half a second a step: 15 of them are left */
    qn_lab_intake_step(run, &r);
    assert_true(view(f, run->id).seconds_left == 15);
    r.seconds = 20; /* 60 by the steps, but 10 until stop.after */
    qn_lab_intake_step(run, &r);
    assert_true(view(f, run->id).seconds_left == 10);
}

static void the_seconds_of_a_stored_run_are_its_own(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_classifier(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    static const char line[] = "{\"event\":\"step\",\"step\":3,\"epoch\":0.5,"
                               "\"loss\":0.5,\"seconds\":123.5}";
    char *path = qn_path_join(view(f, id).dir, "metrics.jsonl");
    struct qn_appender *metrics = NULL;
    assert_ok(qn_appender_open(path, &metrics, &err));
    assert_ok(qn_appender_line(metrics, line, sizeof line - 1, &err));
    qn_appender_close(metrics);
    free(path);
    assert_ok(qn_lab_read_history(qn_lab_find(f->lab, id), &err));
    assert_true(view(f, id).seconds == 123.5);
    /* A step without accuracy is none of its points. */
    assert_int_equal(points(f, id, "train.loss"), 3);
    assert_int_equal(points(f, id, "train.accuracy"), 2);
}

/* --- judgements ---------------------------------------------------------- */

static struct qn_note ask_about(struct lab_fixture *f, qn_run_id id,
                                const char *text)
{
    qn_ticket ticket = 0;
    assert_ok(qn_lab_classify(f->lab, id, text, strlen(text), &ticket, &err));
    return wait_answer(f, ticket);
}

static void assert_says(const struct qn_note *note, int label, int words,
                        int known)
{
    if (note->status != QN_OK) {
        fail_msg("%s", note->text);
    }
    assert_int_equal(note->judgement.label, label);
    assert_int_equal(note->judgement.words, words);
    assert_int_equal(note->judgement.known, known);
    assert_true((note->judgement.probability > 0.5) == (label == 1));
}

static void a_text_is_judged_after_the_end_by_the_stored_weights(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_classifier(f, (const char *[]){"steps=150", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_note note = ask_about(f, id, "the film was bright");
    assert_says(&note, 1, 4, 4);
    note = ask_about(f, id, "the film was dull");
    assert_says(&note, 0, 4, 4);
}

/* A paused run answers at once, and one that ends before it came to the
 * question from its folder. */
static void a_text_is_judged_by_a_live_run(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_classifier(f, (const char *[]){"steps=1000000", NULL}, false);
    wait_step(f, id, 3);
    struct qn_note note = ask_about(f, id, "the film was bright");
    assert_says(&note, note.judgement.label, 4, 4);
    assert_true(note.step >= 3);
    assert_ok(qn_lab_pause(f->lab, id, &err));
    wait_state(f, id, QN_LAB_PAUSED);
    note = ask_about(f, id, "the film was dull");
    struct qn_note same = ask_about(f, id, "the film was dull");
    assert_says(&note, note.judgement.label, 4, 4);
    assert_true(same.judgement.probability == note.judgement.probability);

    const char text[] = "the film was long";
    qn_ticket ticket = 0;
    assert_ok(qn_lab_stop(f->lab, id, true, &err));
    assert_ok(qn_lab_classify(f->lab, id, text, strlen(text), &ticket, &err));
    note = wait_answer(f, ticket);
    assert_says(&note, note.judgement.label, 4, 4);
}

/* Longer than a command's own text, and longer than the run reads. */
static void a_review_of_any_length_is_judged(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_str text = {0};
    qn_run_id id = start_classifier(
        f, (const char *[]){"steps=2", "data.max_words=1000", NULL}, false);
    for (int i = 0; i < 20000; i++) {
        qn_str_add(&text, "bright ");
    }
    struct qn_note live = ask_about(f, id, text.text);
    assert_says(&live, live.judgement.label, 20000, 1000);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_note stored = ask_about(f, id, text.text);
    assert_says(&stored, stored.judgement.label, 20000, 1000);
    qn_str_free(&text);
}

static void a_text_that_says_nothing_is_one_sentence(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_classifier(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_note note = ask_about(f, id, "");
    assert_int_equal(note.status, QN_EUSAGE);
    assert_non_null(strstr(note.text, "no words"));
    note = ask_about(f, id, "\xff");
    assert_int_equal(note.status, QN_EUSAGE);
    assert_non_null(strstr(note.text, "UTF-8"));
}

/* Its length says where a text ends: NUL is a byte of a word like another. */
static void a_text_may_hold_any_bytes(void **state)
{
    struct lab_fixture *f = *state;
    static const char text[] = "bright\0 film \0was";
    qn_ticket ticket = 0;
    qn_run_id id = start_classifier(f, (const char *[]){"steps=2", NULL}, true);
    for (int ended = 0; ended < 2; ended++) {
        assert_ok(
            qn_lab_classify(f->lab, id, text, sizeof text - 1, &ticket, &err));
        struct qn_note note = wait_answer(f, ticket);
        assert_says(&note, note.judgement.label, 3, 1);
        if (!ended) {
            assert_ok(qn_lab_unpause(f->lab, id, &err));
            wait_state(f, id, QN_LAB_DONE);
        }
    }
}

/* Nobody takes these: the lab frees them, and answers what comes after. */
static void a_forgotten_text_holds_nothing_up(void **state)
{
    struct lab_fixture *f = *state;
    qn_ticket ticket[3];
    qn_run_id id = start_classifier(f, (const char *[]){"steps=2", NULL}, true);
    for (int ended = 0; ended < 2; ended++) {
        for (int i = 0; i < 3; i++) {
            assert_ok(
                qn_lab_classify(f->lab, id, "the film", 8, &ticket[i], &err));
        }
        qn_lab_forget(f->lab, ticket[0]);
        qn_lab_forget(f->lab, ticket[1]);
        struct qn_note note = wait_answer(f, ticket[2]);
        assert_says(&note, note.judgement.label, 2, 2);
        assert_true(qn_lab_answer(f->lab, ticket[0], &note));
        assert_int_equal(note.status, QN_ENOTFOUND);
        if (!ended) {
            assert_ok(qn_lab_unpause(f->lab, id, &err));
            wait_state(f, id, QN_LAB_DONE);
        }
    }
    /* One is left at work and one waiting. */
    assert_ok(qn_lab_classify(f->lab, id, "the film", 8, &ticket[0], &err));
    assert_ok(qn_lab_classify(f->lab, id, "the film", 8, &ticket[1], &err));
}

static void runs_of_the_other_kind_say_what_they_are(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_text_request request = {.prompt = "the ", .length = 5};
    struct qn_err err = {""};
    qn_ticket ticket = 0;
    qn_run_id text = start_run(f, (const char *[]){"steps=2", NULL}, false);
    qn_run_id labels =
        start_classifier(f, (const char *[]){"steps=2", NULL}, false);
    assert_int_equal(qn_lab_classify(f->lab, text, "the", 3, &ticket, &err),
                     QN_EUSAGE);
    assert_non_null(strstr(err.text, "language model"));
    assert_int_equal(qn_lab_sample(f->lab, labels, &request, &ticket, &err),
                     QN_EUSAGE);
    assert_non_null(strstr(err.text, "classifier"));
    assert_int_equal(qn_lab_classify(f->lab, 99, "the", 3, &ticket, &err),
                     QN_ENOTFOUND);
}

static void its_end_is_told_with_the_accuracy(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_classifier(f, NULL, false);
    wait_state(f, id, QN_LAB_DONE);
    char *log = take_log(f);
    assert_non_null(strstr(log, "done at step 20  best valid loss "));
    assert_non_null(strstr(log, "  accuracy "));
    free(log);
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(a_classifier_has_curves_of_accuracy_live_and_stored),
        WITH_LAB(a_text_has_no_point_of_accuracy),
        WITH_LAB(a_gap_in_the_accuracy_is_filled_from_the_folder),
        WITH_LAB(the_best_is_that_of_least_loss),
        WITH_LAB(or_the_first_of_greatest_accuracy),
        WITH_LAB(the_time_left_is_by_the_seconds_of_all_steps),
        WITH_LAB(the_seconds_of_a_stored_run_are_its_own),
        WITH_LAB(a_text_is_judged_after_the_end_by_the_stored_weights),
        WITH_LAB(a_text_is_judged_by_a_live_run),
        WITH_LAB(a_review_of_any_length_is_judged),
        WITH_LAB(a_text_that_says_nothing_is_one_sentence),
        WITH_LAB(a_text_may_hold_any_bytes),
        WITH_LAB(a_forgotten_text_holds_nothing_up),
        WITH_LAB(runs_of_the_other_kind_say_what_they_are),
        WITH_LAB(its_end_is_told_with_the_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
