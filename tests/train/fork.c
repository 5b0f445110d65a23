/* fork.c - a new run that goes on from a checkpoint of another one. */
#include "cuts.h"

#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "labelled.h"
#include "store/parent.h"
#include "train/trainer_self.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* The parent of most tests: all its checkpoints are there. */
static const char *const settings[] = {
    "name=parent",        "steps=50",        "eval.every=10 steps",
    "checkpoint.every=8", "stats.every=6",   "checkpoint.keep.last=20",
    "optim.kind=adam",    "model.dropout=0", NULL};

static struct qn_trainer *forked(struct fixture *f, const char *run,
                                 const char *from, const char *const *changes,
                                 int n)
{
    struct qn_trainer *t = NULL;
    struct qn_err err;
    if (qn_trainer_fork(&f->env, run, from, changes, n, &f->sink, &t, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}

static char *parent_run(struct fixture *f)
{
    return fixture_finish(fixture_create(f, settings));
}

static struct qn_parent parent_of(const char *run)
{
    struct qn_parent parent;
    struct qn_err err;
    if (qn_parent_read(run, &parent, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return parent;
}

static bool has_checkpoint(const char *run, int64_t step)
{
    char *path =
        qn_xasprintf("%s/checkpoints/%lld/metric", run, (long long)step);
    bool has = qn_path_exists(path);
    free(path);
    return has;
}

static double state_value(const char *run, int64_t step, const char *name)
{
    char *path = qn_xasprintf("%s/checkpoints/%lld/state.safetensors", run,
                              (long long)step);
    struct qn_st_file *file;
    struct qn_err err;
    assert_int_equal(qn_st_open(path, &file, &err), QN_OK);
    const struct qn_st_tensor *t = qn_st_find(file, name);
    assert_non_null(t);
    double most = 0;
    for (size_t i = 0; i < qn_st_count(t); i++) {
        double value = qn_st_value(t, i);
        most = value > most ? value : most;
    }
    qn_st_close(file);
    free(path);
    return most;
}

static void a_fork_without_changes_ends_like_its_parent(void **state)
{
    struct fixture *f = *state;
    char *run = parent_run(f);
    static const char *const from[] = {"8", "20", "48"};
    for (int i = 0; i < N(from); i++) {
        int told = f->told.n_steps;
        char *fork = fixture_finish(forked(f, run, from[i], NULL, 0));
        assert_same_file(fork, run, 50, "model.safetensors");
        assert_same_file(fork, run, 50, "state.safetensors");
        /* Its own steps are those after the checkpoint. */
        assert_int_equal(f->told.step[told].step, atoll(from[i]) + 1);
        assert_int_equal(f->told.n_steps - told, 50 - atoll(from[i]));
        free(fork);
    }
    free(run);
}

/* Those up to the checkpoint are in its settings, those after it not. */
static void changes_of_the_parent_hold_up_to_the_checkpoint(void **state)
{
    struct fixture *f = *state;
    static const struct cut_change changes[] = {{5, "optim.lr", "0.002"},
                                                {20, "optim.lr", "0.5"}};
    char *run = cut_uncut_of(f, settings, changes, 2);
    struct qn_trainer *t = forked(f, run, "16", NULL, 0);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.002);
    fixture_run(t, 22);
    assert_true(qn_trainer_spec(t)->optim.lr == 0.002);
    assert_int_equal(recorded_events(qn_trainer_dir(t), "set"), 0);
    qn_trainer_free(t);
    free(run);
}

static void a_fork_keeps_its_parent_and_its_beginning(void **state)
{
    struct fixture *f = *state;
    static const char *const few[] = {"checkpoint.keep.last=1",
                                      "notes=half the rate"};
    char *run = parent_run(f);
    char *fork = fixture_finish(forked(f, run, "16", few, 2));
    struct qn_parent parent = parent_of(fork);
    char sha256[65];
    uint64_t size;
    struct qn_err err;
    char *model = qn_path_join(fork, "checkpoints/16/model.safetensors");
    assert_int_equal(parent.relation, QN_FORK);
    assert_string_equal(parent.run, qn_path_base(run));
    assert_string_equal(parent.name, "parent");
    assert_int_equal(parent.step, 16);
    assert_int_equal(qn_file_sha256(model, sha256, &size, &err), QN_OK);
    assert_string_equal(parent.sha256, sha256);
    assert_same_file(fork, run, 16, "model.safetensors");
    assert_true(has_checkpoint(fork, 16));
    assert_false(has_checkpoint(fork, 24));
    free(model);
    free(fork);
    free(run);
}

static void forks_are_named_after_their_parent(void **state)
{
    struct fixture *f = *state;
    static const char *const name[] = {"name=other"};
    static const char *const wanted[] = {"parent/fork-1", "parent/fork-2",
                                         "other"};
    char *run = parent_run(f);
    for (int i = 0; i < N(wanted); i++) {
        struct qn_trainer *t = forked(f, run, "16", name, i == 2);
        assert_string_equal(qn_trainer_spec(t)->name, wanted[i]);
        qn_trainer_free(t);
    }
    free(run);
}

static void a_fork_begins_at_best_last_last_good_or_a_step(void **state)
{
    struct fixture *f = *state;
    static const char *const more[] = {"steps=60"};
    static const struct {
        const char *which;
        int64_t step;
    } from[] = {{NULL, 48}, {"last", 48}, {"last_good", 40}, {"32", 32}};
    struct qn_trainer *t = fixture_create(f, settings);
    fixture_run(t, 49);
    qn_trainer_tell(t, QN_NOTE_NAN, "nan", "text", "the loss is not finite");
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    for (int i = 0; i < N(from); i++) {
        t = forked(f, run, from[i].which, more, 1);
        assert_int_equal(qn_trainer_step_count(t), from[i].step);
        qn_trainer_free(t);
    }
    t = forked(f, run, "best", more, 1);
    struct qn_best best;
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, qn_trainer_step_count(t));
    qn_trainer_free(t);
    free(run);
}

/* The best so far is one of its own checkpoints or none. */
static void the_best_of_a_fork_is_its_own(void **state)
{
    struct fixture *f = *state;
    char *run = parent_run(f);
    struct qn_best best;
    struct qn_trainer *t = forked(f, run, "16", NULL, 0); /* best is 10 */
    assert_false(qn_trainer_best(t, &best));
    qn_trainer_free(t);
    t = forked(f, run, "20", NULL, 0);
    assert_true(qn_trainer_best(t, &best));
    assert_int_equal(best.step, 20);
    assert_true(qn_trainer_seconds(t) == 0);
    qn_trainer_free(t);
    free(run);
}

static void another_rule_begins_with_moments_of_zero(void **state)
{
    struct fixture *f = *state;
    static const char *const sgd[] = {"optim.kind=sgd", "optim.lr=0.5",
                                      "optim.momentum=0.5"};
    static const char *const adam[] = {"optim.kind=adam", "optim.lr=0.01",
                                       "steps=60"};
    char *run = parent_run(f);
    assert_true(state_value(run, 16, "optim.v") > 0);
    int told = f->told.n_steps;
    char *fork = fixture_finish(forked(f, run, "16", sgd, 3));
    assert_true(state_value(fork, 16, "optim.m") == 0);
    assert_true(state_value(fork, 16, "updates") == 0);
    assert_true(state_value(fork, 50, "updates") == 34);
    /* The first step is still made of the same weights and data. */
    assert_true(f->told.step[told].loss == f->told.step[16].loss);
    assert_true(f->told.step[told + 1].loss != f->told.step[17].loss);
    char *again = fixture_finish(forked(f, fork, "50", adam, 3));
    assert_true(state_value(again, 50, "optim.v") == 0);
    assert_true(state_value(again, 60, "optim.v") > 0);
    free(again);
    free(fork);
    free(run);
}

static void refuses(struct fixture *f, const char *run, const char *from,
                    const char *const *changes, int n, enum qn_status wanted,
                    const char *sentence)
{
    struct qn_trainer *t;
    struct qn_err err;
    assert_int_equal(
        qn_trainer_fork(&f->env, run, from, changes, n, NULL, &t, &err),
        wanted);
    if (strstr(err.text, sentence) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    }
}

static size_t n_runs(const struct fixture *f)
{
    char **names;
    size_t n;
    struct qn_err err;
    assert_int_equal(qn_dir_list(f->store, &names, &n, &err), QN_OK);
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
    return n;
}

static void what_cuts_the_data_cannot_change(void **state)
{
    struct fixture *f = *state;
    static const char *const wrong[] = {"batch=2", "seq=16", "task=classify",
                                        "data.lower=true", "optim.lr=-1"};
    char *run = parent_run(f);
    refuses(f, run, "16", wrong, 1, QN_EUSAGE,
            "batch is 4 and stays: a fork goes on where its parent was in the "
            "data");
    refuses(f, run, "16", wrong, 1, QN_EUSAGE, "quern import ");
    refuses(f, run, "16", wrong, 1, QN_EUSAGE,
            "checkpoints/16/model.safetensors makes a new run");
    for (int i = 0; i < 4; i++) {
        refuses(f, run, "16", &wrong[i], 1, QN_EUSAGE, "stays");
    }
    /* All at once, and what is wrong anywhere too. */
    refuses(f, run, "16", wrong, 5, QN_EUSAGE, "seq is 8 and stays");
    refuses(f, run, "16", wrong, 5, QN_EUSAGE, "optim.lr");
    /* To say what is so anyway is no change. */
    static const char *const same[] = {"batch=4", "seq=8"};
    qn_trainer_free(forked(f, run, "16", same, 2));
    assert_int_equal(n_runs(f), 2);
    free(run);
}

static void other_shapes_are_named(void **state)
{
    struct fixture *f = *state;
    static const char *const wide[] = {"model.hidden=16"};
    static const char *const tanh[] = {"model.activation=tanh"};
    char *run = parent_run(f);
    refuses(f, run, "16", wide, 1, QN_EFORMAT, "layers.0.conv.weight");
    assert_int_equal(n_runs(f), 1);
    free(run);
    /* What has the same shapes may be another thing. */
    static const char *const relu[] = {"model.activation=relu", "steps=12",
                                       NULL};
    run = fixture_finish(fixture_create(f, relu));
    static const char *const more[] = {"model.activation=tanh", "steps=14"};
    free(fixture_finish(forked(f, run, "last", more, 2)));
    refuses(f, run, "last", tanh, 1, QN_ESTATE, "a larger steps or epochs");
    free(run);
}

static void a_parent_that_is_done_leaves_nothing_to_do(void **state)
{
    struct fixture *f = *state;
    static const char *const fewer[] = {"steps=40"};
    char *run = parent_run(f);
    refuses(f, run, "last", NULL, 0, QN_ESTATE,
            "is at step 50 of 50: a larger steps or epochs gives a fork "
            "something to do");
    refuses(f, run, "48", fewer, 1, QN_ESTATE, "is at step 48 of 40");
    refuses(f, run, "17", NULL, 0, QN_ENOTFOUND, "48");
    assert_int_equal(n_runs(f), 1);
    free(run);
}

static void a_text_that_has_changed_is_refused(void **state)
{
    struct fixture *f = *state;
    struct qn_bytes text;
    struct qn_err err;
    char *run = parent_run(f);
    assert_int_equal(qn_file_read(f->text, &text, &err), QN_OK);
    text.data[0] = text.data[4];
    assert_int_equal(qn_file_write(f->text, text.data, text.len, &err), QN_OK);
    qn_bytes_free(&text);
    refuses(f, run, "16", NULL, 0, QN_ESTATE, "has changed");
    free(run);
}

static void a_damaged_checkpoint_is_refused(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    char *run = parent_run(f);
    char *path = qn_path_join(run, "checkpoints/16/model.safetensors");
    assert_int_equal(qn_file_write(path, "abc", 3, &err), QN_OK);
    refuses(f, run, "16", NULL, 0, QN_EFORMAT, "model.safetensors");
    assert_int_equal(n_runs(f), 1);
    free(path);
    free(run);
}

/* Fork and train a few steps in a child that is then killed; the fork's folder.
 */
static char *killed_fork(struct fixture *f, const char *run, int64_t cut)
{
    int out[2];
    char dir[512] = {0};
    assert_int_equal(pipe(out), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct qn_trainer *t = forked(f, run, "16", NULL, 0);
        const char *path = qn_trainer_dir(t);
        fixture_run(t, cut);
        if (write(out[1], path, strlen(path)) > 0) {
            (void)kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(read(out[0], dir, sizeof dir - 1) > 0);
    (void)close(out[0]);
    (void)close(out[1]);
    return qn_xstrdup(dir);
}

static void a_fork_killed_at_its_first_steps_goes_on(void **state)
{
    struct fixture *f = *state;
    char *run = parent_run(f);
    for (int64_t cut = 16; cut < 20; cut++) {
        char *fork = killed_fork(f, run, cut);
        struct qn_trainer *t = fixture_resume(f, fork, NULL, 0);
        assert_int_equal(qn_trainer_step_count(t), 16);
        free(fixture_finish(t));
        assert_same_file(fork, run, 50, "model.safetensors");
        assert_same_file(fork, run, 50, "state.safetensors");
        free(fork);
    }
    free(run);
}

/* Whoever removed its checkpoints: the seed is not where it began. */
static void a_fork_without_its_beginning_does_not_begin_anew(void **state)
{
    struct fixture *f = *state;
    static const char *const gone[] = {"checkpoints", "best", "last"};
    struct qn_err err;
    char *run = parent_run(f);
    char *fork = killed_fork(f, run, 16);
    for (int i = 0; i < N(gone); i++) {
        char *path = qn_path_join(fork, gone[i]);
        assert_int_equal(qn_remove_tree(path, &err), QN_OK);
        free(path);
    }
    char *empty = qn_path_join(fork, "checkpoints");
    assert_int_equal(qn_make_dirs(empty, &err), QN_OK);
    struct qn_trainer *t;
    assert_int_equal(qn_trainer_resume(&f->env, fork, NULL, 0, NULL, &t, &err),
                     QN_ESTATE);
    assert_non_null(strstr(err.text, "checkpoint of step 16 of parent"));
    assert_non_null(strstr(err.text, "fork that run again"));
    free(empty);
    free(fork);
    free(run);
}

/* The parent trains in another process and removes checkpoints all the time. */
static void a_run_can_be_forked_while_it_trains(void **state)
{
    struct fixture *f = *state;
    static const char *const busy[] = {"steps=100000", "checkpoint.every=10",
                                       "checkpoint.keep.last=2", NULL};
    struct qn_trainer *t = fixture_create(f, busy);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    fixture_run(t, 11);
    qn_trainer_free(t);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture_run(fixture_resume(f, run, NULL, 0), INT64_MAX);
        _exit(1);
    }
    for (int i = 0; i < 8; i++) {
        t = forked(f, run, "last", NULL, 0);
        int64_t from = qn_trainer_step_count(t);
        assert_true(from >= 10);
        fixture_run(t, from + 1);
        assert_int_equal(parent_of(qn_trainer_dir(t)).step, from);
        qn_trainer_free(t);
    }
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    free(run);
}

/* They are in the parent's folder, wherever their file has gone. */
static void a_fork_has_the_word_vectors_of_its_parent(void **state)
{
    struct labelled *l = *state;
    static const char *const goes_on[] = {"steps=30", "checkpoint.every=6",
                                          "checkpoint.keep.last=9", NULL};
    struct qn_err err;
    struct qn_bytes a, b;
    char *run = fixture_finish(labelled_create(l, goes_on));
    assert_int_equal(qn_remove_tree(l->vectors, &err), QN_OK);
    char *fork = fixture_finish(forked(l->f, run, "12", NULL, 0));
    assert_same_file(fork, run, 30, "model.safetensors");
    static const char *const files[] = {"vectors.safetensors", "vocab.txt",
                                        "code.json"};
    for (int i = 0; i < N(files); i++) {
        char *of_run = qn_path_join(run, files[i]);
        char *of_fork = qn_path_join(fork, files[i]);
        assert_int_equal(qn_file_read(of_run, &a, &err), QN_OK);
        assert_int_equal(qn_file_read(of_fork, &b, &err), QN_OK);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
        qn_bytes_free(&a);
        qn_bytes_free(&b);
        free(of_run);
        free(of_fork);
    }
    free(fork);
    free(run);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_fork_without_changes_ends_like_its_parent),
        CASE(changes_of_the_parent_hold_up_to_the_checkpoint),
        CASE(a_fork_keeps_its_parent_and_its_beginning),
        CASE(forks_are_named_after_their_parent),
        CASE(a_fork_begins_at_best_last_last_good_or_a_step),
        CASE(the_best_of_a_fork_is_its_own),
        CASE(another_rule_begins_with_moments_of_zero),
        CASE(what_cuts_the_data_cannot_change),
        CASE(other_shapes_are_named),
        CASE(a_parent_that_is_done_leaves_nothing_to_do),
        CASE(a_text_that_has_changed_is_refused),
        CASE(a_damaged_checkpoint_is_refused),
        CASE(a_fork_killed_at_its_first_steps_goes_on),
        CASE(a_fork_without_its_beginning_does_not_begin_anew),
        CASE(a_run_can_be_forked_while_it_trains),
        cmocka_unit_test_setup_teardown(
            a_fork_has_the_word_vectors_of_its_parent, labelled_setup,
            labelled_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
