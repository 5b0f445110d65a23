/* event.h - what a trainer says while it works: plain data, no pointers into
 * it.
 *
 * Records are copied across threads and may later cross processes, so they hold
 * everything inline.
 */
#ifndef QN_TRAIN_EVENT_H
#define QN_TRAIN_EVENT_H

#include "base/hist.h"
#include "data/corpus.h"
#include "nn/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* One training step: enough of them that they travel alone. */
struct qn_step_record {
    int segment;     /* 1, 2, ...: more by one after every resume or rollback,
                        which replaces the steps from there on */
    int64_t step;    /* 1, 2, ...: after this many updates */
    double epoch;    /* epochs done, fractional */
    double loss;     /* nats per prediction, of this step's batch */
    double accuracy; /* of this step's documents; NaN of a language model */
    double lr;       /* with optim.decay in it */
    double grad_norm;
    double tokens_per_s;
    double seconds; /* of training so far, this step's in them */
};

/* What was counted of one training step, as trained (dropout on), or of a whole
 * split. Histograms of quantities that are not in 'of', or that a layer does
 * not have, are empty. */
struct qn_stats_record {
    int segment; /* as of a step's record; 0 of one that was read back */
    int64_t step;
    int n_layers;
    unsigned of; /* set of enum qn_quantity: bits 1u << quantity */
    struct qn_hist layer[QN_MAX_LAYERS][QN_N_QUANTITIES]; /* layer 1 first */
};

enum qn_note_kind {
    QN_NOTE_EVAL,       /* split, loss, predictions, seconds */
    QN_NOTE_CHECKPOINT, /* step, is_best, text = the folder */
    QN_NOTE_SAMPLE,     /* text */
    QN_NOTE_SET,        /* key, text = the value */
    QN_NOTE_PAUSE,      /* text = why, "" when asked to */
    QN_NOTE_RESUME,
    QN_NOTE_NAN,      /* text = what was not finite */
    QN_NOTE_SPIKE,    /* text = the loss and what is usual */
    QN_NOTE_ROLLBACK, /* step = the checkpoint's, from, text = why and what
                         changed */
    QN_NOTE_REPLY,    /* answer to a request: ticket, status, text or numbers */
    QN_NOTE_DONE,     /* all steps, or stop.after */
    QN_NOTE_STOPPED,  /* asked to stop */
    QN_NOTE_FAILED    /* text = the sentence */
};

/* What a classifier says of a text. */
struct qn_judgement {
    double probability; /* of label 1, positive */
    int label;          /* 1 when the probability is above 0.5, else 0 */
    int words;          /* of the text, as it was split */
    int known;          /* those that the run knows and that were read: others
                           it drops or reads as <unk>, or they are beyond
                           data.max_words */
};

/* Everything that is rare. */
struct qn_note {
    enum qn_note_kind kind;
    int64_t step;
    int64_t from; /* of a rollback: the step that was not applied */
    int segment;  /* and the one that it begins */
    double epoch;
    enum qn_split split;
    enum qn_reading reading; /* what people compare the run by */
    double loss;             /* nats per prediction */
    double accuracy;         /* share from 0 to 1; NaN of a language model */
    int64_t predictions;
    double seconds;
    bool is_best;
    bool waits;      /* of a pause: for the disk, and goes on by itself */
    bool on_request; /* an evaluation that a person asked for */
    struct qn_judgement judgement;
    uint64_t ticket; /* of the request that this answers, 0 = none */
    int status;      /* enum qn_status of a reply */
    char key[64];
    char text[4096];
};

/* Where a trainer's events go; called on the trainer's thread, must not block.
 * Any member may be NULL. The records are valid during the call only. */
struct qn_sink {
    void *user;
    void (*step)(void *user, const struct qn_step_record *r);
    void (*stats)(void *user, const struct qn_stats_record *r);
    void (*note)(void *user, const struct qn_note *n);
};

/* Begin to count the quantities 'of' that the layers of this spec have: empty
 * histograms, all with the threshold 'near', and step 0. */
void qn_stats_begin(struct qn_stats_record *r, const struct qn_spec *spec,
                    unsigned of, double near);
/* Copy what is used of a record: its layers, not room for the most. */
void qn_stats_copy(struct qn_stats_record *to,
                   const struct qn_stats_record *from);
/* The histograms of all layers as one. */
void qn_stats_pool(const struct qn_stats_record *r, enum qn_quantity of,
                   struct qn_hist *out);

double qn_bpc(double loss);        /* loss / ln 2 */
double qn_perplexity(double loss); /* exp(loss) */

/* The share of documents that a classifier was right about; NaN of a language
 * model and of none. */
double qn_share_right(const struct qn_spec *spec,
                      const struct qn_step_result *result);

/* "bpc", "perplexity" or "accuracy", and its value. */
const char *qn_reading_name(enum qn_reading reading);
double qn_reading_value(enum qn_reading reading, double loss, double accuracy);

#endif
