/* help.c - the pages of help, and that they speak of what there is. */
#include "script_fixture.h"

#include "base/file.h"
#include "base/mem.h"
#include "script/help.h"
#include "script/lua_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
every_function_has_its_page_and_every_page_its_function(void **state)
{
    struct script_fixture *f = *state;
    int n = 0;
    for (const struct qn_lua_doc *d = qn_lua_module_docs(); d->name; d++) {
        char *chunk = qn_xasprintf("assert(type(qn.%s) == 'function') "
                                   "qn.help('qn.%s')",
                                   d->name, d->name);
        must(f, chunk);
        assert_holds(printed(f), d->signature);
        assert_holds(printed(f), d->example);
        free(chunk);
        n += strchr(d->name, '.') == NULL; /* others stand deeper */
    }
    char *count = qn_xasprintf("n = 0 for name, v in pairs(qn) do n = n + "
                               "(type(v) == 'function' and 1 or 0) end "
                               "assert(n == %d)",
                               n);
    must(f, count);
    free(count);
}

static void every_method_and_field_is_there(void **state)
{
    struct script_fixture *f = *state;
    must(f, "run = qn.train(SMALL) run:wait() "
            "series = run:metric('train.loss') spec = qn.adam{} "
            "stats = run:stats()");
    for (const char *const *o = qn_help_objects(); *o != NULL; o++) {
        const struct qn_lua_doc *d = qn_help_methods(*o);
        for (; d->name != NULL; d++) {
            char *chunk =
                qn_xasprintf("assert(type(%s.%s) == 'function')", *o, d->name);
            must(f, chunk);
            free(chunk);
        }
    }
    for (const struct qn_lua_field *x = qn_lua_run_fields(); x->name; x++) {
        char *chunk = qn_xasprintf("local v = run.%s", x->name);
        must(f, chunk);
        free(chunk);
    }
}

static void every_example_is_lua(void **state)
{
    struct script_fixture *f = *state;
    for (const char *const *o = qn_help_objects(); *o != NULL; o++) {
        const struct qn_lua_doc *d = qn_help_methods(*o);
        for (; d->name != NULL; d++) {
            char *chunk =
                qn_xasprintf("assert(load('return ' .. [==[%s]==]) or "
                             "load([==[%s]==]))",
                             d->example, d->example);
            must(f, chunk);
            free(chunk);
        }
    }
}

static void help_answers_for_words_values_and_settings(void **state)
{
    struct script_fixture *f = *state;
    must(f, "qn.help()");
    assert_holds(printed(f), "qn.train");
    assert_holds(printed(f), "run:wait");
    must(f, "qn.help('run')");
    assert_holds(printed(f), "run:wait{");
    assert_holds(printed(f), "steps_total");
    assert_holds(printed(f), "qn.run(name | number)");
    must(f, "qn.help('run:wait')");
    assert_holds(printed(f), "run:wait{");
    must(f, "qn.help('paper')");
    assert_holds(printed(f), "qn.paper.activation_table{");
    must(f, "qn.help('paper.activation_table')");
    assert_holds(printed(f), "qn.paper.activation_table{");
    must(f, "qn.help('model.window')");
    assert_holds(printed(f), "model.window");
    must(f, "qn.help('optim')");
    assert_holds(printed(f), "optim.lr");
    assert_holds(printed(f), "0.001");
    must(f, "qn.help('settings')");
    assert_holds(printed(f), "checkpoint.keep.best");
    must(f, "qn.help(qn.train(SMALL))");
    assert_holds(printed(f), "run:measure{");
    must(f, "qn.run(1):wait() qn.help(qn.run(1):stats())");
    assert_holds(printed(f), "stats:at(threshold)");
    must(f, "qn.help(qn.adam{})");
    assert_holds(printed(f), "spec:with{");
    assert_prints(f, "qn.help('trian')",
                  "nil\tthere is no help on 'trian' (did you mean 'train'?)\t"
                  "not_found\n");
    assert_fails(f, "qn.help({})", "bad argument");
    assert_prints(f, "qn.view()", "qn.view: there is no screen\n");
}

/* Run the blocks of Lua in a page; how many there were. */
static int run_blocks(struct script_fixture *f, char *page)
{
    static const char begin[] = "\n```lua\n";
    int n = 0;
    for (char *at = page; (at = strstr(at, begin)) != NULL; n++) {
        at += strlen(begin);
        char *end = strstr(at, "\n```\n");
        assert_non_null(end);
        *end = '\0';
        must(f, at);
        at = end + 1;
    }
    return n;
}

/* The blocks of docs/lua.md in one session, as a reader would type them, in a
 * folder of its own: some write files where they are. */
static void every_example_of_the_reference_runs(void **state)
{
    struct script_fixture *f = *state;
    struct qn_bytes page;
    struct qn_err err;
    if (qn_file_read(QN_TESTS_DIR "/../docs/lua.md", &page, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    char *documents = qn_xasprintf("%s/script/lua/documents.lua", QN_TESTS_DIR);
    char *chunk = qn_xasprintf("dofile('%s');", documents);
    must(f, chunk);
    free(chunk);
    free(documents);
    int before = open(".", O_RDONLY);
    assert_true(before >= 0);
    assert_int_equal(chdir(f->base->folder), 0);
    int n = run_blocks(f, page.data);
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
    assert_true(n > 5);
    qn_bytes_free(&page);
    char *written = qn_xasprintf("%s/figures/loss.svg", f->base->folder);
    assert_true(qn_path_exists(written));
    free(written);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_function_has_its_page_and_every_page_its_function),
        TEST(every_method_and_field_is_there),
        TEST(every_example_is_lua),
        TEST(help_answers_for_words_values_and_settings),
        TEST(every_example_of_the_reference_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
