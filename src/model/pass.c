/* pass.c - one batch of streams through the stack, forward, back and on.
 *
 * Every layer reads a sequence whose history rows hold the vectors that it read
 * last: the embedding writes into the input of layer 0, layer k into the input
 * of layer k + 1, the last into the decoder's; in a dense stack all of these
 * are columns of one buffer (model/layout.h). To carry on is to move the end of
 * each input to its front and the last states to the front states; nothing is
 * looked up or dropped again.
 *
 * Buffers are laid out for the longest segment. A shorter one uses the same
 * sequence pitch for inputs, so histories stay where they are, and the front of
 * the flat tensors. */
#include "model/private.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

/* --- making ------------------------------------------------------------- */

/* A buffer that the pass owns; false when memory is out. */
static bool own(struct qn_pass *p, size_t count, struct qn_buffer **out)
{
    struct qn_backend *be = p->m->be;
    QN_ASSERT(p->n_buffers < QN_PASS_MAX_BUFFERS);
    struct qn_buffer *buffer = be->ops->alloc(be, count);
    if (buffer == NULL) {
        return false;
    }
    p->buffers[p->n_buffers++] = buffer;
    *out = buffer;
    return true;
}

/* The same, unless it would be empty. */
static bool own_some(struct qn_pass *p, size_t count, struct qn_buffer **out)
{
    return count == 0 || own(p, count, out);
}

static bool own_layer(struct qn_pass *p, int k)
{
    const struct qn_layout *l = &p->layout;
    bool shared = !l->training && k > 0;
    if (shared) {
        p->saved[k] = p->saved[0];
    }
    return own(p, l->state[k], &p->state[k]) &&
           own(p, l->cells, &p->cells[k]) &&
           (shared || own(p, l->saved, &p->saved[k])) &&
           own_some(p, l->kept, &p->kept[k]);
}

static bool own_inputs(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    for (int k = 0; k <= l->layers; k++) {
        p->in[k] = p->in[0];
        if (!own_some(p, l->in[k], &p->in[k])) {
            return false;
        }
    }
    for (int i = 0; i < l->n_grads; i++) {
        if (!own(p, l->grad, &p->grad[i])) {
            return false;
        }
    }
    return true;
}

static bool own_all(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    if (l->total == SIZE_MAX) {
        return false;
    }
    for (int k = 0; k < l->layers; k++) {
        if (!own_layer(p, k)) {
            return false;
        }
    }
    return own_inputs(p) && own(p, l->logits, &p->logits) &&
           own(p, l->symbols, &p->ids) && own(p, l->symbols, &p->targets);
}

enum qn_status qn_pass_new(struct qn_model *m, int batch, int steps,
                           bool training, struct qn_pass **out,
                           struct qn_err *err)
{
    struct qn_pass *p = qn_xcalloc(1, sizeof *p);
    p->m = m;
    qn_layout_init(&p->layout, &m->spec, m->vocab, batch, steps, training);
    if (!own_all(p)) {
        char size[32];
        double bytes = (double)p->layout.total * sizeof(float);
        qn_pass_free(p);
        return qn_fail(err, QN_ENOMEM,
                       "%d streams of %d symbols need %s of memory for "
                       "activations, which cannot be had",
                       batch, steps, qn_format_bytes(size, sizeof size, bytes));
    }
    *out = p;
    return QN_OK;
}

void qn_pass_free(struct qn_pass *p)
{
    if (p == NULL) {
        return;
    }
    for (int i = 0; i < p->n_buffers; i++) {
        p->m->be->ops->release(p->m->be, p->buffers[i]);
    }
    free(p);
}

/* --- views -------------------------------------------------------------- */

static struct qn_seq in_buffer(struct qn_seq view, struct qn_buffer *buffer)
{
    view.buffer = buffer;
    return view;
}

/* What layer k reads (k = layers: the decoder), history before it. */
static struct qn_seq input(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_input(&p->layout, k, p->steps), p->in[k]);
}

static struct qn_seq output(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_output(&p->layout, k, p->steps), p->in[k + 1]);
}

/* The buffer of the gradient of input k. Two take turns: when input k's is
 * written, only that of k + 1 is still read. A dense stack has one for all. */
static struct qn_buffer *grad_buffer(const struct qn_pass *p, int k)
{
    return p->grad[p->layout.dense ? 0 : k % 2];
}

static struct qn_seq input_grad(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_input(&p->layout, k, p->steps),
                     grad_buffer(p, k));
}

static struct qn_seq output_grad(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_output(&p->layout, k, p->steps),
                     grad_buffer(p, k + 1));
}

static size_t n_symbols(const struct qn_pass *p)
{
    return (size_t)p->layout.batch * (size_t)p->steps;
}

static struct qn_tensor tensor(struct qn_buffer *buffer, size_t count)
{
    return (struct qn_tensor){buffer, 0, count};
}

static struct qn_tensor logits_of(const struct qn_pass *p)
{
    return tensor(p->logits, n_symbols(p) * (size_t)p->m->vocab);
}

/* The parameter i of the list in a flat buffer: weights or gradients. */
static struct qn_tensor param_in(const struct qn_model *m,
                                 struct qn_tensor flat, int i)
{
    const struct qn_param *param = &m->params.items[i];
    return qn_tensor_part(flat, param->offset, param->count);
}

/* Places in the list of parameters: embedding, layers in order, decoder. */
enum { EMBEDDING = 0, FIRST_LAYER = 1 };

static int decoder_weight(const struct qn_model *m)
{
    return m->params.n - 2;
}

static int decoder_bias(const struct qn_model *m)
{
    return m->params.n - 1;
}

static void layer_params(const struct qn_model *m, struct qn_layer_run *run)
{
    int first = FIRST_LAYER + run->place.index * m->params.per_layer;
    for (int i = 0; i < m->params.per_layer; i++) {
        run->weights[i] = param_in(m, m->weights, first + i);
        if (!m->params.items[first + i].fixed) {
            run->grads[i] = param_in(m, m->grads, first + i);
        }
    }
}

/* Dropout of the last forward; none in evaluation. */
static struct qn_dropout dropout(const struct qn_pass *p, double rate, int k,
                                 enum qn_rng_purpose purpose)
{
    if (!p->layout.training) {
        return (struct qn_dropout){0};
    }
    return (struct qn_dropout){
        .p = rate,
        .key = qn_rng_key(p->seed, p->step, (uint64_t)k, purpose),
        .first_sample = p->first_sample};
}

static struct qn_dropout embed_dropout(const struct qn_pass *p)
{
    return dropout(p, p->m->spec.model.embed_dropout, 0, QN_RNG_EMBED_DROPOUT);
}

static struct qn_layer_run layer_run(const struct qn_pass *p, int k)
{
    const struct qn_model *m = p->m;
    const struct qn_layout *l = &p->layout;
    struct qn_layer_run run = {
        .be = m->be,
        .place = {&m->spec, k, l->width[k]},
        .x = input(p, k),
        .out = output(p, k),
        .state = tensor(p->state[k], l->state[k]),
        .dropout = dropout(p, m->spec.model.dropout, k, QN_RNG_DROPOUT),
        .zoneout = dropout(p, m->spec.model.zoneout, k, QN_RNG_ZONEOUT),
        .training = l->training,
        .n_real = p->n_real,
        .position = p->position};
    size_t saved = qn_layer_ops(&m->spec)->saved(&run.place, l->training);
    run.saved = tensor(p->saved[k], n_symbols(p) * saved);
    run.cells =
        tensor(p->cells[k], n_symbols(p) * (size_t)m->spec.model.hidden);
    layer_params(m, &run);
    if (l->training) {
        run.kept = tensor(p->kept[k], l->kept);
        run.d_out = output_grad(p, k);
        run.d_x = input_grad(p, k);
        run.add_x = l->dense;
    }
    return run;
}

/* --- passes ------------------------------------------------------------- */

/* Whole rows of the buffer of input k. */
static struct qn_seq rows(const struct qn_pass *p, int k, int steps)
{
    return in_buffer(qn_layout_rows(&p->layout, k, steps), p->in[k]);
}

void qn_pass_restart(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    for (int k = 0; k < l->layers; k++) {
        if (l->context[k] > 0) {
            be->ops->zero_history(be, rows(p, k, l->steps));
        }
        be->ops->fill(be, tensor(p->state[k], l->state[k]), 0.0f);
    }
    p->position = 0;
}

/* Cross-entropy of the logits; in training they turn into the gradient of its
 * mean over the targets that count, which loss.time "sum" takes for every step.
 */
static void add_loss(struct qn_pass *p, const int32_t *targets)
{
    struct qn_backend *be = p->m->be;
    size_t n = n_symbols(p);
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        counted += targets[i] >= 0;
    }
    /* Without any that counts every row's gradient is 0, whatever the scale. */
    double mean = 1.0 / (double)(counted > 0 ? counted : 1);
    double steps = p->m->spec.loss.time == QN_TIME_SUM ? p->steps : 1;
    struct qn_tensor to = tensor(p->targets, n);
    be->ops->write(be, to, targets);
    be->ops->softmax_xent(be, logits_of(p), to, p->m->vocab,
                          p->layout.training ? (float)(mean * steps) : 0.0f,
                          p->layout.training ? 0.0 : p->m->spec.eval.floor);
}

/* Take the segment in, up to the input of layer 0. */
static void begin(struct qn_pass *p, const struct qn_segment *seg)
{
    struct qn_model *m = p->m;
    struct qn_backend *be = m->be;
    QN_ASSERT(seg->steps >= 1 && seg->steps <= p->layout.steps);
    p->steps = seg->steps;
    p->n_real = seg->n_real;
    p->has_loss = seg->targets != NULL;
    p->has_logits = false;
    p->seed = seg->seed;
    p->step = seg->step;
    p->first_sample = seg->first_sample;

    struct qn_tensor ids = tensor(p->ids, n_symbols(p));
    struct qn_dropout drop = embed_dropout(p);
    be->ops->write(be, ids, seg->ids);
    be->ops->embed(be, input(p, 0), param_in(m, m->weights, EMBEDDING), ids,
                   &drop);
}

static void finish(struct qn_pass *p, const struct qn_segment *seg)
{
    struct qn_model *m = p->m;
    struct qn_backend *be = m->be;
    be->ops->linear(be, logits_of(p), input(p, p->layout.layers),
                    param_in(m, m->weights, decoder_weight(m)),
                    param_in(m, m->weights, decoder_bias(m)));
    p->has_logits = true;
    if (p->has_loss) {
        add_loss(p, seg->targets);
    }
}

void qn_pass_forward(struct qn_pass *p, const struct qn_segment *seg)
{
    begin(p, seg);
    for (int k = 0; k < p->layout.layers; k++) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&p->m->spec)->forward(&run);
    }
    finish(p, seg);
}

/* What a layer has of what is asked for, counted right after its forward: in
 * evaluation the next layer's takes its place. */
static enum qn_status count_layer(const struct qn_layer_run *run,
                                  const struct qn_probe *probe,
                                  struct qn_err *err)
{
    const struct qn_layer_ops *ops = qn_layer_ops(run->place.spec);
    struct qn_hist *hists = probe->hist[run->place.index];
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        enum qn_quantity what = (enum qn_quantity)i;
        if ((probe->of & 1u << i) == 0 || !ops->has(&run->place, what)) {
            continue;
        }
        enum qn_status status = ops->count(run, what, &hists[i], err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

enum qn_status qn_pass_forward_counting(struct qn_pass *p,
                                        const struct qn_segment *seg,
                                        const struct qn_probe *probe,
                                        struct qn_err *err)
{
    begin(p, seg);
    for (int k = 0; k < p->layout.layers; k++) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&p->m->spec)->forward(&run);
        enum qn_status status = count_layer(&run, probe, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (p->has_loss) {
        finish(p, seg);
    }
    return QN_OK;
}

void qn_pass_backward(struct qn_pass *p)
{
    struct qn_model *m = p->m;
    struct qn_backend *be = m->be;
    const struct qn_layout *l = &p->layout;
    QN_ASSERT(l->training && p->steps > 0 && p->has_loss);
    be->ops->fill(be, m->grads, 0.0f);
    if (l->dense) {
        be->ops->fill(be, tensor(p->grad[0], l->grad), 0.0f);
    }
    be->ops->linear_grad(
        be, input_grad(p, l->layers), param_in(m, m->grads, decoder_weight(m)),
        param_in(m, m->grads, decoder_bias(m)), logits_of(p),
        input(p, l->layers), param_in(m, m->weights, decoder_weight(m)));
    for (int k = l->layers - 1; k >= 0; k--) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&m->spec)->backward(&run);
    }
    struct qn_dropout drop = embed_dropout(p);
    be->ops->embed_grad(be, param_in(m, m->grads, EMBEDDING), input_grad(p, 0),
                        tensor(p->ids, n_symbols(p)), &drop);
    /* What backward read is used up: a second one needs a second forward. */
    p->has_loss = false;
}

void qn_pass_carry(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    QN_ASSERT(p->steps > 0);
    for (int k = 0; k < l->layers; k++) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&p->m->spec)->carry(&run);
        if (l->context[k] > 0) {
            be->ops->shift_history(be, rows(p, k, p->steps));
        }
    }
    int64_t position = (int64_t)p->position + p->steps;
    p->position = (int)(position % p->m->spec.seq);
}
