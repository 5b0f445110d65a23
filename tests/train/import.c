/* import.c - weights made elsewhere become a run like any other. */
#include "train/import.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Weights of a short training, outside any run; the caller frees the path.
 * *loss is theirs on the valid split. */
static char *trained_weights(struct fixture *f, const char *const *settings,
                             double *loss)
{
    struct qn_err err;
    char *run = fixture_finish(fixture_create(f, settings));
    *loss = fixture_note(f, QN_NOTE_EVAL)->loss;
    char *inside = qn_path_join(run, "checkpoints/20/model.safetensors");
    char *outside = qn_path_join(f->folder, "weights.safetensors");
    assert_int_equal(rename(inside, outside), 0);
    assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
    free(inside);
    free(run);
    return outside;
}

static void imported_weights_give_the_same_loss(void **state)
{
    struct fixture *f = *state;
    double loss;
    char *weights = trained_weights(f, NULL, &loss);
    /* Sizes that the file corrects. */
    static const char *const settings[] = {"model.hidden=99", "model.layers=1",
                                           NULL};
    struct qn_spec spec = fixture_spec(f, settings);
    char *id;
    struct qn_err err;
    if (qn_import(&f->env, weights, &spec, &id, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_non_null(strstr(f->lines.text, "taken from its tensors: "
                                          "model.layers=2 model.hidden=12"));
    char *run = qn_path_join(f->store, id);
    struct qn_measure *m;
    struct qn_evaluation e;
    assert_int_equal(qn_measure_open(&f->env, run, "best", NULL, 0, &m, &err),
                     QN_OK);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_OK);
    assert_true(e.loss == loss);
    qn_measure_free(m);
    assert_int_equal(recorded_events(run, "done"), 1);
    free(run);
    free(id);
    free(weights);
}

/* Of every kind of network the file tells all but activation and pooling; here
 * it is read by someone who expects the default network. */
static void the_file_tells_what_network_it_is_of(void **state)
{
    static const char *const kinds[][3] = {
        {"model.batch_norm=true", NULL},
        {"model.cell=lstm", NULL},
        {"model.dense=true", "model.window=3,1", NULL},
        {"model.bias=step", "model.activation=relu", NULL}};
    static const char *const expected[][2] = {
        {NULL}, {NULL}, {NULL}, {"model.activation=relu", NULL}};
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++) {
        double loss;
        char *weights = trained_weights(f, kinds[i], &loss);
        struct qn_spec spec = fixture_spec(f, expected[i]);
        char *id;
        struct qn_measure *m;
        struct qn_evaluation e;
        struct qn_err err;
        qn_str_clear(&f->lines);
        if (qn_import(&f->env, weights, &spec, &id, &err) != QN_OK) {
            fail_msg("%s: %s", kinds[i][0], err.text);
        }
        assert_non_null(strstr(f->lines.text, kinds[i][0]));
        /* Windows of 2 are what was expected. */
        assert_int_equal(strstr(f->lines.text, "window") != NULL, i == 2);
        char *run = qn_path_join(f->store, id);
        assert_int_equal(
            qn_measure_open(&f->env, run, "best", NULL, 0, &m, &err), QN_OK);
        assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_OK);
        assert_true(e.loss == loss);
        qn_measure_free(m);
        assert_int_equal(qn_remove_tree(f->store, &err), QN_OK);
        free(run);
        free(id);
        free(weights);
    }
}

/* An LSTM has no windows: those of the network that was expected are dropped,
 * and what takes their place is not said to be the file's. */
static void a_notice_names_only_settings_with_a_meaning(void **state)
{
    static const char *const made[] = {"model.cell=lstm", NULL};
    static const char *const expected[] = {"model.window=3", NULL};
    struct fixture *f = *state;
    double loss;
    char *weights = trained_weights(f, made, &loss);
    struct qn_spec spec = fixture_spec(f, expected);
    char *id;
    struct qn_err err;
    qn_str_clear(&f->lines);
    if (qn_import(&f->env, weights, &spec, &id, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_non_null(strstr(f->lines.text, "model.cell=lstm"));
    assert_null(strstr(f->lines.text, "window"));
    free(id);
    free(weights);
}

static void an_imported_run_trains_on_when_told_to(void **state)
{
    struct fixture *f = *state;
    double loss;
    char *weights = trained_weights(f, NULL, &loss);
    struct qn_spec spec = fixture_spec(f, NULL);
    char *id;
    struct qn_err err;
    assert_int_equal(qn_import(&f->env, weights, &spec, &id, &err), QN_OK);
    char *run = qn_path_join(f->store, id);
    struct qn_trainer *t;
    assert_int_equal(qn_trainer_resume(&f->env, run, NULL, 0, NULL, &t, &err),
                     QN_ESTATE);
    static const char *const more[] = {"steps=30"};
    free(fixture_finish(fixture_resume(f, run, more, 1)));
    assert_true(fixture_note(f, QN_NOTE_EVAL)->loss < loss);
    free(run);
    free(id);
    free(weights);
}

static void weights_for_another_text_make_no_folder(void **state)
{
    struct fixture *f = *state;
    double loss;
    char *weights = trained_weights(f, NULL, &loss);
    struct qn_err err;
    char *id;
    struct qn_str other = {0};
    for (int i = 0; i < 300; i++) {
        qn_str_add(&other, "ababbaba");
    }
    assert_int_equal(qn_file_write(f->text, other.text, other.len, &err),
                     QN_OK);
    struct qn_spec spec = fixture_spec(f, NULL);
    assert_int_equal(qn_import(&f->env, weights, &spec, &id, &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "symbols"));
    assert_false(qn_path_exists(f->store));
    qn_str_free(&other);
    free(weights);
}

static void a_missing_file_is_named(void **state)
{
    struct fixture *f = *state;
    struct qn_spec spec = fixture_spec(f, NULL);
    struct qn_err err;
    char *id;
    assert_int_not_equal(
        qn_import(&f->env, "/no/such.safetensors", &spec, &id, &err), QN_OK);
    assert_non_null(strstr(err.text, "/no/such.safetensors"));
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(imported_weights_give_the_same_loss),
        CASE(the_file_tells_what_network_it_is_of),
        CASE(a_notice_names_only_settings_with_a_meaning),
        CASE(an_imported_run_trains_on_when_told_to),
        CASE(weights_for_another_text_make_no_folder),
        CASE(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
