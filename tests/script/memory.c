/* memory.c - Lua runs out of memory at every point: nothing leaks, the state
 * stays good. */
#include "script_fixture.h"

#include "script/state.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many more times Lua gets memory; negative: always. */
struct budget {
    long left;
};

static void *spend(void *user, void *p, size_t old, size_t new)
{
    struct budget *b = user;
    (void)old;
    if (new == 0) {
        free(p);
        return NULL;
    }
    bool grows = p == NULL || new > old;
    if (b->left == 0 && grows) {
        return NULL;
    }
    b->left -= b->left > 0 && grows ? 1 : 0;
    return realloc(p, new);
}

/* Give ever more until the work is done: about every one of the first hundred
 * points of failure is met, of later ones a sample. */
static void starve(struct script_fixture *f,
                   enum qn_script_result (*work)(struct script_fixture *f,
                                                 const char *text),
                   const char *text)
{
    void *user;
    lua_Alloc plain = lua_getallocf(f->s->L, &user);
    enum qn_script_result result = QN_SCRIPT_ERROR;
    for (long n = 0; result == QN_SCRIPT_ERROR && n < 100000; n += 1 + n / 25) {
        struct budget b = {n};
        lua_setallocf(f->s->L, spend, &b);
        result = work(f, text);
        lua_setallocf(f->s->L, plain, user);
    }
    if (result != QN_SCRIPT_OK) {
        fail_msg("%s: %s", text, complained(f));
    }
    must(f, "assert(1 + 1 == 2)");
}

static void a_chunk_may_fail_anywhere(void **state)
{
    struct script_fixture *f = *state;
    static const char *const chunks[] = {
        "print(qn.qrnn{ window = { 6, 2 }, init = { kind = 'normal' } })",
        "assert(qn.preset('demo', { steps = 3, tags = { 'a' } }) ~= nil)",
        "return { 1, 2, { a = 'x', b = { c = 3 } }, [2.5] = true }",
        "assert(not pcall(qn.qrnn, { hiden = 1, layers = 'x' }) or nil)",
        "qn.help() qn.help('run') qn.help('model')",
        "assert(qn.corpus{ train = TEXT }.sizes.train > 0)",
        "assert(#qn.runs() == 1 and tostring(qn.runs()))",
        "assert(done.config == done.config:with{} and done.best)",
        "assert(#tostring(done:stats()) > 0)",
        "for step in done:metric('train.loss'):each() do assert(step) end",
        NULL};
    must(f, "done = qn.train(SMALL) done:wait()");
    for (int i = 0; chunks[i] != NULL; i++) {
        starve(f, type_in, chunks[i]);
    }
}

static enum qn_script_result complete(struct script_fixture *f,
                                      const char *text)
{
    int start = 0;
    char **words = qn_script_complete(f->s, text, (int)strlen(text), &start);
    for (int i = 0; words != NULL && words[i] != NULL; i++) {
        free(words[i]);
    }
    free(words);
    return words != NULL ? QN_SCRIPT_OK : QN_SCRIPT_ERROR;
}

static void completion_may_fail_anywhere(void **state)
{
    struct script_fixture *f = *state;
    must(f, "done = qn.train(SMALL) done:wait()");
    starve(f, complete, "pri");
    starve(f, complete, "qn.train{ model = { activation = 'd");
    starve(f, complete, "done.config.model.hid");
    starve(f, complete, "qn.run '");
}

static void a_script_may_ask_for_too_much(void **state)
{
    struct script_fixture *f = *state;
    void *user;
    lua_Alloc plain = lua_getallocf(f->s->L, &user);
    struct budget b = {20000};
    lua_setallocf(f->s->L, spend, &b);
    enum qn_script_result result =
        type_in(f, "t = {} while true do t = { t } end");
    lua_setallocf(f->s->L, plain, user);
    assert_int_equal(result, QN_SCRIPT_ERROR);
    assert_holds(complained(f), "not enough memory");
    must(f, "t = nil");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chunk_may_fail_anywhere),
        TEST(completion_may_fail_anywhere),
        TEST(a_script_may_ask_for_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
