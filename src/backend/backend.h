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

/* Batch normalisation of the pre-activations in place of a bias, each of the
 * G*H channels apart, over the B*T rows of the segment (Ioffe & Szegedy 2015):
 *
 *     a' = gain (a - mean) / sqrt(var + QN_NORM_EPS) + shift
 *
 * gain, shift, mean, var [G*H]; var is the biased variance. With 'batch', in
 * training, mean and var are this segment's and are written (and stay as they
 * are when no row of it is real), and raw [B, T, G*H] keeps what backward wants
 * (its content is the backend's own); else, in evaluation, mean and var are
 * read and raw may be absent. */
#define QN_NORM_EPS 1e-4
struct qn_norm {
    bool on, batch;
    struct qn_tensor gain, shift, mean, var;
    struct qn_tensor raw;
};

/* A cell state smaller than this is 0. Where z stays 0, as with rectified
 * candidates, c decays into the denormal numbers; there rounding holds it for
 * ever, and processors take many times as long for each product with it. */
#define QN_CELL_LEAST 1e-30f

/* Likewise on the way back: the gradient of a cell state or of a pre-activation
 * of a recurrent layer that is smaller than this is 0. Where the objective
 * looks at one step only, as a classifier's does, the gradient falls by f with
 * each step before it, soon into the denormal numbers. */
#define QN_GRAD_LEAST 1e-30f

/* One QRNN layer over one segment (paper, section 3; design.md "The layer"):
 *
 *     a[t]  = W x[t-n+1 .. t] + b[(bias_first + t) mod bias_steps]
 *             or, with norm, the same without b, normalised
 *     f, o, i = sigmoid of their blocks;  z = activation of its block(s)
 *     f     = 1 where zoneout keeps the cell as it was
 *     c[t]  = f c[t-1] + (1-f) z   (f, fo)      f c[t-1] + i z   (ifo)
 *             or 0 where that is smaller than QN_CELL_LEAST
 *     h[t]  = c (f)                             o c              (fo, ifo)
 *     out[t] = dropout(h[t])
 *
 * weight [G*H, n, D], tap n-1 on the current input. bias [bias_steps, G*H]: one
 * for all steps (bias_steps 1), or one for each step of a segment; absent with
 * norm. zoneout (Krueger et al. 2017) draws as dropout does, element j of a row
 * for unit j, and rescales nothing; zoneout_keep [B, T, H], when there, is the
 * mask instead: 1 the gate is used, 0 the cell stays.
 * x: history n-1 (or more) filled in. out: width H, written; its history is not
 * touched. Both may be some columns of wider rows, even of the same buffer.
 * c0 [B, H]: the state before the segment. cells [B, T, H]: all c, written.
 * saved [B, T, G*H]: what backward wants; its content is the backend's own
 * between forward and backward, but after forward it holds the blocks after
 * their activation (z+ and z- each after theirs, f after zoneout), so that they
 * can be counted.
 * n_real [B], on the host: only the first n_real[b] >= 0 rows of sequence b are
 * real; NULL: all. Behind them the recurrence is masked as in the paper's
 * sentiment task: c stays as it is, so that the last row of cells is the last
 * real state; rows of out are 0, those of saved are unspecified, and neither
 * sums, gradients nor norm's statistics see anything of them: d_x rows are 0
 * (with add_x: as they were).
 * n_symbols V > 0: x is an embedding. Its rows are those of table [V, D] at ids
 * [B, T], nothing dropped, a negative id being the zero vector (its history may
 * be of an older table); a backend may then multiply the table in place of x.
 */
struct qn_qrnn {
    int hidden, window;
    enum qn_pooling pooling;
    enum qn_activation activation;
    float alpha; /* of elu and delu */
    struct qn_dropout dropout, zoneout;
    struct qn_tensor zoneout_keep;
    struct qn_tensor weight, bias;
    int bias_steps, bias_first;
    struct qn_norm norm;
    struct qn_seq x, out;
    struct qn_tensor c0, cells, saved;
    const int *n_real;
    int n_symbols;
    struct qn_tensor table, ids;
};

/* The way back. The gradient of the objective with respect to out comes in as
 * d_out (width H; dropout is undone here) and may be overwritten. d_last_c
 * [B, H] is the gradient straight into the last cell state; absent = 0.
 * d_weight and d_bias, or d_gain and d_shift with norm: added to. d_x: written,
 * or added to when add_x; absent = not wanted. It has the history of x; those
 * rows are scratch, since no gradient crosses segments. It may be narrower than
 * x: then it is of the last columns of x. d_c0 [B, H]: written, absent = not
 * wanted. saved and norm.raw are consumed.
 * d_table [V, D], of an embedding: added to; absent = not wanted. Then d_x, all
 * columns of it and not add_x, must be there and is scratch. */
struct qn_qrnn_grad {
    struct qn_seq d_out;
    struct qn_tensor d_last_c;
    struct qn_tensor d_weight, d_bias, d_gain, d_shift;
    struct qn_seq d_x; /* may be a part of the columns of a wider buffer */
    bool add_x;
    struct qn_tensor d_table;
    struct qn_tensor d_c0;
};

/* One LSTM layer over one segment, by torch.nn.LSTM's equations with one bias
 * (Hochreiter & Schmidhuber 1997, with forget gate, without peepholes):
 *
 *     i, f, o = sigmoid, g = tanh of  W_ih x[t] + W_hh h[t-1] + b
 *     c[t] = f c[t-1] + i g        h[t] = o tanh(c[t])
 *     out[t] = dropout(h[t])
 *
 * weight_ih [4H, D], weight_hh [4H, H], bias [4H], blocks i, f, g, o. h0, c0
 * [B, H]: before the segment. cells, hiddens [B, T, H]: all c and all h (before
 * dropout), written. saved [B, T, 4H]: after forward the blocks after their
 * activation. x and out as for a QRNN; history is not read. n_real as there: c
 * and h both stay as they are. n_symbols, table and ids as there, too. */
struct qn_lstm {
    int hidden;
    struct qn_dropout dropout;
    struct qn_tensor weight_ih, weight_hh, bias;
    struct qn_seq x, out;
    struct qn_tensor h0, c0, cells, hiddens, saved;
    const int *n_real;
    int n_symbols;
    struct qn_tensor table, ids;
};

/* As qn_qrnn_grad. d_last_h, d_last_c: straight into the last states. */
struct qn_lstm_grad {
    struct qn_seq d_out;
    struct qn_tensor d_last_h, d_last_c;
    struct qn_tensor d_weight_ih, d_weight_hh, d_bias;
    struct qn_seq d_x;
    bool add_x;
    struct qn_tensor d_table;
    struct qn_tensor d_h0, d_c0;
};

/* What can be counted of a layer: the cell state, the candidate (z of a QRNN,
 * g of an LSTM), the output before dropout, the forget and the output gate. */
enum qn_quantity {
    QN_CELL,
    QN_CANDIDATE,
    QN_OUTPUT,
    QN_FORGET,
    QN_OUTGATE,
    QN_N_QUANTITIES
};

/* What a training step reports, read back once. */
struct qn_step_result {
    double loss_sum; /* nats, over the predictions that count */
    double count;    /* predictions */
    double correct;  /* of sigmoid_xent's, those on their label's side */
    double norm;     /* of the gradients, before clipping */
    bool finite;     /* loss and norm are; else the optimiser did nothing */
    bool spike;      /* finite, but above most_loss: it did nothing either */
};

enum qn_optim_kind { QN_SGD, QN_RMSPROP, QN_ADAM };

/* One update of parameters w from gradients g, both [count]. m and v are the
 * moments (SGD: m with momentum, else neither; RMSprop: v; Adam: both); those
 * not used may be absent. The gradients are scaled by clip_norm / norm when
 * clip_norm > 0 and norm > clip_norm; nothing happens when the step's loss or
 * norm is not finite, its loss_sum / count is above most_loss, or an operation
 * of it failed. Needs grad_norm() first.
 *
 *     SGD      m = mu m + g, w -= lr m           (momentum mu; mu 0: w -= lr g)
 *     RMSprop  v = rho v + (1-rho) g^2,  w -= lr g / (sqrt(v) + eps),
 *              or / sqrt(v + eps) with eps_inside        (Tieleman & Hinton)
 *     Adam     m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2,
 *              w -= lr (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)
 *                                                        (Kingma & Ba)
 */
struct qn_update {
    enum qn_optim_kind kind;
    double lr, clip_norm; /* clip_norm 0 = none */
    double momentum, rho, beta1, beta2, eps;
    bool eps_inside;
    double most_loss; /* a larger mean loss is a spike; 0 = no limit */
    int64_t t;        /* updates so far, this one included: 1, 2, ... */
};

struct qn_backend;

struct qn_backend_ops {
    const char *name;
    void (*free)(struct qn_backend *be);

    /* Memory. alloc gives zeroed elements of 4 bytes (float or int32), or NULL
     * when they cannot be had. */
    struct qn_buffer *(*alloc)(struct qn_backend *be, size_t count);
    void (*release)(struct qn_backend *be, struct qn_buffer *buffer);
    /* Take so many bytes of workspace at once, before there is work: it then
     * does not grow with the first layer that wants more, or with a segment of
     * another length. False: they cannot be had. */
    bool (*reserve)(struct qn_backend *be, size_t bytes);
    void (*write)(struct qn_backend *be, struct qn_tensor dst, const void *src);
    enum qn_status (*read)(struct qn_backend *be, struct qn_tensor src,
                           void *dst, struct qn_err *err);
    void (*fill)(struct qn_backend *be, struct qn_tensor dst, float value);
    void (*copy)(struct qn_backend *be, struct qn_tensor dst,
                 struct qn_tensor src);
    /* dst = a src + b dst, both [count]; what has weight 0 is not read, so that
     * a NaN in it does not survive. */
    void (*combine)(struct qn_backend *be, struct qn_tensor dst,
                    struct qn_tensor src, double a, double b);

    /* Sequences. fill_seq and copy_seq touch real rows only; shift_history
     * moves the last 'history' rows of history + steps to the front, as the
     * context of the next segment (steps < history works); zero_history makes
     * the context of a stream's start. */
    void (*fill_seq)(struct qn_backend *be, struct qn_seq dst, float value);
    void (*copy_seq)(struct qn_backend *be, struct qn_seq dst,
                     struct qn_seq src);
    void (*shift_history)(struct qn_backend *be, struct qn_seq seq);
    void (*zero_history)(struct qn_backend *be, struct qn_seq seq);

    /* One row of each sequence. take_rows: dst [B, width] = row row[b] of
     * sequence b; put_rows: that row = src[b], all other real rows 0. row [B],
     * on the host; -1 is none: zeros are taken, and nothing is put. */
    void (*take_rows)(struct qn_backend *be, struct qn_tensor dst,
                      struct qn_seq src, const int *row);
    void (*put_rows)(struct qn_backend *be, struct qn_seq dst,
                     struct qn_tensor src, const int *row);

    /* Embedding. table [V, E]; ids [B, T], a negative id is the zero vector;
     * out rows of width E, dropped. */
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

    void (*lstm)(struct qn_backend *be, const struct qn_lstm *layer);
    void (*lstm_grad)(struct qn_backend *be, const struct qn_lstm *layer,
                      const struct qn_lstm_grad *grad);
    size_t (*lstm_workspace)(struct qn_backend *be, const struct qn_lstm *l);

    /* Decoder. y [B, T, V] = x W^T + b, weight [V, D], bias [V]. */
    void (*linear)(struct qn_backend *be, struct qn_tensor y, struct qn_seq x,
                   struct qn_tensor weight, struct qn_tensor bias);
    /* d_weight, d_bias: added to. d_x: written. */
    void (*linear_grad)(struct qn_backend *be, struct qn_seq d_x,
                        struct qn_tensor d_weight, struct qn_tensor d_bias,
                        struct qn_tensor d_y, struct qn_seq x,
                        struct qn_tensor weight);
    /* As qrnn_workspace; of x only the shape is read. */
    size_t (*linear_workspace)(struct qn_backend *be, const struct qn_seq *x,
                               size_t vocab);

    /* Softmax cross-entropy in place. logits [rows, V]; targets [rows], a
     * negative target does not count. Adds loss and count to the step's result;
     * unless 'scale' is 0, logits become d loss / d logits = scale *
     * (softmax - onehot), 0 in rows that do not count. scale 0 leaves logits
     * as they are. The loss of a row is -log(p + floor); its gradient is that
     * of floor 0. */
    void (*softmax_xent)(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor targets, int vocab, float scale,
                         double floor);
    /* The same for one sigmoid unit: binary cross-entropy of logits [n] and
     * labels [n], 0 or 1; a negative label does not count. A logit above 0 is a
     * prediction of 1 (a probability above 0.5), any other number one of 0;
     * those that are right are added to the step's result, too. NaN is never
     * right. */
    void (*sigmoid_xent)(struct qn_backend *be, struct qn_tensor logits,
                         struct qn_tensor labels, float scale);

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
    /* Add a quantity that the layer has, after its forward and before its
     * backward, over the first n_real[b] rows of sequence b ([B], on the host;
     * NULL: all rows). A candidate of two blocks is their difference; without
     * an output gate there is none to count. */
    enum qn_status (*count_qrnn)(struct qn_backend *be,
                                 const struct qn_qrnn *layer,
                                 enum qn_quantity what, const int *n_real,
                                 struct qn_hist *h, struct qn_err *err);
    enum qn_status (*count_lstm)(struct qn_backend *be,
                                 const struct qn_lstm *layer,
                                 enum qn_quantity what, const int *n_real,
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
