/* pass_read.c - what a pass can be asked: logits, cell states, carried state.
 */
#include "model/private.h"

#include "base/assert.h"

enum qn_status qn_pass_logits(struct qn_pass *p, float *out, struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    QN_ASSERT(p->steps > 0 && !p->layout.training);
    size_t count =
        (size_t)p->layout.batch * (size_t)p->steps * (size_t)p->m->vocab;
    struct qn_tensor logits = {p->logits, 0, count};
    return be->ops->read(be, logits, out, err);
}

/* Cell states of streams [from, to), their first 'steps' rows. */
static struct qn_seq cells_of(const struct qn_pass *p, int layer, int from,
                              int to, int steps)
{
    size_t hidden = (size_t)p->m->spec.model.hidden;
    size_t pitch = (size_t)p->steps * hidden;
    QN_ASSERT(p->steps > 0 && layer >= 0 && layer < p->layout.layers);
    return (struct qn_seq){.buffer = p->cells[layer],
                           .offset = (size_t)from * pitch,
                           .row_pitch = hidden,
                           .seq_pitch = pitch,
                           .batch = to - from,
                           .steps = steps,
                           .width = (int)hidden};
}

enum qn_status qn_pass_count_cells(struct qn_pass *p, int layer,
                                   struct qn_hist *h, struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    struct qn_seq cells = cells_of(p, layer, 0, p->layout.batch, p->steps);
    return be->ops->count(be, cells, h, err);
}

enum qn_status qn_pass_count_cells_masked(struct qn_pass *p, int layer,
                                          const int *n_real, struct qn_hist *h,
                                          struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    int batch = p->layout.batch;
    /* Neighbours with as many real rows are counted together: nearly always
     * that is all of them but the last. */
    for (int from = 0, to; from < batch; from = to) {
        for (to = from + 1; to < batch && n_real[to] == n_real[from];) {
            to++;
        }
        int steps = n_real[from] < p->steps ? n_real[from] : p->steps;
        if (steps <= 0) {
            continue;
        }
        struct qn_seq cells = cells_of(p, layer, from, to, steps);
        enum qn_status status = be->ops->count(be, cells, h, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

enum qn_status qn_pass_cells(struct qn_pass *p, int layer, float *out,
                             struct qn_err *err)
{
    struct qn_backend *be = p->m->be;
    struct qn_seq cells = cells_of(p, layer, 0, p->layout.batch, p->steps);
    struct qn_tensor all = {cells.buffer, 0,
                            (size_t)cells.batch * cells.seq_pitch};
    return be->ops->read(be, all, out, err);
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
