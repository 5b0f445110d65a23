/* ref.c - the reference backend: every operation the plain way, sums in double.
 *
 * It is the oracle of the tests and runs on the caller's thread alone. Scratch
 * is allocated per call: nothing here is meant to be fast. */
#include "backend/ref.h"

#include "base/mem.h"

#include <stdlib.h>

static void ref_free(struct qn_backend *be)
{
    qn_host_fini((struct qn_host *)be);
    free(be);
}

/* What ref takes it gives back at once. */
static bool ref_reserve(struct qn_backend *be, size_t bytes)
{
    (void)be;
    (void)bytes;
    return true;
}

static size_t ref_qrnn_workspace(struct qn_backend *be, const struct qn_qrnn *l)
{
    (void)be;
    (void)l;
    return 0; /* nothing is kept between calls */
}

static size_t ref_lstm_workspace(struct qn_backend *be, const struct qn_lstm *l)
{
    (void)be;
    (void)l;
    return 0;
}

static size_t ref_linear_workspace(struct qn_backend *be,
                                   const struct qn_seq *x, size_t vocab)
{
    (void)be;
    (void)x;
    (void)vocab;
    return 0;
}

static const struct qn_backend_ops ref_ops = {
    .name = "ref",
    .free = ref_free,
    .alloc = qn_host_alloc,
    .release = qn_host_release,
    .reserve = ref_reserve,
    .write = qn_host_write,
    .read = qn_host_read,
    .fill = qn_host_fill,
    .copy = qn_host_copy,
    .combine = qn_host_combine,
    .fill_seq = qn_host_fill_seq,
    .copy_seq = qn_host_copy_seq,
    .shift_history = qn_host_shift_history,
    .zero_history = qn_host_zero_history,
    .take_rows = qn_host_take_rows,
    .put_rows = qn_host_put_rows,
    .embed = qn_ref_embed,
    .embed_grad = qn_ref_embed_grad,
    .qrnn = qn_ref_qrnn,
    .qrnn_grad = qn_ref_qrnn_grad,
    .qrnn_workspace = ref_qrnn_workspace,
    .lstm = qn_ref_lstm,
    .lstm_grad = qn_ref_lstm_grad,
    .lstm_workspace = ref_lstm_workspace,
    .linear = qn_ref_linear,
    .linear_grad = qn_ref_linear_grad,
    .linear_workspace = ref_linear_workspace,
    .softmax_xent = qn_ref_softmax_xent,
    .sigmoid_xent = qn_host_sigmoid_xent,
    .step_begin = qn_host_step_begin,
    .grad_norm = qn_ref_grad_norm,
    .update = qn_ref_update,
    .step_end = qn_host_step_end,
    .count = qn_host_count,
    .count_qrnn = qn_host_count_qrnn,
    .count_lstm = qn_host_count_lstm,
};

struct qn_backend *qn_ref_new(void)
{
    struct qn_host *host = qn_xmalloc(sizeof *host);
    qn_host_init(host, &ref_ops, NULL, 1);
    return &host->base;
}
