/* pools.c - the same seed and `threads` give the same bytes, on any number of
 * workers and beside other runs. */
#include "fixture.h"
#include "labelled.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEPS = 6 };

/* Statistics, an evaluation and a sample in between must not matter either. */
#define COMMON                                                                 \
    "steps=6", "stats.every=2 steps", "eval.every=4 steps", "sample.every=3"

static const char *const norm[] = {COMMON, "threads=4", "model.batch_norm=true",
                                   "model.hidden=20", NULL};
static const char *const lstm[] = {COMMON, "threads=3", "model.cell=lstm",
                                   "batch=5", NULL};
/* Units enough that workers share the sequence. */
static const char *const one_sequence[] = {
    COMMON, "threads=4", "batch=1", "seq=30", "model.hidden=130", NULL};
static const char *const one_norm[] = {COMMON,
                                       "threads=4",
                                       "batch=1",
                                       "seq=30",
                                       "model.batch_norm=true",
                                       "model.hidden=70",
                                       NULL};
static const char *const one_lstm[] = {COMMON,   "threads=4",       "batch=1",
                                       "seq=30", "model.cell=lstm", NULL};
static const char *const classifier[] = {"steps=6",
                                         "threads=4",
                                         "stats.every=2 steps",
                                         "batch=3",
                                         "eval.every=4 steps",
                                         "model.batch_norm=true",
                                         "model.hidden=20",
                                         NULL};

static struct qn_trainer *text_of(struct labelled *l,
                                  const char *const *settings)
{
    return fixture_create(l->f, settings);
}

static void check(struct labelled *l, const char *const *settings,
                  struct qn_trainer *(*create)(struct labelled *,
                                               const char *const *))
{
    static const int sizes[] = {1, 2, 3, 8};
    struct fixture *f = l->f;
    f->env.backend = "cpu";
    char *alone = fixture_finish(create(l, settings));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        f->env.pool = qn_pool_new(sizes[i]);
        char *helped = fixture_finish(create(l, settings));
        assert_same_training(alone, helped, STEPS);
        free(helped);
        qn_pool_free(f->env.pool);
        f->env.pool = NULL;
    }
    free(alone);
}

static void a_qrnn_with_batch_norm(void **state)
{
    check(*state, norm, text_of);
}

static void an_lstm(void **state)
{
    check(*state, lstm, text_of);
}

static void fewer_sequences_than_slices(void **state)
{
    check(*state, one_sequence, text_of);
    check(*state, one_norm, text_of);
    check(*state, one_lstm, text_of);
}

static void a_classifier(void **state)
{
    check(*state, classifier, labelled_create);
}

/* --- beside other runs --------------------------------------------------- */

enum { N_RUNS = 3 };

static void *train(void *arg)
{
    struct qn_trainer *t = arg;
    struct qn_err err;
    while (qn_trainer_state(t) == QN_RUN_ACTIVE &&
           qn_trainer_step(t, &err) == QN_OK) {
    }
    return NULL;
}

/* A run that tells nobody, since runs on several threads would tell at once. */
static struct qn_trainer *silent(struct fixture *f, const char *const *settings)
{
    struct qn_train_env env = f->env;
    struct qn_spec spec = fixture_spec(f, settings);
    struct qn_trainer *t = NULL;
    struct qn_err err;
    env.log = NULL;
    if (qn_trainer_create(&env, &spec, NULL, &t, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}

static void runs_beside_each_other_do_not_change_the_numbers(void **state)
{
    static const char *const *const settings[N_RUNS] = {norm, lstm,
                                                        one_sequence};
    struct labelled *l = *state;
    struct qn_trainer *t[N_RUNS];
    pthread_t thread[N_RUNS];
    char *alone[N_RUNS];
    l->f->env.backend = "cpu";
    for (int i = 0; i < N_RUNS; i++) {
        alone[i] = fixture_finish(silent(l->f, settings[i]));
    }
    l->f->env.pool = qn_pool_new(2);
    for (int i = 0; i < N_RUNS; i++) {
        t[i] = silent(l->f, settings[i]);
        assert_int_equal(
            qn_thread_start(&thread[i], "trainer", train, t[i], NULL), QN_OK);
    }
    for (int i = 0; i < N_RUNS; i++) {
        qn_thread_join(thread[i]);
        assert_int_equal(qn_trainer_state(t[i]), QN_RUN_DONE);
        char *run = qn_xstrdup(qn_trainer_dir(t[i]));
        qn_trainer_free(t[i]);
        assert_same_training(alone[i], run, STEPS);
        free(run);
        free(alone[i]);
    }
    qn_pool_free(l->f->env.pool);
}

int main(void)
{
#define CASE(test)                                                             \
    cmocka_unit_test_setup_teardown(test, labelled_setup, labelled_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_qrnn_with_batch_norm),
        CASE(an_lstm),
        CASE(fewer_sequences_than_slices),
        CASE(a_classifier),
        CASE(runs_beside_each_other_do_not_change_the_numbers),
    };
    return cmocka_run_group_tests_name(
        "the same bytes on any number of workers", tests, NULL, NULL);
}
