/* pass_read.c - what a pass can be asked: logits, cell states, carried state.
 */
#include "model/private.h"

#include "base/assert.h"

enum qn_status qn_pass_logits(struct qn_pass *p, float *out, struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    QN_ASSERT(p->has_logits && !p->layout.training);
    return be->ops->read(be, qn_pass_logits_view(p), out, err);
}

enum qn_status qn_pass_cells(struct qn_pass *p, int layer, float *out,
                             struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    QN_ASSERT(p->steps > 0 && layer >= 0 && layer < p->layout.layers);
    size_t symbols = (size_t)p->layout.batch * (size_t)p->steps;
    struct qn_tensor cells = {p->cells[layer], 0,
                              symbols * (size_t)p->layout.hidden};
    return be->ops->read(be, cells, out, err);
}

/* --- carried state ------------------------------------------------------ */

/* Context of one stream of layer k: history rows, oldest first. */
static struct qn_tensor context(const struct qn_pass *p, int k, int stream)
{
    struct qn_seq in = qn_layout_rows(&p->layout, k, p->layout.steps);
    return (struct qn_tensor){p->in[k], (size_t)stream * in.seq_pitch,
                              p->layout.context[k]};
}

size_t qn_pass_state_len(const struct qn_pass *p)
{
    return p->layout.carried;
}

enum qn_status qn_pass_read_state(struct qn_pass *p, float *out,
                                  struct qn_err *err)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    for (int k = 0; k < l->layers; k++) {
        struct qn_tensor state = {p->state[k], 0, l->state[k]};
        enum qn_status status = be->ops->read(be, state, out, err);
        out += state.count;
        for (int b = 0; b < l->batch && status == QN_OK; b++) {
            struct qn_tensor rows = context(p, k, b);
            if (rows.count > 0) {
                status = be->ops->read(be, rows, out, err);
            }
            out += rows.count;
        }
        if (status != QN_OK) {
            return status;
        }
    }
    if (l->has_position) {
        *out = (float)p->position;
    }
    return QN_OK;
}

/* A position from a file, where it may be anything. */
static int position_of(float value, int seq)
{
    return value > 0 && value < (float)seq ? (int)value : 0;
}

void qn_pass_write_state(struct qn_pass *p, const float *in)
{
    const struct qn_layout *l = &p->layout;
    struct qn_backend *be = p->m->be;
    for (int k = 0; k < l->layers; k++) {
        struct qn_tensor state = {p->state[k], 0, l->state[k]};
        be->ops->write(be, state, in);
        in += state.count;
        for (int b = 0; b < l->batch; b++) {
            struct qn_tensor rows = context(p, k, b);
            if (rows.count > 0) {
                be->ops->write(be, rows, in);
            }
            in += rows.count;
        }
    }
    if (l->has_position) {
        p->position = position_of(*in, p->m->spec.seq);
    }
}
