/* schema.c - every setting: name, type, default, range, condition, help. */
#include "nn/schema.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(f)                                                               \
    .offset = offsetof(struct qn_spec, f),                                     \
    .size = sizeof(((struct qn_spec *)NULL)->f)
#define INFO(name, kind, text, ...)                                            \
    .info = {.key = (name), .type = (kind), .default_text = (text), __VA_ARGS__}
#define RANGE(lo, hi) .min = (lo), .max = (hi)
#define SAYS(lo, hi) .range_text = #lo ".." #hi
#define LM_ONLY .when = "task", .when_choice = {"lm"}
#define CLASSIFY_ONLY .when = "task", .when_choice = {"classify"}
#define NO_LIMIT 1e300
#define ABOVE(lo) .min = (lo), .max = NO_LIMIT, .above_min = true
#define SHARE .min = 0, .max = 1, .below_max = true
#define SAYS_SHARE .range_text = "0 to below 1"

static const char *const tasks[] = {"lm", "classify", NULL};
static const char *const levels[] = {"char", "word", "byte", NULL};
static const char *const streams[] = {"plain", "ptb49", "ptb50", NULL};
static const char *const cells[] = {"qrnn", "lstm", NULL};
static const char *const biases[] = {"layer", "step", NULL};
static const char *const times[] = {"mean", "sum", NULL};
static const char *const l2_ons[] = {"all", "weights", "last", NULL};
static const char *const poolings[] = {"f", "fo", "ifo", NULL};
static const char *const activations[] = {"tanh",  "relu", "elu",
                                          "drelu", "delu", NULL};
static const char *const init_kinds[] = {"uniform", "normal", "glorot",
                                         "orthogonal", NULL};
static const char *const optim_kinds[] = {"sgd", "rmsprop", "adam", NULL};
static const char *const quantities[] = {"c", "z", "h", "f", "o", NULL};
static const char *const metrics[] = {"valid.loss", "valid.accuracy", NULL};
static const char *const restores[] = {"best", "none", NULL};
static const char *const on_nans[] = {"pause", "stop", "rollback", "ignore",
                                      NULL};

static const struct qn_schema_key schema[] = {
    {INFO("name", QN_KEY_TEXT, "run-*", .range_text = "", .live = false,
          .help = "name of the run; -* at its end becomes a number"),
     FIELD(name), .one_line = true},
    {INFO("tags", QN_KEY_TEXT, "none", .range_text = "", .live = true,
          .help = "words to find the run by, with commas between"),
     FIELD(tags), .optional = true, .one_line = true},
    {INFO("notes", QN_KEY_TEXT, "none", .range_text = "", .live = true,
          .help = "anything worth remembering about the run"),
     FIELD(notes), .optional = true},
    {INFO("seed", QN_KEY_INT, "1", SAYS(0, 9007199254740992), .live = false,
          .help = "of initial weights, dropout and all other chance"),
     FIELD(seed), RANGE(0, 9007199254740992)},
    {INFO("threads", QN_KEY_INT, "none", SAYS(1, 256), .live = false,
          .help = "how a batch is split; none: the cores of the machine"),
     FIELD(threads), RANGE(1, 256), .optional = true},
    {INFO("batch", QN_KEY_INT, "32", SAYS(1, 100000), .live = false,
          .help = "streams or documents that are read in parallel"),
     FIELD(batch), RANGE(1, 100000)},
    {INFO("seq", QN_KEY_INT, "64", SAYS(1, 100000), .live = false,
          .help = "symbols of each stream in one training step"),
     FIELD(seq), RANGE(1, 100000), LM_ONLY},
    {INFO("epochs", QN_KEY_DOUBLE, "10", .range_text = "above 0", .live = true,
          .help = "passes over what trains; unsets steps"),
     FIELD(epochs), ABOVE(0), .optional = true, .excludes = "steps"},
    {INFO("steps", QN_KEY_INT, "none", SAYS(1, 1000000000000), .live = true,
          .help = "training steps; unsets epochs"),
     FIELD(steps), RANGE(1, 1000000000000), .optional = true,
     .excludes = "epochs"},
    {INFO("task", QN_KEY_ENUM, "lm", .choices = tasks, .live = false,
          .range_text = "lm, classify",
          .help = "what to learn: the next symbol, or a document's label"),
     FIELD(task)},

    {INFO("data.train", QN_KEY_PATH, "none", .range_text = "", .live = false,
          .help = "what to learn from: a file, x or x.gz, builtin:kjv, or a "
                  "folder of pos and neg"),
     FIELD(data.train), .optional = true, .one_line = true},
    {INFO("data.valid", QN_KEY_PATH_OR_FRACTION, "0.05",
          .range_text = "a path, or 0..0.5", .live = false,
          .help = "what validates: a file or folder, or the share of train's "
                  "end to cut off"),
     FIELD(data.valid), RANGE(0, 0.5), .one_line = true,
     .aux_offset = offsetof(struct qn_spec, data.valid_fraction)},
    {INFO("data.test", QN_KEY_PATH_OR_FRACTION, "0.05",
          .range_text = "a path, or 0..0.5", .live = false,
          .help = "what tests: a file or folder, or the share of train's end "
                  "to cut off"),
     FIELD(data.test), RANGE(0, 0.5), .one_line = true,
     .aux_offset = offsetof(struct qn_spec, data.test_fraction)},
    {INFO("data.level", QN_KEY_ENUM, "char", .choices = levels,
          .range_text = "char, word, byte", .live = false,
          .help = "what a symbol is: a Unicode character, a word or a byte"),
     FIELD(data.level), LM_ONLY},
    {INFO("data.lower", QN_KEY_BOOL, "false", .range_text = "", .live = false,
          .help = "ASCII letters to lower case"),
     FIELD(data.lower)},
    {INFO("data.stream", QN_KEY_ENUM, "plain", .choices = streams,
          .range_text = "plain, ptb49, ptb50", .live = false,
          .help = "newlines kept, or Penn Treebank's lines joined to 49 or 50 "
                  "symbols"),
     FIELD(data.stream), .when = "data.level", .when_choice = {"char"}},
    {INFO("data.eos", QN_KEY_TEXT, "<eos>", .range_text = "", .live = false,
          .help = "word that stands for the end of a line"),
     FIELD(data.eos), .one_word = true, .when = "data.level",
     .when_choice = {"word"}},
    {INFO("data.unk", QN_KEY_TEXT, "<unk>", .range_text = "", .live = false,
          .help = "word that stands for words which training lacks"),
     FIELD(data.unk), .one_word = true, .when = "data.level",
     .when_choice = {"word"}},
    {INFO("data.vocab_size", QN_KEY_INT, "none", SAYS(1, 10000000),
          .live = false,
          .help = "symbols there must be; a check against the data"),
     FIELD(data.vocab_size), RANGE(1, 10000000), .optional = true},
    {INFO("data.vectors", QN_KEY_PATH, "none", .range_text = "", .live = false,
          .help =
              "word vectors that stay as they are: GloVe's text, x or x.gz"),
     FIELD(data.vectors), .optional = true, .one_line = true, CLASSIFY_ONLY},
    {INFO("data.fold", QN_KEY_FOLD, "1 of 5", .range_text = "", .live = false,
          .help = "part of the training documents that validates"),
     FIELD(data.fold), .optional = true, CLASSIFY_ONLY},
    {INFO("data.max_words", QN_KEY_INT, "3000", SAYS(1, 100000), .live = false,
          .help = "words of a document that are read, from its front"),
     FIELD(data.max_words), RANGE(1, 100000), CLASSIFY_ONLY},

    {INFO("model.cell", QN_KEY_ENUM, "qrnn", .choices = cells,
          .range_text = "qrnn, lstm", .live = false,
          .help = "kind of the layers"),
     FIELD(model.cell)},
    {INFO("model.layers", QN_KEY_INT, "2", SAYS(1, 64), .live = false,
          .help = "layers between embedding and decoder"),
     FIELD(model.layers), RANGE(1, QN_MAX_LAYERS)},
    {INFO("model.hidden", QN_KEY_INT, "256", SAYS(1, 8192), .live = false,
          .help = "units of each layer"),
     FIELD(model.hidden), RANGE(1, QN_MAX_WIDTH)},
    {INFO("model.embed", QN_KEY_INT, "64", SAYS(1, 8192), .live = false,
          .help = "width of the embedding"),
     FIELD(model.embed), RANGE(1, QN_MAX_WIDTH)},
    {INFO("model.window", QN_KEY_INT_LIST, "2", SAYS(1, 64), .live = false,
          .help = "inputs that a layer sees at once, per layer; the last holds "
                  "for the rest"),
     FIELD(model.window), RANGE(1, QN_MAX_WINDOW), .when = "model.cell",
     .when_choice = {"qrnn"},
     .aux_offset = offsetof(struct qn_spec, model.n_window)},
    {INFO("model.pooling", QN_KEY_ENUM, "fo", .choices = poolings,
          .range_text = "f, fo, ifo", .live = false,
          .help = "which gates the recurrence has"),
     FIELD(model.pooling), .when = "model.cell", .when_choice = {"qrnn"}},
    {INFO("model.activation", QN_KEY_ENUM, "drelu", .choices = activations,
          .range_text = "tanh, relu, elu, drelu, delu", .live = false,
          .help = "of the candidate"),
     FIELD(model.activation), .when = "model.cell", .when_choice = {"qrnn"}},
    {INFO("model.alpha", QN_KEY_DOUBLE, "0.1", SAYS(0, 100), .live = false,
          .help = "where elu and delu level off below zero"),
     FIELD(model.alpha), RANGE(0, 100), .when = "model.activation",
     .when_choice = {"elu", "delu"}},
    {INFO("model.dropout", QN_KEY_DOUBLE, "0", SAYS_SHARE, .live = true,
          .help = "rate at which a layer's outputs are dropped"),
     FIELD(model.dropout), SHARE},
    {INFO("model.embed_dropout", QN_KEY_DOUBLE, "0", SAYS_SHARE, .live = true,
          .help = "rate at which the embedding's outputs are dropped"),
     FIELD(model.embed_dropout), SHARE},
    {INFO("model.zoneout", QN_KEY_DOUBLE, "0", SAYS_SHARE, .live = true,
          .help = "rate at which a cell keeps its state for a step"),
     FIELD(model.zoneout), SHARE, .when = "model.cell",
     .when_choice = {"qrnn"}},
    {INFO("model.batch_norm", QN_KEY_BOOL, "false", .range_text = "",
          .live = false,
          .help = "normalise pre-activations over batch and time"),
     FIELD(model.batch_norm), .when = "model.cell", .when_choice = {"qrnn"}},
    {INFO("model.dense", QN_KEY_BOOL, "false", .range_text = "", .live = false,
          .help = "each layer reads what the one below read, too"),
     FIELD(model.dense)},
    {INFO("model.bias", QN_KEY_ENUM, "layer", .choices = biases,
          .range_text = "layer, step", .live = false,
          .help = "of a layer: one bias, or one for each step of a segment"),
     FIELD(model.bias), .when = "model.batch_norm", .when_choice = {"false"}},
    {INFO("model.init.kind", QN_KEY_ENUM, "orthogonal", .choices = init_kinds,
          .range_text = "uniform, normal, glorot, orthogonal", .live = false,
          .help = "how weights begin; biases begin at 0"),
     FIELD(model.init.kind)},
    {INFO("model.init.std", QN_KEY_DOUBLE, "0.1", .range_text = "above 0",
          .live = false, .help = "standard deviation of normal weights"),
     FIELD(model.init.std), ABOVE(0), .when = "model.init.kind",
     .when_choice = {"normal"}},
    {INFO("model.init.range", QN_KEY_DOUBLE, "0.05", .range_text = "above 0",
          .live = false, .help = "largest size of uniform weights"),
     FIELD(model.init.range), ABOVE(0), .when = "model.init.kind",
     .when_choice = {"uniform"}},
    {INFO("model.init.gain", QN_KEY_DOUBLE, "1", .range_text = "above 0",
          .live = false, .help = "factor on orthonormal weights"),
     FIELD(model.init.gain), ABOVE(0), .when = "model.init.kind",
     .when_choice = {"orthogonal"}},

    {INFO("loss.time", QN_KEY_ENUM, "mean", .choices = times,
          .range_text = "mean, sum", .live = false,
          .help = "the objective: mean or sum over a segment's steps"),
     FIELD(loss.time), LM_ONLY},

    {INFO("optim.kind", QN_KEY_ENUM, "adam", .choices = optim_kinds,
          .range_text = "sgd, rmsprop, adam", .live = false,
          .help = "rule by which gradients change weights"),
     FIELD(optim.kind)},
    {INFO("optim.lr", QN_KEY_DOUBLE, "0.001", .range_text = "above 0",
          .live = true, .help = "learning rate"),
     FIELD(optim.lr), ABOVE(0)},
    {INFO("optim.clip_norm", QN_KEY_DOUBLE, "none", .range_text = "above 0",
          .live = true, .help = "largest norm of the gradient"),
     FIELD(optim.clip_norm), ABOVE(0), .optional = true},
    {INFO("optim.decay", QN_KEY_DOUBLE, "1", .range_text = "above 0",
          .live = true,
          .help = "factor on the learning rate at an epoch's end"),
     FIELD(optim.decay), ABOVE(0)},
    {INFO("optim.decay_after", QN_KEY_INT, "none", SAYS(1, 1000000000),
          .live = true,
          .help = "epochs at the full learning rate; none: only the first"),
     FIELD(optim.decay_after), RANGE(1, 1000000000), .optional = true},
    {INFO("optim.l2", QN_KEY_DOUBLE, "0", SAYS(0, 1e30), .live = true,
          .help = "times the weights is added to their gradient"),
     FIELD(optim.l2), RANGE(0, 1e30)},
    {INFO("optim.l2_on", QN_KEY_ENUM, "all", .choices = l2_ons,
          .range_text = "all, weights, last", .live = true,
          .help = "all parameters, all but biases and gains, or the decoder's "
                  "weights"),
     FIELD(optim.l2_on)},
    {INFO("optim.momentum", QN_KEY_DOUBLE, "0", SAYS_SHARE, .live = false,
          .help = "share of the last update that is made again"),
     FIELD(optim.momentum), SHARE, .when = "optim.kind",
     .when_choice = {"sgd"}},
    {INFO("optim.rho", QN_KEY_DOUBLE, "0.9", SAYS_SHARE, .live = true,
          .help = "decay of RMSprop's mean of squares"),
     FIELD(optim.rho), SHARE, .when = "optim.kind", .when_choice = {"rmsprop"}},
    {INFO("optim.eps", QN_KEY_DOUBLE, "1e-08", SAYS(1e-30, 1e30), .live = true,
          .help = "added to the denominator"),
     FIELD(optim.eps), RANGE(1e-30, 1e30), .when = "optim.kind",
     .when_choice = {"rmsprop", "adam"}},
    {INFO("optim.eps_inside", QN_KEY_BOOL, "false", .range_text = "",
          .live = true, .help = "eps under RMSprop's root, not beside it"),
     FIELD(optim.eps_inside), .when = "optim.kind", .when_choice = {"rmsprop"}},
    {INFO("optim.beta1", QN_KEY_DOUBLE, "0.9", SAYS_SHARE, .live = true,
          .help = "decay of Adam's mean of gradients"),
     FIELD(optim.beta1), SHARE, .when = "optim.kind", .when_choice = {"adam"}},
    {INFO("optim.beta2", QN_KEY_DOUBLE, "0.999", SAYS_SHARE, .live = true,
          .help = "decay of Adam's mean of squares"),
     FIELD(optim.beta2), SHARE, .when = "optim.kind", .when_choice = {"adam"}},

    {INFO("eval.every", QN_KEY_PERIOD, "1 epoch", .range_text = "",
          .live = true, .help = "how often the validation split is read"),
     FIELD(eval.every), .optional = true, .no_evals = true},
    {INFO("eval.batch", QN_KEY_INT, "none", SAYS(1, 100000), .live = false,
          .help = "batch of an evaluation; none: as in training"),
     FIELD(eval.batch), RANGE(1, 100000), .optional = true},
    {INFO("eval.limit", QN_KEY_INT, "none", SAYS(1, 1000000000000),
          .live = false,
          .help = "predictions or documents of an evaluation while training"),
     FIELD(eval.limit), RANGE(1, 1000000000000), .optional = true},
    {INFO("eval.floor", QN_KEY_DOUBLE, "0", SAYS(0, 1), .live = true,
          .help = "added to a probability before its logarithm is taken"),
     FIELD(eval.floor), RANGE(0, 1), LM_ONLY},

    {INFO("stats.every", QN_KEY_PERIOD, "20 steps", .range_text = "",
          .live = true,
          .help = "how often values inside the layers are counted"),
     FIELD(stats.every), .optional = true},
    {INFO("stats.of", QN_KEY_SET, "c", .choices = quantities,
          .range_text = "c, z, h, f, o", .live = true,
          .help = "what is counted: cell states, candidates, outputs, gates"),
     FIELD(stats.of)},
    {INFO("stats.near", QN_KEY_DOUBLE, "0.1", SAYS(1e-5, 1e3), .live = true,
          .help = "values smaller than this are near zero"),
     FIELD(stats.near), RANGE(1e-5, 1e3)},

    {INFO("checkpoint.every", QN_KEY_PERIOD, "1 epoch", .range_text = "",
          .live = true, .help = "how often weights and state are saved"),
     FIELD(checkpoint.every), .optional = true},
    {INFO("checkpoint.keep.best", QN_KEY_INT, "1", SAYS(1, 1000), .live = true,
          .help = "checkpoints kept for being the best by checkpoint.metric"),
     FIELD(checkpoint.keep_best), RANGE(1, 1000)},
    {INFO("checkpoint.keep.last", QN_KEY_INT, "2", SAYS(1, 1000), .live = true,
          .help = "checkpoints kept for being the newest"),
     FIELD(checkpoint.keep_last), RANGE(1, 1000)},
    {INFO("checkpoint.metric", QN_KEY_ENUM, "valid.loss", .choices = metrics,
          .range_text = "valid.loss, valid.accuracy", .live = false,
          .help = "what makes a checkpoint the best"),
     FIELD(checkpoint.metric)},

    {INFO("stop.after", QN_KEY_DURATION, "none", .range_text = "", .live = true,
          .help = "time of training after which the run ends"),
     FIELD(stop.after), .optional = true},
    {INFO("stop.restore", QN_KEY_ENUM, "best", .choices = restores,
          .range_text = "best, none", .live = true,
          .help = "the weights a run ends with: the best, or as they are"),
     FIELD(stop.restore)},
    {INFO("stop.nan", QN_KEY_ENUM, "pause", .choices = on_nans,
          .range_text = "pause, stop, rollback, ignore", .live = true,
          .help =
              "what to do when a loss or gradient is not finite or the loss "
              "is a spike"),
     FIELD(stop.nan)},
    {INFO("stop.spike", QN_KEY_DOUBLE, "none", SAYS(1.01, 1000), .live = true,
          .help = "a step of more than this many times the usual loss is not "
                  "applied: a spike"),
     FIELD(stop.spike), RANGE(1.01, 1000), .optional = true},

    {INFO("sample.every", QN_KEY_PERIOD, "none", .range_text = "", .live = true,
          .help = "how often the network writes a sample"),
     FIELD(sample.every), .optional = true, LM_ONLY},
    {INFO("sample.prompt", QN_KEY_TEXT, "none", .range_text = "", .live = true,
          .help = "text that the network reads before it writes"),
     FIELD(sample.prompt), .optional = true, LM_ONLY},
    {INFO("sample.length", QN_KEY_INT, "200", SAYS(1, 1000000), .live = true,
          .help = "symbols to write"),
     FIELD(sample.length), RANGE(1, 1000000), LM_ONLY},
    {INFO("sample.temperature", QN_KEY_DOUBLE, "0.8", SAYS(0, 100),
          .live = true, .help = "0: always the likeliest symbol; 1: as learnt"),
     FIELD(sample.temperature), RANGE(0, 100), LM_ONLY},
    {INFO("sample.seed", QN_KEY_INT, "1", SAYS(0, 9007199254740992),
          .live = true, .help = "of the choice among likely symbols"),
     FIELD(sample.seed), RANGE(0, 9007199254740992), LM_ONLY},

    {INFO("log.every", QN_KEY_PERIOD, "10 steps", .range_text = "",
          .live = true, .help = "how often a line is printed without a screen"),
     FIELD(log_every), .optional = true},
};

#define N_KEYS ((int)(sizeof schema / sizeof schema[0]))

const char *qn_quantity_name(enum qn_quantity what)
{
    return quantities[what];
}

const char *qn_quantity_title(enum qn_quantity what)
{
    static const char *const titles[QN_N_QUANTITIES] = {
        [QN_CELL] = "cell states c",     [QN_CANDIDATE] = "candidates z",
        [QN_OUTPUT] = "outputs h",       [QN_FORGET] = "forget gates f",
        [QN_OUTGATE] = "output gates o",
    };
    return titles[what];
}

bool qn_quantity_parse(const char *name, enum qn_quantity *out)
{
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        if (qn_str_eq(name, quantities[i])) {
            *out = (enum qn_quantity)i;
            return true;
        }
    }
    return false;
}

enum qn_reading qn_spec_reading(const struct qn_spec *spec)
{
    if (spec->task == QN_TASK_CLASSIFY) {
        return QN_READ_ACCURACY;
    }
    bool words = spec->data.level == QN_LEVEL_WORD;
    return words ? QN_READ_PERPLEXITY : QN_READ_BPC;
}

int qn_n_keys(void)
{
    return N_KEYS;
}

const struct qn_schema_key *qn_schema_at(int i)
{
    QN_ASSERT(i >= 0 && i < N_KEYS);
    return &schema[i];
}

int qn_schema_index(const char *key)
{
    for (int i = 0; i < N_KEYS; i++) {
        if (qn_str_eq(schema[i].info.key, key)) {
            return i;
        }
    }
    return -1;
}

const struct qn_key_info *qn_key_at(int i)
{
    return &qn_schema_at(i)->info;
}

const struct qn_key_info *qn_key_find(const char *key)
{
    int i = qn_schema_index(key);
    return i < 0 ? NULL : &schema[i].info;
}

/* The choice that a spec makes for an enum or bool key. */
static const char *choice_of(const struct qn_schema_key *key,
                             const struct qn_spec *spec)
{
    const char *field = (const char *)spec + key->offset;
    unsigned chosen;
    if (key->info.type == QN_KEY_BOOL) {
        return *(const bool *)field ? "true" : "false";
    }
    QN_ASSERT(key->info.type == QN_KEY_ENUM && key->size == sizeof chosen);
    memcpy(&chosen, field, sizeof chosen);
    return key->info.choices[chosen];
}

/* A key whose decider has no meaning itself has none either. */
bool qn_schema_applies(const struct qn_schema_key *key,
                       const struct qn_spec *spec)
{
    if (key->when == NULL) {
        return true;
    }
    const struct qn_schema_key *decider =
        qn_schema_at(qn_schema_index(key->when));
    if (!qn_schema_applies(decider, spec)) {
        return false;
    }
    const char *name = choice_of(decider, spec);
    for (int i = 0; i < 4 && key->when_choice[i] != NULL; i++) {
        if (qn_str_eq(key->when_choice[i], name)) {
            return true;
        }
    }
    return false;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot == NULL ? key : dot + 1;
}

int qn_schema_nearest_of(const char *word, const char *const *names, int n)
{
    char *lower = qn_xstrdup(word);
    for (char *c = lower; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    int nearest = qn_nearest(lower, names, n);
    free(lower);
    return nearest;
}

const char *qn_schema_nearest(const char *key)
{
    const char *names[N_KEYS];
    for (int i = 0; i < N_KEYS; i++) {
        names[i] = schema[i].info.key;
        if (qn_str_eq(last_part(names[i]), key)) {
            return names[i];
        }
    }
    int nearest = qn_schema_nearest_of(key, names, N_KEYS);
    return nearest < 0 ? NULL : names[nearest];
}
