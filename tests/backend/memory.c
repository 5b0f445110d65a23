/* memory.c - buffers, sequences and counts on both backends: exact. */
#include "place.h"
#include "backend/cpu/cpu.h"
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

/* Each test runs on ref, and on cpu with 3 slices and 3 threads. */
static void on_both(void (*test)(struct qn_backend *be))
{
    struct qn_backend *ref = place_backend("ref", NULL, 1);
    test(ref);
    qn_backend_free(ref);
    struct qn_pool *pool = qn_pool_new(3);
    struct qn_backend *cpu = place_backend("cpu", pool, 3);
    test(cpu);
    qn_backend_free(cpu);
    qn_pool_free(pool);
}

static void check_values(const float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(got[i] == want[i]);
}

static void round_trip(struct qn_backend *be)
{
    static const float data[3] = {1.0f, -2.0f, 3.5f};
    struct qn_tensor all = place_tensor(be, NULL, 5);
    be->ops->write(be, qn_tensor_part(all, 1, 3), data);
    float *got = place_read(be, all);
    check_values(got, (const float[]){0.0f, 1.0f, -2.0f, 3.5f, 0.0f}, 5);
    free(got);
    place_free(be, all.buffer);
    place_free(be, NULL);
}

static void memory_starts_zeroed_and_keeps_what_is_written(void **state)
{
    (void)state;
    on_both(round_trip);
}

static void integers(struct qn_backend *be)
{
    static const int32_t ids[3] = {7, -1, INT32_MAX};
    int32_t got[3];
    struct qn_tensor t = place_tensor(be, ids, 3);
    assert_int_equal(be->ops->read(be, t, got, NULL), QN_OK);
    assert_memory_equal(got, ids, sizeof ids);
    place_free(be, t.buffer);
}

static void integers_pass_through_unchanged(void **state)
{
    (void)state;
    on_both(integers);
}

/* More than one task's worth. */
static void large(struct qn_backend *be)
{
    size_t n = 600000;
    struct qn_tensor a = place_tensor(be, NULL, n + 2);
    struct qn_tensor b = place_tensor(be, NULL, n);
    be->ops->fill(be, qn_tensor_part(a, 1, n), 2.5f);
    be->ops->copy(be, b, qn_tensor_part(a, 1, n));
    float *got_a = place_read(be, a);
    float *got_b = place_read(be, b);
    assert_true(got_a[0] == 0.0f && got_a[n + 1] == 0.0f);
    for (size_t i = 0; i < n; i++)
        assert_true(got_a[i + 1] == 2.5f && got_b[i] == 2.5f);
    free(got_a);
    free(got_b);
    place_free(be, a.buffer);
    place_free(be, b.buffer);
}

static void fill_and_copy_stay_inside_their_part(void **state)
{
    (void)state;
    on_both(large);
}

/* +0 and -0, over a tensor and over rows, where nothing was 0 before. */
static void zeros(struct qn_backend *be)
{
    size_t n = 300000;
    struct qn_tensor a = place_tensor(be, NULL, n);
    struct qn_seq rows = {.buffer = a.buffer,
                          .row_pitch = 3,
                          .seq_pitch = 12,
                          .batch = 5,
                          .steps = 4,
                          .width = 3};
    for (int minus = 0; minus < 2; minus++) {
        float zero = minus ? -0.0f : 0.0f;
        be->ops->fill(be, a, 1.0f);
        be->ops->fill_seq(be, rows, zero);
        be->ops->fill(be, qn_tensor_part(a, 60, n - 61), zero);
        float *got = place_read(be, a);
        for (size_t i = 0; i < n - 1; i++)
            assert_true(got[i] == 0.0f && !signbit(got[i]) == !minus);
        assert_true(got[n - 1] == 1.0f);
        free(got);
    }
    place_free(be, a.buffer);
}

static void fill_keeps_the_sign_of_zero(void **state)
{
    (void)state;
    on_both(zeros);
}

/* Value of row t, column j of sequence b. */
static float value(int b, int t, int j)
{
    return (float)(b * 100 + t * 10 + j);
}

enum { BATCH = 2, HISTORY = 3, WIDTH = 2 };

static struct qn_seq numbered(struct qn_backend *be, int steps)
{
    float data[BATCH * 8 * WIDTH];
    float *to = data;
    for (int b = 0; b < BATCH; b++)
        for (int t = -HISTORY; t < steps; t++)
            for (int j = 0; j < WIDTH; j++)
                *to++ = value(b, t, j);
    struct place_shape shape = {BATCH, steps, WIDTH, HISTORY, 1};
    return place_seq(be, shape, data);
}

static void rows_only(struct qn_backend *be)
{
    struct qn_seq a = numbered(be, 4);
    struct place_shape shape = {BATCH, 4, WIDTH, 1, 2};
    struct qn_seq b = place_seq(be, shape, NULL);
    be->ops->copy_seq(be, b, a);
    be->ops->fill_seq(be, a, 9.0f);
    float *filled = place_read_seq(be, &a);
    float *copied = place_read_seq(be, &b);
    for (int s = 0; s < BATCH; s++) {
        for (int t = -HISTORY; t < 4; t++)
            for (int j = 0; j < WIDTH; j++) {
                int at = ((s * (HISTORY + 4)) + t + HISTORY) * WIDTH + j;
                float want = t < 0 ? value(s, t, j) : 9.0f;
                assert_true(filled[at] == want);
            }
        for (int t = 0; t < 4; t++)
            for (int j = 0; j < WIDTH; j++)
                assert_true(copied[(s * 5 + t + 1) * WIDTH + j] ==
                            value(s, t, j));
        assert_true(isnan(copied[s * 5 * WIDTH]));
    }
    free(filled);
    free(copied);
    place_free(be, a.buffer);
    place_free(be, b.buffer);
}

static void fill_seq_and_copy_seq_touch_real_rows_only(void **state)
{
    (void)state;
    on_both(rows_only);
}

/* Three sequences take row 2, none and row 0, which become those of others. */
static void one_row_each(struct qn_backend *be)
{
    enum { STEPS = 3, N = 3 };
    static const int from[N] = {2, -1, 0};
    static const int to[N] = {0, 1, -1};
    float data[N * (STEPS + 1) * WIDTH];
    for (int i = 0; i < N * (STEPS + 1) * WIDTH; i++)
        data[i] = (float)(i + 1);
    struct place_shape shape = {N, STEPS, WIDTH, 1, 1};
    struct qn_seq s = place_seq(be, shape, data);
    const float spoilt[N * WIDTH] = {NAN, NAN, NAN, NAN, NAN, NAN};
    struct qn_tensor rows = place_tensor(be, spoilt, N * WIDTH);
    be->ops->take_rows(be, rows, s, from);
    be->ops->put_rows(be, s, rows, to);
    float *taken = place_read(be, rows);
    float *put = place_read_seq(be, &s);
    const float want[N * WIDTH] = {7.0f, 8.0f, 0.0f, 0.0f, 19.0f, 20.0f};
    assert_memory_equal(taken, want, sizeof want);
    for (int i = 0; i < N * (STEPS + 1) * WIDTH; i++) {
        int row = i / WIDTH % (STEPS + 1);
        float kept = row == 0 ? data[i] : 0.0f; /* history stays */
        bool first = i / WIDTH == 1;            /* row 0 of sequence 0 */
        assert_true(put[i] == (first ? want[i % WIDTH] : kept));
    }
    free(taken);
    free(put);
    place_free(be, rows.buffer);
    place_free(be, s.buffer);
}

static void a_row_of_each_sequence_is_taken_and_put(void **state)
{
    (void)state;
    on_both(one_row_each);
}

static void check_shift(struct qn_backend *be, int steps)
{
    struct qn_seq s = numbered(be, steps);
    be->ops->shift_history(be, s);
    float *got = place_read_seq(be, &s);
    for (int b = 0; b < BATCH; b++)
        for (int t = -HISTORY; t < 0; t++)
            for (int j = 0; j < WIDTH; j++) {
                int at = (b * (HISTORY + steps) + t + HISTORY) * WIDTH + j;
                assert_true(got[at] == value(b, t + steps, j));
            }
    free(got);
    be->ops->zero_history(be, s);
    got = place_read_seq(be, &s);
    for (int b = 0; b < BATCH; b++)
        for (int t = -HISTORY; t < steps; t++) {
            int at = (b * (HISTORY + steps) + t + HISTORY) * WIDTH;
            assert_true(got[at] == (t < 0 ? 0.0f : value(b, t, 0)));
        }
    free(got);
    place_free(be, s.buffer);
}

/* Steps above, at and below the history. */
static void shifts(struct qn_backend *be)
{
    for (int steps = 1; steps <= 5; steps++)
        check_shift(be, steps);
}

static void history_shifts_also_when_the_segment_is_shorter(void **state)
{
    (void)state;
    on_both(shifts);
}

static void counts(struct qn_backend *be)
{
    struct qn_seq s = numbered(be, 5);
    be->ops->fill_seq(be, s, -1.0f);
    struct qn_hist h;
    qn_hist_init(&h, 0.5f);
    assert_int_equal(be->ops->count(be, s, &h, NULL), QN_OK);
    be->ops->fill_seq(be, s, 0.25f);
    assert_int_equal(be->ops->count(be, s, &h, NULL), QN_OK);
    uint64_t real = (uint64_t)(BATCH * 5 * WIDTH);
    assert_int_equal(h.n_negative, real);
    assert_int_equal(h.n_near, real);
    assert_int_equal(h.n_positive, 0);
    assert_int_equal(h.n_nan, 0);
    place_free(be, s.buffer);
}

static void count_adds_the_real_rows(void **state)
{
    (void)state;
    on_both(counts);
}

/* More than can be addressed: a sum of bytes that overflows. */
static void missing_workspace_is_told_once_by_the_next_read(void **state)
{
    (void)state;
    struct qn_backend *be = place_backend("cpu", NULL, 1);
    struct qn_tensor t = place_tensor(be, NULL, 1);
    struct qn_step_result r;
    struct qn_err err;
    float x = 0.0f;
    assert_null(qn_cpu_work((struct qn_cpu *)be, SIZE_MAX / 2));
    assert_int_equal(be->ops->read(be, t, &x, &err), QN_ENOMEM);
    assert_int_equal(be->ops->read(be, t, &x, &err), QN_OK);
    assert_null(qn_cpu_work((struct qn_cpu *)be, SIZE_MAX / 2));
    assert_int_equal(be->ops->step_end(be, &r, &err), QN_ENOMEM);
    assert_non_null(qn_cpu_work((struct qn_cpu *)be, 10));
    assert_int_equal(be->ops->step_end(be, &r, &err), QN_OK);
    place_free(be, t.buffer);
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_starts_zeroed_and_keeps_what_is_written),
        cmocka_unit_test(integers_pass_through_unchanged),
        cmocka_unit_test(fill_and_copy_stay_inside_their_part),
        cmocka_unit_test(fill_keeps_the_sign_of_zero),
        cmocka_unit_test(fill_seq_and_copy_seq_touch_real_rows_only),
        cmocka_unit_test(a_row_of_each_sequence_is_taken_and_put),
        cmocka_unit_test(history_shifts_also_when_the_segment_is_shorter),
        cmocka_unit_test(count_adds_the_real_rows),
        cmocka_unit_test(missing_workspace_is_told_once_by_the_next_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
