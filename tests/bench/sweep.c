/* sweep.c - the shapes that are compared. */
#include "bench/sweep.h"

#include "bench/versus_lstm.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct qn_bench_env env_of(struct qn_pool *pool)
{
    return (struct qn_bench_env){.pool = pool, .backend = "cpu"};
}

static struct qn_shapes shapes_of(enum qn_sweep sweep, struct qn_pool *pool,
                                  const struct qn_bench_source *source)
{
    struct qn_bench_env env = env_of(pool);
    struct qn_shapes shapes;
    struct qn_err err;
    if (qn_sweep_shapes(sweep, &env, source, &shapes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return shapes;
}

static const char *const no_settings[] = {NULL};
static const struct qn_bench_source usual = {"ptb-char/drelu-4x250",
                                             no_settings, 0};

static void segments_grow_and_streams_become_fewer(void **state)
{
    (void)state;
    struct qn_shapes s = shapes_of(QN_SWEEP_STEPS, NULL, &usual);
    assert_int_equal(s.n, 8);
    for (int i = 0; i < s.n; i++) {
        assert_int_equal(s.list[i].steps, 32 << i);
        assert_int_equal(s.list[i].spec.seq, 32 << i);
        assert_int_equal(s.list[i].spec.batch, 512 >> i);
        assert_true(s.list[i].spec.model.batch_norm);
        assert_int_equal(s.list[i].workers, 0);
    }
    qn_shapes_free(&s);
}

static void documents_grow_too(void **state)
{
    (void)state;
    struct qn_bench_source source = {"sentiment/drelu-256", no_settings, 0};
    struct qn_shapes s = shapes_of(QN_SWEEP_STEPS, NULL, &source);
    assert_int_equal(s.list[0].steps, 32);
    assert_int_equal(s.list[7].steps, 4096);
    assert_int_equal(s.list[7].spec.batch, 4);
    qn_shapes_free(&s);
}

static void batches_double_after_a_single_symbol(void **state)
{
    (void)state;
    const char *const small[] = {"model.hidden=8", "seq=7"};
    struct qn_bench_source source = {"ptb-char/drelu-2x250", small, 2};
    struct qn_shapes s = shapes_of(QN_SWEEP_BATCH, NULL, &source);
    assert_int_equal(s.n, 11);
    assert_int_equal(s.note.len, 0);
    assert_int_equal(s.list[0].spec.batch, 1);
    assert_int_equal(s.list[0].steps, 1);
    assert_false(s.list[0].spec.model.batch_norm);
    for (int i = 1; i < s.n; i++) {
        assert_int_equal(s.list[i].spec.batch, 1 << (i - 1));
        assert_int_equal(s.list[i].steps, 7);
        assert_true(s.list[i].spec.model.batch_norm);
    }
    qn_shapes_free(&s);
}

static void batches_end_where_memory_does(void **state)
{
    (void)state;
    const char *const large[] = {"model.hidden=8192", "seq=100000",
                                 "model.batch_norm=false"};
    struct qn_bench_source source = {"ptb-char/drelu-8x250", large, 3};
    struct qn_shapes s = shapes_of(QN_SWEEP_BATCH, NULL, &source);
    assert_int_equal(s.n, 1);
    assert_non_null(strstr(s.note.text, "batch 1 and more: "));
    assert_non_null(strstr(s.note.text, "activations"));
    qn_shapes_free(&s);
}

static void layers_are_added_one_by_one(void **state)
{
    (void)state;
    struct qn_shapes s = shapes_of(QN_SWEEP_LAYERS, NULL, &usual);
    assert_int_equal(s.n, 8);
    for (int i = 0; i < s.n; i++) {
        assert_int_equal(s.list[i].spec.model.layers, i + 1);
        assert_int_equal(s.list[i].spec.model.window[0], 6);
        assert_int_equal(s.list[i].spec.model.window[i], i == 0 ? 6 : 2);
    }
    qn_shapes_free(&s);
}

static void threads_are_both_slices_and_workers(void **state)
{
    (void)state;
    struct qn_pool *pool = qn_pool_new(3);
    struct qn_shapes s = shapes_of(QN_SWEEP_THREADS, pool, &usual);
    assert_int_equal(s.n, 3);
    for (int i = 0; i < s.n; i++) {
        assert_int_equal(s.list[i].spec.threads, i + 1);
        assert_int_equal(s.list[i].workers, i + 1);
    }
    qn_shapes_free(&s);
    qn_pool_free(pool);
}

static void an_lstm_is_compared_with_layers_of_its_size(void **state)
{
    (void)state;
    struct qn_shapes s;
    struct qn_err err;
    assert_int_equal(qn_versus_shapes(&usual, &s, &err), QN_OK);
    assert_int_equal(s.n, 6);
    const int hidden[] = {250, 256};
    const int batch[] = {128, 24};
    const enum qn_cell cell[] = {QN_CELL_QRNN, QN_CELL_QRNN, QN_CELL_LSTM};
    for (int i = 0; i < s.n; i++) {
        const struct qn_spec *spec = &s.list[i].spec;
        assert_int_equal(spec->model.hidden, hidden[i / 3]);
        assert_int_equal(spec->batch, batch[i / 3]);
        assert_int_equal(spec->model.cell, cell[i % 3]);
        assert_int_equal(spec->model.layers, 4);
        assert_int_equal(spec->model.embed, 50);
        assert_int_equal(spec->seq, 100);
        assert_false(spec->model.batch_norm);
        s.list[i].tokens_per_s = 10 * (i % 3 == 2 ? 4 : i + 1);
    }
    assert_int_equal(s.list[0].spec.model.activation, QN_DRELU);
    assert_int_equal(s.list[4].spec.model.activation, QN_TANH);
    assert_true(qn_versus_times(&s, 1) == 0.5);
    assert_true(qn_versus_times(&s, 3) == 1);
    assert_true(qn_versus_times(&s, 5) == 1);
    assert_true(qn_versus_paper(3) == 2.5 && qn_versus_paper(1) == 2.1);
    assert_true(qn_versus_paper(5) == 0);
    qn_shapes_free(&s);
}

static void settings_come_between_preset_and_sweep(void **state)
{
    (void)state;
    const char *const settings[] = {"model.hidden=33", "batch=77", "seq=10"};
    struct qn_bench_source source = {"ptb-char/drelu-4x250", settings, 3};
    struct qn_shapes s = shapes_of(QN_SWEEP_STEPS, NULL, &source);
    assert_int_equal(s.list[1].spec.model.hidden, 33);
    assert_int_equal(s.list[1].spec.batch, 256);
    qn_shapes_free(&s);
    struct qn_shape shape;
    struct qn_err err;
    assert_int_equal(qn_bench_shape(&source, NULL, &shape, &err), QN_OK);
    assert_int_equal(shape.spec.batch, 77);
    assert_int_equal(shape.steps, 10);
    assert_string_equal(shape.preset, "ptb-char/drelu-4x250");
}

static void mistakes_are_said(void **state)
{
    (void)state;
    const char *const wrong[] = {"model.hiden=3"};
    struct qn_bench_source source = {"demo", wrong, 1};
    struct qn_shape shape;
    struct qn_err err;
    assert_int_equal(qn_bench_shape(&source, NULL, &shape, &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "model.hidden"));
    source = (struct qn_bench_source){"dmo", no_settings, 0};
    assert_int_equal(qn_bench_shape(&source, NULL, &shape, &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "demo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_grow_and_streams_become_fewer),
        cmocka_unit_test(documents_grow_too),
        cmocka_unit_test(batches_double_after_a_single_symbol),
        cmocka_unit_test(batches_end_where_memory_does),
        cmocka_unit_test(layers_are_added_one_by_one),
        cmocka_unit_test(threads_are_both_slices_and_workers),
        cmocka_unit_test(an_lstm_is_compared_with_layers_of_its_size),
        cmocka_unit_test(settings_come_between_preset_and_sweep),
        cmocka_unit_test(mistakes_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
