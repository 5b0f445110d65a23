/* lab_fixture.c - a lab over the trainer's tiny text, and waiting for it. */
#include "lab_fixture.h"

#include "base/mem.h"
#include "base/str.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PATIENCE_MS 60000

int lab_fixture_setup(void **state)
{
    struct lab_fixture *f = qn_xcalloc(1, sizeof *f);
    void *base = NULL;
    struct qn_err err;
    if (fixture_setup(&base) != 0) {
        return -1;
    }
    f->base = base;
    struct qn_train_env env = f->base->env;
    env.log = NULL; /* notices go to the lab's own log */
    if (qn_lab_new(&env, &f->lab, &err) != QN_OK) {
        return -1;
    }
    *state = f;
    return 0;
}

int lab_fixture_teardown(void **state)
{
    struct lab_fixture *f = *state;
    void *base = f->base;
    qn_lab_free(f->lab, false);
    free(f);
    return fixture_teardown(&base);
}

qn_run_id start_run(struct lab_fixture *f, const char *const *assignments,
                    bool hold)
{
    struct qn_spec spec = fixture_spec(f->base, assignments);
    qn_run_id id = 0;
    assert_ok(qn_lab_train(f->lab, &spec, hold, &id, &err));
    return id;
}

struct qn_lab_run view(struct lab_fixture *f, qn_run_id id)
{
    struct qn_lab_run run;
    assert_true(qn_lab_run(f->lab, id, &run));
    return run;
}

void wait_news(struct lab_fixture *f)
{
    struct pollfd fd = {.fd = qn_lab_fd(f->lab), .events = POLLIN};
    if (poll(&fd, 1, PATIENCE_MS) == 0) {
        fail_msg("nothing has come for a minute");
    }
    (void)qn_lab_poll(f->lab);
}

void wait_state(struct lab_fixture *f, qn_run_id id, enum qn_lab_state state)
{
    (void)qn_lab_poll(f->lab);
    while (view(f, id).state != state) {
        enum qn_lab_state now = view(f, id).state;
        if (!qn_lab_state_active(now)) {
            fail_msg("run %d is %s (%s)", id, qn_lab_state_name(now),
                     view(f, id).error);
        }
        wait_news(f);
    }
}

void wait_step(struct lab_fixture *f, qn_run_id id, int64_t step)
{
    (void)qn_lab_poll(f->lab);
    while (view(f, id).step < step) {
        if (!qn_lab_state_active(view(f, id).state)) {
            fail_msg("run %d has ended", id);
        }
        wait_news(f);
    }
}

struct qn_note wait_answer(struct lab_fixture *f, qn_ticket ticket)
{
    struct qn_note note;
    (void)qn_lab_poll(f->lab);
    while (!qn_lab_answer(f->lab, ticket, &note)) {
        wait_news(f);
    }
    return note;
}

char *take_log(struct lab_fixture *f)
{
    struct qn_str s = {0};
    char line[8192];
    while (qn_lab_take_log(f->lab, line, sizeof line, NULL)) {
        qn_str_add(&s, line);
        qn_str_add(&s, "\n");
    }
    return qn_str_take(&s);
}

void assert_same_series(const struct qn_series *a, const struct qn_series *b)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(qn_series_len(a), qn_series_len(b));
    for (size_t i = 0; i < qn_series_len(a); i++) {
        struct qn_point p = qn_series_at(a, i);
        struct qn_point q = qn_series_at(b, i);
        assert_memory_equal(&p, &q, sizeof p);
    }
}
