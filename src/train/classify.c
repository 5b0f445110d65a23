/* classify.c - what a classifier says of a text that a person gives. */
#include "train/measure_self.h"

#include "base/mem.h"
#include "base/str.h"
#include "data/tokens.h"

#include <math.h>
#include <stdlib.h>

/* A document as the run reads it. */
struct document {
    int32_t *ids; /* owned; room for max_words */
    int n;        /* that are read */
    int words, known;
};

static enum qn_status check_utf8(const char *text, size_t len,
                                 struct qn_err *err)
{
    uint32_t code;
    for (size_t at = 0; at < len;) {
        int bytes = qn_utf8_decode(text + at, len - at, &code);
        if (bytes == 0) {
            return qn_fail(err, QN_EUSAGE,
                           "the text is not valid UTF-8: byte %zu", at);
        }
        at += (size_t)bytes;
    }
    return QN_OK;
}

/* As data/corpus.h makes documents: words without an id are dropped, or are
 * <unk> where there is one, and what is left is cut. */
static void read_words(const struct qn_measure *m, const char *text, size_t len,
                       struct document *d)
{
    struct qn_tokens *tokens = qn_tokens_new(m->spec->data.lower);
    const char *word;
    size_t word_len;
    int max = m->spec->data.max_words;
    d->ids = qn_xcalloc((size_t)max, sizeof *d->ids);
    qn_tokens_start(tokens, text, len);
    for (; qn_tokens_next(tokens, &word, &word_len); d->words++) {
        int id = qn_vocab_find_word(m->vocab, word, word_len);
        bool known = id >= 0;
        if (!known) {
            id = qn_vocab_unk(m->vocab);
        }
        if (id >= 0 && d->n < max) {
            d->ids[d->n++] = id;
            d->known += known;
        }
    }
    qn_tokens_free(tokens);
}

static enum qn_status check_words(const struct document *d, struct qn_err *err)
{
    if (d->words == 0) {
        return qn_fail(err, QN_EUSAGE, "the text has no words");
    }
    if (d->known == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "the run knows no word of the text, which has %d",
                       d->words);
    }
    return QN_OK;
}

/* Words that the pass gets room for: texts that come after this one, and are
 * somewhat longer, shall do with it as well. */
static int room_for(int n, int max)
{
    int room = 64;
    while (room < n) {
        room *= 2; /* n is at most max, which is far from the end of ints */
    }
    return room < max ? room : max;
}

/* The log odds of label 1. */
static enum qn_status read_logit(struct qn_measure *m, const struct document *d,
                                 float *logit, struct qn_err *err)
{
    enum qn_status status = qn_kept_pass_ready(
        &m->one, m->model, 1, room_for(d->n, m->spec->data.max_words), err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_pass *pass = m->one.pass;
    struct qn_segment segment = {.ids = d->ids, .steps = d->n};
    qn_pass_restart(pass);
    qn_pass_forward(pass, &segment);
    status = qn_pass_logits(pass, logit, err);
    if (status == QN_OK && !isfinite(*logit)) {
        status = qn_fail(err, QN_ESTATE,
                         "the network's output is not a number, so it says "
                         "nothing of the text");
    }
    return status;
}

enum qn_status qn_measure_classify(struct qn_measure *m, const char *text,
                                   size_t len, struct qn_judgement *out,
                                   struct qn_err *err)
{
    if (m->spec->task != QN_TASK_CLASSIFY) {
        return qn_fail(err, QN_EUSAGE,
                       "the run is a language model: it predicts the symbols "
                       "of a text and has no labels for it");
    }
    enum qn_status status = check_utf8(text, len, err);
    if (status != QN_OK) {
        return status;
    }
    struct document d = {0};
    float logit = 0;
    read_words(m, text, len, &d);
    status = check_words(&d, err);
    if (status == QN_OK) {
        status = read_logit(m, &d, &logit, err);
    }
    free(d.ids);
    if (status != QN_OK) {
        return status;
    }
    *out = (struct qn_judgement){
        .probability = 1 / (1 + exp(-(double)logit)),
        .label = logit > 0,
        .words = d.words,
        .known = d.known,
    };
    return QN_OK;
}
