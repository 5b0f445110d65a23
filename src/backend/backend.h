/* backend.h - the table of operations that every backend implements.
 *
 * The operations are whole layers, so that a backend may fuse inside: products,
 * gates, pooling and dropout never meet above this line. Shapes are stated row-
 * major, last index fastest. B = batch, T = steps, D = input width, H = hidden
 * units, n = window, G = gate blocks, V = vocabulary.
 *
 * Operations are submitted; nothing may look at a result before read() or
 * step_end(). They return nothing: a device failure is remembered and comes out
 * as the status of the next read() or step_end(). Broken contracts assert.
 *
 * Randomness: an operation that drops takes a key made by qn_rng_key and the
 * global number of its first sample (stream); masks are qn_rng_bits over
 * qn_rng_row(key, first_sample + b, t), the same on every backend.
 *
 * Determinism: equal inputs and an equal 'slices' give equal bits, however many
 * threads the pool has.
 */
#ifndef QN_BACKEND_BACKEND_H
#define QN_BACKEND_BACKEND_H

#include "backend/tensor.h"
#include "base/hist.h"
#include "base/pool.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum qn_pooling { QN_POOL_F, QN_POOL_FO, QN_POOL_IFO };
enum qn_activation { QN_TANH, QN_RELU, QN_ELU, QN_DRELU, QN_DELU };

/* Candidate blocks: 2 for the dual activations, else 1. */
int qn_n_candidates(enum qn_activation activation);
/* All gate blocks G, in this order: z (or z+ z-), f, o (fo, ifo), i (ifo). */
int qn_n_gates(enum qn_activation activation, enum qn_pooling pooling);

/* Dropout of rate p in [0, 1): inverted and element-wise; p = 0 is none. */
struct qn_dropout {
    double p;
    uint64_t key;
    uint64_t first_sample; /* global number of sequence 0 of the batch */
};

/* One QRNN layer over one segment (paper, section 3; design.md "The layer"):
 *
 *     a[t]  = W x[t-n+1 .. t] + b
 *     f, o, i = sigmoid of their blocks;  z = activation of its block(s)
 *     c[t]  = f c[t-1] + (1-f) z   (f, fo)      f c[t-1] + i z   (ifo)
 *     h[t]  = c (f)                             o c              (fo, ifo)
 *     out[t] = dropout(h[t])
 *
 * weight [G*H, n, D], tap n-1 on the current input; bias [G*H].
 * x: history n-1 filled in. out: width H, written; its history is not touched.
 * c0 [B, H]: the state before the segment. cells [B, T, H]: all c, written.
 * saved [B, T, G*H]: what backward wants; its content is the backend's own
 * between forward and backward, but after forward it holds the blocks after
 * their activation (z+ and z- each after theirs), so that they can be counted.
 */
struct qn_qrnn {
    int hidden, window;
    enum qn_pooling pooling;
    enum qn_activation activation;
    float alpha; /* of elu and delu */
    struct qn_dropout dropout;
    struct qn_tensor weight, bias;
    struct qn_seq x, out;
    struct qn_tensor c0, cells, saved;
};

/* The way back. The gradient of the objective with respect to out comes in as
 * d_out (width H; dropout is undone here) and may be overwritten. d_last_c
 * [B, H] is the gradient straight into the last cell state; absent = 0.
 * d_weight, d_bias: added to. d_x: written, or added to when add_x; absent =
 * not wanted. It has history n-1 like x; those rows are scratch, since no
 * gradient crosses segments. d_c0 [B, H]: written, absent = not wanted. saved
 * is consumed. */
struct qn_qrnn_grad {
    struct qn_seq d_out;
    struct qn_tensor d_last_c;
    struct qn_tensor d_weight, d_bias;
    struct qn_seq d_x; /* may be a part of the columns of a wider buffer */
    bool add_x;
    struct qn_tensor d_c0;
};

/* What a training step reports, read back once. */
struct qn_step_result {
    double loss_sum; /* nats, over the predictions that count */
    double count;    /* predictions */
    double norm;     /* of the gradients, before clipping */
    bool finite;     /* loss and norm are; else the optimiser did nothing */
};

enum qn_optim_kind { QN_SGD, QN_ADAM };

/* One update of parameters w from gradients g, both [count]. m and v are the
 * moments (Adam: both; SGD: neither). The gradients are scaled by
 * clip_norm / norm when clip_norm > 0 and norm > clip_norm; nothing happens
 * when the step's loss or norm is not finite. Needs grad_norm() before it.
 *     SGD   w -= lr g
 *     Adam  m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
 *           w -= lr (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)  (Kingma & Ba)
 */
struct qn_update {
    enum qn_optim_kind kind;
    double lr, clip_norm; /* clip_norm 0 = none */
    double beta1, beta2, eps;
    int64_t t; /* updates so far, this one included: 1, 2, ... */
};

struct qn_backend;

struct qn_backend_ops {
    const char *name;
    void (*free)(struct qn_backend *be);

    /* Memory. alloc gives zeroed elements of 4 bytes (float or int32), or NULL
     * when they cannot be had. */
    struct qn_buffer *(*alloc)(struct qn_backend *be, size_t count);
    void (*release)(struct qn_backend *be, struct qn_buffer *buffer);
    void (*write)(struct qn_backend *be, struct qn_tensor dst, const void *src);
    enum qn_status (*read)(struct qn_backend *be, struct qn_tensor src,
                           void *dst, struct qn_err *err);
    void (*fill)(struct qn_backend *be, struct qn_tensor dst, float value);
    void (*copy)(struct qn_backend *be, struct qn_tensor dst,
                 struct qn_tensor src);

    /* Sequences. fill_seq and copy_seq touch real rows only; shift_history
     * moves the last 'history' rows of history + steps to the front, as the
     * context of the next segment (steps < history works); zero_history makes
     * the context of a stream's start. */
    void (*fill_seq)(struct qn_backend *be, struct qn_seq dst, float value);
    void (*copy_seq)(struct qn_backend *be, struct qn_seq dst,
                     struct qn_seq src);
    void (*shift_history)(struct qn_backend *be, struct qn_seq seq);
    void (*zero_history)(struct qn_backend *be, struct qn_seq seq);

    /* Embedding. table [V, E]; ids [B, T]; out rows of width E, dropped. */
    void (*embed)(struct qn_backend *be, struct qn_seq out,
                  struct qn_tensor table, struct qn_tensor ids,
                  const struct qn_dropout *dropout);
    /* d_table: added to. */
    void (*embed_grad)(struct qn_backend *be, struct qn_tensor d_table,
                       struct qn_seq d_out, struct qn_tensor ids,
                       const struct qn_dropout *dropout);

    void (*qrnn)(struct qn_backend *be, const struct qn_qrnn *layer);
    void (*qrnn_grad)(struct qn_backend *be, const struct qn_qrnn *layer,
                      const struct qn_qrnn_grad *grad);
    /* Bytes of workspace that qrnn and qrnn_grad of this shape keep inside the
     * backend (not the tensors above); for the plan of a run. */
    size_t (*qrnn_workspace)(struct qn_backend *be, const struct qn_qrnn *l);

    /* Decoder. y [B, T, V] = x W^T + b, weight [V, D], bias [V]. */
    void (*linear)(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias);
    /* d_weight, d_bias: added to. d_x: written. */
    void (*linear_grad)(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight);

    /* Softmax cross-entropy in place. logits [rows, V]; targets [rows], a
     * negative target does not count. Adds loss and count to the step's result;
     * unless 'scale' is 0, logits become d loss / d logits = scale *
     * (softmax - onehot), 0 in rows that do not count. scale 0 leaves logits
     * as they are. */
    void (*softmax_xent)(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale);

    /* A step: begin clears the result; grad_norm adds the gradient's norm and
     * the finite flag; update applies; end reads the result back (one read). */
    void (*step_begin)(struct qn_backend *be);
    void (*grad_norm)(struct qn_backend *be, struct qn_tensor g);
    void (*update)(struct qn_backend *be, const struct qn_update *u,
                   struct qn_tensor w, struct qn_tensor g, struct qn_tensor m,
                   struct qn_tensor v);
    enum qn_status (*step_end)(struct qn_backend *be,
                               struct qn_step_result *out, struct qn_err *err);

    /* Add the real rows of seq to h (h->threshold is the caller's). */
    enum qn_status (*count)(struct qn_backend *be, struct qn_seq seq,
                            struct qn_hist *h, struct qn_err *err);
};

/* Every backend's struct begins with this. */
struct qn_backend {
    const struct qn_backend_ops *ops;
};

/* "ref" (plain C, double sums, the oracle) or "cpu" (OpenBLAS and vector
 * kernels). pool: borrowed, may be NULL, shared with other backends. slices:
 * the logical split of a batch, >= 1: results depend on it. One thread at a
 * time may use a backend object; several objects may run at once. */
enum qn_status qn_backend_new(const char *name, struct qn_pool *pool,
                              int slices, struct qn_backend **out,
                              struct qn_err *err);
void qn_backend_free(struct qn_backend *be); /* NULL is fine */

/* "Haswell", "SkylakeX", ...: the kernel that OpenBLAS chose. */
const char *qn_backend_blas_kernel(void);

/* C[m,n] = A[m,k] B[k,n], by the BLAS at one thread, on 'pool', rows split
 * evenly: the machine's own product that quern bench compares with. */
void qn_backend_sgemm(struct qn_pool *pool, float *c, const float *a,
                      const float *b, int m, int n, int k);

/* Fill w [rows, cols] with orthonormal rows (or columns, whichever are fewer)
 * times gain, from a seeded Gaussian matrix by QR with the signs of R's
 * diagonal taken out (uniform over such matrices; Saxe et al. 2014). */
void qn_backend_orthogonal(float *w, int rows, int cols, double gain,
                           uint64_t key);

#endif
