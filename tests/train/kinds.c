/* kinds.c - every kind of network and optimiser goes on after a cut as if there
 * had been none. */
#include "fixture.h"

#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STEPS 200

/* An epoch of characters is 40 segments, one of words far less: the cuts fall
 * into epochs in which the learning rate has decayed. Checkpoints and
 * evaluations come at 100, so that a stop there adds none. */
#define COMMON                                                                 \
    "steps=200", "eval.every=50 steps", "checkpoint.every=25", "stats.every=30"

static const char *const norm_adam[] = {COMMON, "model.batch_norm=true",
                                        "optim.kind=adam", "stats.of=c,z,h,f,o",
                                        NULL};
static const char *const lstm_momentum[] = {COMMON,
                                            "model.cell=lstm",
                                            "optim.kind=sgd",
                                            "optim.lr=0.2",
                                            "optim.momentum=0.9",
                                            "optim.decay=0.7",
                                            "stats.of=h,f,c",
                                            NULL};
static const char *const dense_rmsprop[] = {COMMON,
                                            "model.dense=true",
                                            "optim.kind=rmsprop",
                                            "optim.eps_inside=true",
                                            "optim.decay=0.9",
                                            "optim.decay_after=2",
                                            NULL};
static const char *const words[] = {COMMON,
                                    "data.level=word",
                                    "model.bias=step",
                                    "loss.time=sum",
                                    "model.zoneout=0.2",
                                    "optim.kind=sgd",
                                    "optim.l2=1e-4",
                                    "optim.l2_on=weights",
                                    "optim.lr=0.1",
                                    NULL};

/* What a person changes on the way, before the cut. */
static void change(struct qn_trainer *t, bool wanted)
{
    static const char *const set[][2] = {{"optim.lr", "0.004"},
                                         {"optim.decay", "0.8"}};
    struct qn_err err;
    fixture_run(t, 60);
    for (int i = 0; wanted && i < 2; i++) {
        if (qn_trainer_set(t, set[i][0], set[i][1], &err) != QN_OK) {
            fail_msg("%s", err.text);
        }
    }
}

/* The run without a cut; the caller frees its path. */
static char *uncut(struct fixture *f, const char *const *settings, bool changed)
{
    struct qn_trainer *t = fixture_create(f, settings);
    change(t, changed);
    return fixture_finish(t);
}

/* A crash after step 110: what came after the checkpoint of 100 is lost. */
static char *crashed(struct fixture *f, const char *const *settings,
                     bool changed)
{
    struct qn_trainer *t = fixture_create(f, settings);
    change(t, changed);
    fixture_run(t, 110);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    return run;
}

/* The same by SIGKILL, in another process that tells its run's folder. */
static char *killed(struct fixture *f, const char *const *settings,
                    bool changed)
{
    int ends[2];
    char path[4096];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct qn_trainer *t = fixture_create(f, settings);
        change(t, changed);
        fixture_run(t, 110);
        fixture_settle(t);
        const char *dir = qn_trainer_dir(t);
        ssize_t n = write(ends[1], dir, strlen(dir));
        (void)kill(getpid(), n > 0 ? SIGKILL : SIGTERM);
        _exit(1); /* not reached */
    }
    int status;
    (void)close(ends[1]);
    ssize_t n = read(ends[0], path, sizeof path - 1);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(n > 0);
    path[n] = '\0';
    return qn_xstrdup(path);
}

static char *stopped(struct fixture *f, const char *const *settings,
                     bool changed)
{
    struct qn_trainer *t = fixture_create(f, settings);
    struct qn_err err;
    change(t, changed);
    fixture_run(t, 100);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    assert_int_equal(qn_trainer_stop(t, true, &err), QN_OK);
    qn_trainer_free(t);
    return run;
}

static void check_cut(struct fixture *f, const char *whole, char *run)
{
    struct qn_trainer *t = fixture_resume(f, run, NULL, 0);
    assert_int_equal(qn_trainer_step_count(t), 100);
    free(fixture_finish(t));
    assert_same_training(run, whole, STEPS);
    free(run);
}

static void check(struct fixture *f, const char *const *settings)
{
    char *whole = uncut(f, settings, false);
    check_cut(f, whole, killed(f, settings, false));
    check_cut(f, whole, stopped(f, settings, false));
    free(whole);
    whole = uncut(f, settings, true);
    check_cut(f, whole, crashed(f, settings, true));
    free(whole);
}

static void batch_norm_with_adam(void **state)
{
    check(*state, norm_adam);
}

static void an_lstm_with_momentum_and_decay(void **state)
{
    check(*state, lstm_momentum);
}

static void dense_layers_with_rmsprop(void **state)
{
    check(*state, dense_rmsprop);
}

static void words_with_step_biases_and_zoneout(void **state)
{
    check(*state, words);
}

static void all_of_them_on_the_cpu_backend(void **state)
{
    static const char *const *const all[] = {norm_adam, lstm_momentum,
                                             dense_rmsprop, words};
    struct fixture *f = *state;
    f->env.backend = "cpu";
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char *whole = uncut(f, all[i], true);
        check_cut(f, whole, crashed(f, all[i], true));
        free(whole);
    }
}

/* So that the cuts above do fall into epochs of another rate. */
static void decay_begins_after_its_epoch(void **state)
{
    struct fixture *f = *state;
    free(uncut(f, dense_rmsprop, false));
    for (int i = 0; i < f->told.n_steps; i++) {
        /* 40 steps an epoch, the first two at the full rate. */
        int decays = i / 40 > 1 ? i / 40 - 1 : 0;
        double rate = 0.01;
        for (int k = 0; k < decays; k++) {
            rate *= 0.9;
        }
        /* pow and the products round differently in their last bits. */
        double off = f->told.step[i].lr / rate - 1;
        assert_true(off < 1e-14 && off > -1e-14);
    }
    assert_int_equal(f->told.n_steps, STEPS);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(batch_norm_with_adam),
        CASE(an_lstm_with_momentum_and_decay),
        CASE(dense_layers_with_rmsprop),
        CASE(words_with_step_biases_and_zoneout),
        CASE(all_of_them_on_the_cpu_backend),
        CASE(decay_begins_after_its_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
