/* memory.c - a run takes the memory that was planned before its first step. */
#include "shell.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A sanitizer's own memory is not planned. */
#ifdef QN_SANITIZED
#define QN_MEASURES 0
#else
#define QN_MEASURES 1
#endif

/* So much the peak may lie beside the plan, on either side. */
#define SHARE 0.10
#define SLACK 64e6

/* An evaluation, a sample, statistics and a checkpoint. */
#define DUE "steps=2 eval.every=2 stats.every=2 checkpoint.every=2 "

static double beside(double plan, double peak)
{
    return plan > peak ? plan - peak : peak - plan;
}

/* Read what a run says to its end; its plan and, into *peak, what it held at
 * most. Into 'run', when it is not NULL, its name. */
static double planned(struct child *c, double *peak, char **run)
{
    double plan = 0;
    for (json_t *line; (line = child_line(c)) != NULL; json_decref(line)) {
        if (strcmp(string(line, "event"), "start") == 0) {
            plan = number(line, "memory");
            if (run != NULL) {
                *run = strdup(string(line, "run"));
            }
        }
    }
    struct rusage usage;
    int status;
    assert_int_equal(wait4(c->pid, &status, 0, &usage), c->pid);
    assert_int_equal(status, 0);
    (void)pclose(c->out); /* which finds nobody to wait for */
    *peak = (double)usage.ru_maxrss * 1024;
    return plan;
}

/* 'least' bytes, so that the slack is no excuse. */
static void check(double plan, double peak, double least)
{
    assert_true(peak >= least);
    if (beside(plan, peak) > SHARE * (plan < peak ? plan : peak) + SLACK) {
        fail_msg("planned %.0f MB, took %.0f MB", plan / 1e6, peak / 1e6);
    }
}

static void check_run(const char *settings, int threads, double least)
{
    double peak;
    char *run = NULL;
    if (!QN_MEASURES) {
        skip();
    }
    struct child c =
        child_start("train --json %s " DUE "threads=%d", settings, threads);
    double plan = planned(&c, &peak, &run);
    check(plan, peak, least);
    c = child_start("resume %s --json steps=4", run);
    plan = planned(&c, &peak, NULL);
    check(plan, peak, least);
    free(run);
}

#define TEXT "data.train=builtin:grammar sample.every=2 "

static void a_wide_batch_takes_what_was_planned(void **state)
{
    (void)state;
    check_run(TEXT "model.layers=3 model.hidden=128 batch=128 seq=100 "
                   "model.batch_norm=true",
              2, 200e6);
}

static void a_long_sequence_takes_what_was_planned(void **state)
{
    (void)state;
    check_run(TEXT "model.layers=3 model.hidden=128 batch=4 seq=4096 "
                   "model.cell=lstm",
              8, 200e6);
}

static void a_dense_stack_takes_what_was_planned(void **state)
{
    (void)state;
    check_run(TEXT "model.layers=4 model.hidden=100 batch=64 seq=200 "
                   "model.dense=true",
              1, 200e6);
}

/* Weights, moments and copies rather than activations; and a decoder. */
static void many_parameters_take_what_was_planned(void **state)
{
    (void)state;
    check_run(TEXT "model.layers=2 model.hidden=1200 batch=4 seq=20 "
                   "optim.kind=adam eval.limit=200",
              2, 300e6);
}

/* Documents of 1 to 1200 words, of 3,000 kinds. */
static void write_documents(const char *name, unsigned seed)
{
    struct qn_str text = {0};
    for (int i = 0; i < 300; i++) {
        qn_str_addf(&text, "%d\t5\t", i % 2);
        int n = i < 280 ? 1 + i % 90 * 10 : 1200 - i;
        for (int k = 0; k < n; k++) {
            seed = seed * 1103515245u + 12345u;
            qn_str_addf(&text, "w%u ", seed / 65536u % 3000u);
        }
        qn_str_add(&text, "\n");
    }
    write_file(name, text.text, text.len);
    qn_str_free(&text);
}

static void a_classifier_takes_what_was_planned(void **state)
{
    (void)state;
    write_documents("train.tsv", 1);
    check_run("task=classify data.train=train.tsv data.fold='1 of 3' batch=24 "
              "model.layers=3 model.hidden=128",
              2, 200e6);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_wide_batch_takes_what_was_planned),
        TEST(a_long_sequence_takes_what_was_planned),
        TEST(a_dense_stack_takes_what_was_planned),
        TEST(many_parameters_take_what_was_planned),
        TEST(a_classifier_takes_what_was_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
