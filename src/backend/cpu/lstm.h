/* lstm.h - what both ways of the LSTM layer share: the job, its scratch, and
 * where the rows of a step lie.
 *
 * A step's rows are multiplied by both weights while they are in the cache: by
 * weights packed once for all steps (panels.h), or W_ih x[t] is looked up. A
 * short recurrence that looks nothing up, and a batch of fewer sequences than
 * slices, have the products with W_ih block by block; the latter splits them by
 * time, and its recurrence runs over a sequence a task in between. */
#ifndef QN_BACKEND_CPU_LSTM_H
#define QN_BACKEND_CPU_LSTM_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/lookup.h"
#include "backend/cpu/panels.h"
#include "backend/cpu/product.h"

struct qn_lstm_job {
    const struct qn_kernels *kernels;
    const struct qn_lstm *layer;
    const struct qn_lstm_grad *grad; /* backward */
    struct qn_product product;       /* of the input */
    bool looks_up;
    struct qn_lookup lookup; /* in place of the product, of an embedding */
    bool packs;              /* W_hh is packed: that is worth it */
    bool by_step;     /* W_ih x and d_x are made of a step, not of a block */
    bool packs_input; /* by step and not looked up: W_ih is packed, too */
    struct qn_batch batch;
    struct qn_mask mask;
    size_t hidden, outputs; /* H, 4H */
    size_t terms;           /* columns of [h | x], which da multiplies */
    float *sums;   /* backward: da^T [h | x] of each slice, [4H, terms] */
    float *biases; /* of each slice, [2, 4H] */
    /* When it packs. Forward [W_hh W_ih]^T or W_hh^T; back W_hh, and the
     * columns of W_ih that d_x has, without data when that is not packed or
     * wanted. */
    struct qn_panels forward, to_h, to_x;
    float *work;         /* [slices, task_work], sums, packed, lookup */
    size_t product_work; /* of a task, then its scratch: */
    size_t states_work, task_work; /* dh, dc [sequences, H] */
};

/* Shapes only: neither tensors nor work are touched. */
struct qn_lstm_job qn_lstm_open(struct qn_cpu *cpu,
                                const struct qn_lstm *layer);
/* Take the layer's pointers and the workspace, once the job is where it stays;
 * false when there is none. */
bool qn_lstm_start(struct qn_cpu *cpu, struct qn_lstm_job *job);
/* Floats of the weights packed for either way; by shapes only. */
size_t qn_lstm_packed_work(const struct qn_lstm_job *job);
/* Pack the weights for this way ('grad' set: back), where that is worth it. */
void qn_lstm_pack(struct qn_pool *pool, struct qn_lstm_job *job);

/* Where the packed weights are, and the scratch of a task. */
float *qn_lstm_packed(const struct qn_lstm_job *job);
float *qn_lstm_task_work(const struct qn_lstm_job *job, int task);
/* Row (b, t) of a tensor [B, T, ...]. */
size_t qn_lstm_row(const struct qn_lstm_job *job, int b, int t);
/* The gates of (b, t), 4H of 'saved', and floats from those of a sequence to
 * the next one's. */
float *qn_lstm_gates(const struct qn_lstm_job *job, int b, int t);
size_t qn_lstm_gates_pitch(const struct qn_lstm_job *job);
/* Steps of sequence b before its end. */
int qn_lstm_real_steps(const struct qn_lstm_job *job, int b);

/* Tasks of the recurrence, and the sequences that one takes together. */
int qn_lstm_n_recurrences(const struct qn_lstm_job *job);
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

/* Ask for n floats that are read or written soon: the rows of a step lie a
 * sequence apart, where the processor does not look for the next one. */
static inline void qn_lstm_ask(const float *row, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(row + i, 1);
}

/* The weights' gradients: take the rows of a block, the slice's first one or
 * another. */
void qn_lstm_weights_take(const struct qn_lstm_job *job,
                          const struct qn_block *block, int slice, bool first);
/* The bias's: clear a task's, then take row by row, after so many others. */
void qn_lstm_bias_clear(const struct qn_lstm_job *job, int task);
void qn_lstm_bias_take(const struct qn_lstm_job *job, int b, int t, int task,
                       int64_t before);
/* In the end: add both, slice by slice, to the gradients. */
void qn_lstm_weights_add(struct qn_pool *pool, struct qn_lstm_job *job);

#endif
