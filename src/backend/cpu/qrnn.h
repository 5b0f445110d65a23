/* qrnn.h - what both ways of the QRNN layer share: the job, its scratch, and
 * where the rows of a step lie. */
#ifndef QN_BACKEND_CPU_QRNN_H
#define QN_BACKEND_CPU_QRNN_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/lookup.h"
#include "backend/cpu/norm.h"
#include "backend/cpu/pairs.h"
#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

struct qn_qrnn_job {
    const struct qn_kernels *kernels;
    const struct qn_qrnn *layer;
    const struct qn_qrnn_grad *grad; /* backward */
    struct qn_product product;
    bool looks_up;
    struct qn_lookup lookup; /* in place of the product, of an embedding */
    bool pairs_up;
    struct qn_pairs pairs; /* of the product, of a window of two */
    struct qn_batch batch;
    struct qn_mask dropout, zoneout;
    size_t hidden, outputs, candidates; /* H, G*H, floats of candidates */
    float *saved;
    struct qn_norm_job norm;     /* with batch normalisation */
    struct qn_partials partials; /* backward */
    float *work; /* [slices, task_work], partials, norm, lookup or pairs */
    size_t task_work;
    size_t product_work; /* of a task's; scratch of the way back follows */
};

/* Shapes only: neither tensors nor work are touched. */
struct qn_qrnn_job qn_qrnn_open(struct qn_cpu *cpu,
                                const struct qn_qrnn *layer);
/* Take the layer's pointers and the workspace, once the job is where it stays;
 * false when there is none. */
bool qn_qrnn_start(struct qn_cpu *cpu, struct qn_qrnn_job *job);

float *qn_qrnn_task_work(const struct qn_qrnn_job *job, int task);
/* Row (b, t) of a tensor [B, T, ...]. */
size_t qn_qrnn_row(const struct qn_qrnn_job *job, int b, int t);
/* The pre-activations of a step before they were normalised. */
const float *qn_qrnn_raw(const struct qn_qrnn_job *job, int b, int t);

/* Units [first, first + count) of a sequence: a recurrence does not mix units,
 * so that several tasks can share it. */
struct qn_units {
    size_t first, count;
};

/* When a recurrence is a task of its own (qn_batch_by_time, and forward behind
 * statistics of the batch): how many tasks there are, never more than slices
 * where a task needs scratch, and what one of them takes: of sequence *b. */
int qn_qrnn_n_recurrences(const struct qn_qrnn_job *job);
struct qn_units qn_qrnn_recurrence(const struct qn_qrnn_job *job, int task,
                                   int *b);
struct qn_units qn_qrnn_all_units(const struct qn_qrnn_job *job);

/* Where these units are in some blocks of G*H: 'n' spans of 'length', H from
 * each other, all blocks in one when all units are taken. */
struct qn_spans {
    size_t n, length;
};
struct qn_spans qn_qrnn_spans(const struct qn_qrnn_job *job,
                              struct qn_units units, size_t blocks);

/* The cell step (b, t) of the units, its pointers set. */
struct qn_qrnn_cell qn_qrnn_cell(const struct qn_qrnn_job *job, int b, int t,
                                 struct qn_units units);
struct qn_drop qn_qrnn_drop(const struct qn_mask *mask, int b, int t,
                            struct qn_units units);

#endif
