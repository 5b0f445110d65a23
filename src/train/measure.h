/* measure.h - what one can ask of trained weights: loss, statistics, text.
 *
 * A measure borrows the trainer's model, or opens a stored run by itself.
 * Evaluation: contiguous streams, or documents, each from zero; dropout off.
 */
#ifndef QN_TRAIN_MEASURE_H
#define QN_TRAIN_MEASURE_H

#include "base/json.h"
#include "train/event.h"

struct qn_measure;
struct qn_train_env;
struct qn_model;

/* A stored run with the weights of 'checkpoint' ("best", "last", a step);
 * 'changes' may alter eval.*, stats.*, sample.*, data.* and threads. */
enum qn_status qn_measure_open(const struct qn_train_env *env,
                               const char *run_path, const char *checkpoint,
                               const char *const *changes, int n_changes,
                               struct qn_measure **out, struct qn_err *err);
/* Over a live model; all borrowed. */
struct qn_measure *qn_measure_new(struct qn_model *model,
                                  const struct qn_spec *spec,
                                  const struct qn_corpus *corpus);
void qn_measure_free(struct qn_measure *m); /* NULL is fine */
/* Give back the memory of passes that are kept for the next question. */
void qn_measure_rest(struct qn_measure *m);

const struct qn_spec *qn_measure_spec(const struct qn_measure *m);
int64_t qn_measure_checkpoint_step(const struct qn_measure *m);

struct qn_evaluation {
    enum qn_split split;
    enum qn_reading reading; /* what people compare */
    double loss;             /* nats per prediction; NaN when there are none */
    double accuracy;         /* of a classifier, from 0 to 1; else NaN */
    int64_t predictions;
    double seconds;
};
/* QN_EUSAGE when the run has no such split. eval.batch of the spec applies, and
 * eval.limit: only one that 'changes' of a stored run has set. */
enum qn_status qn_measure_evaluate(struct qn_measure *m, enum qn_split split,
                                   struct qn_evaluation *out,
                                   struct qn_err *err);

/* Statistics of the quantities 'of' (a set: bits 1u << enum qn_quantity) of
 * every layer over the real positions of a split, in evaluation, in one pass;
 * near = threshold. Quantities that the layers have not are left out of
 * out->of; QN_EUSAGE when nothing is left. eval.batch and eval.limit as above.
 */
enum qn_status qn_measure_stats(struct qn_measure *m, enum qn_split split,
                                unsigned of, double near,
                                struct qn_stats_record *out,
                                struct qn_err *err);

struct qn_text_request {
    const char *prompt; /* UTF-8; NULL: the run's sample.prompt; "": none */
    int length;         /* <= 0: the run's sample.length */
    double temperature; /* < 0: the run's */
    int64_t seed;       /* < 0: the run's */
};
/* Text drawn from the model, the prompt in front, appended to out. */
enum qn_status qn_measure_sample(struct qn_measure *m,
                                 const struct qn_text_request *request,
                                 struct qn_str *out, struct qn_err *err);

/* What a classifier says of a text. QN_EUSAGE when the run is a language model,
 * when the text is not UTF-8, and when no word of it is known. */
enum qn_status qn_measure_classify(struct qn_measure *m, const char *text,
                                   size_t len, struct qn_judgement *out,
                                   struct qn_err *err);

/* Polled between segments and between the symbols of a sample; true ends the
 * work with QN_ESTOPPED. */
void qn_measure_set_interrupt(struct qn_measure *m, bool (*asked)(void *user),
                              void *user);

/* The shares and counts of one histogram, into an open object; without those
 * counts that are by its threshold unless they are exact. */
void qn_hist_json(const struct qn_hist *h, enum qn_quantity of, bool exact,
                  struct qn_json *out);
/* As one JSON array: for every quantity, for every layer, an object with layer
 * (from 1), of, the shares and the counts. */
void qn_stats_json(const struct qn_stats_record *r, bool exact,
                   struct qn_json *out);

#endif
