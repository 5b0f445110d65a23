/* private.h - what the backends in main memory share; nobody above sees it. */
#ifndef QN_BACKEND_PRIVATE_H
#define QN_BACKEND_PRIVATE_H

#include "backend/backend.h"
#include "base/assert.h"
#include "base/rng.h"

/* Elements of 4 bytes, float or int32. */
struct qn_buffer {
    void *data;
    size_t count;
};

/* What ref and cpu begin with. */
struct qn_host {
    struct qn_backend base;
    struct qn_pool *pool; /* borrowed; NULL: all on the caller */
    int slices;
    struct qn_hist *hists;                       /* [slices], for count */
    double loss_sum, count, correct, square_sum; /* of the step so far */
    bool spike;     /* the step's update found its loss above most_loss */
    double missing; /* bytes that could not be had; 0: none */
};

void qn_host_init(struct qn_host *host, const struct qn_backend_ops *ops,
                  struct qn_pool *pool, int slices);
void qn_host_fini(struct qn_host *host);

struct qn_buffer *qn_host_alloc(struct qn_backend *be, size_t count);
void qn_host_release(struct qn_backend *be, struct qn_buffer *buffer);
void qn_host_write(struct qn_backend *be, struct qn_tensor dst,
                   const void *src);
enum qn_status qn_host_read(struct qn_backend *be, struct qn_tensor src,
                            void *dst, struct qn_err *err);
void qn_host_fill(struct qn_backend *be, struct qn_tensor dst, float value);
void qn_host_copy(struct qn_backend *be, struct qn_tensor dst,
                  struct qn_tensor src);
void qn_host_combine(struct qn_backend *be, struct qn_tensor dst,
                     struct qn_tensor src, double a, double b);
void qn_host_fill_seq(struct qn_backend *be, struct qn_seq dst, float value);
void qn_host_copy_seq(struct qn_backend *be, struct qn_seq dst,
                      struct qn_seq src);
void qn_host_shift_history(struct qn_backend *be, struct qn_seq seq);
void qn_host_zero_history(struct qn_backend *be, struct qn_seq seq);
void qn_host_take_rows(struct qn_backend *be, struct qn_tensor dst,
                       struct qn_seq src, const int *row);
void qn_host_put_rows(struct qn_backend *be, struct qn_seq dst,
                      struct qn_tensor src, const int *row);
void qn_host_sigmoid_xent(struct qn_backend *be, struct qn_tensor logits,
                          struct qn_tensor labels, float scale);
void qn_host_step_begin(struct qn_backend *be);
enum qn_status qn_host_step_end(struct qn_backend *be,
                                struct qn_step_result *out, struct qn_err *err);
enum qn_status qn_host_count(struct qn_backend *be, struct qn_seq seq,
                             struct qn_hist *h, struct qn_err *err);
enum qn_status qn_host_count_qrnn(struct qn_backend *be,
                                  const struct qn_qrnn *layer,
                                  enum qn_quantity what, const int *n_real,
                                  struct qn_hist *h, struct qn_err *err);
enum qn_status qn_host_count_lstm(struct qn_backend *be,
                                  const struct qn_lstm *layer,
                                  enum qn_quantity what, const int *n_real,
                                  struct qn_hist *h, struct qn_err *err);
/* The sticky failure of an operation, told once. */
enum qn_status qn_host_take_failure(struct qn_host *host, struct qn_err *err);
/* May this update use the step's gradients, and scaled by what? A spike is
 * remembered for the step's result. */
bool qn_host_lets_update(struct qn_host *host, const struct qn_update *u);
double qn_host_clip_scale(const struct qn_host *host, double clip_norm);

/* Assert the shapes that backend.h states. */
void qn_check_tensor(struct qn_tensor t, size_t count);
void qn_check_seq(const struct qn_seq *seq);
void qn_check_rows(struct qn_tensor rows, const struct qn_seq *seq,
                   const int *row);
void qn_check_qrnn(const struct qn_qrnn *layer);
void qn_check_qrnn_grad(const struct qn_qrnn *layer,
                        const struct qn_qrnn_grad *grad);
void qn_check_lstm(const struct qn_lstm *layer);
void qn_check_lstm_grad(const struct qn_lstm *layer,
                        const struct qn_lstm_grad *grad);
void qn_check_embed(const struct qn_seq *rows, struct qn_tensor table,
                    struct qn_tensor ids);
void qn_check_linear(struct qn_tensor y, const struct qn_seq *x,
                     struct qn_tensor weight, struct qn_tensor bias);
void qn_check_sigmoid(struct qn_tensor logits, struct qn_tensor labels);
void qn_check_softmax(struct qn_tensor logits, struct qn_tensor targets,
                      int vocab);
void qn_check_update(const struct qn_update *u, struct qn_tensor w,
                     struct qn_tensor g, struct qn_tensor m,
                     struct qn_tensor v);

struct qn_backend *qn_ref_new(void);
struct qn_backend *qn_cpu_new(struct qn_pool *pool, int slices);

static inline float *qn_floats(struct qn_tensor t)
{
    return (float *)t.buffer->data + t.offset;
}

static inline int32_t *qn_ids(struct qn_tensor t)
{
    return (int32_t *)t.buffer->data + t.offset;
}

/* Row t (from -history on) of sequence b. */
static inline float *qn_row(const struct qn_seq *s, int b, int t)
{
    return (float *)s->buffer->data + s->offset + (size_t)b * s->seq_pitch +
           (ptrdiff_t)t * (ptrdiff_t)s->row_pitch;
}

/* The steps of sequence b that are real; n_real NULL: all. */
static inline int qn_real_steps(const int *n_real, int b, int steps)
{
    return n_real ? n_real[b] : steps;
}

/* Where part i of n things split into 'parts' begins. */
static inline int qn_split(int n, int parts, int i)
{
    return (int)((int64_t)n * i / parts);
}

/* Dropout ready for a kernel. */
struct qn_mask {
    bool on;
    uint32_t threshold;
    float scale; /* of what is kept */
    uint64_t key, first_sample;
};

struct qn_mask qn_mask_of(const struct qn_dropout *dropout);

static inline uint32_t qn_mask_row(const struct qn_mask *m, int b, int t)
{
    return qn_rng_row(m->key, m->first_sample + (uint64_t)b, (uint64_t)t);
}

#endif
