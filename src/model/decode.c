/* decode.c - the end of a pass: from what the last layer wrote to logits and
 * loss, and the way back.
 *
 * A language model predicts at every step. A classifier predicts once for each
 * document, from the row of its last real step, which is taken out of the last
 * layer's output; on the way back its gradient is put there, among zeros. */
#include "model/private.h"

#include "base/assert.h"

static struct qn_tensor decoder_weight(const struct qn_model *m,
                                       struct qn_tensor flat)
{
    return qn_model_param(m, flat, m->params.n - 2);
}

static struct qn_tensor decoder_bias(const struct qn_model *m,
                                     struct qn_tensor flat)
{
    return qn_model_param(m, flat, m->params.n - 1);
}

static size_t n_predictions(const struct qn_pass *p)
{
    return qn_layout_predictions(&p->layout, p->steps);
}

struct qn_tensor qn_pass_logits_view(const struct qn_pass *p)
{
    return qn_pass_front(p->logits,
                         n_predictions(p) * (size_t)p->layout.outputs);
}

/* What the decoder reads. */
static struct qn_seq decoded(const struct qn_pass *p)
{
    if (!p->layout.classifies) {
        return qn_pass_input(p, p->layout.layers);
    }
    struct qn_seq rows = qn_layout_decoded(&p->layout, p->steps);
    rows.buffer = p->last;
    return rows;
}

static struct qn_seq decoded_grad(const struct qn_pass *p)
{
    if (!p->layout.classifies) {
        return qn_pass_input_grad(p, p->layout.layers);
    }
    struct qn_seq rows = qn_layout_decoded(&p->layout, p->steps);
    rows.buffer = p->d_last;
    return rows;
}

/* The row of each document's last real step; none of one without any. */
static void take_last(struct qn_pass *p)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    for (int b = 0; b < l->batch; b++) {
        int real = p->n_real != NULL ? p->n_real[b] : p->steps;
        QN_ASSERT(real >= 0 && real <= p->steps);
        p->row[b] = real - 1;
    }
    be->ops->take_rows(be, qn_pass_front(p->last, l->last),
                       qn_pass_input(p, l->layers), p->row);
}

/* Cross-entropy of the logits; in training they turn into the gradient of its
 * mean over the targets that count, which loss.time "sum" takes for every step.
 */
static void add_loss(struct qn_pass *p, const int32_t *targets)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    size_t n = n_predictions(p);
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        counted += targets[i] >= 0;
    }
    /* Without any that counts every row's gradient is 0, whatever the scale. */
    double mean = 1.0 / (double)(counted > 0 ? counted : 1);
    struct qn_tensor to = qn_pass_front(p->targets, n);
    be->ops->write(be, to, targets);
    if (l->classifies) {
        be->ops->sigmoid_xent(be, qn_pass_logits_view(p), to,
                              l->training ? (float)mean : 0.0f);
        return;
    }
    double steps = p->m->spec.loss.time == QN_TIME_SUM ? p->steps : 1;
    be->ops->softmax_xent(be, qn_pass_logits_view(p), to, l->outputs,
                          l->training ? (float)(mean * steps) : 0.0f,
                          l->training ? 0.0 : p->m->spec.eval.floor);
}

void qn_pass_decode(struct qn_pass *p, const struct qn_segment *seg)
{
    const struct qn_model *m = p->m;
    if (p->layout.classifies) {
        take_last(p);
    }
    m->be->ops->linear(m->be, qn_pass_logits_view(p), decoded(p),
                       decoder_weight(m, m->weights),
                       decoder_bias(m, m->weights));
    p->has_logits = true;
    if (p->has_loss) {
        add_loss(p, seg->targets);
    }
}

void qn_pass_decode_back(struct qn_pass *p)
{
    const struct qn_model *m = p->m;
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = m->be;
    be->ops->linear_grad(be, decoded_grad(p), decoder_weight(m, m->grads),
                         decoder_bias(m, m->grads), qn_pass_logits_view(p),
                         decoded(p), decoder_weight(m, m->weights));
    if (l->classifies) {
        be->ops->put_rows(be, qn_pass_input_grad(p, l->layers),
                          qn_pass_front(p->d_last, l->last), p->row);
    }
}
