/* plan_said.c - what a plan of memory says, and what it says is too much. */
#include "base/str.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_plan_too_large_names_its_parts_largest_first(void **state)
{
    (void)state;
    struct qn_err err;
    struct qn_memory_plan plan = {.parameters = 300000000,
                                  .gradients = 300000000,
                                  .moments = 600000000,
                                  .activations = 1900000000,
                                  .total = 3100000000};
    assert_int_equal(qn_memory_plan_check(&plan, 1200000000, &err), QN_ENOMEM);
    assert_string_equal(
        err.text, "the run needs 3.1 GB of memory and 1.2 GB is available: "
                  "activations 1.9 GB, moments 600 MB, parameters 300 MB, "
                  "gradients 300 MB");
    assert_int_equal(qn_memory_plan_check(&plan, 3100000000, &err), QN_OK);
    assert_int_equal(qn_memory_plan_check(&plan, SIZE_MAX, &err), QN_OK);
}

/* It is not free any more, but what is free is beside it. */
static void what_is_taken_already_need_not_be_free(void **state)
{
    (void)state;
    struct qn_err err;
    struct qn_memory_plan plan = {
        .activations = 1000, .data = 5000, .taken = 3000};
    qn_memory_plan_add_up(&plan);
    assert_int_equal(plan.total, 9000);
    assert_int_equal(qn_memory_plan_check(&plan, 1000, &err), QN_OK);
    assert_int_equal(qn_memory_plan_check(&plan, 999, &err), QN_ENOMEM);
    plan.rest = 1;
    assert_int_equal(qn_memory_plan_check(&plan, 1000, &err), QN_ENOMEM);
}

static void a_plan_is_said_in_a_line_with_its_largest_parts(void **state)
{
    (void)state;
    struct qn_str text = {0};
    struct qn_memory_plan plan = {.parameters = 200000000,
                                  .gradients = 200000000,
                                  .moments = 400000000,
                                  .activations = 1900000000,
                                  .evaluation = 300000000,
                                  .data = 40000000,
                                  .taken = 60000000};
    qn_memory_plan_add_up(&plan);
    qn_memory_plan_text(&plan, &text);
    assert_string_equal(text.text,
                        "3.1 GB (activations 1.9 GB, moments 400 MB, "
                        "evaluation 300 MB, parameters 200 MB, all else 300 "
                        "MB)");
    qn_str_clear(&text);
    plan = (struct qn_memory_plan){.activations = 4000, .rest = 100000};
    qn_memory_plan_add_up(&plan);
    qn_memory_plan_text(&plan, &text);
    assert_string_equal(text.text, "104 kB");
    qn_str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_too_large_names_its_parts_largest_first),
        cmocka_unit_test(what_is_taken_already_need_not_be_free),
        cmocka_unit_test(a_plan_is_said_in_a_line_with_its_largest_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
