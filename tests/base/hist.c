/* hist.c - counts are exact, and shares at any threshold follow from them. */
#include "base/hist.h"
#include "base/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void edges_are_powers_of_ten_rounded_to_float(void **state)
{
    (void)state;
    for (int i = 0; i < QN_HIST_EDGES; i++) {
        double exact = pow(10, QN_HIST_MIN_EXP + i / 16.0);
        assert_true(qn_hist_edge(i) == (float)exact);
    }
    assert_true(qn_hist_edge(64) == 0.1f);
    assert_true(qn_hist_edge(0) == 1e-5f);
    assert_true(qn_hist_edge(QN_HIST_EDGES - 1) == 1e3f);
}

static int slow_bin(float magnitude)
{
    int bin = 0;
    while (bin < QN_HIST_EDGES && magnitude >= qn_hist_edge(bin)) {
        bin++;
    }
    return bin;
}

/* The definition, value by value. */
static void slow_add(struct qn_hist *h, float x)
{
    if (isnan(x)) {
        h->n_nan++;
        return;
    }
    h->n_negative += x <= -h->threshold;
    h->n_near += fabsf(x) < h->threshold;
    h->n_positive += x >= h->threshold;
    h->n_zero += x == 0;
    if (x != 0) {
        enum qn_hist_side side = x < 0 ? QN_HIST_NEGATIVE : QN_HIST_POSITIVE;
        h->bin[side][slow_bin(fabsf(x))]++;
    }
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void same_as_slow(const float *x, size_t n, float threshold)
{
    static struct qn_hist fast, slow;
    qn_hist_init(&fast, threshold);
    qn_hist_init(&slow, threshold);
    qn_hist_add(&fast, x, n);
    for (size_t i = 0; i < n; i++) {
        slow_add(&slow, x[i]);
    }
    assert_memory_equal(&fast, &slow, sizeof fast);
}

static void counting_equals_the_definition_around_every_edge(void **state)
{
    (void)state;
    float x[6 * QN_HIST_EDGES];
    size_t n = 0;
    for (int i = 0; i < QN_HIST_EDGES; i++) {
        float edge = qn_hist_edge(i);
        const float around[3] = {nextafterf(edge, 0), edge,
                                 nextafterf(edge, 1e9f)};
        for (int k = 0; k < 3; k++) {
            x[n++] = around[k];
            x[n++] = -around[k];
        }
    }
    for (size_t i = 0; i < n; i++) {
        same_as_slow(&x[i], 1, 0.1f);
    }
    same_as_slow(x, n, 0.1f);
    same_as_slow(x, n, 0.3f);
}

static void counting_equals_the_definition_on_any_bits(void **state)
{
    (void)state;
    const size_t n = 40000; /* several blocks, and a rest */
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = qn_mix64(i + 1);
        switch (bits >> 60) {
        case 0:
            x[i] = 0.0f;
            break;
        case 1:
            x[i] = -0.0f;
            break;
        case 2:
            x[i] = from_bits((bits >> 59 & 1) ? 0x7f800000u : 0xff800000u);
            break;
        case 3:
            x[i] = (float)qn_rng_normal(1, i);
            break;
        default: /* NaN of both signs and subnormals among them */
            x[i] = from_bits((uint32_t)bits);
            break;
        }
    }
    for (size_t len = 0; len < 20; len++) {
        same_as_slow(x + len, len, 0.1f);
    }
    same_as_slow(x, n, 0.1f);
    same_as_slow(x + 1, n - 1, 1e-30f);
    same_as_slow(x, n - 7, 1e30f);
    free(x);
}

static void merging_is_counting_both(void **state)
{
    (void)state;
    float x[1000];
    for (size_t i = 0; i < 1000; i++) {
        x[i] = (float)qn_rng_normal(2, i);
    }
    struct qn_hist whole, first, second;
    qn_hist_init(&whole, 0.1f);
    qn_hist_init(&first, 0.1f);
    qn_hist_init(&second, 0.1f);
    qn_hist_add(&whole, x, 1000);
    qn_hist_add(&first, x, 300);
    qn_hist_add(&second, x + 300, 700);
    qn_hist_merge(&first, &second);
    assert_memory_equal(&whole, &first, sizeof whole);
}

static void shares_count_nan_and_put_the_threshold_outside(void **state)
{
    (void)state;
    const float x[] = {-0.2f, -0.1f, -0.05f, 0, -0.0f, 0.1f, 5, NAN};
    struct qn_hist h;
    qn_hist_init(&h, 0.1f);
    qn_hist_add(&h, x, 8);
    struct qn_shares s = qn_hist_shares(&h);
    assert_true(s.count == 8);
    assert_true(s.negative == 0.25 && s.near == 0.375 && s.positive == 0.25);
    assert_true(s.zero == 0.25 && s.nan == 0.125);
}

static void no_values_have_no_shares(void **state)
{
    (void)state;
    struct qn_hist h;
    qn_hist_init(&h, 0.1f);
    qn_hist_add(&h, NULL, 0);
    struct qn_shares a = qn_hist_shares(&h);
    struct qn_shares b = qn_hist_shares_at(&h, 0.7);
    assert_true(a.count == 0 && a.negative == 0 && a.near == 0 &&
                a.positive == 0 && a.zero == 0 && a.nan == 0);
    assert_true(b.count == 0 && b.near == 0);
}

static void shares_at_an_edge_are_exact(void **state)
{
    (void)state;
    float x[5000];
    for (size_t i = 0; i < 5000; i++) {
        x[i] = i % 50 == 0 ? NAN : (float)qn_rng_normal(3, i);
    }
    for (int i = 0; i < QN_HIST_EDGES; i++) {
        struct qn_hist own, other;
        qn_hist_init(&own, qn_hist_edge(i));
        qn_hist_init(&other, 0.2f);
        qn_hist_add(&own, x, 5000);
        qn_hist_add(&other, x, 5000);
        struct qn_shares a = qn_hist_shares(&own);
        struct qn_shares b = qn_hist_shares_at(&other, (double)qn_hist_edge(i));
        assert_true(a.negative == b.negative && a.near == b.near &&
                    a.positive == b.positive && a.nan == b.nan);
    }
}

static void a_double_threshold_means_the_edge_it_rounds_to(void **state)
{
    (void)state;
    const float x[] = {0.1f, -0.1f, 0.0999f, 0.11f};
    struct qn_hist h;
    qn_hist_init(&h, 0.5f);
    qn_hist_add(&h, x, 4);
    struct qn_shares s = qn_hist_shares_at(&h, 0.1);
    assert_true(s.positive == 0.5 && s.negative == 0.25 && s.near == 0.25);
}

static void shares_between_edges_are_interpolated_in_the_logarithm(void **state)
{
    (void)state;
    /* One value in the bin from edge 64 to edge 65, the threshold at a quarter
     * of it: three quarters of the value are taken to lie beyond. */
    const float x[] = {0.11f};
    struct qn_hist h;
    qn_hist_init(&h, 1);
    qn_hist_add(&h, x, 1);
    struct qn_shares s = qn_hist_shares_at(&h, pow(10, -1 + 0.25 / 16));
    /* The edges are rounded to float: 6e-8 of a width of 0.144. */
    assert_true(fabs(s.positive - 0.75) < 1e-6);
    assert_true(s.negative == 0);
    assert_true(fabs(s.near + s.positive - 1) < 1e-15);
}

static void shares_never_grow_with_the_threshold(void **state)
{
    (void)state;
    static float x[20000];
    for (size_t i = 0; i < 20000; i++) {
        x[i] = (float)exp(8 * qn_rng_normal(4, i));
    }
    static struct qn_hist h;
    qn_hist_init(&h, 0.1f);
    qn_hist_add(&h, x, 20000);
    double last = 1;
    for (double e = -8; e < 6; e += 0.01) {
        double t = pow(10, e);
        double now = qn_hist_shares_at(&h, t).positive;
        /* At its own threshold, an edge, the exact share: the same number. */
        assert_true(now <= last && now >= 0);
        last = now;
    }
}

static void outside_the_edges_the_share_is_the_end_bin(void **state)
{
    (void)state;
    const float x[] = {5e-6f, 2e3f, INFINITY, -INFINITY};
    struct qn_hist h;
    qn_hist_init(&h, 1);
    qn_hist_add(&h, x, 4);
    assert_true(qn_hist_shares_at(&h, 1e6).positive == 0.5);
    assert_true(qn_hist_shares_at(&h, 1e6).negative == 0.25);
    double half = qn_hist_shares_at(&h, 5e-6).positive;
    assert_true(fabs(half - (0.5 + 0.125)) < 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_powers_of_ten_rounded_to_float),
        cmocka_unit_test(counting_equals_the_definition_around_every_edge),
        cmocka_unit_test(counting_equals_the_definition_on_any_bits),
        cmocka_unit_test(merging_is_counting_both),
        cmocka_unit_test(shares_count_nan_and_put_the_threshold_outside),
        cmocka_unit_test(no_values_have_no_shares),
        cmocka_unit_test(shares_at_an_edge_are_exact),
        cmocka_unit_test(a_double_threshold_means_the_edge_it_rounds_to),
        cmocka_unit_test(
            shares_between_edges_are_interpolated_in_the_logarithm),
        cmocka_unit_test(shares_never_grow_with_the_threshold),
        cmocka_unit_test(outside_the_edges_the_share_is_the_end_bin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
