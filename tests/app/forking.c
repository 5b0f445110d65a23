/* forking.c - quern fork, from the command line to the last byte. */
#include "shell.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A run called "base" of 24 steps with checkpoints at every 4. */
static void train_base(void)
{
    free(quern_out("train " TINY
                   "name=base steps=24 checkpoint.every=4 eval.every=8 "
                   "checkpoint.keep.last=9"));
}

/* Fork it so, with --json; the start and the first step are the caller's. */
static void fork_json(const char *arguments, json_t **start, json_t **step)
{
    struct child c = child_start("fork base --json %s", arguments);
    *start = *step = NULL;
    for (json_t *line; (line = child_line(&c)) != NULL;) {
        const char *event = string(line, "event");
        if (strcmp(event, "start") == 0) {
            *start = json_incref(line);
        } else if (strcmp(event, "step") == 0 && *step == NULL) {
            *step = json_incref(line);
        }
        json_decref(line);
    }
    assert_int_equal(child_end(&c), 0);
    assert_non_null(*start);
    assert_non_null(*step);
}

static void a_fork_ends_like_its_parent(void **state)
{
    (void)state;
    json_t *start, *step;
    train_base();
    fork_json("--from 12", &start, &step);
    assert_true(number(step, "step") == 13);
    assert_int_equal(sh("cmp '%s/checkpoints/24/model.safetensors' "
                        "store/*-base/checkpoints/24/model.safetensors",
                        string(start, "dir")),
                     0);
    assert_int_equal(
        sh("test -e '%s/checkpoints/12/metric'", string(start, "dir")), 0);
    assert_int_equal(sh("grep -q '\"name\":\"base\"' '%s/parent.json'",
                        string(start, "dir")),
                     0);
    json_decref(start);
    json_decref(step);
}

static void a_fork_takes_settings_and_the_last_checkpoint(void **state)
{
    (void)state;
    json_t *start, *step;
    train_base();
    fork_json("steps=30 optim.lr=0.003 optim.kind=sgd", &start, &step);
    assert_true(number(step, "step") == 25);
    assert_true(number(step, "lr") == 0.003);
    json_decref(start);
    json_decref(step);
    char *runs = quern_out("runs");
    assert_non_null(strstr(runs, "base/fork-1"));
    free(runs);
}

static void it_says_where_it_goes_on(void **state)
{
    (void)state;
    train_base();
    struct outcome o = quern("fork base --from 8 steps=9");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, " goes on from step 8 of "));
    assert_non_null(strstr(o.out, "base~fork-1: 9 steps"));
    outcome_free(&o);
}

static void fails(const char *arguments, int status, const char *sentence)
{
    struct outcome o = quern("fork %s", arguments);
    assert_int_equal(o.status, status);
    if (strstr(o.err, sentence) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", o.err, sentence);
    }
    assert_string_equal(o.out, "");
    outcome_free(&o);
}

static void what_a_fork_cannot_do_is_said(void **state)
{
    (void)state;
    train_base();
    fails("base", 1, "a larger steps or epochs gives a fork something to do");
    fails("base --from 8 batch=2", 2, "batch is 4 and stays");
    fails("base --from 8 batch=2 seq=4", 2, "seq is 8 and stays");
    fails("base --from 8 batch=2", 2, "quern import ");
    fails("base --from 7", 1, "24");
    fails("nobody", 1, "nobody");
    fails("", 2, "a run");
    assert_int_equal(sh("test $(ls store | wc -l) = 1"), 0);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_fork_ends_like_its_parent),
        CASE(a_fork_takes_settings_and_the_last_checkpoint),
        CASE(it_says_where_it_goes_on),
        CASE(what_a_fork_cannot_do_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
