/* sample.c - read a prompt, then draw symbol after symbol. */
#include "model/sample.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

/* A prompt is read in segments of so many symbols. */
#define MAX_SEGMENT 64

struct sampler {
    const struct qn_sample_options *options;
    struct qn_pass *pass;
    int vocab;
    float *logits;   /* of one segment */
    double *weights; /* [vocab] */
};

/* Read n ids, at most a segment; the logits after the last into *after. */
static enum qn_status read_ids(struct sampler *s, const int32_t *ids, int n,
                               const float **after, struct qn_err *err)
{
    struct qn_segment seg = {.ids = ids, .steps = n};
    qn_pass_forward(s->pass, &seg);
    qn_pass_carry(s->pass);
    *after = s->logits + (size_t)(n - 1) * (size_t)s->vocab;
    return qn_pass_logits(s->pass, s->logits, err);
}

/* The first of the largest; -1 when any logit is not a number. */
static int likeliest(const float *logits, int vocab)
{
    int best = 0;
    for (int v = 0; v < vocab; v++) {
        if (isnan(logits[v])) {
            return -1;
        }
        best = logits[v] > logits[best] ? v : best;
    }
    return best;
}

/* Symbol number i: softmax of logits / temperature, by the inverse of its
 * distribution function. Infinite logits make the likeliest certain. */
static int draw(struct sampler *s, const float *logits, int i)
{
    int best = likeliest(logits, s->vocab);
    double temperature = s->options->temperature;
    if (best < 0 || temperature <= 0 || isinf(logits[best])) {
        return best;
    }
    double sum = 0;
    for (int v = 0; v < s->vocab; v++) {
        double above = (double)logits[v] - (double)logits[best];
        s->weights[v] = exp(above / temperature);
        sum += s->weights[v];
    }
    uint64_t key = qn_rng_key(s->options->seed, 0, 0, QN_RNG_SAMPLE);
    double left = qn_rng_uniform(key, (uint64_t)i) * sum;
    for (int v = 0; v < s->vocab; v++) {
        left -= s->weights[v];
        if (left < 0) {
            return v;
        }
    }
    return best; /* rounding left a sliver */
}

static enum qn_status read_prompt(struct sampler *s, const float **after,
                                  struct qn_err *err)
{
    const int32_t first = 0;
    const int32_t *ids = s->options->prompt;
    size_t left = s->options->n_prompt;
    if (left == 0) {
        return read_ids(s, &first, 1, after, err);
    }
    enum qn_status status = QN_OK;
    while (left > 0 && status == QN_OK) {
        size_t n = left < MAX_SEGMENT ? left : MAX_SEGMENT;
        status = read_ids(s, ids, (int)n, after, err);
        ids += n;
        left -= n;
    }
    return status;
}

static enum qn_status write_ids(struct sampler *s, int32_t *out,
                                struct qn_err *err)
{
    const float *logits = NULL;
    enum qn_status status = read_prompt(s, &logits, err);
    for (int i = 0; i < s->options->length && status == QN_OK; i++) {
        if (s->options->asked && s->options->asked(s->options->asked_user)) {
            return qn_fail(err, QN_ESTOPPED, "stopped on request");
        }
        int id = draw(s, logits, i);
        if (id < 0) {
            return qn_fail(err, QN_ESTATE,
                           "the network's output is not a number, so nothing "
                           "can be drawn from it");
        }
        out[i] = id;
        if (i + 1 < s->options->length) {
            status = read_ids(s, &out[i], 1, &logits, err);
        }
    }
    return status;
}

int qn_sample_steps(size_t n_prompt)
{
    int n = n_prompt < MAX_SEGMENT ? (int)n_prompt : MAX_SEGMENT;
    return n > 1 ? n : 1;
}

enum qn_status qn_sample(struct qn_model *m,
                         const struct qn_sample_options *options, int32_t *out,
                         struct qn_err *err)
{
    QN_ASSERT(qn_model_spec(m)->task == QN_TASK_LM);
    int steps = qn_sample_steps(options->n_prompt);
    struct sampler s = {.options = options, .vocab = qn_model_vocab(m)};
    enum qn_status status = qn_pass_new(m, 1, steps, false, &s.pass, err);
    if (status != QN_OK) {
        return status;
    }
    size_t vocab = (size_t)s.vocab;
    s.logits = qn_xcalloc((size_t)steps * vocab, sizeof *s.logits);
    s.weights = qn_xcalloc(vocab, sizeof *s.weights);
    status = write_ids(&s, out, err);
    free(s.weights);
    free(s.logits);
    qn_pass_free(s.pass);
    return status;
}
