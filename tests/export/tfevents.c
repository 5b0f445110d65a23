/* tfevents.c - event files, byte for byte and bucket for bucket.
 *
 * The bytes are those of TensorBoard's RecordWriter and protocol classes for
 * the same events. */
#include "export/tfevents.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_check_sum_is_crc32c(void **state)
{
    (void)state;
    unsigned char bytes[32];
    assert_int_equal(qn_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(qn_crc32c("", 0), 0);
    /* RFC 3720, B.4 */
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(qn_crc32c(bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(qn_crc32c(bytes, sizeof bytes), 0x62a8ab43);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    assert_int_equal(qn_crc32c(bytes, sizeof bytes), 0x46dd794e);
}

static void is(struct qn_str *got, const char *bytes, size_t len)
{
    assert_int_equal(got->len, len);
    assert_memory_equal(got->text, bytes, len);
    qn_str_free(got);
}

static void the_first_record_is_tensorboards(void **state)
{
    (void)state;
    static const char bytes[] =
        "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09\x00\x00\x00"
        "\xe6\x83\xc2\xda\x41\x1a\x0d\x62\x72\x61\x69\x6e\x2e\x45\x76\x65"
        "\x6e\x74\x3a\x32\x53\xbb\x23\xc1";
    struct qn_str out = {0};
    qn_tf_begin(&out, 1795821464);
    is(&out, bytes, sizeof bytes - 1);
}

static void the_record_of_a_scalar_is_tensorboards(void **state)
{
    (void)state;
    static const char bytes[] =
        "\x21\x00\x00\x00\x00\x00\x00\x00\x01\x7b\xec\xf6\x09\x00\x00\x60"
        "\xe6\x83\xc2\xda\x41\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0a\x74\x72"
        "\x61\x69\x6e\x2f\x6c\x6f\x73\x73\x15\x00\x00\xa0\x3f\x5c\xea\xdc"
        "\xb3";
    struct qn_str out = {0};
    qn_tf_scalar(&out, 1795821465.5, 300, "train/loss", 1.25);
    is(&out, bytes, sizeof bytes - 1);
}

/* --- a reader of one record with a histogram ------------------------------ */

struct histogram {
    double moment[6]; /* by field: min, max, num, sum, sum_squares */
    double limit[300], count[300];
    size_t n_limits, n_counts;
};

static double get_double(const char *at)
{
    uint64_t bits = 0;
    for (int i = 7; i >= 0; i--) {
        bits = bits << 8 | (unsigned char)at[i];
    }
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t get_varint(const char **at)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return v;
        }
    }
}

/* Step over fields up to the one of this key, a message, and into it; its end
 * goes to *end. */
static void enter(const char **at, const char **end, uint64_t key)
{
    for (;;) {
        uint64_t k = get_varint(at);
        if (k % 8 == 1) {
            *at += 8;
        } else if (k % 8 == 0) {
            (void)get_varint(at);
        } else {
            assert_int_equal(k % 8, 2);
            uint64_t len = get_varint(at);
            if (k == key) {
                *end = *at + len;
                return;
            }
            *at += len;
        }
        assert_true(*at < *end);
    }
}

static size_t get_doubles(double *to, const char **at)
{
    size_t n = get_varint(at) / 8;
    assert_true(n <= 300);
    for (size_t i = 0; i < n; i++, *at += 8) {
        to[i] = get_double(*at);
    }
    return n;
}

static void read_histogram(const struct qn_hist *h, struct histogram *out)
{
    struct qn_str record = {0};
    qn_tf_histogram(&record, 1, 2, "c/layer 1", h);
    const char *at = record.text + 12;
    const char *end = record.text + record.len - 4;
    enter(&at, &end, 5 << 3 | 2); /* summary */
    enter(&at, &end, 1 << 3 | 2); /* value */
    enter(&at, &end, 5 << 3 | 2); /* histo */
    while (at < end) {
        uint64_t key = get_varint(&at);
        if (key == (6 << 3 | 2)) {
            out->n_limits = get_doubles(out->limit, &at);
        } else if (key == (7 << 3 | 2)) {
            out->n_counts = get_doubles(out->count, &at);
        } else {
            assert_true(key % 8 == 1 && key / 8 < 6);
            out->moment[key / 8] = get_double(at);
            at += 8;
        }
    }
    assert_ptr_equal(at, end);
    assert_int_equal(out->n_limits, out->n_counts);
    qn_str_free(&record);
}

static struct histogram histogram_of(const float *x, size_t n)
{
    struct qn_hist h;
    struct histogram out = {.n_limits = 0};
    qn_hist_init(&h, 0.1F);
    qn_hist_add(&h, x, n);
    read_histogram(&h, &out);
    return out;
}

#define HISTOGRAM(...)                                                         \
    histogram_of((const float[]){__VA_ARGS__},                                 \
                 sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* Left edges are the limits before; the first bucket holds nothing. */
static void check_buckets(const struct histogram *h, const float *x, size_t n)
{
    assert_true(h->count[0] == 0);
    for (size_t i = 1; i < h->n_limits; i++) {
        double left = h->limit[i - 1], right = h->limit[i], inside = 0;
        assert_true(left <= right);
        for (size_t k = 0; k < n; k++) {
            double v = (double)x[k];
            bool in = left == right ? v == left
                      : v < 0       ? v > left && v <= right && v < 0
                                    : v >= left && v < right && v > 0;
            inside += in;
        }
        assert_true(h->count[i] == inside);
    }
}

static void buckets_hold_what_lies_between_their_limits(void **state)
{
    (void)state;
    static const float x[] = {-2.0F, -0.3F, -0.3F, -1e-7F, 0,    0,
                              0,     1e-6F, 0.05F, 0.7F,   9.0F, 900.0F};
    const size_t n = sizeof x / sizeof x[0];
    struct histogram h = histogram_of(x, n);
    check_buckets(&h, x, n);
    assert_true(h.moment[3] == (double)n);
    assert_true(h.moment[1] == h.limit[0] && h.moment[1] < -2);
    assert_true(h.moment[2] == h.limit[h.n_limits - 1] && h.moment[2] > 900);
}

static void buckets_of_one_sign_do_not_reach_beyond_it(void **state)
{
    (void)state;
    struct histogram below = HISTOGRAM(-0.5F, -0.6F);
    assert_true(below.moment[2] < 0 && below.moment[2] >= -0.5);
    assert_true(below.moment[1] < -0.6);
    struct histogram above = HISTOGRAM(0.5F);
    assert_true(above.moment[1] > 0 && above.moment[1] <= 0.5);
    assert_int_equal(above.n_limits, 2);
    struct histogram zeros = HISTOGRAM(0, 0);
    assert_int_equal(zeros.n_limits, 2);
    assert_true(zeros.limit[1] == 0 && zeros.count[1] == 2);
    assert_true(zeros.moment[1] == 0 && zeros.moment[2] == 0);
}

static void sums_are_of_the_middles_of_the_bins(void **state)
{
    (void)state;
    struct histogram h = HISTOGRAM(0.5F, -0.25F, -0.25F);
    /* A bin is a factor of 10^(1/16) wide: its middle is within 8 % of all
     * that lies in it. */
    assert_true(fabs(h.moment[4] - 0) < 0.08 * 1.0);
    assert_true(fabs(h.moment[5] - 0.375) < 0.17 * 0.375);
    assert_true(h.moment[3] == 3);
}

static void infinity_and_nothing_are_histograms_too(void **state)
{
    (void)state;
    struct histogram h = HISTOGRAM(HUGE_VALF, -HUGE_VALF, (float)NAN);
    assert_true(h.moment[3] == 2); /* NaN is left out */
    assert_true(h.moment[2] == 10 * (double)qn_hist_edge(QN_HIST_EDGES - 1));
    assert_true(h.moment[1] == -h.moment[2]);
    assert_int_equal(h.n_limits, 2 * QN_HIST_BINS + 2);
    struct qn_hist empty;
    qn_hist_init(&empty, 0.1F);
    read_histogram(&empty, &h);
    assert_true(h.moment[3] == 0 && h.n_limits == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_check_sum_is_crc32c),
        cmocka_unit_test(the_first_record_is_tensorboards),
        cmocka_unit_test(the_record_of_a_scalar_is_tensorboards),
        cmocka_unit_test(buckets_hold_what_lies_between_their_limits),
        cmocka_unit_test(buckets_of_one_sign_do_not_reach_beyond_it),
        cmocka_unit_test(sums_are_of_the_middles_of_the_bins),
        cmocka_unit_test(infinity_and_nothing_are_histograms_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
