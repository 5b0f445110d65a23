/* lstm.h - what both ways of the LSTM layer share: the job, its scratch, and
 * where the rows of a step lie.
 *
 * Both take W_hh packed once for all steps (panels.h). When the batch has fewer
 * sequences than slices, the large products split by time, and the recurrence
 * runs over a sequence a task in between. */
#ifndef QN_BACKEND_CPU_LSTM_H
#define QN_BACKEND_CPU_LSTM_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/gemm.h"
#include "backend/cpu/lookup.h"
#include "backend/cpu/panels.h"
#include "backend/cpu/partials.h"
#include "backend/cpu/product.h"

struct qn_lstm_job {
    const struct qn_kernels *kernels;
    const struct qn_lstm *layer;
    const struct qn_lstm_grad *grad; /* backward */
    struct qn_product product;       /* of the input */
    bool looks_up;
    struct qn_lookup lookup; /* in place of the product, of an embedding */
    struct qn_batch batch;
    struct qn_mask mask;
    size_t hidden, outputs;    /* H, 4H */
    struct qn_partials ih, hh; /* backward; the bias is with ih */
    struct qn_panels packed;   /* W_hh^T forward, W_hh backward; without data
                                  when it is not worth it */
    float *work;         /* [slices, task_work], partials, packed, lookup */
    size_t product_work; /* of a task, then its scratch: */
    size_t states_work, task_work; /* dh, dc [sequences, H], db [4H] */
};

/* Shapes only: neither tensors nor work are touched. */
struct qn_lstm_job qn_lstm_open(struct qn_cpu *cpu,
                                const struct qn_lstm *layer);
/* Take the layer's pointers and the workspace, once the job is where it stays;
 * false when there is none. */
bool qn_lstm_start(struct qn_cpu *cpu, struct qn_lstm_job *job);
/* Pack W_hh for this way ('grad' set: back), where that is worth it. */
void qn_lstm_pack(struct qn_pool *pool, struct qn_lstm_job *job);

float *qn_lstm_task_work(const struct qn_lstm_job *job, int task);
/* Row (b, t) of a tensor [B, T, ...]. */
size_t qn_lstm_row(const struct qn_lstm_job *job, int b, int t);
/* Steps of sequence b before its end. */
int qn_lstm_real_steps(const struct qn_lstm_job *job, int b);

/* Sequences that one task of the recurrence takes together. */
struct qn_block qn_lstm_recurrence(const struct qn_lstm_job *job, int task);
/* The part without the sequences at its two ends that are over at step t. */
struct qn_block qn_lstm_running(const struct qn_lstm_job *job,
                                const struct qn_block *part, int t);

/* Rows of one step, of one sequence after the other. */
struct qn_lstm_rows {
    const float *data;
    size_t pitch;
};

/* h[t-1] or c[t-1] from sequence b on, out of all h or c and those before. */
struct qn_lstm_rows qn_lstm_before(const struct qn_lstm_job *job,
                                   struct qn_tensor states,
                                   struct qn_tensor first, int b, int t);

/* The cell step (b, t), its pointers set. */
struct qn_lstm_cell qn_lstm_cell(const struct qn_lstm_job *job, int b, int t);
struct qn_drop qn_lstm_drop(const struct qn_lstm_job *job, int b, int t);

/* C [m, n], or with beta 1 +=, = A [m, k] times W_hh^T forward, W_hh backward;
 * rows of both as far apart as 'p' says. Takes the task's product_work. */
void qn_lstm_product(const struct qn_lstm_job *job, struct qn_gemm *p,
                     int task);

#endif
