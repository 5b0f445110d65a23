/* sample.h - let a language model write. */
#ifndef QN_MODEL_SAMPLE_H
#define QN_MODEL_SAMPLE_H

#include "model/model.h"

struct qn_sample_options {
    const int32_t *prompt; /* ids read before the first symbol is drawn */
    size_t n_prompt;       /* 0: begins with symbol 0 read */
    int length;            /* symbols to draw, prompt not counted */
    double temperature;    /* > 0; 0 takes the likeliest */
    uint64_t seed;
    /* Polled before each symbol; true ends with QN_ESTOPPED. NULL = never. */
    bool (*asked)(void *user);
    void *asked_user;
};

/* Draw 'length' ids into out. Softmax of logits / temperature; the same seed
 * gives the same text. A classifier cannot. Makes a pass of batch 1 of its own.
 */
enum qn_status qn_sample(struct qn_model *m,
                         const struct qn_sample_options *options, int32_t *out,
                         struct qn_err *err);

/* Steps of the pass that reads a prompt of so many symbols and then writes: it
 * takes memory of its own while it is at work. */
int qn_sample_steps(size_t n_prompt);

#endif
