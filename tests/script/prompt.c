/* prompt.c - chunks as they are typed: values, errors, what is not allowed. */
#include "script_fixture.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_expression_prints_its_values(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "1 + 1", "2\n");
    assert_prints(f, "nil, 'text', 2.5", "nil\ttext\t2.5\n");
    assert_prints(f, "local x = 3 return x", "3\n");
    assert_prints(f, "x = 3", "");
    assert_prints(f, "", "");
    assert_prints(f, "-- nothing but a comment", "");
}

static void a_semicolon_prints_nothing(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "1 + 1;", "");
    assert_prints(f, "'a' ; -- said", "");
    assert_prints(f, "'a;' -- x;", "a;\n");
}

static void the_last_result_is_an_underscore(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "_", "nil\n");
    assert_prints(f, "6 * 7;", "");
    assert_prints(f, "_ + 1", "43\n");
    assert_prints(f, "nil", "nil\n");
    assert_prints(f, "_", "43\n");
}

static void a_chunk_that_ends_too_early_is_incomplete(void **state)
{
    struct script_fixture *f = *state;
    static const char *const chunks[] = {
        "for i = 1, 2 do", "function f()", "x = {",    "print(", "y = [[a",
        "if x then",       "x =",          "f 'a' ..", "1 +",    NULL};
    for (int i = 0; chunks[i] != NULL; i++) {
        assert_int_equal(type_in(f, chunks[i]), QN_SCRIPT_INCOMPLETE);
        assert_string_equal(complained(f), "");
    }
    assert_prints(f, "for i = 1, 2 do\nprint(i)\nend", "1\n2\n");
}

static void a_wrong_chunk_is_an_error_at_once(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "x = = 3", "prompt:1: unexpected symbol near '='");
    assert_fails(f, "for for", "prompt:1:");
}

static void an_error_shows_the_way_to_it_and_no_more(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "error('boo')", "prompt:1: boo");
    assert_null(strstr(complained(f), "traceback"));
    must(f, "function f() error('deep') end function g() f() end");
    assert_fails(f, "g() x = 1", "prompt:1: deep\nstack traceback:\n");
    assert_holds(complained(f), "in function 'g'");
    assert_holds(complained(f), "in main chunk\n");
    assert_null(strstr(complained(f), "[C]: in ?"));
    assert_fails(f, "error({})", "the error value is a table");
    assert_fails(f,
                 "error(setmetatable({}, { __tostring = function() "
                 "return 'mine' end }))",
                 "mine");
    assert_fails(f, "function r() return 1 + r() end r()", "stack overflow");
}

static void an_undefined_name_is_an_error_with_the_nearest(void **state)
{
    struct script_fixture *f = *state;
    assert_fails(f, "prnt(1)",
                 "undefined variable 'prnt' (did you mean "
                 "'print'?)");
    assert_fails(f, "zzzzzz", "undefined variable 'zzzzzz'");
    must(f, "nothing = nil");
    assert_prints(f, "nothing", "nil\n");
    must(f, "fresh = 1");
    assert_prints(f, "fresh", "1\n");
    assert_prints(f, "rawget(_G, 'zzzzzz')", "nil\n");
}

static void a_module_may_ask_whether_a_name_exists(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "load('return zzzzzz', '=other')()", "nil\n");
    assert_int_equal(run_text(f, "assert(zzzzzz == nil)"), QN_SCRIPT_OK);
}

static void printing_goes_to_the_host(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "print(1, 'two', nil)", "1\ttwo\tnil\n");
    assert_prints(f, "io.write('a', 1, 2.5, '\\n');", "a12.5\n");
    assert_prints(f, "io.stdout:write('b'):write('c\\n');", "bc\n");
    must(f, "io.stderr:write('oh\\n');");
    assert_string_equal(complained(f), "oh\n");
    assert_fails(f, "io.write({})", "bad argument");
}

static void other_files_are_written_as_ever(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f,
                  "local name = TEXT .. '.out' local out = io.open(name, 'w') "
                  "out:write('one\\n', 2, '\\n') out:close() "
                  "for line in io.lines(name) do print(line) end "
                  "local i = io.open(name) print(i:read('l')) i:close() "
                  "io.output(name) io.write('three') io.close() "
                  "io.output(io.stdout) print(io.open(name):read('a'))",
                  "one\n2\none\nthree\n");
}

static void what_is_not_utf8_is_replaced(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "print('a\\xffb\\0c')",
                  "a\xef\xbf\xbd"
                  "b\xef\xbf\xbd"
                  "c\n");
    assert_prints(f, "print('\u00e4')", "\u00e4\n");
}

static void the_keyboard_belongs_to_the_prompt(void **state)
{
    struct script_fixture *f = *state;
    static const char *const chunks[] = {
        "io.read()",     "io.stdin:read('l')",
        "io.lines()()",  "for l in io.stdin:lines() do end",
        "dofile()",      "loadfile()",
        "debug.debug()", NULL};
    for (int i = 0; chunks[i] != NULL; i++) {
        assert_fails(f, chunks[i], "standard input belongs to the prompt");
    }
}

static void warnings_are_errors_for_the_eye(void **state)
{
    struct script_fixture *f = *state;
    must(f, "warn('take ', 'care')");
    assert_string_equal(complained(f), "warning: take care\n");
    must(f, "warn('@off') warn('unheard')");
    assert_string_equal(complained(f), "");
    must(f, "warn('@on') warn('heard')");
    assert_string_equal(complained(f), "warning: heard\n");
}

static void exit_ends_the_chunk_whatever_catches_it(void **state)
{
    struct script_fixture *f = *state;
    static const char *const chunks[] = {
        "os.exit(3) print('no')",
        "qn.quit(3)",
        "pcall(os.exit, 3) print('no')",
        "xpcall(os.exit, print, 3) print('no')",
        "coroutine.resume(coroutine.create(os.exit), 3) print('no')",
        "coroutine.wrap(function() pcall(os.exit, 3) end)() print('no')",
        "while true do pcall(function() os.exit(3) end) end",
        NULL};
    for (int i = 0; chunks[i] != NULL; i++) {
        assert_int_equal(type_in(f, chunks[i]), QN_SCRIPT_QUIT);
        assert_int_equal(qn_script_exit_code(f->s), 3);
        assert_string_equal(printed(f), "");
        assert_string_equal(complained(f), "");
    }
    assert_int_equal(type_in(f, "os.exit(false)"), QN_SCRIPT_QUIT);
    assert_int_equal(qn_script_exit_code(f->s), 1);
    assert_int_equal(run_text(f, "os.exit()"), QN_SCRIPT_QUIT);
    assert_int_equal(qn_script_exit_code(f->s), 0);
    must(f, "x = 1"); /* the state is still good */
}

static void pcall_and_its_kin_do_as_in_lua(void **state)
{
    struct script_fixture *f = *state;
    assert_prints(f, "pcall(error, 'x', 0)", "false\tx\n");
    assert_prints(f, "pcall(function(...) return ... end, 1, nil, 3)",
                  "true\t1\tnil\t3\n");
    assert_prints(f, "xpcall(error, function(m) return m .. '!' end, 'x', 0)",
                  "false\tx!\n");
    assert_prints(f, "xpcall(function(a, b) return a + b end, print, 1, 2)",
                  "true\t3\n");
    assert_prints(f,
                  "co = coroutine.wrap(function() return pcall(function() "
                  "coroutine.yield(1) error('late', 0) end) end)",
                  "");
    assert_prints(f, "co()", "1\n");
    assert_prints(f, "co()", "false\tlate\n");
    assert_prints(f,
                  "co = coroutine.create(function(a) local b = "
                  "coroutine.yield(a + 1) return b * 2 end)",
                  "");
    assert_prints(f, "coroutine.resume(co, 1)", "true\t2\n");
    assert_prints(f, "coroutine.resume(co, 5)", "true\t10\n");
    assert_prints(f, "coroutine.resume(co)",
                  "false\tcannot resume dead coroutine\n");
    assert_fails(f, "pcall()", "bad argument #1");
    assert_fails(f, "xpcall(print)", "bad argument #2");
}

static void a_file_gets_its_arguments(void **state)
{
    struct script_fixture *f = *state;
    assert_int_equal(run_text(f, "#!/usr/bin/env quern\n"
                                 "print(arg[1], arg[2], #arg, select('#', "
                                 "...), arg[0]:match('[^/]+$'))"),
                     QN_SCRIPT_OK);
    assert_string_equal(printed(f), "one\ttwo\t2\t2\tscript.lua\n");
}

static void a_file_within_a_file_keeps_the_way_to_it(void **state)
{
    struct script_fixture *f = *state;
    free(fixture_write(f->base, "inner.lua", "error('inside')"));
    assert_int_equal(run_text(f, "\ndofile(arg[0]:gsub('script', 'inner'))"),
                     QN_SCRIPT_ERROR);
    assert_holds(complained(f), "inner.lua:1: inside");
    assert_holds(complained(f), "script.lua:2: in main chunk");
    assert_fails(f, "dofile((TEXT:gsub('text.txt', 'inner.lua')))",
                 "inner.lua:1: in main chunk");
}

static void a_files_error_names_file_and_line(void **state)
{
    struct script_fixture *f = *state;
    assert_int_equal(run_text(f, "\nqn.qrnn{ hiden = 1 }"), QN_SCRIPT_ERROR);
    assert_holds(complained(f),
                 "script.lua:2: unknown setting 'model.hiden' (did you mean "
                 "'model.hidden'?)\nstack traceback:");
    assert_int_equal(run_text(f, "x ="), QN_SCRIPT_ERROR);
    assert_holds(complained(f), "script.lua:1: unexpected symbol");
    assert_int_equal(strncmp(complained(f), "quern: ", 7), 0);
    assert_int_equal(run_text(f, "require 'quern'.nothing = 1"),
                     QN_SCRIPT_ERROR);
    assert_int_equal(run_file(f, "missing.lua"), QN_SCRIPT_ERROR);
    assert_holds(complained(f), "missing.lua");
    assert_int_equal(strncmp(complained(f), "quern: ", 7), 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_expression_prints_its_values),
        TEST(a_semicolon_prints_nothing),
        TEST(the_last_result_is_an_underscore),
        TEST(a_chunk_that_ends_too_early_is_incomplete),
        TEST(a_wrong_chunk_is_an_error_at_once),
        TEST(an_error_shows_the_way_to_it_and_no_more),
        TEST(an_undefined_name_is_an_error_with_the_nearest),
        TEST(a_module_may_ask_whether_a_name_exists),
        TEST(printing_goes_to_the_host),
        TEST(other_files_are_written_as_ever),
        TEST(what_is_not_utf8_is_replaced),
        TEST(the_keyboard_belongs_to_the_prompt),
        TEST(warnings_are_errors_for_the_eye),
        TEST(exit_ends_the_chunk_whatever_catches_it),
        TEST(pcall_and_its_kin_do_as_in_lua),
        TEST(a_file_gets_its_arguments),
        TEST(a_file_within_a_file_keeps_the_way_to_it),
        TEST(a_files_error_names_file_and_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
