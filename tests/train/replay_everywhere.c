/* replay_everywhere.c - changes made by hand hold again at their steps, at
 * every step at which a run can be cut. */
#include "cuts.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void changes_are_made_again_wherever_a_run_was_cut(void **state)
{
    struct fixture *f = *state;
    char *whole = cut_uncut_of(f, cut_changing, cut_changes, CUT_N_CHANGES);
    for (int64_t cut = 0; cut < 50; cut++) {
        cut_check_changes(f, whole, cut);
    }
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            changes_are_made_again_wherever_a_run_was_cut, fixture_setup,
            fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
