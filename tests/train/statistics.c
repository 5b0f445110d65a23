/* statistics.c - what a run counts of itself while it trains, and when. */
#include "fixture.h"

#include "base/str.h"
#include "train/trainer_self.h"

#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void statistics_come_at_step_one_and_by_their_period(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=12", "stats.every=5", NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    assert_int_equal(f->told.n_stats, 3);
    assert_int_equal(f->told.stats.step, 10);
    assert_int_equal(f->told.stats.n_layers, 2);
    for (int i = 0; i < 2; i++) {
        struct qn_shares s = qn_hist_shares(&f->told.stats.layer[i][QN_CELL]);
        /* batch 4, seq 8, hidden 12 */
        assert_int_equal(s.count, 4 * 8 * 12);
        assert_true(fabs(s.negative + s.near + s.positive - 1) < 1e-12);
    }
    free(run);
}

static void statistics_come_with_the_step_after_an_evaluation(void **state)
{
    struct fixture *f = *state;
    const char *const settings[] = {"steps=12", "eval.every=3",
                                    "stats.every=2 evals", NULL};
    char *run = fixture_finish(fixture_create(f, settings));
    /* Step 1; evaluations 2 and 4 come after steps 6 and 12, the last one. */
    assert_int_equal(f->told.n_stats, 2);
    assert_int_equal(f->told.stats.step, 7);
    free(run);
}

static void statistics_do_not_change_training(void **state)
{
    struct fixture *f = *state;
    static const char *const kinds[][4] = {
        {"model.zoneout=0.2", "stats.every=1", "stats.of=c,z,h,f,o", NULL},
        {"model.batch_norm=true", "stats.every=1", "stats.of=z,f", NULL},
        {"model.cell=lstm", "stats.every=1", "stats.of=c,z,h,f,o", NULL}};
    for (int i = 0; i < 3; i++) {
        const char *const without[] = {kinds[i][0], NULL};
        char *a = fixture_finish(fixture_create(f, kinds[i]));
        char *b = fixture_finish(fixture_create(f, without));
        assert_same_training(a, b, 20);
        free(a);
        free(b);
    }
}

/* The places of a line's entries, as "c1 c2 z1 z2". */
static bool read_places(void *user, const json_t *line)
{
    struct qn_str *places = user;
    const json_t *layers = json_object_get(line, "layers");
    size_t i;
    const json_t *entry;
    json_array_foreach(layers, i, entry)
    {
        qn_str_addf(places, "%s%s%d", i == 0 ? "" : " ",
                    json_string_value(json_object_get(entry, "of")),
                    (int)json_integer_value(json_object_get(entry, "layer")));
    }
    qn_str_addf(places, " bins %d; ",
                (int)json_array_size(json_object_get(line, "bins")));
    return true;
}

static void statistics_can_be_of_several_quantities(void **state)
{
    struct fixture *f = *state;
    static const char *const two[] = {"steps=2", "stats.every=1",
                                      "stats.of=f,c", NULL};
    struct qn_trainer *t = fixture_create(f, two);
    struct qn_err err;
    struct qn_str places = {0};
    fixture_run(t, 1);
    assert_int_equal(f->told.stats.of, 1u << QN_CELL | 1u << QN_FORGET);
    /* It may change on the way; what was counted before is not told again. */
    assert_int_equal(qn_trainer_set(t, "stats.of", "z", &err), QN_OK);
    char *run = fixture_finish(t);
    assert_int_equal(f->told.stats.of, 1u << QN_CANDIDATE);
    assert_int_equal(qn_hist_shares(&f->told.stats.layer[0][QN_FORGET]).count,
                     0);
    assert_int_equal(
        qn_run_dir_lines(run, QN_STATS, read_places, &places, &err), QN_OK);
    assert_string_equal(places.text, "c1 c2 f1 f2 bins 4; z1 z2 bins 2; ");
    qn_str_free(&places);
    free(run);
}

static void statistics_of_what_is_not_there_do_not_come(void **state)
{
    struct fixture *f = *state;
    static const char *const none[] = {"model.pooling=f", "stats.every=1",
                                       "stats.of=o", NULL};
    free(fixture_finish(fixture_create(f, none)));
    assert_int_equal(f->told.n_stats, 0);
}

/* The run's backend, with its counting watched. */
static struct {
    const struct qn_backend_ops *real;
    struct qn_backend_ops ops;
    int counts; /* how often it was asked to */
} watched;

static enum qn_status watch_qrnn(struct qn_backend *be,
                                 const struct qn_qrnn *layer,
                                 enum qn_quantity what, const int *n_real,
                                 struct qn_hist *h, struct qn_err *err)
{
    watched.counts++;
    return watched.real->count_qrnn(be, layer, what, n_real, h, err);
}

static enum qn_status watch_lstm(struct qn_backend *be,
                                 const struct qn_lstm *layer,
                                 enum qn_quantity what, const int *n_real,
                                 struct qn_hist *h, struct qn_err *err)
{
    watched.counts++;
    return watched.real->count_lstm(be, layer, what, n_real, h, err);
}

static void watch(struct qn_trainer *t)
{
    watched.counts = 0;
    watched.real = t->be->ops;
    watched.ops = *t->be->ops;
    watched.ops.count_qrnn = watch_qrnn;
    watched.ops.count_lstm = watch_lstm;
    watched.ops.count = NULL; /* nobody counts anything else */
    t->be->ops = &watched.ops;
}

/* How often the backend was asked to count, after each of six steps. */
static void check_counts(struct fixture *f, const char *const *settings,
                         const int want[6])
{
    struct qn_trainer *t = fixture_create(f, settings);
    watch(t);
    for (int step = 1; step <= 6; step++) {
        fixture_run(t, step);
        assert_int_equal(watched.counts, want[step - 1]);
    }
    t->be->ops = watched.real;
    qn_trainer_free(t);
}

static void a_step_without_statistics_counts_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const cells[] = {"model.cell=qrnn", "model.cell=lstm"};
    for (int i = 0; i < 2; i++) {
        const char *const off[] = {cells[i], "stats.every=none", NULL};
        check_counts(f, off, (const int[6]){0});
        /* Two layers. */
        const char *const some[] = {cells[i], "stats.every=4", "stats.of=c,f",
                                    NULL};
        check_counts(f, some, (const int[6]){4, 4, 4, 8, 8, 8});
    }
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(statistics_come_at_step_one_and_by_their_period),
        CASE(statistics_come_with_the_step_after_an_evaluation),
        CASE(statistics_do_not_change_training),
        CASE(statistics_of_what_is_not_there_do_not_come),
        CASE(statistics_can_be_of_several_quantities),
        CASE(a_step_without_statistics_counts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
