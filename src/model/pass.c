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

/* The rows that a classifier's decoder reads, and their gradient. */
static bool own_last(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    return own_some(p, l->last, &p->last) &&
           own_some(p, l->training ? l->last : 0, &p->d_last);
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
    return own_inputs(p) && own_last(p) && own(p, l->logits, &p->logits) &&
           own(p, l->symbols, &p->ids) && own(p, l->targets, &p->targets);
}

enum qn_status qn_pass_new(struct qn_model *m, int batch, int steps,
                           bool training, struct qn_pass **out,
                           struct qn_err *err)
{
    struct qn_pass *p = qn_xcalloc(1, sizeof *p);
    p->m = m;
    p->row = qn_xcalloc((size_t)batch, sizeof *p->row);
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
    free(p->row);
    free(p);
}

/* --- views -------------------------------------------------------------- */

static struct qn_seq in_buffer(struct qn_seq view, struct qn_buffer *buffer)
{
    view.buffer = buffer;
    return view;
}

struct qn_seq qn_pass_input(const struct qn_pass *p, int k)
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

struct qn_seq qn_pass_input_grad(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_input(&p->layout, k, p->steps),
                     grad_buffer(p, k));
}

static struct qn_seq output_grad(const struct qn_pass *p, int k)
{
    return in_buffer(qn_layout_output(&p->layout, k, p->steps),
                     grad_buffer(p, k + 1));
}

size_t qn_pass_symbols(const struct qn_pass *p)
{
    return (size_t)p->layout.batch * (size_t)p->steps;
}

enum { EMBEDDING = 0 }; /* its place in the list, if it is a parameter */

static void layer_params(const struct qn_model *m, struct qn_layer_run *run)
{
    int first = m->params.first_layer + run->place.index * m->params.per_layer;
    for (int i = 0; i < m->params.per_layer; i++) {
        run->weights[i] = qn_model_param(m, m->weights, first + i);
        if (!m->params.items[first + i].fixed) {
            run->grads[i] = qn_model_param(m, m->grads, first + i);
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

static bool embedding_learns(const struct qn_model *m)
{
    return m->vectors.buffer == NULL;
}

/* [V, E], a parameter or given. */
static struct qn_tensor embedding(const struct qn_model *m)
{
    return embedding_learns(m) ? qn_model_param(m, m->weights, EMBEDDING)
                               : m->vectors;
}

/* Where the gradient of layer k's input goes: nowhere when nothing below it
 * learns, nor do the columns of given vectors in a dense stack. */
static struct qn_seq wanted_grad(const struct qn_pass *p, int k)
{
    struct qn_seq grad = qn_pass_input_grad(p, k);
    int embed = p->m->spec.model.embed;
    if (embedding_learns(p->m)) {
        return grad;
    }
    if (k == 0) {
        return (struct qn_seq){0};
    }
    if (p->layout.dense) {
        grad.offset += (size_t)embed;
        grad.width -= embed;
    }
    return grad;
}

/* What was dropped is no entry of the table. */
static struct qn_layer_symbols symbols(const struct qn_pass *p, int k)
{
    const struct qn_model *m = p->m;
    struct qn_layer_symbols s = {0};
    if (k > 0 || !qn_layout_looks_up(&m->spec) || embed_dropout(p).p > 0) {
        return s;
    }
    s.n = m->vocab;
    s.ids = qn_pass_front(p->ids, qn_pass_symbols(p));
    s.table = embedding(m);
    if (p->layout.training && embedding_learns(m)) {
        s.d_table = qn_model_param(m, m->grads, EMBEDDING);
    }
    return s;
}

static struct qn_layer_run layer_run(const struct qn_pass *p, int k)
{
    const struct qn_model *m = p->m;
    const struct qn_layout *l = &p->layout;
    struct qn_layer_run run = {
        .be = m->be,
        .place = {&m->spec, k, l->width[k]},
        .x = qn_pass_input(p, k),
        .out = output(p, k),
        .state = qn_pass_front(p->state[k], l->state[k]),
        .dropout = dropout(p, m->spec.model.dropout, k, QN_RNG_DROPOUT),
        .zoneout = dropout(p, m->spec.model.zoneout, k, QN_RNG_ZONEOUT),
        .training = l->training,
        .symbols = symbols(p, k),
        .n_real = p->n_real,
        .position = p->position};
    size_t saved = qn_layer_ops(&m->spec)->saved(&run.place, l->training);
    run.saved = qn_pass_front(p->saved[k], qn_pass_symbols(p) * saved);
    run.cells = qn_pass_front(p->cells[k], qn_pass_symbols(p) *
                                               (size_t)m->spec.model.hidden);
    layer_params(m, &run);
    if (l->training) {
        run.kept = qn_pass_front(p->kept[k], l->kept);
        run.d_out = output_grad(p, k);
        run.d_x = wanted_grad(p, k);
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
        be->ops->fill(be, qn_pass_front(p->state[k], l->state[k]), 0.0f);
    }
    p->position = 0;
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

    struct qn_tensor ids = qn_pass_front(p->ids, qn_pass_symbols(p));
    struct qn_dropout drop = embed_dropout(p);
    be->ops->write(be, ids, seg->ids);
    be->ops->embed(be, qn_pass_input(p, 0), embedding(m), ids, &drop);
}

void qn_pass_forward(struct qn_pass *p, const struct qn_segment *seg)
{
    begin(p, seg);
    for (int k = 0; k < p->layout.layers; k++) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&p->m->spec)->forward(&run);
    }
    qn_pass_decode(p, seg);
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
        qn_pass_decode(p, seg);
    }
    return QN_OK;
}

/* In a dense stack layers add to the gradients of what is below them. The
 * decoder writes that of the last one's output. */
static void clear_grads_below(const struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    struct qn_seq below =
        in_buffer(qn_layout_rows(l, l->layers, p->steps), p->grad[0]);
    below.width = l->column[l->layers];
    p->m->be->ops->fill_seq(p->m->be, below, 0.0f);
}

void qn_pass_backward(struct qn_pass *p)
{
    struct qn_model *m = p->m;
    struct qn_backend *be = m->be;
    const struct qn_layout *l = &p->layout;
    QN_ASSERT(l->training && p->steps > 0 && p->has_loss);
    be->ops->fill(be, m->grads, 0.0f);
    if (l->dense) {
        clear_grads_below(p);
    }
    qn_pass_decode_back(p);
    for (int k = l->layers - 1; k >= 0; k--) {
        struct qn_layer_run run = layer_run(p, k);
        qn_layer_ops(&m->spec)->backward(&run);
    }
    if (embedding_learns(m) && symbols(p, 0).n == 0) {
        struct qn_dropout drop = embed_dropout(p);
        be->ops->embed_grad(be, qn_model_param(m, m->grads, EMBEDDING),
                            qn_pass_input_grad(p, 0),
                            qn_pass_front(p->ids, qn_pass_symbols(p)), &drop);
    }
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
