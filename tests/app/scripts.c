/* scripts.c - quern SCRIPT.lua, as a shell sees it. */
#include "shell.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN                                                                    \
    "local function run(name) return qn.train{ name = name, batch = 4, "       \
    "seq = 8, threads = 2, steps = 1000000, data = { train = 'text.txt' }, "   \
    "model = { layers = 1, hidden = 12, embed = 6 }, eval = { every = "        \
    "'none' }, stats = { every = 'none' }, checkpoint = { every = 'none' } } " \
    "end "

/* Run a script until it has printed "go", then Ctrl-C; its exit status. */
static int interrupt(const char *script)
{
    write_file("s.lua", script, strlen(script));
    struct child c = child_start("--store 'the store' s.lua");
    char line[64];
    assert_non_null(fgets(line, sizeof line, c.out));
    assert_string_equal(line, "\"go\"\n");
    assert_int_equal(kill(c.pid, SIGINT), 0);
    int status = child_end(&c);
    assert_int_equal(sh("mv .err .said"), 0);
    return status;
}

/* What the run's record says. */
static double step_of(const char *name)
{
    char *out = quern_out("runs --json --store 'the store'");
    double step = -1;
    char *rest = NULL;
    for (char *l = strtok_r(out, "\n", &rest); l != NULL;
         l = strtok_r(NULL, "\n", &rest)) {
        json_t *run = parse(l);
        if (strcmp(string(run, "name"), name) == 0) {
            assert_string_equal(string(run, "state"), "stopped");
            step = number(run, "step");
        }
        json_decref(run);
    }
    free(out);
    return step;
}

static void assert_can_go_on(const char *name)
{
    if (sh("grep -q \"^quern: saved %s at step %.0f; go on with: quern --store "
           "'the store' resume [0-9].*-%s$\" .said",
           name, step_of(name), name) != 0) {
        (void)sh("cat .said >&2");
        fail_msg("nothing says how %s goes on", name);
    }
}

static void an_interrupt_saves_every_run_and_says_so(void **state)
{
    (void)state;
    assert_int_equal(interrupt(RUN "a = run 'one' b = run 'two' "
                                   "b:wait{ until_ = function(r) return r.step "
                                   "> 20 end } print '\"go\"' a:wait()"),
                     1);
    assert_can_go_on("one");
    assert_can_go_on("two");
    assert_int_equal(sh("grep -q '^quern: s.lua:1: interrupted$' .said"), 0);
    assert_int_equal(sh("grep -q traceback .said"), 1);
}

static void so_does_one_after_the_end_of_the_script(void **state)
{
    (void)state;
    assert_int_equal(interrupt(RUN "run 'late' print '\"go\"'"), 0);
    assert_can_go_on("late");
    assert_int_equal(sh("grep -q interrupted .said"), 1);
}

/* Nobody is there to let it go on, and nobody waits for it. */
static void a_run_that_pauses_itself_ends_the_program(void **state)
{
    (void)state;
    static const char script[] =
        RUN "local s = run 'bad' s:set{ optim = { lr = 1e30 } }";
    write_file("s.lua", script, sizeof script - 1);
    struct outcome o = quern("--set optim.kind=sgd s.lua");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "not finite"));
    assert_non_null(strstr(o.err, "quern: saved bad at step"));
    outcome_free(&o);
}

/* A limit on the size of files stands for a full disk, which is waited for. */
static void a_run_that_cannot_be_saved_is_a_failure(void **state)
{
    (void)state;
    static const char script[] = RUN "run 'full'";
    write_file("s.lua", script, sizeof script - 1);
    int status =
        sh("trap '' XFSZ; ulimit -f 16; timeout 60 " QUERN " s.lua 2>.err & "
           "until grep -q 'tried again until it works' .err; "
           "do sleep 0.05; done; kill -TERM $!; wait $!");
    if (sh("grep -q '^quern: full failed: .*; go on with: quern ' .err") != 0) {
        (void)sh("cat .err >&2");
        fail_msg("nothing says that it was not saved");
    }
    assert_int_equal(status, 1);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(an_interrupt_saves_every_run_and_says_so),
        WITH_SHELL(so_does_one_after_the_end_of_the_script),
        WITH_SHELL(a_run_that_pauses_itself_ends_the_program),
        WITH_SHELL(a_run_that_cannot_be_saved_is_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
