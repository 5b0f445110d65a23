/* check.c - --check: specs are validated, nothing is made. */
#include "script_fixture.h"

#include "base/file.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_script_is_checked_up_to_its_first_result(void **state)
{
    struct script_fixture *f = *state;
    static const char *const ends[] = {"run:wait()",
                                       "print(run.step)",
                                       "run:evaluate()",
                                       "qn.runs()",
                                       "qn.run('x')",
                                       "run:metric('lr')",
                                       "run:stats()",
                                       "pcall(run.wait, run)",
                                       "print(data.sizes)",
                                       "run:set{ lr = 1 }",
                                       "local x = run.config",
                                       "qn.paper.activation_table{}",
                                       "run:measure{}",
                                       "qn.qrnn{}:params(data)",
                                       NULL};
    for (int i = 0; ends[i] != NULL; i++) {
        struct qn_str text = {0};
        qn_str_addf(&text,
                    "data = assert(qn.corpus{ train = 'nowhere.txt' })\n"
                    "run = assert(qn.train{ data = data })\n"
                    "%s\nerror('too far')",
                    ends[i]);
        assert_int_equal(run_text(f, text.text), QN_SCRIPT_CHECKED);
        assert_string_equal(printed(f), "checked up to line 3\n");
        assert_string_equal(complained(f), "");
        qn_str_free(&text);
    }
    assert_false(qn_path_exists(f->base->store));
}

static void a_script_without_results_is_checked_to_its_end(void **state)
{
    struct script_fixture *f = *state;
    assert_int_equal(run_text(f, "local run = qn.train(SMALL)"), QN_SCRIPT_OK);
    assert_string_equal(printed(f), "checked to the end\n");
    assert_int_equal(qn_lab_n_runs(f->lab), 0);
}

static void mistakes_are_found_without_a_run(void **state)
{
    struct script_fixture *f = *state;
    assert_int_equal(run_text(f, "qn.train(SMALL)\n"
                                 "qn.train{ data = { trian = 'x' } }"),
                     QN_SCRIPT_ERROR);
    assert_holds(complained(f), "script.lua:2: unknown setting 'data.trian'");
    /* Documents are not read, and what is said of them is looked at. */
    assert_int_equal(run_text(f, "d = qn.labelled{ train = 'nowhere.tsv' }\n"
                                 "qn.train{ data = d, seq = 3 }"),
                     QN_SCRIPT_ERROR);
    assert_holds(complained(f), "script.lua:2: seq applies to task lm");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup_check,          \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_script_is_checked_up_to_its_first_result),
        TEST(a_script_without_results_is_checked_to_its_end),
        TEST(mistakes_are_found_without_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
