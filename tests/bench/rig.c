/* rig.c - networks that train on random symbols. */
#include "bench/rig.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "small.h"

static double mean_loss(const struct qn_rig *r)
{
    return r->result.loss_sum / r->result.count;
}

static void run(struct qn_rig *r, int steps)
{
    struct qn_err err;
    for (int i = 0; i < steps; i++) {
        if (qn_rig_step(r, &err) != QN_OK) {
            fail_msg("%s", err.text);
        }
    }
}

static struct qn_rig make(const struct qn_shape *shape)
{
    struct qn_rig rig;
    struct qn_err err;
    if (qn_rig_init(&rig, small_backend(), &shape->spec, shape->steps, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    return rig;
}

/* It sees the same symbols at every step and so comes to know them. */
static void check_learning(const char *preset, const char *const *settings,
                           double first)
{
    struct qn_shape shape = small_shape(preset, settings);
    struct qn_rig rig = make(&shape);
    run(&rig, 1);
    assert_true(rig.result.finite);
    assert_true(fabs(mean_loss(&rig) - first) < 0.3);
    run(&rig, 80);
    assert_true(rig.result.finite);
    assert_true(mean_loss(&rig) < 0.8 * first);
    assert_int_equal(rig.t, 81);
    qn_rig_fini(&rig);
}

static void a_rig_learns_its_symbols(void **state)
{
    (void)state;
    const char *const fast[] = {"optim.lr=0.03", "model.dropout=0", NULL};
    check_learning("demo", fast, log(QN_RIG_SYMBOLS));
    check_learning("ptb-char/drelu-2x250", fast, log(49));
}

static void a_rig_of_words_has_as_many_as_the_preset(void **state)
{
    (void)state;
    const char *const settings[] = {"data.vocab_size=300", "batch=2", NULL};
    struct qn_shape shape = small_shape("ptb-word/tanh-200", settings);
    assert_int_equal(qn_rig_symbols(&shape.spec), 300);
    struct qn_rig rig = make(&shape);
    run(&rig, 2);
    assert_true(rig.result.finite);
    assert_true(rig.result.count == 2 * 5);
    int most = 0;
    for (int i = 0; i < 2 * 5; i++) {
        assert_in_range(rig.ids[i], 0, 299);
        most = rig.ids[i] > most ? rig.ids[i] : most;
    }
    assert_true(most > 49);
    qn_rig_fini(&rig);
}

static void documents_have_a_label_each(void **state)
{
    (void)state;
    const char *const kinds[] = {"sentiment/drelu-256",
                                 "sentiment/dc-lstm-256"};
    for (int i = 0; i < 2; i++) {
        struct qn_shape shape = small_shape(kinds[i], NULL);
        assert_int_equal(qn_rig_steps(&shape.spec), QN_RIG_DOCUMENT);
        struct qn_rig rig = make(&shape);
        run(&rig, 3);
        assert_true(rig.result.finite);
        assert_true(rig.result.count == 3);
        assert_true(fabs(mean_loss(&rig) - log(2)) < 0.3);
        qn_rig_fini(&rig);
    }
}

static void a_rig_without_room_says_what_it_needs(void **state)
{
    (void)state;
    const char *const settings[] = {"batch=100000", "model.hidden=8192", NULL};
    struct qn_shape shape = small_shape("demo", settings);
    struct qn_rig rig;
    struct qn_err err;
    assert_int_equal(
        qn_rig_init(&rig, small_backend(), &shape.spec, 1000, &err), QN_ENOMEM);
    assert_non_null(strstr(err.text, "activations"));
    qn_rig_fini(&rig);
}

static void a_rig_that_diverges_is_no_measure(void **state)
{
    (void)state;
    const char *const settings[] = {"optim.kind=sgd", "optim.lr=1000",
                                    "optim.clip_norm=none", NULL};
    struct qn_shape shape = small_shape("demo", settings);
    struct qn_rig rig = make(&shape);
    struct qn_err err;
    enum qn_status status = QN_OK;
    for (int i = 0; i < 1000 && status == QN_OK; i++) {
        status = qn_rig_step(&rig, &err);
    }
    assert_int_equal(status, QN_ESTATE);
    char start[64];
    (void)snprintf(start, sizeof start, "step %d on random symbols: the ",
                   (int)rig.t);
    assert_non_null(strstr(err.text, start));
    assert_non_null(strstr(err.text, " is not finite"));
    qn_rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rig_learns_its_symbols),
        cmocka_unit_test(a_rig_of_words_has_as_many_as_the_preset),
        cmocka_unit_test(documents_have_a_label_each),
        cmocka_unit_test(a_rig_without_room_says_what_it_needs),
        cmocka_unit_test(a_rig_that_diverges_is_no_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
