/* rerunning.c - quern rerun and compare: the same, or what differs. */
#include "shell.h"

#include "base/file.h"
#include "base/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The last line that a command printed, as JSON. */
static json_t *last_line(const char *out)
{
    size_t len = strlen(out);
    assert_true(len > 1 && out[len - 1] == '\n');
    const char *at = out + len - 1;
    while (at > out && at[-1] != '\n') {
        at--;
    }
    return parse(at);
}

/* Rerun with --json; what it says at its end. */
static json_t *rerun(const char *words, int status)
{
    struct outcome o = quern("rerun --json %s", words);
    if (o.status != status) {
        fail_msg("rerun %s: %d, %s", words, o.status, o.err);
    }
    json_t *compared = last_line(o.out);
    assert_string_equal(string(compared, "event"), "compared");
    outcome_free(&o);
    return compared;
}

static bool is_true(const json_t *object, const char *key)
{
    assert_true(json_is_boolean(json_object_get(object, key)));
    return json_is_true(json_object_get(object, key));
}

static void assert_same(json_t *compared, int steps, int weights_step)
{
    assert_true(is_true(compared, "same") && is_true(compared, "complete"));
    assert_true(number(compared, "steps") == steps);
    assert_true(number(compared, "weights_step") == weights_step);
    assert_true(is_true(compared, "weights_same"));
    json_decref(compared);
}

/* The difference of this name, or NULL. */
static const json_t *difference(const json_t *compared, const char *what)
{
    const json_t *all = json_object_get(compared, "differences");
    for (size_t i = 0; i < json_array_size(all); i++) {
        if (qn_str_eq(string(json_array_get(all, i), "what"), what)) {
            return json_array_get(all, i);
        }
    }
    return NULL;
}

static void assert_says(const char *out, const char *text)
{
    if (strstr(out, text) == NULL) {
        fail_msg("no \"%s\" in: %s", text, out);
    }
}

static int n_runs(void)
{
    return sh("exit $(ls store | wc -l)");
}

static void an_undisturbed_rerun_comes_out_the_same(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=20 name=a"));
    char *out = quern_out("rerun a");
    assert_says(out, "the same: the losses of 20 steps and the weights of step "
                     "20 are equal to the last bit\n");
    assert_null(strstr(out, "then"));
    free(out);
    assert_int_equal(sh("grep -q '\"relation\":\"rerun\"' store/*-a~rerun-1/"
                        "parent.json"),
                     0);
    assert_same(rerun("a/rerun-1", 0), 20, 20);
}

static void a_setting_changed_by_hand_is_named_and_no_failure(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    char *out = quern_out("rerun a seed=2");
    assert_says(out, "not the same: the loss differs from step 1 on (");
    assert_says(out, ", and so do the weights of step 5\n  seed  1 then, 2 "
                     "now\n");
    free(out);
    /* One that decides nothing is no excuse, and none is needed. */
    json_t *c = rerun("a log.every=none", 0);
    assert_non_null(difference(c, "log.every"));
    assert_same(c, 5, 5);
}

/* The value is the one it began with, but what was set later is not made. */
static void so_is_one_that_was_changed_while_it_trained(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    free(quern_out("resume a steps=10 optim.lr=0.03"));
    json_t *c = rerun("a optim.lr=0.01", 0);
    assert_false(is_true(c, "same"));
    assert_non_null(difference(c, "optim.lr after step 5"));
    json_decref(c);
}

static void one_byte_of_the_data_is_named_and_a_failure(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    assert_int_equal(sh("printf c | dd of=text.txt conv=notrunc 2>dd.log"), 0);
    json_t *c = rerun("a", 1);
    assert_false(is_true(c, "same"));
    assert_non_null(difference(c, "SHA-256 of data.train"));
    json_decref(c);
    /* A symbol that was not there makes another vocabulary. */
    assert_int_equal(sh("printf Q | dd of=text.txt conv=notrunc 2>dd.log"), 0);
    struct outcome o = quern("rerun a");
    assert_int_equal(o.status, 1);
    assert_says(o.out, "SHA-256 of data.train  ");
    assert_says(o.out, "... then, ");
    outcome_free(&o);
}

static void without_the_data_there_is_no_rerun(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    assert_int_equal(sh("mv text.txt gone.txt"), 0);
    struct outcome o = quern("rerun a");
    assert_int_equal(o.status, 1);
    assert_says(o.err, "text.txt");
    outcome_free(&o);
    assert_int_equal(n_runs(), 1);
}

/* Which kernels round otherwise depends on the machine; that another one was
 * used is said in any case. */
static void another_kernel_of_openblas_is_named(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    (void)setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    struct outcome o = quern("rerun a --json");
    (void)unsetenv("OPENBLAS_CORETYPE");
    json_t *c = last_line(o.out);
    bool same = is_true(c, "same");
    assert_int_equal(o.status, same ? 0 : 1);
    const json_t *kernel = difference(c, "blas_kernel");
    bool was_another = sh("grep -h blas_kernel store/*/code.json | "
                          "grep -o 'kernel\":\"[^\"]*' | sort -u | "
                          "wc -l | grep -qx ' *2'") == 0;
    assert_true((kernel != NULL) == was_another);
    assert_true(same || was_another);
    json_decref(c);
    outcome_free(&o);
}

static void a_change_that_a_script_made_is_made_again(void **state)
{
    (void)state;
    static const char script[] =
        "local r = qn.train{ name = 'a', threads = 2, batch = 4, seq = 8,\n"
        "  data = { train = 'text.txt' }, optim = { lr = 0.01 },\n"
        "  model = { layers = 1, hidden = 12, embed = 6 }, steps = 1000,\n"
        "  eval = { every = 'none' }, checkpoint = { every = 'none' } }\n"
        "r:wait{ until_ = function(x) return x.step >= 10 end }\n"
        "r:set{ lr = 0.05 }\n"
        "r:wait()\n";
    write_file("s.lua", script, sizeof script - 1);
    free(quern_out("s.lua"));
    assert_int_equal(sh("grep -q '\"set\"' store/*-a/events.jsonl"), 0);
    assert_same(rerun("a", 0), 1000, 1000);
    /* Where a person sets the same key, the change is not made. */
    json_t *c = rerun("a optim.lr=0.02", 0);
    assert_false(is_true(c, "same"));
    assert_non_null(difference(c, "optim.lr"));
    assert_int_equal(json_array_size(json_object_get(c, "differences")), 2);
    json_decref(c);
}

static void a_resumed_run_is_done_again_in_one_go(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=10 name=a"));
    free(quern_out("resume a steps=20 optim.lr=0.02"));
    free(quern_out("resume a steps=25 optim.lr=0.03"));
    assert_same(rerun("a", 0), 25, 25);
}

static void a_stopped_run_is_done_again_up_to_its_stop(void **state)
{
    (void)state;
    struct child c = child_start("train --json " TINY "steps=100000 name=a");
    assert_true(child_reach(&c, 12));
    assert_int_equal(kill(c.pid, SIGTERM), 0);
    assert_int_equal(child_end(&c), 0);
    json_t *compared = rerun("a", 0);
    int steps = (int)number(compared, "steps");
    assert_true(steps >= 12);
    assert_same(compared, steps, steps);
}

static void time_that_ended_a_run_does_not_end_its_rerun(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=100000 stop.after='0.1 s' name=a"));
    json_t *compared = rerun("a", 0);
    int steps = (int)number(compared, "steps");
    assert_null(difference(compared, "stop.after"));
    assert_same(compared, steps, steps);
}

static void a_killed_run_is_done_again_to_its_last_checkpoint(void **state)
{
    (void)state;
    struct child c = child_start("train --json " TINY
                                 "steps=100000 checkpoint.every=5 name=a");
    assert_true(child_reach(&c, 33));
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    (void)child_end(&c);
    json_t *compared = rerun("a", 0);
    int steps = (int)number(compared, "steps");
    assert_true(steps >= 25 && steps % 5 == 0);
    assert_same(compared, steps, steps);
}

static void an_interrupted_rerun_is_compared_once_it_is_resumed(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=1500 log.every=none name=a"));
    struct child c = child_start("rerun --json a name=b");
    assert_true(child_reach(&c, 5));
    assert_int_equal(kill(c.pid, SIGTERM), 0);
    assert_int_equal(child_end(&c), 1);
    assert_int_equal(sh("grep -q 'go on with: quern resume' .err"), 0);
    assert_int_equal(sh("grep -q 'compare with: quern compare' .err"), 0);
    free(quern_out("compare a b"));
    char *out = quern_out("resume b");
    assert_says(out, "done: 1500 steps");
    free(out);
    out = quern_out("compare a b");
    assert_says(out, "the same: the losses of 1500 steps and the weights of "
                     "step 1500 are equal");
    free(out);
}

static void a_damaged_history_is_said_before_anything_is_trained(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    assert_int_equal(sh("sed -i 3s/^.// store/*-a/metrics.jsonl"), 0);
    struct outcome o = quern("rerun a");
    assert_int_equal(o.status, 1);
    assert_says(o.err, "metrics.jsonl: line 3");
    outcome_free(&o);
    assert_int_equal(n_runs(), 1);
}

static void damaged_weights_are_named_and_not_compared(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=20 checkpoint.every=10 name=a"));
    assert_int_equal(sh("printf XX | dd of=$(ls store/*-a/checkpoints/20/"
                        "model.safetensors) bs=1 seek=2000 conv=notrunc "
                        "2>dd.log"),
                     0);
    json_t *c = rerun("a", 0);
    const json_t *d = difference(c, "checkpoint 20");
    assert_non_null(d);
    assert_says(string(d, "then"), "model.safetensors");
    assert_string_equal(string(d, "now"), "whole");
    assert_same(c, 20, 10);
}

static void what_was_only_imported_cannot_be_done_again(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    free(quern_out("import store/*-a/checkpoints/5/model.safetensors name=b "
                   "batch=4 seq=8 data.train=text.txt threads=2 "
                   "eval.every=none"));
    struct outcome o = quern("rerun b");
    assert_int_equal(o.status, 1);
    assert_says(o.err, "imported");
    outcome_free(&o);
    /* Once it has been trained it can, from the weights that came. */
    free(quern_out("resume b steps=6"));
    assert_same(rerun("b", 0), 6, 6);
    assert_same(rerun("b/rerun-1", 0), 6, 6);
}

static void a_fork_is_done_again_without_its_parent(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=20 checkpoint.every=5 name=a"));
    free(quern_out("resume a steps=25 optim.lr=0.03"));
    free(quern_out("fork a --from 20 steps=30 model.dropout=0.1 name=f"));
    assert_int_equal(sh("rm -r store/*-a"), 0);
    assert_same(rerun("f", 0), 10, 30);
    assert_int_equal(sh("grep -q '\"step\":20' store/*rerun-1/parent.json"), 0);
    assert_same(rerun("f/rerun-1", 0), 10, 30);
    /* Its length decides the place in the text, which must be the same. */
    assert_int_equal(sh("sed -i s/mat/mas/g text.txt"), 0);
    json_t *c = rerun("f", 1);
    assert_non_null(difference(c, "SHA-256 of data.train"));
    json_decref(c);
}

static void two_runs_that_differ_are_compared_without_training(void **state)
{
    (void)state;
    free(quern_out("train " TINY "steps=5 name=a"));
    free(quern_out("train " TINY "steps=7 model.hidden=13 name=b"));
    struct outcome o = quern("compare a b");
    assert_int_equal(o.status, 1);
    assert_says(o.out, "not the same: the loss differs from step 1 on");
    assert_says(o.out, "  model.hidden  12 then, 13 now\n");
    outcome_free(&o);
    free(quern_out("train " TINY "steps=10 name=a seed=3"));
    o = quern("compare a b");
    assert_non_null(strstr(o.err, "2 runs are called a; taking the newest"));
    outcome_free(&o);
    o = quern("compare a nosuch");
    assert_int_equal(o.status, 1);
    assert_says(o.err, "nosuch");
    outcome_free(&o);
    o = quern("compare a");
    assert_int_equal(o.status, 2);
    outcome_free(&o);
}

#define WITH_SHELL(name)                                                       \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(an_undisturbed_rerun_comes_out_the_same),
        WITH_SHELL(a_setting_changed_by_hand_is_named_and_no_failure),
        WITH_SHELL(so_is_one_that_was_changed_while_it_trained),
        WITH_SHELL(one_byte_of_the_data_is_named_and_a_failure),
        WITH_SHELL(without_the_data_there_is_no_rerun),
        WITH_SHELL(another_kernel_of_openblas_is_named),
        WITH_SHELL(a_change_that_a_script_made_is_made_again),
        WITH_SHELL(a_resumed_run_is_done_again_in_one_go),
        WITH_SHELL(a_stopped_run_is_done_again_up_to_its_stop),
        WITH_SHELL(time_that_ended_a_run_does_not_end_its_rerun),
        WITH_SHELL(a_killed_run_is_done_again_to_its_last_checkpoint),
        WITH_SHELL(an_interrupted_rerun_is_compared_once_it_is_resumed),
        WITH_SHELL(a_damaged_history_is_said_before_anything_is_trained),
        WITH_SHELL(damaged_weights_are_named_and_not_compared),
        WITH_SHELL(what_was_only_imported_cannot_be_done_again),
        WITH_SHELL(a_fork_is_done_again_without_its_parent),
        WITH_SHELL(two_runs_that_differ_are_compared_without_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
