/* failing.c - a disk that fails at any call: all or nothing, and no step lost.
 * usage: faults_failing [STRIDE]   every STRIDE-th call; 1: all of them
 *
 * faulty.c makes the calls fail. Which one number n is may differ from run to
 * run, since checkpoints are written beside training; what is claimed holds
 * for each. */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SETTINGS                                                               \
    "data.train=text.txt batch=4 seq=8 threads=2 model.layers=1 "              \
    "model.hidden=6 model.embed=4 optim.lr=0.01 eval.every=3 "                 \
    "stats.every=4 checkpoint.every=2 sample.every=4 sample.length=6 "         \
    "steps=9 name=run "

struct fault {
    int first, count; /* calls that fail; count 0: all from there on */
    int error;
    bool half; /* the first one writes half of its bytes instead */
};

/* One after the other, as n counts on. */
static const struct fault kinds_of_fault[] = {
    {.count = 1, .error = ENOSPC}, {.count = 3, .error = EIO},
    {.count = 2, .error = EDQUOT}, {.count = 2, .error = ENOSPC, .half = true},
    {.count = 4, .error = EROFS},
};
#define N_KINDS ((int)(sizeof kinds_of_fault / sizeof *kinds_of_fault))

static void set_number(const char *name, int value)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", value);
    (void)setenv(name, text, 1);
}

/* From here on programs find a disk like this below a folder. */
static void plant(const struct fault *f, const char *below)
{
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    char *folder = qn_path_join(here, below);
    (void)setenv("QN_FAULT_BELOW", folder, 1);
    (void)setenv("QN_TEST_HASTE", "1", 1);
    set_number("QN_FAULT_FIRST", f->first);
    set_number("QN_FAULT_COUNT", f->count);
    set_number("QN_FAULT_ERRNO", f->error);
    if (f->half) {
        (void)setenv("QN_FAULT_SHORT", "1", 1);
    } else {
        (void)unsetenv("QN_FAULT_SHORT");
    }
    (void)setenv("LD_PRELOAD", QN_FAULTY, 1);
    free(folder);
}

static void lift(void)
{
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("QN_FAULT_BELOW");
    (void)unsetenv("QN_FAULT_LOG");
}

/* How many calls of "quern <line>" concern the folder when none fails. */
static int n_calls(const char *line, const char *below)
{
    (void)unlink("calls");
    (void)setenv("QN_FAULT_LOG", "calls", 1);
    plant(&(struct fault){.count = 1}, below);
    free(quern_out("%s", line));
    lift();
    char *calls = file_text("calls");
    int n = n_lines(calls);
    free(calls);
    return n;
}

static int stride(void)
{
    const char *given = getenv("QN_STRIDE");
    return given != NULL ? atoi(given) : 1;
}

/* What a fault did, for a failure's sake. */
static char *described(const struct fault *f)
{
    return qn_xasprintf("call %d and %d more%s: %s", f->first, f->count - 1,
                        f->half ? " (half)" : "", strerror(f->error));
}

/* Nothing of a run that could not be made is left, hidden or not. */
static bool is_empty(const char *store)
{
    return sh("test -z \"$(ls -A %s 2>.ls)\"", store) == 0;
}

static bool same_run(const char *store)
{
    static const char *const files[] = {"best", "last",
                                        "checkpoints/9/model.safetensors",
                                        "checkpoints/9/state.safetensors"};
    char *run = only_run(store), *calm = only_run("calm");
    assert_non_null(run);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *ours = qn_path_join(run, files[i]);
        char *theirs = qn_path_join(calm, files[i]);
        same_bytes(ours, theirs);
        free(ours);
        free(theirs);
    }
    struct view a = view_of(run), b = view_of(calm);
    same_view(&a, &b);
    view_free(&a);
    view_free(&b);
    free(calm);
    free(run);
    return true;
}

static void make_calm(void)
{
    write_sentences("text.txt", 60, 3);
    free(quern_out("train --json --store calm " SETTINGS));
}

/* Room comes back: it was not made, or it trains to its end by itself. */
static void survive(const struct fault *f)
{
    char *what = described(f);
    assert_int_equal(sh("rm -rf store"), 0);
    plant(f, "store");
    struct outcome o = tried("train --json " SETTINGS);
    lift();
    if (o.status == 1) {
        if (!is_one_sentence(o.err) || !is_empty("store")) {
            fail_msg("%s: %s%s", what, o.err,
                     is_empty("store") ? "" : "and a folder is left");
        }
    } else {
        char *state = run_state("store");
        if (strcmp(state, "done") != 0) {
            fail_msg("%s: %s", what, state);
        }
        free(state);
        (void)same_run("store");
    }
    outcome_free(&o);
    free(what);
}

static void room_that_comes_back_lets_a_run_go_on_by_itself(void **state)
{
    (void)state;
    make_calm();
    int n = n_calls("train --store counted " SETTINGS, "counted");
    int k = 0;
    assert_true(n > 50);
    for (int i = 1; i <= n; i += stride()) {
        struct fault f = kinds_of_fault[k++ % N_KINDS];
        f.first = i;
        survive(&f);
    }
}

/* Until it pauses, or ends by itself. */
static void read_until_pause(struct child *c)
{
    json_t *line;
    bool paused = false;
    while (!paused && (line = child_line(c)) != NULL) {
        paused = strcmp(string(line, "event"), "pause") == 0;
        json_decref(line);
    }
}

/* No room ever: SIGTERM ends it, and later it goes on to the same bytes. */
static void outlast(const struct fault *f)
{
    char *what = described(f);
    assert_int_equal(sh("rm -rf store"), 0);
    plant(f, "store");
    struct child c = child_start("train --json " SETTINGS);
    read_until_pause(&c);
    (void)kill(c.pid, SIGTERM);
    int status = child_end(&c);
    lift();
    char *said = file_text(".err");
    char *run = only_run("store");
    if (status != 1 || strncmp(said, "quern: ", 7) != 0 ||
        (run == NULL && !is_one_sentence(said)) ||
        (run != NULL && strstr(said, "go on with: ") == NULL) ||
        (run == NULL && !is_empty("store"))) {
        fail_msg("%s, for ever: status %d, %s", what, status, said);
    }
    if (run != NULL) {
        free(quern_out("resume %s", run));
        (void)same_run("store");
    }
    free(run);
    free(said);
    free(what);
}

static void without_room_a_signal_ends_it_and_nothing_is_lost(void **state)
{
    (void)state;
    make_calm();
    int n = n_calls("train --store counted " SETTINGS, "counted");
    for (int i = 1; i <= n; i += 2 * stride()) {
        outlast(&(struct fault){.first = i, .error = i % 3 ? ENOSPC : EROFS});
    }
}

/* The last line said is the reason; those before it tell what was read. */
static bool gives_a_reason(const char *said)
{
    const char *last = said;
    for (const char *at = said; qn_starts_with(at, "quern: ");
         at += strcspn(at, "\n") + 1) {
        last = at;
    }
    return is_one_sentence(last);
}

/* "quern <line>" writes below a folder all it has to, or leaves what was. */
static void all_or_nothing(const char *line, const char *below)
{
    int n = n_calls(line, below);
    assert_true(n > 3);
    assert_int_equal(sh("rm -rf %s", below), 0);
    for (int i = 1; i <= n; i += stride()) {
        for (int count = 0; count < 2; count++) {
            struct fault f = {.first = i,
                              .count = count,
                              .error = i % 2 ? ENOSPC : EIO,
                              .half = i % 5 == 0};
            plant(&f, below);
            struct outcome o = tried("%s", line);
            lift();
            bool good =
                o.status == 0 || (gives_a_reason(o.err) && is_empty(below));
            if (!good) {
                (void)sh("ls -AR %s >&2", below);
                fail_msg("%s: call %d, %d: status %d, %s", line, i, count,
                         o.status, o.err);
            }
            outcome_free(&o);
            assert_int_equal(sh("rm -rf %s", below), 0);
        }
    }
}

static void an_export_is_whole_or_leaves_nothing(void **state)
{
    (void)state;
    make_calm();
    char *run = only_run("calm");
    char *line = qn_xasprintf("export %s --to out --formats "
                              "csv,jsonl,safetensors,tfevents",
                              run);
    all_or_nothing(line, "out");
    free(line);
    free(run);
}

static void an_import_is_whole_or_leaves_nothing(void **state)
{
    (void)state;
    make_calm();
    assert_int_equal(
        sh("cp calm/*/checkpoints/9/model.safetensors given.safetensors"), 0);
    all_or_nothing("import given.safetensors data.train=text.txt batch=4 "
                   "seq=8 name=b",
                   "store");
}

/* The run that is forked lies elsewhere and has room. */
static void a_fork_is_whole_or_leaves_nothing(void **state)
{
    (void)state;
    if (sh("%s fork --help >.out 2>.err", QUERN) != 0) {
        skip();
    }
    make_calm();
    char *run = only_run("calm");
    char *before = tree(run, "lock");
    /* A fork that is made goes on by itself; stop.after keeps it short. */
    char *line = qn_xasprintf("fork %s steps=10", run);
    int n = n_calls(line, "store");
    for (int i = 1; i <= n; i += stride()) {
        assert_int_equal(sh("rm -rf store"), 0);
        struct fault f = {.first = i, .count = 2, .error = ENOSPC};
        plant(&f, "store");
        struct outcome o = tried("%s", line);
        lift();
        if (o.status != 0 && (!gives_a_reason(o.err) || !is_empty("store"))) {
            fail_msg("%s: call %d: %s", line, i, o.err);
        }
        outcome_free(&o);
    }
    char *after = tree(run, "lock");
    assert_string_equal(before, after);
    free(after);
    free(before);
    free(line);
    free(run);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(room_that_comes_back_lets_a_run_go_on_by_itself),
        TEST(without_room_a_signal_ends_it_and_nothing_is_lost),
        TEST(an_export_is_whole_or_leaves_nothing),
        TEST(an_import_is_whole_or_leaves_nothing),
        TEST(a_fork_is_whole_or_leaves_nothing),
    };
    if (!can_preload()) {
        printf("skipped: a sanitizer wants to be loaded first\n");
        return 77;
    }
    if (argc > 1) {
        (void)setenv("QN_STRIDE", argv[1], 1);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
