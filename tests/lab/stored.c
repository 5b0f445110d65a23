/* stored.c - a run's folder gives back what the live run showed. */
#include "lab_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "lab/tables.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A second lab over the same store, as another session would have. */
static struct qn_lab *other_lab(struct lab_fixture *f)
{
    struct qn_train_env env = f->base->env;
    struct qn_lab *lab = NULL;
    env.log = NULL;
    assert_ok(qn_lab_new(&env, &lab, &err));
    return lab;
}

static void assert_same_shares(const struct qn_stats_record *a,
                               const struct qn_stats_record *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_int_equal(a->of, b->of);
    for (int i = 0; i < a->n_layers; i++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if ((a->of & 1u << of) != 0) {
                assert_memory_equal(&a->layer[i][of], &b->layer[i][of],
                                    sizeof a->layer[i][of]);
            }
        }
    }
}

/* Add a line to a file of the run. */
static void append_line(struct lab_fixture *f, qn_run_id id, const char *file,
                        const char *line)
{
    char *path = qn_path_join(view(f, id).dir, file);
    struct qn_appender *a = NULL;
    assert_ok(qn_appender_open(path, &a, &err));
    assert_ok(qn_appender_line(a, line, strlen(line), &err));
    qn_appender_close(a);
    free(path);
}

/* The statistics of a run whose stats.jsonl ends with this line. */
static const struct qn_stats_record *read_back(struct lab_fixture *f,
                                               const char *line)
{
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    append_line(f, id, "stats.jsonl", line);
    struct lab_run *run = qn_lab_find(f->lab, id);
    assert_ok(qn_lab_read_history(run, &err));
    return qn_lab_stats(f->lab, id);
}

/* As a resume leaves them: it writes again what was set for later steps. */
static void what_was_set_for_steps_not_reached_does_not_hold(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    struct lab_run *run = qn_lab_find(f->lab, id);
    append_line(f, id, "events.jsonl",
                "{\"event\":\"set\",\"step\":2,\"key\":\"optim.lr\","
                "\"value\":\"0.25\"}");
    append_line(f, id, "events.jsonl",
                "{\"event\":\"set\",\"step\":3,\"key\":\"optim.lr\","
                "\"value\":\"0.5\"}");
    assert_ok(qn_lab_read_history(run, &err));
    assert_true(run->spec.optim.lr == 0.25);
}

/* Lines in front of all that a file of the run has. */
static void prepend(struct lab_fixture *f, qn_run_id id, const char *name,
                    const char *lines)
{
    struct qn_bytes bytes = {0};
    struct qn_str s = {0};
    char *path = qn_path_join(view(f, id).dir, name);
    assert_ok(qn_file_read(path, &bytes, &err));
    qn_str_addf(&s, "%s%s", lines, bytes.data);
    assert_ok(qn_file_write(path, s.text, s.len, &err));
    qn_bytes_free(&bytes);
    qn_str_free(&s);
    free(path);
}

/* Crashes may have come between a segment line of metrics.jsonl and that of
 * events.jsonl, by which the trainer counts. */
static void steps_come_in_though_one_file_has_more_segments(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id again,
        id = start_run(f, (const char *[]){"steps=3", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    prepend(f, id, "metrics.jsonl",
            "{\"segment\":2,\"from\":0}\n{\"segment\":2,\"from\":0}\n"
            "{\"segment\":2,\"from\":0}\n");
    assert_ok(qn_lab_resume_stored(
        f->lab, view(f, id).dir, (const char *[]){"steps=9"}, 1, &again, &err));
    wait_state(f, again, QN_LAB_DONE);
    assert_int_equal(view(f, again).step, 9);
    assert_int_equal(qn_series_len(qn_lab_series(f->lab, again, "train.loss")),
                     9);
}

/* The resume's line is the last one: no record stands behind it. */
static void the_newest_statistics_are_those_that_a_resume_left(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_run(f, (const char *[]){"steps=3", "stats.every=1", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    struct lab_run *run = qn_lab_find(f->lab, id);
    assert_ok(qn_lab_read_history(run, &err));
    assert_int_equal(qn_lab_stats(f->lab, id)->step, 3);
    append_line(f, id, "stats.jsonl", "{\"segment\":2,\"from\":2}");
    assert_ok(qn_lab_read_history(run, &err));
    assert_int_equal(qn_lab_stats(f->lab, id)->step, 2);
}

static void quantities_are_told_apart_by_what_their_entries_say(void **state)
{
    struct lab_fixture *f = *state;
    const struct qn_stats_record *r = read_back(
        f, "{\"event\":\"stats\",\"step\":9,\"threshold\":0.25,\"layers\":["
           "{\"layer\":2,\"of\":\"f\",\"n_positive\":7},"
           "{\"layer\":1,\"of\":\"c\",\"n_near\":5,\"n_negative\":1},"
           "{\"layer\":1,\"of\":\"f\",\"n_positive\":3}],\"bins\":["
           "{\"negative\":[],\"positive\":[[80,7]]},"
           "{\"negative\":[[81,1]],\"positive\":[[10,5]]},"
           "{\"negative\":[],\"positive\":[[79,3]]}]}");
    assert_int_equal(r->step, 9);
    assert_int_equal(r->n_layers, 2);
    assert_int_equal(r->of, 1u << QN_CELL | 1u << QN_FORGET);
    assert_int_equal(r->layer[0][QN_CELL].n_near, 5);
    assert_int_equal(r->layer[0][QN_CELL].n_negative, 1);
    assert_int_equal(r->layer[0][QN_CELL].bin[QN_HIST_NEGATIVE][81], 1);
    assert_int_equal(r->layer[0][QN_FORGET].n_positive, 3);
    assert_int_equal(r->layer[1][QN_FORGET].n_positive, 7);
    assert_int_equal(r->layer[1][QN_FORGET].bin[QN_HIST_POSITIVE][80], 7);
    /* What the line leaves out is empty, and can be pooled all the same. */
    struct qn_hist pooled;
    qn_stats_pool(r, QN_CELL, &pooled);
    assert_int_equal(qn_hist_shares(&pooled).count, 6);
    assert_true(pooled.threshold == 0.25f);
}

static void a_damaged_line_of_statistics_is_survived(void **state)
{
    struct lab_fixture *f = *state;
    const struct qn_stats_record *r = read_back(
        f, "{\"event\":\"stats\",\"step\":9,\"threshold\":null,\"layers\":["
           "{\"layer\":0,\"of\":\"c\",\"n_near\":1},"
           "{\"layer\":65,\"of\":\"c\",\"n_near\":1},"
           "{\"layer\":-9000000000,\"of\":\"c\",\"n_near\":1},"
           "{\"layer\":1,\"of\":\"q\",\"n_near\":1},"
           "{\"layer\":1,\"n_near\":1}, 7, null, \"x\","
           "{\"layer\":2,\"of\":\"c\",\"n_near\":-4,\"n_zero\":2,"
           "\"n_positive\":6}],"
           "\"bins\":[0,0,0,0,0,0,0,0,{\"positive\":[[-1,2],[1000,2],[3,-5],"
           "[\"a\"],[4,6]]}]}");
    assert_int_equal(r->n_layers, 2);
    assert_int_equal(r->of, 1u << QN_CELL);
    assert_int_equal(r->layer[1][QN_CELL].n_near, 0);
    assert_int_equal(r->layer[1][QN_CELL].n_zero, 0); /* near none */
    assert_int_equal(r->layer[1][QN_CELL].bin[QN_HIST_POSITIVE][4], 6);
    assert_true(r->layer[1][QN_CELL].threshold == 0.1f);
}

static void a_threshold_that_no_float_is_gives_way_to_the_setting(void **state)
{
    struct lab_fixture *f = *state;
    const struct qn_stats_record *r = read_back(
        f, "{\"event\":\"stats\",\"step\":9,\"threshold\":1e-60,\"layers\":["
           "{\"layer\":1,\"of\":\"c\",\"n_near\":1}],\"bins\":[{}]}");
    assert_true(r->layer[0][QN_CELL].threshold == 0.1f);
}

static void a_stored_run_shows_what_the_live_one_did(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id =
        start_run(f,
                  (const char *[]){"steps=25", "stats.every=10",
                                   "eval.every=10", "sample.every=10", NULL},
                  false);
    wait_state(f, id, QN_LAB_DONE);
    struct qn_lab_run live = view(f, id);
    struct qn_lab *lab = other_lab(f);
    struct qn_lab_run stored;
    qn_run_id there = 0;
    assert_ok(qn_lab_open_stored(lab, live.run, &there, &err));
    assert_true(qn_lab_run(lab, there, &stored));
    for (const char *const *name = qn_lab_metric_names(); *name; name++) {
        assert_same_series(qn_lab_series(f->lab, id, *name),
                           qn_lab_series(lab, there, *name));
    }
    assert_same_shares(qn_lab_stats(f->lab, id), qn_lab_stats(lab, there));
    assert_int_equal(stored.state, QN_LAB_DONE);
    assert_int_equal(stored.step, 25);
    assert_int_equal(stored.steps_total, 25);
    assert_int_equal(stored.steps_per_epoch, live.steps_per_epoch);
    assert_int_equal(stored.best_step, live.best_step);
    assert_true(stored.best_loss == live.best_loss);
    assert_string_equal(stored.sample, live.sample);
    assert_int_equal(qn_lab_n_active(lab), 0);
    /* Opened twice it is the same run. */
    qn_run_id again = 0;
    assert_ok(qn_lab_open_stored(lab, live.dir, &again, &err));
    assert_int_equal(again, there);
    qn_lab_free(lab, false);
}

static void a_missing_run_is_one_sentence(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_run_id id = 0;
    assert_int_equal(qn_lab_open_stored(f->lab, "nosuch", &id, &err),
                     QN_ENOTFOUND);
    assert_int_equal(qn_lab_resume_stored(f->lab, "nosuch", NULL, 0, &id, &err),
                     QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "nosuch"));
    assert_int_equal(qn_lab_n_runs(f->lab), 0);
}

static void a_resume_replaces_the_steps_after_its_checkpoint(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_run(
        f, (const char *[]){"steps=1000000", "checkpoint.every=10", NULL},
        false);
    wait_step(f, id, 14);
    assert_ok(qn_lab_stop(f->lab, id, false, &err));
    wait_state(f, id, QN_LAB_STOPPED);
    int64_t reached = view(f, id).step;
    int64_t from = 0;
    char *folder = NULL;
    assert_ok(qn_run_dir_find_checkpoint(view(f, id).dir, "last", &folder,
                                         &from, &err));
    free(folder);
    assert_true(from >= 10 && from <= reached);
    double before =
        qn_series_at(qn_lab_series(f->lab, id, "train.loss"), 0).value;

    char *dir = qn_xstrdup(view(f, id).dir);
    char *steps = qn_xasprintf("steps=%lld", (long long)reached + 5);
    const char *changes[] = {steps};
    qn_run_id again = 0;
    assert_ok(qn_lab_resume_stored(f->lab, dir, changes, 1, &again, &err));
    assert_int_equal(again, id); /* it is the same run */
    assert_int_equal(view(f, id).step, from);
    assert_int_equal(view(f, id).steps_total, reached + 5);
    wait_state(f, id, QN_LAB_DONE);
    const struct qn_series *loss = qn_lab_series(f->lab, id, "train.loss");
    assert_int_equal(qn_series_len(loss), reached + 5);
    assert_true(qn_series_at(loss, 0).value == before);

    struct qn_lab *lab = other_lab(f);
    qn_run_id there = 0;
    assert_ok(qn_lab_open_stored(lab, dir, &there, &err));
    assert_same_series(loss, qn_lab_series(lab, there, "train.loss"));
    qn_lab_free(lab, false);
    free(steps);
    free(dir);
}

static void a_run_cannot_be_resumed_twice_at_once(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_run_id id = start_run(f, (const char *[]){"steps=1000000", NULL}, true);
    qn_run_id again = 0;
    assert_int_equal(
        qn_lab_resume_stored(f->lab, view(f, id).dir, NULL, 0, &again, &err),
        QN_ESTATE);
    struct qn_lab *lab = other_lab(f);
    assert_int_equal(
        qn_lab_resume_stored(lab, view(f, id).dir, NULL, 0, &again, &err),
        QN_ESTATE);
    assert_int_equal(qn_lab_n_runs(lab), 0);
    qn_lab_free(lab, false);
}

static void a_done_run_says_so_when_resumed(void **state)
{
    struct lab_fixture *f = *state;
    struct qn_err err = {""};
    qn_run_id id = start_run(f, (const char *[]){"steps=2", NULL}, false);
    wait_state(f, id, QN_LAB_DONE);
    qn_run_id again = 0;
    assert_int_equal(
        qn_lab_resume_stored(f->lab, view(f, id).dir, NULL, 0, &again, &err),
        QN_ESTATE);
    assert_int_equal(view(f, id).state, QN_LAB_DONE);
    assert_int_equal(view(f, id).step, 2);
}

/* A run whose steps take next to no time. */
static qn_run_id start_fast(struct lab_fixture *f, const char *steps)
{
    return start_run(f,
                     (const char *[]){steps, "batch=1", "seq=1",
                                      "model.layers=1", "model.hidden=1",
                                      "model.embed=1", "threads=1", NULL},
                     false);
}

static void assert_gapless(const struct qn_series *s)
{
    for (size_t i = 0; i < qn_series_len(s); i++) {
        assert_true(qn_series_at(s, i).step == (double)i + 1);
    }
}

/* More steps than the ring holds, and nobody looks until the end. */
static void steps_that_the_ring_dropped_come_from_the_folder(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_fast(f, "steps=5000");
    struct lab_run *run = qn_lab_find(f->lab, id);
    qn_worker_join(run->worker);
    assert_true(qn_worker_dropped_steps(run->worker) > 0);
    wait_state(f, id, QN_LAB_DONE);
    const struct qn_series *loss = qn_lab_series(f->lab, id, "train.loss");
    assert_int_equal(qn_series_len(loss), 5000);
    assert_gapless(loss);
    assert_int_equal(view(f, id).step, 5000);
}

/* Ten records are lost before the lab looks, as dropped ones would be: what
 * comes after them shows the gap. */
static void a_gap_before_later_steps_is_filled(void **state)
{
    struct lab_fixture *f = *state;
    qn_run_id id = start_fast(f, "steps=1000");
    const struct lab_run *run = qn_lab_find(f->lab, id);
    struct qn_step_record lost;
    for (int i = 0; i < 10;) {
        i += qn_worker_take_step(run->worker, &lost);
    }
    wait_state(f, id, QN_LAB_DONE);
    const struct qn_series *loss = qn_lab_series(f->lab, id, "train.loss");
    assert_int_equal(qn_series_len(loss), 1000);
    assert_gapless(loss);
}

#define WITH_LAB(test)                                                         \
    cmocka_unit_test_setup_teardown(test, lab_fixture_setup,                   \
                                    lab_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LAB(a_stored_run_shows_what_the_live_one_did),
        WITH_LAB(a_missing_run_is_one_sentence),
        WITH_LAB(a_resume_replaces_the_steps_after_its_checkpoint),
        WITH_LAB(a_run_cannot_be_resumed_twice_at_once),
        WITH_LAB(a_done_run_says_so_when_resumed),
        WITH_LAB(a_gap_before_later_steps_is_filled),
        WITH_LAB(steps_that_the_ring_dropped_come_from_the_folder),
        WITH_LAB(what_was_set_for_steps_not_reached_does_not_hold),
        WITH_LAB(steps_come_in_though_one_file_has_more_segments),
        WITH_LAB(the_newest_statistics_are_those_that_a_resume_left),
        WITH_LAB(quantities_are_told_apart_by_what_their_entries_say),
        WITH_LAB(a_damaged_line_of_statistics_is_survived),
        WITH_LAB(a_threshold_that_no_float_is_gives_way_to_the_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
