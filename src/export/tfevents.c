/* tfevents.c - records, messages and check sums of TensorBoard's event files.
 */
#include "export/tfevents.h"

#include <stdbool.h>
#include <string.h>

/* --- check sums --------------------------------------------------------- */

/* Half a byte at a time: small, and far quicker than the disk. */
uint32_t qn_crc32c(const void *data, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *byte = data;
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len; i++) {
        crc ^= byte[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* So that the sum of data that holds sums does not come out alike. */
static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* --- Protocol Buffers --------------------------------------------------- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void add_little_endian(struct qn_str *s, uint64_t v, int bytes)
{
    char buf[8];
    for (int i = 0; i < bytes; i++) {
        buf[i] = (char)(unsigned char)(v >> 8 * i);
    }
    qn_str_add_bytes(s, buf, (size_t)bytes);
}

static void add_varint(struct qn_str *s, uint64_t v)
{
    while (v >= 0x80) {
        add_little_endian(s, (v & 0x7f) | 0x80, 1);
        v >>= 7;
    }
    add_little_endian(s, v, 1);
}

static void add_key(struct qn_str *s, int field, enum wire wire)
{
    add_varint(s, (uint64_t)field << 3 | (uint64_t)wire);
}

static void add_double(struct qn_str *s, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_little_endian(s, bits, 8);
}

static void add_double_field(struct qn_str *s, int field, double v)
{
    add_key(s, field, FIXED64);
    add_double(s, v);
}

static void add_float_field(struct qn_str *s, int field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_key(s, field, FIXED32);
    add_little_endian(s, bits, 4);
}

static void add_bytes_field(struct qn_str *s, int field, const void *data,
                            size_t len)
{
    add_key(s, field, BYTES);
    add_varint(s, len);
    qn_str_add_bytes(s, data, len);
}

static void add_message(struct qn_str *s, int field,
                        const struct qn_str *message)
{
    add_bytes_field(s, field, message->text, message->len);
}

/* --- records ------------------------------------------------------------ */

static void add_record(struct qn_str *out, const struct qn_str *event)
{
    struct qn_str length = {0};
    add_little_endian(&length, event->len, 8);
    qn_str_add_bytes(out, length.text, length.len);
    add_little_endian(out, masked(qn_crc32c(length.text, length.len)), 4);
    qn_str_add_bytes(out, event->text, event->len);
    add_little_endian(out, masked(qn_crc32c(event->text, event->len)), 4);
    qn_str_free(&length);
}

void qn_tf_begin(struct qn_str *out, double wall_time)
{
    static const char version[] = "brain.Event:2";
    struct qn_str event = {0};
    add_double_field(&event, 1, wall_time);
    add_bytes_field(&event, 3, version, strlen(version));
    add_record(out, &event);
    qn_str_free(&event);
}

/* The record of a step with one value, a message of Summary.Value. */
static void add_value(struct qn_str *out, double wall_time, int64_t step,
                      const struct qn_str *value)
{
    struct qn_str summary = {0};
    struct qn_str event = {0};
    add_message(&summary, 1, value);
    add_double_field(&event, 1, wall_time);
    add_key(&event, 2, VARINT);
    add_varint(&event, (uint64_t)step);
    add_message(&event, 5, &summary);
    add_record(out, &event);
    qn_str_free(&summary);
    qn_str_free(&event);
}

void qn_tf_scalar(struct qn_str *out, double wall_time, int64_t step,
                  const char *tag, double value)
{
    struct qn_str message = {0};
    add_bytes_field(&message, 1, tag, strlen(tag));
    add_float_field(&message, 2, (float)value);
    add_value(out, wall_time, step, &message);
    qn_str_free(&message);
}

/* --- histograms --------------------------------------------------------- */

/* All bins in the order of their values: the negative ones from the last to the
 * first, exact zeros, the positive ones. */
#define N_SLOTS (2 * QN_HIST_BINS + 1)
#define ZERO_SLOT QN_HIST_BINS

static uint64_t slot_count(const struct qn_hist *h, int slot)
{
    if (slot == ZERO_SLOT) {
        return h->n_zero;
    }
    return slot < ZERO_SLOT ? h->bin[QN_HIST_NEGATIVE][ZERO_SLOT - 1 - slot]
                            : h->bin[QN_HIST_POSITIVE][slot - ZERO_SLOT - 1];
}

/* Where bin i of a side begins; where the last one ends, which has no end of
 * its own, is a decade on. */
static double bin_edge(int i)
{
    if (i <= QN_HIST_EDGES) {
        return i == 0 ? 0 : (double)qn_hist_edge(i - 1);
    }
    return 10 * (double)qn_hist_edge(QN_HIST_EDGES - 1);
}

static double slot_left(int slot)
{
    return slot < ZERO_SLOT    ? -bin_edge(ZERO_SLOT - slot)
           : slot == ZERO_SLOT ? 0
                               : bin_edge(slot - ZERO_SLOT - 1);
}

static double slot_right(int slot)
{
    return slot < ZERO_SLOT    ? 0 - bin_edge(ZERO_SLOT - 1 - slot)
           : slot == ZERO_SLOT ? 0
                               : bin_edge(slot - ZERO_SLOT);
}

/* Buckets, each by its right limit and its count, and the moments of the values
 * as if they stood in the middle of their bins. */
struct buckets {
    struct qn_str limits, counts; /* packed doubles */
    double num, sum, sum_squares, min, max;
};

static void add_bucket(struct buckets *b, double left, double right,
                       uint64_t count)
{
    double n = (double)count;
    double middle = (left + right) / 2;
    add_double(&b->limits, right);
    add_double(&b->counts, n);
    b->num += n;
    b->sum += n * middle;
    b->sum_squares += n * middle * middle;
    b->max = right;
}

/* From the first to the last slot that holds anything; of an empty histogram
 * the zeros'. */
static void find_used(const struct qn_hist *h, int *first, int *last)
{
    bool any = false;
    *first = *last = ZERO_SLOT;
    for (int slot = 0; slot < N_SLOTS; slot++) {
        if (slot_count(h, slot) > 0) {
            *first = any ? *first : slot;
            *last = slot;
            any = true;
        }
    }
}

/* From the first to the last that is used: TensorBoard lets the first
 * begin at min and the last end at max. Elsewhere it is known by its limit
 * alone, so that an empty bucket stands first. */
static void fill_buckets(struct buckets *b, const struct qn_hist *h)
{
    int first, last;
    find_used(h, &first, &last);
    b->min = slot_left(first);
    add_bucket(b, b->min, b->min, 0);
    for (int slot = first; slot <= last; slot++) {
        add_bucket(b, slot_left(slot), slot_right(slot), slot_count(h, slot));
    }
}

void qn_tf_histogram(struct qn_str *out, double wall_time, int64_t step,
                     const char *tag, const struct qn_hist *h)
{
    struct buckets b = {.num = 0};
    struct qn_str histogram = {0};
    struct qn_str message = {0};
    fill_buckets(&b, h);
    add_double_field(&histogram, 1, b.min);
    add_double_field(&histogram, 2, b.max);
    add_double_field(&histogram, 3, b.num);
    add_double_field(&histogram, 4, b.sum);
    add_double_field(&histogram, 5, b.sum_squares);
    add_message(&histogram, 6, &b.limits);
    add_message(&histogram, 7, &b.counts);
    add_bytes_field(&message, 1, tag, strlen(tag));
    add_message(&message, 5, &histogram);
    add_value(out, wall_time, step, &message);
    qn_str_free(&b.limits);
    qn_str_free(&b.counts);
    qn_str_free(&histogram);
    qn_str_free(&message);
}
