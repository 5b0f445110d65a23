/* golden.c - the QRNN layer of both backends against the cases of tests/golden.
 *
 * The bound, QN_GOLDEN_BOUND, is stated with the cases: max |ours - stored| /
 * max |stored| over a tensor. */
#include "layer.h"
#include "place.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two slices, so that the cpu backend adds up partial sums. */
static const char *const backends[] = {"ref", "cpu"};
#define N_BACKENDS 2
#define SLICES 2

static int index_of(const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (qn_str_eq(word, words[i]))
            return i;
    fail_msg("unknown word \"%s\"", word);
    return 0;
}

static enum qn_activation activation_of(const char *word)
{
    static const char *const words[] = {"tanh", "relu", "elu", "drelu", "delu"};
    return (enum qn_activation)index_of(word, words, 5);
}

static enum qn_pooling pooling_of(const char *word)
{
    static const char *const words[] = {"f", "fo", "ifo"};
    return (enum qn_pooling)index_of(word, words, 3);
}

static enum layer_norm norm_of(const char *word)
{
    static const char *const words[] = {"none", "train", "eval"};
    return (enum layer_norm)index_of(word, words, 3);
}

static struct layer_shape shape_of(const struct qn_golden *g)
{
    struct layer_shape s = {
        .batch = qn_golden_int(g, "B"),
        .steps = qn_golden_int(g, "T"),
        .in = qn_golden_int(g, "D"),
        .hidden = qn_golden_int(g, "H"),
        .window = qn_golden_int(g, "window"),
        .pooling = pooling_of(qn_golden_meta(g, "pooling")),
        .activation = activation_of(qn_golden_meta(g, "activation")),
        .norm = norm_of(qn_golden_meta(g, "batch_norm")),
        .keep = qn_golden_bool(g, "zoneout"),
        .extra = 3,
    };
    assert_true(qn_golden_double(g, "alpha") == 0.1); /* layer_run's */
    return s;
}

static void fill(struct layer_data *d, enum layer_array which,
                 struct qn_golden *g, const char *tensor,
                 enum qn_golden_layout layout)
{
    assert_int_equal(d->count[which], qn_golden_count(g, tensor));
    memcpy(d->array[which], qn_golden_floats(g, tensor, layout),
           d->count[which] * sizeof(float));
}

/* x [B, n-1 + T, D] from history and x; without history, zeros. */
static void fill_x(struct layer_data *d, struct qn_golden *g)
{
    size_t in = (size_t)d->shape.in;
    size_t before = (size_t)(d->shape.window - 1) * in;
    size_t real = (size_t)d->shape.steps * in;
    const float *x = qn_golden_floats(g, "x", QN_BATCH_MAJOR);
    const float *history = NULL;
    if (before && qn_golden_has(g, "history"))
        history = qn_golden_floats(g, "history", QN_BATCH_MAJOR);
    for (size_t b = 0; b < (size_t)d->shape.batch; b++) {
        float *to = d->array[LAYER_X] + b * (before + real);
        if (history)
            memcpy(to, history + b * before, before * sizeof *to);
        else
            memset(to, 0, before * sizeof *to);
        memcpy(to + before, x + b * real, real * sizeof *to);
    }
}

static void clear(struct layer_data *d, enum layer_array which)
{
    memset(d->array[which], 0, d->count[which] * sizeof(float));
}

static struct layer_data *layer_from(struct qn_golden *g)
{
    struct layer_data *d = layer_new(shape_of(g), 1);
    fill_x(d, g);
    fill(d, LAYER_C0, g, "c0", QN_AS_STORED);
    fill(d, LAYER_WEIGHT, g, "conv.weight", QN_TAPS_FIRST);
    if (d->shape.norm == LAYER_NO_NORM) {
        fill(d, LAYER_BIAS, g, "conv.bias", QN_AS_STORED);
    } else {
        fill(d, LAYER_GAIN, g, "norm.weight", QN_AS_STORED);
        fill(d, LAYER_SHIFT, g, "norm.bias", QN_AS_STORED);
    }
    if (d->shape.norm == LAYER_NORM_EVAL) {
        fill(d, LAYER_MEAN, g, "norm.running_mean", QN_AS_STORED);
        fill(d, LAYER_VAR, g, "norm.running_var", QN_AS_STORED);
    }
    if (d->shape.keep)
        fill(d, LAYER_KEEP, g, "zoneout.keep", QN_BATCH_MAJOR);
    fill(d, LAYER_D_OUT, g, "R", QN_BATCH_MAJOR);
    fill(d, LAYER_D_LAST_C, g, "R_last_c", QN_AS_STORED);
    clear(d, LAYER_D_WEIGHT);
    clear(d, LAYER_D_BIAS);
    clear(d, LAYER_D_GAIN);
    clear(d, LAYER_D_SHIFT);
    return d;
}

/* Columns [from, from + width) of rows [rows, all]; the caller frees them. */
static float *columns(const float *rows, size_t n, size_t all, size_t from,
                      size_t width)
{
    float *part = qn_xcalloc(n * width, sizeof *part);
    for (size_t i = 0; i < n; i++)
        memcpy(part + i * width, rows + i * all + from, width * sizeof *part);
    return part;
}

/* Saved holds z (both halves when dual) and f: compare z+ - z- and f. */
static void check_saved(struct qn_golden *g, const struct layer_data *d)
{
    size_t hidden = (size_t)d->shape.hidden;
    size_t rows = (size_t)d->shape.batch * (size_t)d->shape.steps;
    size_t all = d->count[LAYER_BIAS];
    size_t candidates = (size_t)qn_n_candidates(d->shape.activation);
    const float *saved = d->array[LAYER_SAVED];
    float *z = columns(saved, rows, all, 0, hidden);
    float *f = columns(saved, rows, all, candidates * hidden, hidden);
    if (candidates == 2) {
        float *minus = columns(saved, rows, all, hidden, hidden);
        for (size_t i = 0; i < rows * hidden; i++)
            z[i] -= minus[i];
        free(minus);
    }
    qn_golden_check(g, "z", QN_BATCH_MAJOR, z);
    qn_golden_check(g, "f", QN_BATCH_MAJOR, f);
    free(z);
    free(f);
}

static void check_layer(const char *backend, const char *name)
{
    struct qn_golden *g = qn_golden_open(name);
    struct layer_data *d = layer_from(g);
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    layer_run(be, d, true);
    qn_golden_check(g, "h", QN_BATCH_MAJOR, d->array[LAYER_OUT]);
    qn_golden_check(g, "c", QN_BATCH_MAJOR, d->array[LAYER_CELLS]);
    check_saved(g, d);
    qn_golden_check(g, "grad.x", QN_BATCH_MAJOR, d->array[LAYER_D_X]);
    qn_golden_check(g, "grad.c0", QN_AS_STORED, d->array[LAYER_D_C0]);
    qn_golden_check(g, "grad.conv.weight", QN_TAPS_FIRST,
                    d->array[LAYER_D_WEIGHT]);
    if (d->shape.norm == LAYER_NO_NORM) {
        qn_golden_check(g, "grad.conv.bias", QN_AS_STORED,
                        d->array[LAYER_D_BIAS]);
    } else {
        qn_golden_check(g, "grad.norm.weight", QN_AS_STORED,
                        d->array[LAYER_D_GAIN]);
        qn_golden_check(g, "grad.norm.bias", QN_AS_STORED,
                        d->array[LAYER_D_SHIFT]);
    }
    qn_backend_free(be);
    layer_free(d);
    qn_golden_close(g);
}

static void every_pooling_and_activation_agrees(void **state)
{
    (void)state;
    static const char *const poolings[] = {"f", "fo", "ifo"};
    static const char *const acts[] = {"tanh", "relu", "elu", "drelu", "delu"};
    for (int k = 0; k < N_BACKENDS; k++)
        for (int p = 0; p < 3; p++)
            for (int a = 0; a < 5; a++) {
                char *name = qn_xasprintf("qrnn_%s_%s", poolings[p], acts[a]);
                check_layer(backends[k], name);
                free(name);
            }
}

static void windows_history_and_odd_sizes_agree(void **state)
{
    (void)state;
    static const char *const names[] = {"qrnn_window1",  "qrnn_window2",
                                        "qrnn_window3",  "qrnn_window6",
                                        "qrnn_one_step", "qrnn_odd_sizes"};
    for (int k = 0; k < N_BACKENDS; k++)
        for (int i = 0; i < 6; i++)
            check_layer(backends[k], names[i]);
}

/* Columns [at, at + H) of the rows of x [B, T, 3H] from z, f or o. */
static void place_columns(struct layer_data *d, struct qn_golden *g,
                          const char *tensor, size_t at)
{
    size_t hidden = (size_t)d->shape.hidden;
    const float *from = qn_golden_floats(g, tensor, QN_BATCH_MAJOR);
    for (size_t i = 0; i < qn_golden_count(g, tensor); i++)
        d->array[LAYER_X][i / hidden * 3 * hidden + at + i % hidden] = from[i];
}

static const char *const masked_inputs[] = {"z", "f", "o"};

/* The weight is the identity, so that x holds the pre-activations. */
static struct layer_data *masked_layer(struct qn_golden *g, const int *n_real)
{
    int hidden = qn_golden_dim(g, "z", 2);
    struct layer_shape shape = {.batch = qn_golden_dim(g, "z", 1),
                                .steps = qn_golden_dim(g, "z", 0),
                                .in = 3 * hidden,
                                .hidden = hidden,
                                .window = 1,
                                .pooling = QN_POOL_FO,
                                .activation = QN_TANH,
                                .keep = !n_real,
                                .no_d_last_c = !n_real,
                                .n_real = n_real};
    struct layer_data *d = layer_new(shape, 1);
    clear(d, LAYER_WEIGHT);
    clear(d, LAYER_BIAS);
    size_t in = (size_t)shape.in;
    for (size_t i = 0; i < in; i++)
        d->array[LAYER_WEIGHT][i * in + i] = 1.0f;
    for (size_t k = 0; k < 3; k++)
        place_columns(d, g, masked_inputs[k], k * (size_t)hidden);
    fill(d, LAYER_C0, g, "c0", QN_AS_STORED);
    fill(d, LAYER_D_OUT, g, "R", QN_BATCH_MAJOR);
    return d;
}

/* Compare rows [B, T, H] of d; of those with n_real only the real ones, or all
 * when the others must be as in the case, too. */
static void check_rows(struct qn_golden *g, const char *name,
                       const struct layer_data *d, const float *rows,
                       bool padding_too)
{
    const struct layer_shape *s = &d->shape;
    size_t width = (size_t)s->hidden;
    size_t n = d->count[LAYER_OUT];
    const float *want = qn_golden_floats(g, name, QN_BATCH_MAJOR);
    float *got = qn_xcalloc(n, sizeof *got);
    memcpy(got, rows, n * sizeof *got);
    for (int b = 0; !padding_too && b < s->batch; b++) {
        size_t end = (size_t)((b + 1) * s->steps) * width;
        size_t from = (size_t)(b * s->steps + s->n_real[b]) * width;
        memcpy(got + from, want + from, (end - from) * sizeof *got);
    }
    qn_golden_check(g, name, QN_BATCH_MAJOR, got);
    free(got);
}

static void check_masked_layer(const char *backend, struct qn_golden *g,
                               struct layer_data *d)
{
    bool keep = d->shape.keep;
    size_t hidden = (size_t)d->shape.hidden;
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    layer_run(be, d, true);
    check_rows(g, "h", d, d->array[LAYER_OUT], keep);
    check_rows(g, "c", d, d->array[LAYER_CELLS], true);
    qn_golden_check(g, "grad.c0", QN_AS_STORED, d->array[LAYER_D_C0]);
    for (size_t k = 0; k < 3; k++) {
        char *name = qn_xasprintf("grad.%s", masked_inputs[k]);
        float *part = columns(d->array[LAYER_D_X], d->count[LAYER_OUT] / hidden,
                              3 * hidden, k * hidden, hidden);
        check_rows(g, name, d, part, keep || k < 2);
        free(part);
        free(name);
    }
    qn_backend_free(be);
}

/* A recurrence that stands still where the mask is 0 is one whose cells all
 * keep their state there. */
static void check_masked_by_zoneout(const char *backend)
{
    struct qn_golden *g = qn_golden_open("pool_masked");
    struct layer_data *d = masked_layer(g, NULL);
    const int32_t *mask = qn_golden_ids(g, "mask", QN_BATCH_MAJOR);
    size_t hidden = (size_t)d->shape.hidden;
    for (size_t i = 0; i < d->count[LAYER_KEEP]; i++)
        d->array[LAYER_KEEP][i] = (float)mask[i / hidden];
    check_masked_layer(backend, g, d);
    layer_free(d);
    qn_golden_close(g);
}

/* The case has h = o c also behind the end, and those h in its loss: they come
 * in as the gradient of the last c. */
static void take_padding(struct layer_data *d, struct qn_golden *g)
{
    const struct layer_shape *s = &d->shape;
    const double *o = qn_golden_values(g, "o", QN_BATCH_MAJOR);
    const double *r = qn_golden_values(g, "R", QN_BATCH_MAJOR);
    for (int b = 0; b < s->batch; b++)
        for (int h = 0; h < s->hidden; h++) {
            double sum = 0.0;
            for (int t = s->n_real[b]; t < s->steps; t++) {
                int at = (b * s->steps + t) * s->hidden + h;
                sum += r[at] / (1.0 + exp(-o[at]));
            }
            d->array[LAYER_D_LAST_C][b * s->hidden + h] = (float)sum;
        }
}

static void check_masked_by_length(const char *backend)
{
    struct qn_golden *g = qn_golden_open("pool_masked");
    int batch = qn_golden_dim(g, "z", 1);
    int steps = qn_golden_dim(g, "z", 0);
    const int32_t *mask = qn_golden_ids(g, "mask", QN_BATCH_MAJOR);
    int *n_real = qn_xcalloc((size_t)batch, sizeof *n_real);
    int all = 0;
    for (int i = 0; i < batch * steps; i++) {
        n_real[i / steps] += mask[i];
        all += mask[i];
    }
    assert_true(all < batch * steps);
    struct layer_data *d = masked_layer(g, n_real);
    take_padding(d, g);
    check_masked_layer(backend, g, d);
    layer_free(d);
    free(n_real);
    qn_golden_close(g);
}

static void a_masked_recurrence_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++) {
        check_masked_by_zoneout(backends[k]);
        check_masked_by_length(backends[k]);
    }
}

static void batch_norm_and_zoneout_agree(void **state)
{
    (void)state;
    static const char *const names[] = {"qrnn_batchnorm_train",
                                        "qrnn_batchnorm_eval", "qrnn_zoneout",
                                        "qrnn_zoneout_ifo"};
    for (int k = 0; k < N_BACKENDS; k++)
        for (int i = 0; i < 4; i++)
            check_layer(backends[k], names[i]);
}

/* The candidates of one step without a window, alone: weights 1 carry a and b
 * into the blocks of a layer of one unit, a gate of bias -50 is 0 and leaves
 * c = z, and the loss is the sum of h. D is 2: (a, b). */
static void check_activation(const char *backend, const char *activation)
{
    char *name = qn_xasprintf("activation_%s", activation);
    struct qn_golden *g = qn_golden_open(name);
    size_t n = qn_golden_count(g, "a");
    struct layer_shape shape = {.batch = (int)n,
                                .steps = 1,
                                .in = 2,
                                .hidden = 1,
                                .window = 1,
                                .pooling = QN_POOL_F,
                                .activation = activation_of(activation)};
    struct layer_data *d = layer_new(shape, 1);
    for (int i = 0; i < LAYER_OUT; i++)
        clear(d, (enum layer_array)i);
    bool dual = qn_n_candidates(shape.activation) == 2;
    d->array[LAYER_WEIGHT][0] = 1.0f;
    if (dual)
        d->array[LAYER_WEIGHT][3] = 1.0f;
    d->array[LAYER_BIAS][dual ? 2 : 1] = -50.0f;
    const float *a = qn_golden_floats(g, "a", QN_AS_STORED);
    const float *b = qn_golden_floats(g, "b", QN_AS_STORED);
    for (size_t i = 0; i < n; i++) {
        d->array[LAYER_X][2 * i] = a[i];
        d->array[LAYER_X][2 * i + 1] = b[i];
        d->array[LAYER_D_OUT][i] = 1.0f;
    }
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    layer_run(be, d, true);
    qn_golden_check(g, "y", QN_AS_STORED, d->array[LAYER_OUT]);
    float *d_a = columns(d->array[LAYER_D_X], n, 2, 0, 1);
    float *d_b = columns(d->array[LAYER_D_X], n, 2, 1, 1);
    qn_golden_check(g, "grad.a", QN_AS_STORED, d_a);
    qn_golden_check(g, "grad.b", QN_AS_STORED, d_b);
    free(d_a);
    free(d_b);
    qn_backend_free(be);
    layer_free(d);
    qn_golden_close(g);
    free(name);
}

static void activations_agree_at_kinks_and_tails(void **state)
{
    (void)state;
    static const char *const acts[] = {"tanh", "relu", "elu", "drelu", "delu"};
    for (int k = 0; k < N_BACKENDS; k++)
        for (int a = 0; a < 5; a++)
            check_activation(backends[k], acts[a]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pooling_and_activation_agrees),
        cmocka_unit_test(windows_history_and_odd_sizes_agree),
        cmocka_unit_test(batch_norm_and_zoneout_agree),
        cmocka_unit_test(a_masked_recurrence_agrees),
        cmocka_unit_test(activations_agree_at_kinks_and_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
