/* script_fixture.c - Lua over a real lab with the trainer's tiny text. */
#include "script_fixture.h"

#include "base/file.h"
#include "base/mem.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void on_print(void *user, const char *text, bool is_error)
{
    struct script_fixture *f = user;
    qn_str_add(is_error ? &f->errors : &f->out, text);
}

static void on_pump(void *user, double timeout)
{
    struct script_fixture *f = user;
    struct pollfd fd = {.fd = qn_lab_fd(f->lab), .events = POLLIN};
    (void)poll(&fd, 1, (int)(timeout * 1000));
    (void)qn_lab_poll(f->lab);
    f->n_pumps++;
    if (f->interrupt_at > 0 && f->n_pumps >= f->interrupt_at) {
        for (int i = 0; i <= f->interrupt_more; i++) {
            qn_script_interrupt(f->s);
        }
        f->interrupt_at =
            f->interrupt_every > 0 ? f->n_pumps + f->interrupt_every : 0;
    }
}

struct qn_script_host script_fixture_host(struct script_fixture *f)
{
    return (struct qn_script_host){.user = f,
                                   .print = on_print,
                                   .pump = on_pump,
                                   .has_screen = f->has_screen};
}

static void start(struct script_fixture *f,
                  const struct qn_script_options *options)
{
    struct qn_script_host host = script_fixture_host(f);
    struct qn_train_env env = f->base->env;
    struct qn_err err;
    env.log = NULL; /* notices go to the lab's own log */
    env.data_dir = f->base->folder;
    if (qn_lab_new(&env, &f->lab, &err) != QN_OK ||
        qn_script_new(f->lab, &host, options, &f->s, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    char *globals = qn_xasprintf(
        "TEXT = '%s' SMALL = { data = { train = TEXT }, batch = 4, seq = 8, "
        "threads = 2, model = { layers = 2, hidden = 12, embed = 6, "
        "dropout = 0.1 }, optim = { lr = 0.01, clip_norm = 1 }, steps = 20, "
        "stats = { every = '5 steps' }, eval = { every = '10 steps' } }",
        f->base->text);
    must(f, globals);
    free(globals);
}

static int setup(void **state, const struct qn_script_options *options,
                 bool has_screen)
{
    struct script_fixture *f = qn_xcalloc(1, sizeof *f);
    void *base = NULL;
    if (fixture_setup(&base) != 0) {
        return -1;
    }
    f->base = base;
    f->has_screen = has_screen;
    *state = f;
    start(f, options);
    return 0;
}

int script_fixture_setup(void **state)
{
    return setup(state, NULL, false);
}

int script_fixture_setup_check(void **state)
{
    struct qn_script_options options = {.check = true};
    return setup(state, &options, false);
}

int script_fixture_setup_set(void **state)
{
    static const char *const set[] = {"seed=7", "model.hidden=10"};
    struct qn_script_options options = {.set = set, .n_set = 2};
    return setup(state, &options, false);
}

int script_fixture_setup_screen(void **state)
{
    return setup(state, NULL, true);
}

int script_fixture_teardown(void **state)
{
    struct script_fixture *f = *state;
    void *base = f->base;
    qn_script_free(f->s);
    qn_lab_free(f->lab, false);
    qn_str_free(&f->out);
    qn_str_free(&f->errors);
    free(f);
    return fixture_teardown(&base);
}

static void forget(struct script_fixture *f)
{
    qn_str_clear(&f->out);
    qn_str_clear(&f->errors);
    f->n_pumps = 0;
}

enum qn_script_result type_in(struct script_fixture *f, const char *text)
{
    forget(f);
    return qn_script_eval(f->s, text);
}

static enum qn_script_result run_path(struct script_fixture *f,
                                      const char *path)
{
    const char *args[] = {"one", "two"};
    forget(f);
    return qn_script_file(f->s, path, args, 2);
}

enum qn_script_result run_file(struct script_fixture *f, const char *name)
{
    char *path = qn_xasprintf("%s/script/lua/%s", QN_TESTS_DIR, name);
    enum qn_script_result result = run_path(f, path);
    free(path);
    return result;
}

enum qn_script_result run_text(struct script_fixture *f, const char *text)
{
    char *path = fixture_write(f->base, "script.lua", text);
    enum qn_script_result result = run_path(f, path);
    free(path);
    return result;
}

const char *printed(const struct script_fixture *f)
{
    return f->out.text == NULL ? "" : f->out.text;
}

const char *complained(const struct script_fixture *f)
{
    return f->errors.text == NULL ? "" : f->errors.text;
}

void must(struct script_fixture *f, const char *text)
{
    enum qn_script_result result = type_in(f, text);
    if (result != QN_SCRIPT_OK) {
        fail_msg("%s\ngave %d: %s", text, (int)result, complained(f));
    }
}

void assert_prints(struct script_fixture *f, const char *chunk,
                   const char *expected)
{
    must(f, chunk);
    assert_string_equal(printed(f), expected);
}

void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("this holds no '%s':\n%s", part, text);
    }
}

void assert_fails(struct script_fixture *f, const char *chunk,
                  const char *expected)
{
    enum qn_script_result result = type_in(f, chunk);
    if (result != QN_SCRIPT_ERROR) {
        fail_msg("%s\ngave %d and printed: %s", chunk, (int)result, printed(f));
    }
    assert_holds(complained(f), expected);
}
