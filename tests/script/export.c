/* export.c - a run written as files of other programs, from Lua. */
#include "script_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void trained(struct script_fixture *f)
{
    must(f, "SMALL.stats = { every = '10 steps' } run = qn.train(SMALL) "
            "assert(run:wait())");
}

static void the_files_are_listed_and_there(void **state)
{
    struct script_fixture *f = *state;
    trained(f);
    must(f, "out = run.dir .. '-out' "
            "files = assert(run:export{ to = out, formats = { 'csv', 'svg' } })"
            "for _, p in ipairs(files) do assert(io.open(p)):close() end");
    assert_prints(f, "for _, p in ipairs(files) do print(p:sub(#out + 2)) end",
                  "metrics.csv\nevals.csv\nstats.csv\nloss.svg\nshares.svg\n"
                  "histogram-c.svg\nheatmap-c.svg\n");
    assert_prints(f, "print(#run:export{ to = out, formats = 'csv' })", "3\n");
}

static void mistakes_in_the_options_raise(void **state)
{
    struct script_fixture *f = *state;
    trained(f);
    assert_fails(f, "run:export{}", "to: a folder to write into expected");
    assert_fails(f, "run:export{ to = '' }", "to: a folder");
    assert_fails(f, "run:export{ to = 'x', formats = 3 }",
                 "formats: names of formats expected, got number");
    assert_fails(f, "run:export{ to = 'x', formats = {} }",
                 "formats: names none");
    assert_fails(f, "run:export{ to = 'x', formats = { 'svg', 'pdf' } }",
                 "there is no format 'pdf'");
    assert_fails(f, "run:export{ to = run.dir }", "is in a run's folder");
    assert_fails(f, "run:export{ too = 'x' }", "did you mean 'to'");
}

static void facts_of_the_world_are_answers(void **state)
{
    struct script_fixture *f = *state;
    trained(f);
    assert_prints(f,
                  "print(select(3, run:export{ to = TEXT .. '/x', "
                  "formats = 'csv' }))",
                  "io\n");
}

/* It may be quicker than the interrupt. */
static void ctrl_c_ends_an_export_and_leaves_no_folder(void **state)
{
    struct script_fixture *f = *state;
    trained(f);
    f->interrupt_at = 1;
    must(f, "out = run.dir .. '-out' "
            "files, message, code = run:export{ to = out } "
            "assert(files or code == 'interrupted') "
            "assert(files or not io.open(out))");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_files_are_listed_and_there),
        TEST(mistakes_in_the_options_raise),
        TEST(facts_of_the_world_are_answers),
        TEST(ctrl_c_ends_an_export_and_leaves_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
