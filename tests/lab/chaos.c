/* chaos.c - commands at random to runs that train: no race, no hang, no loss.
 *
 *     lab_chaos [COMMANDS]
 *
 * Which commands come is seeded; when they arrive is chance. ThreadSanitizer
 * looks at the rest. */
#include "lab_fixture.h"

#include "base/rng.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX_ACTIVE 3

static int n_commands = 1000;

struct chaos {
    struct lab_fixture *f;
    uint64_t key;
    uint64_t i;
    qn_ticket tickets[64]; /* circular */
    int n_tickets;
};

static int pick(struct chaos *c, int n)
{
    return (int)(qn_rng_uniform(c->key, c->i++) * n);
}

/* Any run, ended ones included; 0 = there is none yet. */
static qn_run_id pick_run(struct chaos *c)
{
    int n = qn_lab_n_runs(c->f->lab);
    return n > 0 ? qn_lab_run_at(c->f->lab, pick(c, n)) : 0;
}

static void keep_ticket(struct chaos *c, qn_ticket ticket)
{
    c->tickets[c->n_tickets++ % 64] = ticket;
}

/* What a command says is either good or that the run has ended. */
static void check(enum qn_status status)
{
    assert_true(status == QN_OK || status == QN_ESTATE);
}

static void ask(struct chaos *c, qn_run_id id)
{
    struct qn_text_request text = {.length = 5, .temperature = 1, .seed = 1};
    qn_ticket ticket = 0;
    struct qn_err err;
    enum qn_status status =
        pick(c, 2) == 0
            ? qn_lab_evaluate(c->f->lab, id, QN_VALID, &ticket, &err)
            : qn_lab_sample(c->f->lab, id, &text, &ticket, &err);
    check(status);
    if (status == QN_OK) {
        keep_ticket(c, ticket);
    }
}

static void set(struct chaos *c, qn_run_id id)
{
    static const char *const rates[] = {"0.001", "0.01", "0.02"};
    struct qn_err err;
    check(qn_lab_set(c->f->lab, id, "optim.lr", rates[pick(c, 3)], &err));
}

static void start(struct chaos *c)
{
    static const char *const settings[] = {"steps=1000000",
                                           "model.hidden=4",
                                           "model.embed=2",
                                           "model.layers=1",
                                           "batch=2",
                                           "seq=4",
                                           "stats.every=3",
                                           "eval.limit=20",
                                           "eval.every=50",
                                           "checkpoint.every=none",
                                           NULL};
    if (qn_lab_n_active(c->f->lab) < MAX_ACTIVE) {
        (void)start_run(c->f, settings, pick(c, 2) == 0);
    }
}

static void command(struct chaos *c)
{
    struct qn_err err;
    int what = pick(c, 100);
    qn_run_id id = pick_run(c);
    if (id == 0 || what < 3) {
        start(c);
    } else if (what < 5) {
        check(qn_lab_stop(c->f->lab, id, pick(c, 2) == 0, &err));
    } else if (what < 25) {
        check(qn_lab_pause(c->f->lab, id, &err));
    } else if (what < 55) {
        check(qn_lab_unpause(c->f->lab, id, &err));
    } else if (what < 70) {
        set(c, id);
    } else if (what < 80) {
        ask(c, id);
    } else if (what < 85) {
        qn_lab_release(c->f->lab);
    } else if (what < 90 && c->n_tickets > 0) {
        qn_lab_forget(c->f->lab, c->tickets[pick(c, c->n_tickets) % 64]);
    } else {
        (void)qn_lab_poll(c->f->lab);
    }
}

static void no_order_of_commands_races_or_hangs(void **state)
{
    struct chaos c = {.f = *state, .key = qn_rng_key(11, 0, 0, QN_RNG_SAMPLE)};
    for (int i = 0; i < n_commands; i++) {
        command(&c);
    }
    /* Every run can still be ended and every question gets its answer. */
    for (int i = 0; i < qn_lab_n_runs(c.f->lab); i++) {
        struct qn_err err;
        check(qn_lab_stop(c.f->lab, qn_lab_run_at(c.f->lab, i), false, &err));
    }
    for (int i = 0; i < 64 && i < c.n_tickets; i++) {
        (void)wait_answer(c.f, c.tickets[i]);
    }
    while (qn_lab_n_active(c.f->lab) > 0) {
        wait_news(c.f);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        n_commands = atoi(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_order_of_commands_races_or_hangs,
                                        lab_fixture_setup,
                                        lab_fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
