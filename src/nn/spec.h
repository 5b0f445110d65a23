/* spec.h - everything that defines a run, as plain data.
 *
 * The struct is what the rest of the program reads; nn/schema.c describes each
 * field once (key, type, range, help) and nn/settings.h is how fields are set
 * from presets, Lua tables, JSON and command lines. Text fields are inline so
 * that a spec can be copied by assignment and handed between threads. */
#ifndef QN_NN_SPEC_H
#define QN_NN_SPEC_H

#include "backend/backend.h"

#include <stdbool.h>
#include <stdint.h>

#define QN_MAX_LAYERS 64
#define QN_MAX_WIDTH 8192 /* of the embedding and of a layer */
#define QN_MAX_WINDOW 64
#define QN_TEXT_LEN 256
#define QN_PATH_LEN 1024
#define QN_SYMBOL_LEN 64

/* To predict each next symbol of a text, or the label of a document. */
enum qn_task { QN_TASK_LM, QN_TASK_CLASSIFY };
enum qn_level { QN_LEVEL_CHAR, QN_LEVEL_WORD, QN_LEVEL_BYTE };
/* How a text becomes a stream of characters: as it is, or Penn Treebank's lines
 * as the paper's authors join them (49 symbols) or as Mikolov does (50). */
enum qn_stream { QN_STREAM_PLAIN, QN_STREAM_PTB49, QN_STREAM_PTB50 };
enum qn_cell { QN_CELL_QRNN, QN_CELL_LSTM };
enum qn_bias { QN_BIAS_LAYER, QN_BIAS_STEP };
enum qn_time { QN_TIME_MEAN, QN_TIME_SUM };
enum qn_l2_on { QN_L2_ALL, QN_L2_WEIGHTS, QN_L2_LAST };
enum qn_init_kind {
    QN_INIT_UNIFORM,
    QN_INIT_NORMAL,
    QN_INIT_GLOROT,
    QN_INIT_ORTHOGONAL
};
enum qn_on_nan { QN_NAN_PAUSE, QN_NAN_STOP, QN_NAN_ROLLBACK, QN_NAN_IGNORE };
/* What makes a checkpoint the best. */
enum qn_metric { QN_VALID_LOSS, QN_VALID_ACCURACY };
enum qn_restore { QN_RESTORE_BEST, QN_RESTORE_NONE };

enum qn_unit { QN_UNIT_STEPS, QN_UNIT_EPOCHS, QN_UNIT_SECONDS, QN_UNIT_EVALS };

/* "50 steps", "1 epoch", "30 s", "5 evals"; amount 0 is "none". */
struct qn_period {
    double amount;
    enum qn_unit unit;
};

/* "1 of 5": the k-th of n equal parts, k counted from 1; n 0 is "none". */
struct qn_fold {
    int k, n;
};

struct qn_spec {
    char name[QN_TEXT_LEN];
    char tags[QN_TEXT_LEN]; /* comma separated */
    char notes[QN_TEXT_LEN];
    int64_t seed;
    int threads; /* 0 until resolved: then the cores of the machine */
    int batch, seq;
    double epochs; /* 0 = unset */
    int64_t steps; /* 0 = unset; when set, epochs is unset */
    enum qn_task task;
    struct {
        char train[QN_PATH_LEN];
        char valid[QN_PATH_LEN]; /* a path, or "" with the fraction below */
        char test[QN_PATH_LEN];
        double valid_fraction, test_fraction; /* cut from train's end */
        enum qn_level level;
        bool lower;
        enum qn_stream stream;
        char eos[QN_SYMBOL_LEN], unk[QN_SYMBOL_LEN]; /* word level */
        int vocab_size; /* 0 = unset; checked against the data */
        /* Of documents: word vectors that are not trained ("" = none: an
         * embedding is learnt), the part of train that validates, and the words
         * of a document that are read. */
        char vectors[QN_PATH_LEN];
        struct qn_fold fold;
        int max_words;
    } data;
    struct {
        enum qn_cell cell;
        int layers, hidden, embed;
        int window[QN_MAX_LAYERS]; /* one per layer once resolved */
        int n_window;              /* how many were given */
        enum qn_pooling pooling;
        enum qn_activation activation;
        double alpha;
        double dropout, embed_dropout, zoneout;
        bool batch_norm, dense;
        enum qn_bias bias;
        struct {
            enum qn_init_kind kind;
            double std, range, gain;
        } init;
    } model;
    struct {
        enum qn_time time; /* the objective: mean or sum over time */
    } loss;
    struct {
        enum qn_optim_kind kind;
        double lr, clip_norm; /* clip_norm 0 = none */
        double decay;         /* of lr, at every epoch's end after ... */
        int decay_after;      /* ... this epoch; 0 = unset: the first */
        double l2;
        enum qn_l2_on l2_on;
        double momentum, rho, eps, beta1, beta2;
        bool eps_inside;
    } optim;
    struct {
        struct qn_period every;
        int batch;     /* 0 = the training batch */
        int64_t limit; /* predictions, 0 = all */
        double floor;  /* added to the probability of each prediction */
    } eval;
    struct {
        struct qn_period every;
        unsigned of; /* set of enum qn_quantity: bits 1u << quantity */
        double near;
    } stats;
    struct {
        struct qn_period every;
        int keep_best, keep_last;
        enum qn_metric metric;
    } checkpoint;
    struct {
        double after; /* seconds of training, 0 = none */
        enum qn_restore restore;
        enum qn_on_nan nan;
        double spike; /* times the usual loss, 0 = none */
    } stop;
    struct {
        struct qn_period every;
        char prompt[QN_TEXT_LEN];
        int length;
        double temperature;
        int64_t seed;
    } sample;
    struct qn_period log_every;
};

/* The figure beside the loss that people compare: of characters and bytes bits,
 * of words perplexity, of labelled documents accuracy. */
enum qn_reading { QN_READ_BPC, QN_READ_PERPLEXITY, QN_READ_ACCURACY };
enum qn_reading qn_spec_reading(const struct qn_spec *spec);

/* "c", "z", "h", "f", "o": as stats.of names them. */
const char *qn_quantity_name(enum qn_quantity what);
/* "cell states c", "forget gates f", ... */
const char *qn_quantity_title(enum qn_quantity what);
/* false: there is none of that name. */
bool qn_quantity_parse(const char *name, enum qn_quantity *out);

#endif
