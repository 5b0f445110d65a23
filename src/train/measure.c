/* measure.c - what one can ask of trained weights: loss, statistics, text. */
#include "train/measure_self.h"

#include "base/clock.h"
#include "base/mem.h"
#include "data/feed.h"
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

void qn_measure_rest(struct qn_measure *m)
{
    qn_pass_free(m->whole.pass);
    qn_pass_free(m->one.pass);
    m->whole = m->one = (struct qn_kept_pass){.pass = NULL};
}

void qn_measure_free(struct qn_measure *m)
{
    if (m == NULL) {
        return;
    }
    qn_measure_rest(m);
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

enum qn_status qn_kept_pass_ready(struct qn_kept_pass *kept,
                                  struct qn_model *model, int batch, int steps,
                                  struct qn_err *err)
{
    if (kept->pass && kept->batch == batch && kept->steps >= steps) {
        return QN_OK;
    }
    qn_pass_free(kept->pass);
    *kept = (struct qn_kept_pass){.batch = batch, .steps = steps};
    return qn_pass_new(model, batch, steps, false, &kept->pass, err);
}

/* Whether the run has such a split; whether there is enough of it the feed will
 * tell. */
static enum qn_status check_split(const struct qn_measure *m,
                                  enum qn_split split, struct qn_err *err)
{
    size_t n;
    (void)qn_corpus_ids(m->corpus, split, &n);
    if (n > 0) {
        return QN_OK;
    }
    bool read = qn_corpus_sha256(m->corpus, split)[0] != '\0';
    if (m->spec->task == QN_TASK_CLASSIFY && read) {
        return qn_fail(err, QN_EUSAGE,
                       "the %s split has no document with a word that the run "
                       "knows",
                       qn_split_name(split));
    }
    return qn_fail(err, QN_EUSAGE, "the run has no %s split",
                   qn_split_name(split));
}

/* What keeps training quick does not bind a person's question; of a stored run
 * the spec has only a limit that came with it. */
static int64_t limit_of(const struct qn_measure *m)
{
    return m->own || m->scheduled ? m->spec->eval.limit : 0;
}

/* Everything for going through a split: its feed, a pass at its start, of the
 * batch that the spec wants now, as eval.batch may have changed. */
static enum qn_status begin(struct qn_measure *m, enum qn_split split,
                            struct qn_feed **out, struct qn_err *err)
{
    const struct qn_spec *spec = m->spec;
    int batch = spec->eval.batch > 0 ? spec->eval.batch : spec->batch;
    struct qn_feed *feed;
    enum qn_status status = QN_OK;
    if (m->own) {
        status = qn_stored_text(m, split, err);
    }
    if (status == QN_OK) {
        status = check_split(m, split, err);
    }
    if (status == QN_OK) {
        status = qn_feed_eval(m->corpus, split, batch, spec->seq, limit_of(m),
                              &feed, err);
    }
    if (status != QN_OK) {
        return status;
    }
    status = qn_kept_pass_ready(&m->whole, m->model, batch, qn_feed_steps(feed),
                                err);
    if (status != QN_OK) {
        qn_feed_free(feed);
        return status;
    }
    qn_pass_restart(m->whole.pass);
    *out = feed;
    return QN_OK;
}

/* One segment forward: for its loss, or for what the probe counts. */
static enum qn_status forward(struct qn_measure *m,
                              const struct qn_portion *portion,
                              const struct qn_probe *probe, struct qn_err *err)
{
    struct qn_segment segment = {
        .ids = portion->ids,
        .targets = probe != NULL ? NULL : portion->targets,
        .steps = portion->steps,
        .n_real = portion->n_real,
    };
    if (probe != NULL) {
        return qn_pass_forward_counting(m->whole.pass, &segment, probe, err);
    }
    qn_pass_forward(m->whole.pass, &segment);
    return QN_OK;
}

/* Segment by segment through the split; losses add up in the backend, or, with
 * a probe, values in its histograms. */
static enum qn_status read_all(struct qn_measure *m, struct qn_feed *feed,
                               const struct qn_probe *probe, struct qn_err *err)
{
    for (size_t i = 0; i < qn_feed_n_segments(feed); i++) {
        if (m->asked && m->asked(m->asked_user)) {
            return qn_fail(err, QN_ESTOPPED, "stopped on request");
        }
        struct qn_portion portion;
        qn_feed_read(feed, 0, i, &portion);
        enum qn_status status = forward(m, &portion, probe, err);
        if (status != QN_OK) {
            return status;
        }
        qn_pass_carry(m->whole.pass);
        if (qn_feed_starts_anew(feed)) {
            qn_pass_restart(m->whole.pass);
        }
    }
    return QN_OK;
}

/* The same as one step of the backend, which has the sums at its end. The feed
 * is freed. */
static enum qn_status walk(struct qn_measure *m, struct qn_feed *feed,
                           const struct qn_probe *probe,
                           struct qn_step_result *out, struct qn_err *err)
{
    struct qn_backend *be = qn_model_backend(m->model);
    be->ops->step_begin(be);
    enum qn_status status = read_all(m, feed, probe, err);
    qn_feed_free(feed);
    /* Also after a stop: a step that has begun is ended. */
    enum qn_status ended =
        be->ops->step_end(be, out, status != QN_OK ? NULL : err);
    return status != QN_OK ? status : ended;
}

enum qn_status qn_measure_evaluate(struct qn_measure *m, enum qn_split split,
                                   struct qn_evaluation *out,
                                   struct qn_err *err)
{
    struct qn_feed *feed;
    struct qn_step_result sum;
    enum qn_status status = begin(m, split, &feed, err);
    double start = qn_clock_now(); /* reading the text took its own time */
    if (status == QN_OK) {
        status = walk(m, feed, NULL, &sum, err);
    }
    if (status != QN_OK) {
        return status;
    }
    *out = (struct qn_evaluation){
        .split = split,
        .reading = qn_spec_reading(m->spec),
        .loss = sum.count > 0 ? sum.loss_sum / sum.count : (double)NAN,
        .accuracy = qn_share_right(m->spec, &sum),
        .predictions = (int64_t)sum.count,
        .seconds = qn_clock_now() - start,
    };
    return QN_OK;
}

enum qn_status qn_measure_stats(struct qn_measure *m, enum qn_split split,
                                unsigned of, double near,
                                struct qn_stats_record *out, struct qn_err *err)
{
    struct qn_feed *feed;
    if (qn_model_quantities(m->spec, of) == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "the layers have nothing of what is to be counted: "
                       "there is no output gate with model.pooling = f");
    }
    enum qn_status status = begin(m, split, &feed, err);
    if (status != QN_OK) {
        return status;
    }
    qn_stats_begin(out, m->spec, of, near);
    out->step = m->step;
    struct qn_probe probe = {.of = out->of, .hist = out->layer};
    struct qn_step_result unused;
    return walk(m, feed, &probe, &unused, err);
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
    if (m->spec->task != QN_TASK_LM) {
        return qn_fail(err, QN_EUSAGE,
                       "the run is a classifier: it tells the label of a text "
                       "and cannot write one");
    }
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
