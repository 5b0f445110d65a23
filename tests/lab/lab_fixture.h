/* lab_fixture.h - a lab over the trainer's tiny text, and waiting for it.
 *
 * Nothing here waits for a time: it waits for a condition, and gives up after
 * a minute without news so that a hang is a failed test. */
#ifndef QN_LAB_FIXTURE_H
#define QN_LAB_FIXTURE_H

#include "fixture.h"
#include "lab/lab.h"

struct lab_fixture {
    struct fixture *base;
    struct qn_lab *lab;
};

int lab_fixture_setup(void **state);
int lab_fixture_teardown(void **state);

/* A run with these assignments over the fixture's; held when hold. */
qn_run_id start_run(struct lab_fixture *f, const char *const *assignments,
                    bool hold);
struct qn_lab_run view(struct lab_fixture *f, qn_run_id id);

void wait_news(struct lab_fixture *f); /* until the lab has some, or a minute */
void wait_state(struct lab_fixture *f, qn_run_id id, enum qn_lab_state state);
void wait_step(struct lab_fixture *f, qn_run_id id, int64_t step);
struct qn_note wait_answer(struct lab_fixture *f, qn_ticket ticket);
/* The lines of the log so far, a newline behind each; the caller frees. */
char *take_log(struct lab_fixture *f);

/* Steps and values of two series are the same. */
void assert_same_series(const struct qn_series *a, const struct qn_series *b);

/* An error as cmocka shows it. */
#define assert_ok(call)                                                        \
    do {                                                                       \
        struct qn_err err = {""};                                              \
        if ((call) != QN_OK) {                                                 \
            fail_msg("%s", err.text);                                          \
        }                                                                      \
    } while (0)

#endif
