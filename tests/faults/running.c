/* running.c - what others do to a run while it is trained: files that go away,
 * a second process, a clock that is set. */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SETTINGS                                                               \
    "data.train=text.txt batch=4 seq=8 threads=2 model.layers=1 "              \
    "model.hidden=6 model.embed=4 optim.lr=0.01 eval.every=100 "               \
    "stats.every=100 checkpoint.every=100 name=run "
/* More lines than a pipe holds: whoever does not read holds the run up. */
#define STEPS "steps=1000 "

static void same_end(const char *store, const char *with)
{
    static const char *const files[] = {"checkpoints/1000/model.safetensors",
                                        "checkpoints/1000/state.safetensors",
                                        "last", "best"};
    char *run = only_run(store), *of = only_run(with);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *a = qn_path_join(run, files[i]), *b = qn_path_join(of, files[i]);
        same_bytes(a, b);
        free(a);
        free(b);
    }
    struct view x = view_of(run), y = view_of(of);
    same_view(&x, &y);
    view_free(&x);
    view_free(&y);
    free(run);
    free(of);
}

/* Stop it between two instructions of all its threads. */
static void hold(const struct child *c)
{
    int status;
    assert_int_equal(kill(c->pid, SIGSTOP), 0);
    assert_int_equal(waitpid(c->pid, &status, WUNTRACED), c->pid);
    assert_true(WIFSTOPPED(status));
}

/* The run has a checkpoint of step 100 and stands still. */
static struct child start_run(const char *steps)
{
    struct child c = child_start("train --json " SETTINGS "%s", steps);
    json_t *line;
    bool saved = false;
    while (!saved && (line = child_line(&c)) != NULL) {
        saved = strcmp(string(line, "event"), "checkpoint") == 0;
        json_decref(line);
    }
    assert_true(saved);
    hold(&c);
    return c;
}

/* Read until it says that it pauses; false when it ends without. */
static bool reach_pause(struct child *c)
{
    json_t *line;
    bool paused = false;
    while (!paused && (line = child_line(c)) != NULL) {
        paused = strcmp(string(line, "event"), "pause") == 0;
        json_decref(line);
    }
    return paused;
}

static void prepare(void)
{
    write_sentences("text.txt", 100, 5);
    free(quern_out("train --json --store calm " SETTINGS STEPS));
}

static void a_file_that_goes_away_is_made_again(void **state)
{
    (void)state;
    static const char *const doings[] = {
        "rm store/*/metrics.jsonl",
        "rm store/*/events.jsonl",
        "rm store/*/stats.jsonl",
        "mv store/*/metrics.jsonl moved",
        "rm store/*/best",
        "rm store/*/last",
        "rm store/*/lock",
        "rm -r store/*/checkpoints/100",
        "mv store/*/checkpoints moved",
        "rm -r store/*/checkpoints",
        "mv store/*/checkpoints/100 moved",
    };
    prepare();
    for (size_t i = 0; i < sizeof doings / sizeof *doings; i++) {
        struct child c = start_run(STEPS);
        assert_int_equal(sh("%s", doings[i]), 0);
        assert_int_equal(kill(c.pid, SIGCONT), 0);
        int status = child_end(&c);
        char *said = file_text(".err");
        if (status != 0) {
            fail_msg("%s: status %d, %s", doings[i], status, said);
        }
        same_end("store", "calm");
        free(said);
        assert_int_equal(sh("rm -rf store moved"), 0);
    }
}

/* There is nothing to go on in: said, and ended when somebody wants it. */
static void a_folder_that_goes_away_pauses_the_run(void **state)
{
    (void)state;
    static const char *const doings[] = {"mv store/*-run moved",
                                         "rm -r store/*-run"};
    prepare();
    for (size_t i = 0; i < sizeof doings / sizeof *doings; i++) {
        struct child c = start_run("steps=1000000");
        assert_int_equal(sh("%s", doings[i]), 0);
        assert_int_equal(kill(c.pid, SIGCONT), 0);
        assert_true(reach_pause(&c));
        (void)kill(c.pid, SIGTERM);
        assert_int_equal(child_end(&c), 1);
        char *said = file_text(".err");
        assert_non_null(strstr(said, "quern: "));
        assert_non_null(strstr(said, "-run"));
        assert_null(only_run("store"));
        free(said);
        assert_int_equal(sh("rm -rf store moved"), 0);
    }
}

/* A folder that was put away and back: the run goes on as if nothing was. */
static void a_folder_that_comes_back_is_trained_on(void **state)
{
    (void)state;
    prepare();
    struct child c = start_run(STEPS);
    assert_int_equal(sh("ls store >name; mv store/*-run moved"), 0);
    assert_int_equal(kill(c.pid, SIGCONT), 0);
    assert_true(reach_pause(&c));
    assert_int_equal(sh("mv moved store/$(cat name)"), 0);
    assert_int_equal(child_end(&c), 0);
    same_end("store", "calm");
}

/* Many times, since it is a race. */
static void of_two_that_resume_one_gets_the_run(void **state)
{
    (void)state;
    write_sentences("text.txt", 100, 5);
    free(quern_out("train --json " SETTINGS "steps=20 checkpoint.every=10"));
    for (int i = 0; i < 10; i++) {
        struct child c[2];
        int n_got = 0;
        for (int k = 0; k < 2; k++) {
            /* The comment is what child_start adds. */
            c[k] = child_start("resume --json run steps=1000000 2>.err%d "
                               "</dev/null #",
                               k);
        }
        /* Both have got it or not before one is ended. */
        json_t *line[2] = {child_line(&c[0]), child_line(&c[1])};
        for (int k = 0; k < 2; k++) {
            bool got = line[k] != NULL;
            if (got) {
                assert_string_equal(string(line[k], "event"), "start");
                (void)kill(c[k].pid, SIGTERM);
                json_decref(line[k]);
            }
            int status = child_end(&c[k]);
            char *said = file_text(".err%d", k);
            if (status != (got ? 0 : 1) || !is_one_sentence(said)) {
                fail_msg("status %d: %s", status, said);
            }
            n_got += got;
            free(said);
        }
        assert_int_equal(n_got, 1);
    }
}

static void set_clock(const char *seconds)
{
    (void)setenv("QN_TEST_CLOCK", seconds, 1);
    (void)setenv("LD_PRELOAD", QN_FAULTY, 1);
}

static void right_clock(void)
{
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("QN_TEST_CLOCK");
}

/* A day back, years back, years ahead and back again. */
static void a_clock_set_back_leaves_the_newest_run_last(void **state)
{
    (void)state;
    static const char *const clocks[] = {"0",         "-86400", "-300000000",
                                         "100000000", "0",      "-3600"};
    if (!can_preload()) {
        skip();
    }
    write_sentences("text.txt", 100, 5);
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        set_clock(clocks[i]);
        char *trained =
            quern_out("train --json " SETTINGS "steps=%d", (int)i + 1);
        char *runs = quern_out("runs --json");
        char *found = quern_out("eval --json run --checkpoint last");
        right_clock();
        json_t *first = parse(strtok(trained, "\n"));
        json_t *newest = parse(found);
        assert_string_equal(string(first, "run"), string(newest, "run"));
        assert_int_equal((int)number(newest, "step"), (int)i + 1);
        char *last = runs + strlen(runs) - 1;
        while (last > runs && last[-1] != '\n') {
            last--;
        }
        assert_non_null(strstr(last, string(first, "run")));
        json_decref(first);
        json_decref(newest);
        free(found);
        free(runs);
        free(trained);
    }
}

static void a_clock_set_back_changes_no_number(void **state)
{
    (void)state;
    if (!can_preload()) {
        skip();
    }
    prepare();
    set_clock("-1000000000");
    free(quern_out("train --json " SETTINGS "steps=200"));
    set_clock("1000000000");
    free(quern_out("resume --json run " STEPS));
    right_clock();
    char *run = only_run("store"), *of = only_run("calm");
    char *a = qn_path_join(run, "checkpoints/1000/model.safetensors");
    char *b = qn_path_join(of, "checkpoints/1000/model.safetensors");
    same_bytes(a, b);
    free(a);
    free(b);
    free(run);
    free(of);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_goes_away_is_made_again),
        TEST(a_folder_that_goes_away_pauses_the_run),
        TEST(a_folder_that_comes_back_is_trained_on),
        TEST(of_two_that_resume_one_gets_the_run),
        TEST(a_clock_set_back_leaves_the_newest_run_last),
        TEST(a_clock_set_back_changes_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
