/* measure.c - what one can ask of trained weights: loss, statistics, text. */
#include "train/measure_self.h"

#include "base/clock.h"
#include "base/mem.h"
#include "data/batch.h"
#include "model/sample.h"
#include "train/text.h"

#include <math.h>
#include <stdlib.h>

struct qn_measure *qn_measure_new(struct qn_model *model,
                                  const struct qn_spec *spec,
                                  const struct qn_corpus *corpus)
{
    struct qn_measure *m = qn_xcalloc(1, sizeof *m);
    m->model = model;
    m->spec = spec;
    m->corpus = corpus;
    m->vocab = qn_corpus_vocab(corpus);
    return m;
}

static void drop_pass(struct qn_measure *m)
{
    qn_pass_free(m->pass);
    free(m->ids);
    free(m->targets);
    free(m->n_real);
    m->pass = NULL;
    m->ids = m->targets = NULL;
    m->n_real = NULL;
}

void qn_measure_free(struct qn_measure *m)
{
    if (m == NULL) {
        return;
    }
    drop_pass(m);
    qn_stored_free(m->own);
    free(m);
}

const struct qn_spec *qn_measure_spec(const struct qn_measure *m)
{
    return m->spec;
}

int64_t qn_measure_checkpoint_step(const struct qn_measure *m)
{
    return m->step;
}

void qn_measure_set_interrupt(struct qn_measure *m, bool (*asked)(void *user),
                              void *user)
{
    m->asked = asked;
    m->asked_user = user;
}

/* A pass of the batch that the spec wants now: eval.batch may have changed. */
static enum qn_status ready_pass(struct qn_measure *m, struct qn_err *err)
{
    int batch = m->spec->eval.batch > 0 ? m->spec->eval.batch : m->spec->batch;
    int seq = m->spec->seq;
    if (m->pass && m->batch == batch && m->seq == seq) {
        return QN_OK;
    }
    drop_pass(m);
    enum qn_status status =
        qn_pass_new(m->model, batch, seq, false, &m->pass, err);
    if (status != QN_OK) {
        return status;
    }
    size_t n = (size_t)batch * (size_t)seq;
    m->batch = batch;
    m->seq = seq;
    m->ids = qn_xcalloc(n, sizeof *m->ids);
    m->targets = qn_xcalloc(n, sizeof *m->targets);
    m->n_real = qn_xcalloc((size_t)batch, sizeof *m->n_real);
    return QN_OK;
}

/* Everything for going through a split: text, streams, a pass at its start. */
static enum qn_status begin(struct qn_measure *m, enum qn_split split,
                            struct qn_streams *streams, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    if (!m->corpus) {
        status = qn_stored_text(m, err);
    }
    if (status != QN_OK) {
        return status;
    }
    size_t n;
    const int32_t *ids = qn_corpus_ids(m->corpus, split, &n);
    if (n == 0) {
        return qn_fail(err, QN_EUSAGE, "the run has no %s split",
                       qn_split_name(split));
    }
    if (n == 1) {
        return qn_fail(err, QN_EUSAGE,
                       "the %s split has one symbol only, nothing to predict",
                       qn_split_name(split));
    }
    status = ready_pass(m, err);
    if (status != QN_OK) {
        return status;
    }
    qn_streams_eval(streams, ids, n, m->batch, m->seq, m->spec->eval.limit);
    qn_pass_restart(m->pass);
    return QN_OK;
}

/* One segment forward: for its loss, or for what the probe counts. */
static enum qn_status forward(struct qn_measure *m, int steps,
                              const struct qn_probe *probe, struct qn_err *err)
{
    struct qn_segment segment = {
        .ids = m->ids,
        .targets = probe != NULL ? NULL : m->targets,
        .steps = steps,
        .n_real = m->n_real,
    };
    if (probe != NULL) {
        return qn_pass_forward_counting(m->pass, &segment, probe, err);
    }
    qn_pass_forward(m->pass, &segment);
    return QN_OK;
}

/* Segment by segment through the split; losses add up in the backend, or, with
 * a probe, values in its histograms. */
static enum qn_status walk(struct qn_measure *m,
                           const struct qn_streams *streams,
                           const struct qn_probe *probe, struct qn_err *err)
{
    for (size_t i = 0; i < streams->n_segments; i++) {
        if (m->asked && m->asked(m->asked_user)) {
            return qn_fail(err, QN_ESTOPPED, "stopped on request");
        }
        int steps =
            qn_streams_segment(streams, i, m->ids, m->targets, m->n_real);
        enum qn_status status = forward(m, steps, probe, err);
        if (status != QN_OK) {
            return status;
        }
        qn_pass_carry(m->pass);
    }
    return QN_OK;
}

enum qn_status qn_measure_evaluate(struct qn_measure *m, enum qn_split split,
                                   struct qn_evaluation *out,
                                   struct qn_err *err)
{
    double start = qn_clock_now();
    struct qn_streams streams;
    enum qn_status status = begin(m, split, &streams, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_backend *be = qn_model_backend(m->model);
    be->ops->step_begin(be);
    status = walk(m, &streams, NULL, err);
    /* Also after a stop: a step that has begun is ended. */
    struct qn_step_result sum;
    enum qn_status ended =
        be->ops->step_end(be, &sum, status != QN_OK ? NULL : err);
    if (status != QN_OK || ended != QN_OK) {
        return status != QN_OK ? status : ended;
    }
    *out = (struct qn_evaluation){
        .split = split,
        .reading = qn_spec_reading(m->spec),
        .accuracy = (double)NAN,
        .loss = sum.count > 0 ? sum.loss_sum / sum.count : (double)NAN,
        .predictions = (int64_t)sum.count,
        .seconds = qn_clock_now() - start,
    };
    return QN_OK;
}

enum qn_status qn_measure_stats(struct qn_measure *m, enum qn_split split,
                                unsigned of, double near,
                                struct qn_stats_record *out, struct qn_err *err)
{
    struct qn_streams streams;
    if (qn_model_quantities(m->spec, of) == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "the layers have nothing of what is to be counted: "
                       "there is no output gate with model.pooling = f");
    }
    enum qn_status status = begin(m, split, &streams, err);
    if (status != QN_OK) {
        return status;
    }
    qn_stats_begin(out, m->spec, of, near);
    out->step = m->step;
    struct qn_probe probe = {.of = out->of, .hist = out->layer};
    struct qn_backend *be = qn_model_backend(m->model);
    be->ops->step_begin(be);
    status = walk(m, &streams, &probe, err);
    struct qn_step_result unused;
    enum qn_status ended =
        be->ops->step_end(be, &unused, status != QN_OK ? NULL : err);
    return status != QN_OK ? status : ended;
}

/* The request with the run's own settings where it leaves them open. */
static struct qn_text_request resolve(const struct qn_spec *spec,
                                      const struct qn_text_request *r)
{
    struct qn_text_request full = *r;
    if (full.prompt == NULL) {
        full.prompt = spec->sample.prompt;
    }
    if (full.length <= 0) {
        full.length = spec->sample.length;
    }
    if (full.temperature < 0) {
        full.temperature = spec->sample.temperature;
    }
    if (full.seed < 0) {
        full.seed = spec->sample.seed;
    }
    return full;
}

enum qn_status qn_measure_sample(struct qn_measure *m,
                                 const struct qn_text_request *request,
                                 struct qn_str *out, struct qn_err *err)
{
    struct qn_text_request r = resolve(m->spec, request);
    int32_t *prompt;
    size_t n_prompt;
    enum qn_status status =
        qn_text_prompt(m->vocab, m->spec, r.prompt, &prompt, &n_prompt, err);
    if (status != QN_OK) {
        return status;
    }
    size_t length = r.length > 0 ? (size_t)r.length : 0;
    int32_t *drawn = qn_xcalloc(length + 1, sizeof *drawn);
    struct qn_sample_options options = {
        .prompt = prompt,
        .n_prompt = n_prompt,
        .length = (int)length,
        .temperature = r.temperature,
        .seed = (uint64_t)r.seed,
        .asked = m->asked,
        .asked_user = m->asked_user,
    };
    status = qn_sample(m->model, &options, drawn, err);
    if (status == QN_OK) {
        qn_str_add(out, r.prompt);
        qn_vocab_decode(m->vocab, drawn, length, out);
    }
    free(drawn);
    free(prompt);
    return status;
}

void qn_hist_json(const struct qn_hist *h, enum qn_quantity of, bool exact,
                  struct qn_json *out)
{
    struct qn_shares s = qn_hist_shares(h);
    qn_json_kstring(out, "of", qn_quantity_name(of));
    qn_json_kdouble(out, "negative", s.negative);
    qn_json_kdouble(out, "near", s.near);
    qn_json_kdouble(out, "positive", s.positive);
    qn_json_kdouble(out, "zero", s.zero);
    qn_json_kdouble(out, "nan", s.nan);
    qn_json_kint(out, "count", (int64_t)s.count);
    if (exact) {
        qn_json_kint(out, "n_negative", (int64_t)h->n_negative);
        qn_json_kint(out, "n_near", (int64_t)h->n_near);
        qn_json_kint(out, "n_positive", (int64_t)h->n_positive);
    }
    qn_json_kint(out, "n_zero", (int64_t)h->n_zero);
    qn_json_kint(out, "n_nan", (int64_t)h->n_nan);
}

void qn_stats_json(const struct qn_stats_record *r, bool exact,
                   struct qn_json *out)
{
    qn_json_array(out);
    for (int q = 0; q < QN_N_QUANTITIES; q++) {
        for (int i = 0; i < r->n_layers && (r->of >> q & 1u) != 0; i++) {
            qn_json_object(out);
            qn_json_kint(out, "layer", i + 1);
            qn_hist_json(&r->layer[i][q], (enum qn_quantity)q, exact, out);
            qn_json_end_object(out);
        }
    }
    qn_json_end_array(out);
}
