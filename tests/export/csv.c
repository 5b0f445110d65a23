/* csv.c - rows that other programs take apart again. */
#include "export/csv.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void text_is(const char *text, const char *field)
{
    struct qn_str row = {0};
    qn_csv_text(&row, text);
    qn_csv_text(&row, "x");
    qn_csv_end(&row);
    struct qn_str wanted = {0};
    qn_str_addf(&wanted, "%s,x\n", field);
    assert_string_equal(row.text, wanted.text);
    qn_str_free(&wanted);
    qn_str_free(&row);
}

static void text_is_quoted_where_it_must_be(void **state)
{
    (void)state;
    text_is("valid", "valid");
    text_is("", "");
    text_is("two words", "two words");
    text_is("a,b", "\"a,b\"");
    text_is("say \"a\"", "\"say \"\"a\"\"\"");
    text_is("\"", "\"\"\"\"");
    text_is("two\nlines", "\"two\nlines\"");
    text_is("two\r\nlines", "\"two\r\nlines\"");
}

static void values_are_as_in_the_line_and_null_is_empty(void **state)
{
    (void)state;
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    json_t *line = json_loads("{\"a\":null,\"b\":9007199254740993,\"c\":0.1,"
                              "\"d\":-1e-05,\"e\":\"x,y\",\"f\":true,"
                              "\"g\":[1]}",
                              0, NULL);
    struct qn_str row = {0};
    qn_csv_values(&row, line, keys, sizeof keys / sizeof keys[0]);
    qn_csv_end(&row);
    assert_string_equal(row.text,
                        ",9007199254740993,0.1,-1e-05,\"x,y\",true,,\n");
    qn_str_free(&row);
    json_decref(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted_where_it_must_be),
        cmocka_unit_test(values_are_as_in_the_line_and_null_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
