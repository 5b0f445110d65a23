/* place.c - put host arrays into a backend's memory with room around them. */
#include "place.h"

#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A NaN that arithmetic does not produce. */
static const uint32_t pattern = 0x7fc12345u;

struct qn_backend *place_backend(const char *name, struct qn_pool *pool,
                                 int slices)
{
    struct qn_backend *be = NULL;
    struct qn_err err;
    if (qn_backend_new(name, pool, slices, &be, &err) != QN_OK)
        fail_msg("%s", err.text);
    return be;
}

struct qn_tensor place_tensor(struct qn_backend *be, const void *data,
                              size_t count)
{
    struct qn_tensor t = {be->ops->alloc(be, count), 0, count};
    assert_non_null(t.buffer);
    if (data)
        be->ops->write(be, t, data);
    return t;
}

float *place_read(struct qn_backend *be, struct qn_tensor t)
{
    float *data = qn_xcalloc(t.count, sizeof *data);
    struct qn_err err;
    if (be->ops->read(be, t, data, &err) != QN_OK)
        fail_msg("%s", err.text);
    return data;
}

/* Elements of the buffer behind a sequence that place_seq made. */
static size_t whole(const struct qn_seq *s)
{
    return s->offset + (size_t)s->batch * s->seq_pitch;
}

/* Element 0 of row t, counted from the first of history, of sequence b. */
static size_t row_at(const struct qn_seq *s, int b, int t)
{
    return s->offset + (size_t)b * s->seq_pitch + (size_t)t * s->row_pitch -
           (size_t)s->history * s->row_pitch;
}

struct qn_seq place_seq(struct qn_backend *be, struct place_shape shape,
                        const float *data)
{
    size_t gap = shape.extra ? 5 : 0;
    size_t rows = (size_t)(shape.history + shape.steps);
    struct qn_seq s = {.batch = shape.batch,
                       .steps = shape.steps,
                       .width = shape.width,
                       .history = shape.history};
    s.row_pitch = (size_t)(shape.width + shape.extra);
    s.seq_pitch = rows * s.row_pitch + gap;
    s.offset = (size_t)shape.history * s.row_pitch + gap;

    float *image = qn_xcalloc(whole(&s), sizeof *image);
    for (size_t i = 0; i < whole(&s); i++)
        memcpy(&image[i], &pattern, sizeof pattern);
    size_t width = (size_t)shape.width;
    for (int b = 0; b < s.batch; b++)
        for (int t = 0; data && t < (int)rows; t++, data += width)
            memcpy(image + row_at(&s, b, t), data, width * sizeof *data);
    struct qn_tensor t = place_tensor(be, image, whole(&s));
    s.buffer = t.buffer;
    free(image);
    return s;
}

struct qn_seq place_last_columns(struct qn_seq seq, int skipped)
{
    seq.offset += (size_t)skipped;
    seq.width -= skipped;
    return seq;
}

static void check_outside(const struct qn_seq *s, const float *image,
                          const unsigned char *inside)
{
    for (size_t i = 0; i < whole(s); i++)
        if (!inside[i] && memcmp(&image[i], &pattern, sizeof pattern) != 0)
            fail_msg("element %zu, outside the rows, was written", i);
}

float *place_read_seq(struct qn_backend *be, const struct qn_seq *s)
{
    struct qn_tensor all = {s->buffer, 0, whole(s)};
    float *image = place_read(be, all);
    unsigned char *inside = qn_xcalloc(whole(s), 1);
    size_t width = (size_t)s->width;
    int rows = s->history + s->steps;
    float *data =
        qn_xcalloc((size_t)s->batch * (size_t)rows * width, sizeof *data);
    float *to = data;
    for (int b = 0; b < s->batch; b++)
        for (int t = 0; t < rows; t++, to += width) {
            memcpy(to, image + row_at(s, b, t), width * sizeof *to);
            memset(inside + row_at(s, b, t), 1, width);
        }
    check_outside(s, image, inside);
    free(inside);
    free(image);
    return data;
}

float *place_read_rows(struct qn_backend *be, const struct qn_seq *s)
{
    float *all = place_read_seq(be, s);
    size_t real = (size_t)s->steps * (size_t)s->width;
    size_t each = real + (size_t)s->history * (size_t)s->width;
    float *rows = qn_xcalloc((size_t)s->batch * real, sizeof *rows);
    for (size_t b = 0; b < (size_t)s->batch; b++)
        memcpy(rows + b * real, all + b * each + (each - real),
               real * sizeof *rows);
    free(all);
    return rows;
}

void place_lengths(int *n_real, int batch, int steps, int kind)
{
    const int lengths[] = {steps, 0, 1, (steps + 1) / 2, steps - 1};
    for (int b = 0; b < batch; b++)
        n_real[b] = kind < 2 ? kind * steps : lengths[(b + kind) % 5];
}

int32_t place_symbol(int n_symbols, int b, int t)
{
    uint64_t mixed = qn_mix64((uint64_t)(b * 10007 + t));
    return (int32_t)(mixed % (uint64_t)(n_symbols + 1)) - 1;
}

struct qn_tensor place_symbols(struct qn_backend *be, int n_symbols, int batch,
                               int steps)
{
    size_t n = (size_t)batch * (size_t)steps;
    int32_t *ids = qn_xcalloc(n, sizeof *ids);
    for (size_t i = 0; i < n; i++)
        ids[i] = place_symbol(n_symbols, (int)i / steps, (int)i % steps);
    struct qn_tensor t = place_tensor(be, ids, n);
    free(ids);
    return t;
}

void place_looked_up(float *x, const float *table, int32_t symbol, int width)
{
    size_t bytes = (size_t)width * sizeof *x;
    if (symbol < 0)
        memset(x, 0, bytes);
    else
        memcpy(x, table + (size_t)symbol * (size_t)width, bytes);
}

void place_spoil_workspace(struct qn_backend *be)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    memset(cpu->work, 0xff, cpu->work_count * sizeof *cpu->work);
}

void place_free(struct qn_backend *be, struct qn_buffer *buffer)
{
    be->ops->release(be, buffer);
}
