/* corpus.c - open a corpus: read, cut into splits, agree on ids, encode. */
#include "data/corpus_self.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/source.h"
#include "data/stream.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* The level that has these symbols, what a vocabulary of them holds, and what
 * an error counts. */
static const struct {
    const char *level, *holds, *counts;
} kinds[] = {
    [QN_SYMBOL_CODE_POINT] = {"char", "characters", "symbols"},
    [QN_SYMBOL_BYTE] = {"byte", "bytes", "symbols"},
    [QN_SYMBOL_WORD] = {"word", "words", "words"},
};

static const char *const split_names[QN_N_SPLITS] = {
    [QN_TRAIN] = "train",
    [QN_VALID] = "valid",
    [QN_TEST] = "test",
};

/* What is needed while a corpus is being opened. A split is text[from, to) of
 * a file, its own or train's. */
struct opening {
    const struct qn_corpus_spec *spec;
    struct qn_log *log;
    struct qn_corpus *corpus;
    struct qn_bytes file[QN_N_SPLITS];
    struct span {
        const char *text;
        size_t len;
    } span[QN_N_SPLITS];
    bool added_unk; /* <unk>, which train itself lacks */
};

const char *qn_split_name(enum qn_split split)
{
    return split_names[split];
}

bool qn_split_parse(const char *name, enum qn_split *out)
{
    for (int i = 0; i < QN_N_SPLITS; i++) {
        if (qn_str_eq(name, split_names[i])) {
            *out = (enum qn_split)i;
            return true;
        }
    }
    return false;
}

bool qn_corpus_is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

bool qn_corpus_has_path(const struct qn_corpus_spec *spec, enum qn_split split)
{
    return qn_corpus_is_set(spec->path[split]);
}

static void to_lower(struct qn_bytes *text)
{
    for (size_t i = 0; i < text->len; i++) {
        char c = text->data[i];
        if (c >= 'A' && c <= 'Z') {
            text->data[i] = (char)(c - 'A' + 'a');
        }
    }
}

/* NUL is a code point like others, but a text that holds it is seldom meant. */
static void warn_of_nul(const struct opening *o, enum qn_split split)
{
    const struct qn_bytes *text = &o->file[split];
    if (o->spec->kind != QN_SYMBOL_BYTE &&
        memchr(text->data, '\0', text->len) != NULL) {
        qn_log_write(o->log, QN_LOG_WARN,
                     "%s: holds NUL characters; if it is no text, "
                     "data.level=byte suits it better",
                     o->corpus->path[split]);
    }
}

static enum qn_status read_split(struct opening *o, enum qn_split split,
                                 struct qn_err *err)
{
    struct qn_corpus *c = o->corpus;
    struct qn_bytes *text = &o->file[split];
    enum qn_status status =
        qn_source_read(o->spec->path[split], o->spec->data_dir, o->log, text,
                       &c->path[split], err);
    if (status != QN_OK) {
        return status;
    }
    if (text->len == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: is empty", c->path[split]);
    }
    qn_sha256_hex(text->data, text->len, c->sha256[split]);
    size_t n_symbols;
    status =
        qn_symbols_count(o->spec->kind, text->data, text->len, &n_symbols, err);
    if (status != QN_OK) {
        return qn_fail_in(err, status, c->path[split]);
    }
    warn_of_nul(o, split);
    if (o->spec->lower) {
        to_lower(text);
    }
    qn_stream_join(o->spec->stream, text);
    if (text->len == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: holds white space only",
                       c->path[split]);
    }
    o->span[split] = (struct span){text->data, text->len};
    return QN_OK;
}

enum qn_status qn_corpus_check_fractions(const double cut[QN_N_SPLITS],
                                         struct qn_err *err)
{
    for (int i = QN_VALID; i < QN_N_SPLITS; i++) {
        if (!(cut[i] >= 0 && cut[i] < 1)) {
            return qn_fail(err, QN_EUSAGE,
                           "data.%s is %g, must be a path or at least 0 and "
                           "less than 1",
                           split_names[i], cut[i]);
        }
    }
    if (cut[QN_VALID] + cut[QN_TEST] >= 1) {
        return qn_fail(err, QN_EUSAGE,
                       "data.valid %g and data.test %g leave no training text",
                       cut[QN_VALID], cut[QN_TEST]);
    }
    return QN_OK;
}

size_t qn_split_cut(double fraction, size_t n)
{
    double product = fraction * (double)n;
    /* Neither 0.29 nor 0.29 * 100 is exact: what is nearer to the next whole
     * number than those errors reach was meant to be it. */
    return (size_t)(product * (1 + 4 * DBL_EPSILON));
}

/* Cut the last symbols off train for split i. */
static void cut_split(struct opening *o, enum qn_split i, size_t n)
{
    struct qn_corpus *c = o->corpus;
    struct span *train = &o->span[QN_TRAIN];
    size_t n_left;
    (void)qn_symbols_count(o->spec->kind, train->text, train->len, &n_left,
                           NULL); /* read as valid */
    size_t at = qn_symbols_tail(o->spec->kind, train->text, train->len, n_left,
                                n < n_left ? n : n_left);
    if (at == train->len) {
        return;
    }
    o->span[i] = (struct span){train->text + at, train->len - at};
    train->len = at;
    c->path[i] = qn_xstrdup(c->path[QN_TRAIN]);
    memcpy(c->sha256[i], c->sha256[QN_TRAIN], sizeof c->sha256[i]);
}

/* Cut the splits without a path off the end of train: test is last. */
static enum qn_status cut_splits(struct opening *o, struct qn_err *err)
{
    double cut[QN_N_SPLITS] = {0};
    for (int i = QN_VALID; i < QN_N_SPLITS; i++) {
        cut[i] = qn_corpus_has_path(o->spec, (enum qn_split)i)
                     ? 0
                     : o->spec->fraction[i];
    }
    enum qn_status status = qn_corpus_check_fractions(cut, err);
    if (status != QN_OK || !qn_corpus_has_path(o->spec, QN_TRAIN)) {
        return status;
    }
    const struct span *train = &o->span[QN_TRAIN];
    size_t n = 0;
    (void)qn_symbols_count(o->spec->kind, train->text, train->len, &n, NULL);
    for (int i = QN_N_SPLITS - 1; i >= QN_VALID; i--) {
        if (!qn_corpus_has_path(o->spec, (enum qn_split)i)) {
            cut_split(o, (enum qn_split)i, qn_split_cut(cut[i], n));
        }
    }
    return QN_OK;
}

/* Ids by first appearance: in train, and for bytes in all splits. Symbols that
 * only another split has share the row of <unk>. */
static enum qn_status learn_vocab(struct opening *o, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = o->spec;
    struct qn_corpus *c = o->corpus;
    c->vocab = spec->kind == QN_SYMBOL_WORD
                   ? qn_vocab_new_words(spec->eos, spec->unk)
                   : qn_vocab_new(spec->kind);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct span *s = &o->span[i];
        if (s->len == 0 || (i != QN_TRAIN && spec->kind != QN_SYMBOL_BYTE)) {
            continue;
        }
        enum qn_status status = qn_vocab_learn(c->vocab, s->text, s->len, err);
        if (status != QN_OK) {
            return qn_fail_in(err, status, c->path[i]);
        }
    }
    for (int i = QN_VALID; i < QN_N_SPLITS; i++) {
        if (!qn_vocab_covers(c->vocab, o->span[i].text, o->span[i].len)) {
            o->added_unk |= qn_vocab_unk(c->vocab) == QN_UNK;
            qn_vocab_add_unk(c->vocab);
        }
    }
    int size = qn_vocab_size(c->vocab);
    bool has_unk = qn_vocab_unk(c->vocab) != QN_UNK;
    if (size - has_unk < 2) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: holds one kind of symbol only, nothing to learn",
                       c->path[QN_TRAIN]);
    }
    return QN_OK;
}

enum qn_status qn_corpus_check_size(const struct qn_corpus_spec *spec,
                                    const struct qn_vocab *vocab,
                                    bool added_unk, struct qn_err *err)
{
    int size = qn_vocab_size(vocab);
    if (spec->vocab_size == 0 || spec->vocab_size == size) {
        return QN_OK;
    }
    const char *unk = "";
    if (added_unk) {
        unk = spec->kind == QN_SYMBOL_WORD
                  ? ", counting the one for unknown words"
                  : ", counting <unk>";
    }
    return qn_fail(err, QN_EUSAGE, "data.vocab_size is %d, %s %d %s%s",
                   spec->vocab_size,
                   spec->documents ? "the documents have" : "the text has",
                   size, kinds[spec->kind].counts, unk);
}

static enum qn_status take_vocab(struct opening *o, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = o->spec;
    enum qn_status status = QN_OK;
    if (spec->vocab == NULL) {
        status = learn_vocab(o, err);
    } else if (qn_vocab_kind(spec->vocab) == spec->kind) {
        o->corpus->vocab = qn_vocab_copy(spec->vocab);
    } else {
        return qn_fail(err, QN_EUSAGE,
                       "data.level is %s, the vocabulary of the run holds %s",
                       kinds[spec->kind].level,
                       kinds[qn_vocab_kind(spec->vocab)].holds);
    }
    return status == QN_OK
               ? qn_corpus_check_size(spec, o->corpus->vocab, o->added_unk, err)
               : status;
}

static enum qn_status encode_splits(struct opening *o, struct qn_err *err)
{
    struct qn_corpus *c = o->corpus;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct span *s = &o->span[i];
        if (s->len == 0) {
            continue;
        }
        enum qn_status status = qn_vocab_encode(c->vocab, s->text, s->len,
                                                &c->ids[i], &c->n[i], err);
        if (status != QN_OK) {
            return qn_fail_in(err, status, c->path[i]);
        }
    }
    return QN_OK;
}

static enum qn_status check_name(const char *key, const char *name,
                                 struct qn_err *err)
{
    size_t len = name != NULL ? strlen(name) : 0;
    for (size_t i = 0; i < len; i++) {
        if (qn_is_blank(name[i])) {
            return qn_fail(err, QN_EUSAGE, "%s is \"%s\", must be one word",
                           key, name);
        }
    }
    size_t n;
    enum qn_status status =
        qn_symbols_count(QN_SYMBOL_CODE_POINT, name, len, &n, err);
    return status != QN_OK ? qn_fail_in(err, QN_EUSAGE, key) : QN_OK;
}

static enum qn_status check_words(const struct qn_corpus_spec *spec,
                                  struct qn_err *err)
{
    if (spec->stream != QN_TEXT_PLAIN) {
        return qn_fail(err, QN_EUSAGE,
                       "data.stream is %s, must be plain with data.level=word",
                       spec->stream == QN_TEXT_PTB49 ? "ptb49" : "ptb50");
    }
    enum qn_status status = check_name("data.eos", spec->eos, err);
    if (status == QN_OK) {
        status = check_name("data.unk", spec->unk, err);
    }
    const char *eos = qn_corpus_is_set(spec->eos) ? spec->eos : QN_EOS_NAME;
    const char *unk = qn_corpus_is_set(spec->unk) ? spec->unk : QN_UNK_NAME;
    if (status == QN_OK && qn_str_eq(eos, unk)) {
        return qn_fail(err, QN_EUSAGE, "data.eos and data.unk are both \"%s\"",
                       eos);
    }
    return status;
}

static enum qn_status fill_text(struct opening *o, struct qn_err *err)
{
    if (o->spec->kind == QN_SYMBOL_WORD && check_words(o->spec, err) != QN_OK) {
        return QN_EUSAGE;
    }
    for (int i = 0; i < QN_N_SPLITS; i++) {
        if (!qn_corpus_has_path(o->spec, (enum qn_split)i)) {
            continue;
        }
        enum qn_status status = read_split(o, (enum qn_split)i, err);
        if (status != QN_OK) {
            return status;
        }
    }
    enum qn_status status = cut_splits(o, err);
    if (status == QN_OK) {
        status = take_vocab(o, err);
    }
    return status == QN_OK ? encode_splits(o, err) : status;
}

static enum qn_status open_text(struct opening *o, struct qn_err *err)
{
    for (int i = 0; i < QN_N_SPLITS; i++) {
        o->span[i].text = "";
    }
    enum qn_status status = fill_text(o, err);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        qn_bytes_free(&o->file[i]);
    }
    return status;
}

enum qn_status qn_corpus_open(const struct qn_corpus_spec *spec,
                              struct qn_log *log, struct qn_corpus **out,
                              struct qn_err *err)
{
    if (!qn_corpus_has_path(spec, QN_TRAIN) && spec->vocab == NULL) {
        return qn_fail(err, QN_EUSAGE, "data.train names no %s",
                       spec->documents ? "documents" : "text");
    }
    struct qn_corpus *c = qn_xcalloc(1, sizeof *c);
    struct opening o = {.spec = spec, .log = log, .corpus = c};
    enum qn_status status = spec->documents
                                ? qn_corpus_fill_documents(c, spec, log, err)
                                : open_text(&o, err);
    if (status != QN_OK) {
        qn_corpus_free(c);
        return status;
    }
    *out = c;
    return QN_OK;
}

void qn_corpus_free(struct qn_corpus *c)
{
    if (c == NULL) {
        return;
    }
    for (int i = 0; i < QN_N_SPLITS; i++) {
        free(c->ids[i]);
        free(c->path[i]);
        free(c->start[i]);
        free(c->label[i]);
    }
    free(c->vectors);
    qn_vocab_free(c->vocab);
    free(c);
}

const struct qn_vocab *qn_corpus_vocab(const struct qn_corpus *c)
{
    return c->vocab;
}

const int32_t *qn_corpus_ids(const struct qn_corpus *c, enum qn_split split,
                             size_t *n)
{
    *n = c->n[split];
    return c->ids[split];
}

const char *qn_corpus_sha256(const struct qn_corpus *c, enum qn_split split)
{
    return c->sha256[split];
}

const char *qn_corpus_path(const struct qn_corpus *c, enum qn_split split)
{
    return c->path[split] != NULL ? c->path[split] : "";
}

const struct qn_documents *qn_corpus_documents(const struct qn_corpus *c,
                                               enum qn_split split)
{
    return c->has_documents ? &c->documents[split] : NULL;
}

const float *qn_corpus_vectors(const struct qn_corpus *c)
{
    return c->vectors;
}

void qn_corpus_drop_vectors(struct qn_corpus *c)
{
    free(c->vectors);
    c->vectors = NULL;
    c->n_vectors = 0;
}

size_t qn_corpus_vectors_bytes(const struct qn_corpus *c)
{
    return c->n_vectors * sizeof *c->vectors;
}

size_t qn_corpus_bytes(const struct qn_corpus *c)
{
    size_t bytes = qn_corpus_vectors_bytes(c);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        size_t n = c->documents[i].n;
        bytes += c->n[i] * sizeof *c->ids[i];
        bytes += n * (sizeof *c->start[i] + sizeof *c->label[i]);
    }
    return bytes;
}
