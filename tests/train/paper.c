/* paper.c - the test sets of Penn Treebank give the paper's numbers of
 * predictions, however many streams they are cut into. Skipped where the data
 * folder does not have them. */
#include "fixture.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The smallest network: only its predictions are counted. The validation text
 * is the training text, since its words are the vocabulary all the same. */
#define SMALL                                                                  \
    "data.train=ptb/ptb.valid.txt", "data.valid=0", "model.layers=1",          \
        "model.hidden=2", "model.embed=2", "model.window=1",                   \
        "data.test=ptb/ptb.test.txt", "batch=20", "seq=200"

static const char *const characters[] = {SMALL, "data.level=char",
                                         "data.stream=ptb49", NULL};
static const char *const words[] = {SMALL, "data.level=word", NULL};

/* A trainer over the text, or NULL where there is none. */
static struct qn_trainer *open_text(struct fixture *f,
                                    const char *const *settings)
{
    struct qn_spec spec = fixture_spec(f, settings);
    struct qn_trainer *t = NULL;
    struct qn_err err;
    f->env.backend = "cpu";
    enum qn_status status = qn_trainer_create(&f->env, &spec, NULL, &t, &err);
    if (status != QN_OK && status != QN_ENOTFOUND) {
        fail_msg("%s", err.text);
    }
    return t;
}

static int64_t predictions(struct fixture *f, const char *run,
                           const char *batch)
{
    struct qn_measure *m;
    struct qn_evaluation e;
    struct qn_err err;
    if (qn_measure_open(&f->env, run, "last", &batch, 1, &m, &err) != QN_OK ||
        qn_measure_evaluate(m, QN_TEST, &e, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(isfinite(e.loss));
    qn_measure_free(m);
    return e.predictions;
}

static void check(struct fixture *f, const char *const *settings,
                  int64_t expected)
{
    struct qn_trainer *t = open_text(f, settings);
    if (t == NULL) {
        skip();
    }
    struct qn_err err;
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    assert_int_equal(predictions(f, run, "eval.batch=1"), expected);
    assert_int_equal(predictions(f, run, "eval.batch=20"), expected);
    free(run);
}

static void the_characters_are_442422(void **state)
{
    check(*state, characters, 442422);
}

static void the_words_are_82429(void **state)
{
    check(*state, words, 82429);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_characters_are_442422),
        CASE(the_words_are_82429),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
