/* printing.c - values as the prompt shows them. */
#include "script_fixture.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void small_tables_take_one_line(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "{}", "{}\n");
    assert_prints(f, "{ 1, 2.5, 'a\"b\\n', true }",
                  "{ 1, 2.5, \"a\\\"b\\n\", true }\n");
    assert_prints(f, "{ b = 1, a = { x = 2 }, [2.5] = 3, ['a b'] = 4 }",
                  "{ [2.5] = 3, a = { x = 2 }, [\"a b\"] = 4, b = 1 }\n");
    assert_prints(f, "{ ['end'] = 1, [true] = 2, ['\\0'] = 3 }",
                  "{ [\"\\000\"] = 3, [\"end\"] = 1, [true] = 2 }\n");
}

static void long_tables_take_a_line_for_each_item(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(
        f, "{ one = ('x'):rep(40), two = ('y'):rep(40), three = { 1 } }",
        "{\n    one = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\n"
        "    three = { 1 },\n"
        "    two = \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"\n}\n");
}

static void deep_tables_are_cut(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "{{{{ 'deep' }}}}", "{ { { { \"deep\" } } } }\n");
    assert_prints(f, "{{{{{ 'deeper' }}}}}", "{ { { { {...} } } } }\n");
    assert_prints(f, "{{{{ {} }}}}", "{ { { { {} } } } }\n");
}

static void many_items_are_counted_and_not_shown(void **state)
{
    struct script_fixture *f = *state;
    must(f, "t = {} for i = 1, 100 do t[i] = i end t.a = 1");
    must(f, "t");
    assert_holds(printed(f), "40,");
    assert_holds(printed(f), "... 61 more");
    assert_null(strstr(printed(f), "41"));
    must(f, "t = {} for i = 1, 50 do t['k' .. i] = i end");
    must(f, "t");
    assert_holds(printed(f), "... 10 more");
    must(f, "('x'):rep(300)");
    assert_int_equal(strlen(printed(f)), 301);
    must(f, "{ ('x'):rep(300) }");
    assert_holds(printed(f), "x\"...");
}

static void a_table_inside_itself_is_named(void **state)
{
    struct script_fixture *f = *state;
    must(f, "t = { a = {} } t.t = t t.a.t = t t.a.a = t.a");
    assert_prints(f, "t",
                  "{\n    a = {\n        a = <cycle: the table 1 level up>,\n"
                  "        t = <cycle: the table 2 levels up>\n    },\n"
                  "    t = <cycle: the table 1 level up>\n}\n");
    assert_prints(f, "s = { 1 } return { s, s }", "{ { 1 }, { 1 } }\n");
}

static void a_value_may_say_how_it_looks(void **state)
{
    struct script_fixture *f = *state;
    must(f, "v = setmetatable({}, { __tostring = function() return 'I' end })");
    assert_prints(f, "v, { v }", "I\t{ I }\n");
    must(f,
         "w = setmetatable({}, { __tostring = function() error('no') end })");
    assert_fails(f, "{ w }", "no");
    must(f, "u = setmetatable({ 1 }, { __index = function() error('no') end, "
            "__len = function() return 99 end })");
    assert_prints(f, "u", "{ 1 }\n");
}

static void values_of_several_lines_do_not_run_together(void **state)
{
    struct script_fixture *f = *state;
    must(f, "v = setmetatable({}, { __tostring = function() return 'a\\nb' end "
            "})");
    assert_prints(f, "1, v, 2", "1\na\nb\n2\n");
    assert_prints(f, "{ v }", "{\n    a\n    b\n}\n");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_tables_take_one_line),
        TEST(long_tables_take_a_line_for_each_item),
        TEST(deep_tables_are_cut),
        TEST(many_items_are_counted_and_not_shown),
        TEST(a_table_inside_itself_is_named),
        TEST(a_value_may_say_how_it_looks),
        TEST(values_of_several_lines_do_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
