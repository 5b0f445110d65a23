/* golden.c - both backends against the cases of tests/golden.
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

/* A recurrence that stands still where the mask is 0 is one whose cells all
 * keep their state there. The weight is the identity, so that x holds the
 * pre-activations. */
static void check_masked(const char *backend)
{
    struct qn_golden *g = qn_golden_open("pool_masked");
    int hidden = qn_golden_dim(g, "z", 2);
    struct layer_shape shape = {.batch = qn_golden_dim(g, "z", 1),
                                .steps = qn_golden_dim(g, "z", 0),
                                .in = 3 * hidden,
                                .hidden = hidden,
                                .window = 1,
                                .pooling = QN_POOL_FO,
                                .activation = QN_TANH,
                                .keep = true,
                                .no_d_last_c = true};
    struct layer_data *d = layer_new(shape, 1);
    clear(d, LAYER_WEIGHT);
    clear(d, LAYER_BIAS);
    size_t in = (size_t)shape.in;
    for (size_t i = 0; i < in; i++)
        d->array[LAYER_WEIGHT][i * in + i] = 1.0f;
    const int32_t *mask = qn_golden_ids(g, "mask", QN_BATCH_MAJOR);
    for (size_t i = 0; i < d->count[LAYER_KEEP]; i++)
        d->array[LAYER_KEEP][i] = (float)mask[i / (size_t)hidden];
    static const char *const names[] = {"z", "f", "o"};
    for (size_t k = 0; k < 3; k++)
        place_columns(d, g, names[k], k * (size_t)hidden);
    fill(d, LAYER_C0, g, "c0", QN_AS_STORED);
    fill(d, LAYER_D_OUT, g, "R", QN_BATCH_MAJOR);
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    layer_run(be, d, true);
    qn_golden_check(g, "h", QN_BATCH_MAJOR, d->array[LAYER_OUT]);
    qn_golden_check(g, "c", QN_BATCH_MAJOR, d->array[LAYER_CELLS]);
    qn_golden_check(g, "grad.c0", QN_AS_STORED, d->array[LAYER_D_C0]);
    for (size_t k = 0; k < 3; k++) {
        char *name = qn_xasprintf("grad.%s", names[k]);
        float *part = columns(d->array[LAYER_D_X], d->count[LAYER_D_X] / in, in,
                              k * (size_t)hidden, (size_t)hidden);
        qn_golden_check(g, name, QN_BATCH_MAJOR, part);
        free(part);
        free(name);
    }
    qn_backend_free(be);
    layer_free(d);
    qn_golden_close(g);
}

static void a_masked_recurrence_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_masked(backends[k]);
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

static void check_softmax(const char *backend)
{
    struct qn_golden *g = qn_golden_open("softmax_cross_entropy");
    int rows = qn_golden_dim(g, "logits", 0);
    int vocab = qn_golden_dim(g, "logits", 1);
    size_t count = qn_golden_count(g, "logits");
    const int32_t *labels = qn_golden_ids(g, "labels", QN_AS_STORED);
    const int32_t *mask = qn_golden_ids(g, "mask", QN_AS_STORED);
    int32_t *wanted = qn_xcalloc((size_t)rows, sizeof *wanted);
    int n = 0;
    for (int i = 0; i < rows; i++) {
        wanted[i] = mask[i] ? labels[i] : -1;
        n += mask[i];
    }
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor logits =
        place_tensor(be, qn_golden_floats(g, "logits", QN_AS_STORED), count);
    struct qn_tensor targets = place_tensor(be, wanted, (size_t)rows);
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->softmax_xent(be, logits, targets, vocab, (float)(1.0 / n), 0.0);
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    assert_true(r.count == (double)n);
    float loss = (float)(r.loss_sum / n);
    qn_golden_check(g, "loss", QN_AS_STORED, &loss);
    float *grad = place_read(be, logits);
    qn_golden_check(g, "grad.logits", QN_AS_STORED, grad);
    free(grad);
    free(wanted);
    place_free(be, logits.buffer);
    place_free(be, targets.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

/* The tails are as near to 0 as exp(-60): compared with the largest. */
static void check_binary(const char *backend)
{
    struct qn_golden *g = qn_golden_open("binary_cross_entropy");
    size_t n = qn_golden_count(g, "logits");
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor logits =
        place_tensor(be, qn_golden_floats(g, "logits", QN_AS_STORED), n);
    struct qn_tensor labels =
        place_tensor(be, qn_golden_ids(g, "labels", QN_AS_STORED), n);
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->sigmoid_xent(be, logits, labels, 0.0f);
    be->ops->sigmoid_xent(be, logits, labels, (float)(1.0 / (double)n));
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    assert_true(r.count == 2.0 * (double)n);
    float loss = (float)(r.loss_sum / r.count);
    qn_golden_check(g, "loss", QN_AS_STORED, &loss);
    float *grad = place_read(be, logits);
    qn_golden_check(g, "grad.logits", QN_AS_STORED, grad);
    free(grad);
    place_free(be, logits.buffer);
    place_free(be, labels.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void binary_cross_entropy_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_binary(backends[k]);
}

static void softmax_cross_entropy_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_softmax(backends[k]);
}

/* The numbers of an update that a case gives; the others are 0. */
static void read_update(const struct qn_golden *g, struct qn_update *u)
{
    u->lr = qn_golden_double(g, "lr");
    if (u->kind == QN_RMSPROP)
        u->rho = qn_golden_double(g, "rho");
    if (u->kind == QN_ADAM) {
        u->beta1 = qn_golden_double(g, "beta1");
        u->beta2 = qn_golden_double(g, "beta2");
    }
    if (u->kind != QN_SGD)
        u->eps = qn_golden_double(g, "eps");
}

/* Five updates from the stored gradients plus l2 times the parameters, each
 * compared. */
static void check_optimiser(const char *backend, const char *name,
                            struct qn_update u, double l2)
{
    struct qn_golden *g = qn_golden_open(name);
    int steps = qn_golden_dim(g, "grads", 0);
    size_t n = qn_golden_count(g, "start");
    const float *grads = qn_golden_floats(g, "grads", QN_AS_STORED);
    float *all = qn_xcalloc((size_t)steps * n, sizeof *all);
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor w =
        place_tensor(be, qn_golden_floats(g, "start", QN_AS_STORED), n);
    struct qn_tensor grad = place_tensor(be, NULL, n);
    struct qn_tensor m = place_tensor(be, NULL, n);
    struct qn_tensor v = place_tensor(be, NULL, n);
    read_update(g, &u);
    for (int k = 0; k < steps; k++) {
        u.t = k + 1;
        be->ops->write(be, grad, grads + (size_t)k * n);
        be->ops->step_begin(be);
        be->ops->combine(be, grad, w, l2, 1.0);
        be->ops->grad_norm(be, grad);
        be->ops->update(be, &u, w, grad, m, v);
        assert_int_equal(be->ops->read(be, w, all + (size_t)k * n, NULL),
                         QN_OK);
    }
    qn_golden_check(g, "params", QN_AS_STORED, all);
    free(all);
    place_free(be, w.buffer);
    place_free(be, grad.buffer);
    place_free(be, m.buffer);
    place_free(be, v.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void optimisers_agree_step_by_step(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++) {
        struct qn_update sgd = {.kind = QN_SGD};
        struct qn_update momentum = {.kind = QN_SGD, .momentum = 0.9};
        struct qn_update adam = {.kind = QN_ADAM};
        struct qn_update rmsprop = {.kind = QN_RMSPROP};
        struct qn_update inside = {.kind = QN_RMSPROP, .eps_inside = true};
        check_optimiser(backends[k], "optim_sgd", sgd, 0.0);
        check_optimiser(backends[k], "optim_sgd_l2", sgd, 0.01);
        check_optimiser(backends[k], "optim_sgd_momentum", momentum, 0.0);
        check_optimiser(backends[k], "optim_rmsprop", rmsprop, 0.0);
        check_optimiser(backends[k], "optim_rmsprop_eps", rmsprop, 0.0);
        check_optimiser(backends[k], "optim_rmsprop_inside", inside, 0.0);
        check_optimiser(backends[k], "optim_adam", adam, 0.0);
        check_optimiser(backends[k], "optim_adam_eps", adam, 0.0);
    }
}

/* SGD with rate -1 from 0 leaves the gradient that was used. */
static void check_clipping(const char *backend)
{
    struct qn_golden *g = qn_golden_open("clip_norm");
    size_t n = qn_golden_count(g, "grads");
    struct qn_backend *be = place_backend(backend, NULL, SLICES);
    struct qn_tensor w = place_tensor(be, NULL, n);
    struct qn_tensor grad =
        place_tensor(be, qn_golden_floats(g, "grads", QN_AS_STORED), n);
    struct qn_tensor none = {0};
    struct qn_update u = {.kind = QN_SGD,
                          .lr = -1.0,
                          .clip_norm = qn_golden_double(g, "max_norm")};
    struct qn_step_result r;
    be->ops->step_begin(be);
    be->ops->grad_norm(be, grad);
    be->ops->update(be, &u, w, grad, none, none);
    assert_int_equal(be->ops->step_end(be, &r, NULL), QN_OK);
    float norm = (float)r.norm;
    qn_golden_check(g, "norm", QN_AS_STORED, &norm);
    float *used = place_read(be, w);
    qn_golden_check(g, "clipped", QN_AS_STORED, used);
    free(used);
    place_free(be, w.buffer);
    place_free(be, grad.buffer);
    qn_backend_free(be);
    qn_golden_close(g);
}

static void clipping_by_norm_agrees(void **state)
{
    (void)state;
    for (int k = 0; k < N_BACKENDS; k++)
        check_clipping(backends[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pooling_and_activation_agrees),
        cmocka_unit_test(windows_history_and_odd_sizes_agree),
        cmocka_unit_test(batch_norm_and_zoneout_agree),
        cmocka_unit_test(a_masked_recurrence_agrees),
        cmocka_unit_test(binary_cross_entropy_agrees),
        cmocka_unit_test(activations_agree_at_kinks_and_tails),
        cmocka_unit_test(softmax_cross_entropy_agrees),
        cmocka_unit_test(optimisers_agree_step_by_step),
        cmocka_unit_test(clipping_by_norm_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
