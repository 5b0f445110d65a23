/* corpus.c - open a corpus: read, cut into splits, agree on ids, encode. */
#include "data/corpus.h"

#include "base/file.h"
#include "base/mem.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

static const char *const split_names[QN_N_SPLITS] = {
    [QN_TRAIN] = "train",
    [QN_VALID] = "valid",
    [QN_TEST] = "test",
};

struct qn_corpus {
    struct qn_vocab *vocab;
    int32_t *ids[QN_N_SPLITS];
    size_t n[QN_N_SPLITS];
    char *path[QN_N_SPLITS];
    char sha256[QN_N_SPLITS][65];
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

static enum qn_symbol_kind kind_of(const struct qn_corpus_spec *spec)
{
    return spec->bytes ? QN_SYMBOL_BYTE : QN_SYMBOL_CODE_POINT;
}

static bool has_path(const struct qn_corpus_spec *spec, enum qn_split split)
{
    return spec->path[split] != NULL && spec->path[split][0] != '\0';
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
    if (!o->spec->bytes && memchr(text->data, '\0', text->len) != NULL) {
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
    status = qn_symbols_count(kind_of(o->spec), text->data, text->len,
                              &n_symbols, err);
    if (status != QN_OK) {
        return qn_fail_in(err, status, c->path[split]);
    }
    warn_of_nul(o, split);
    if (o->spec->lower) {
        to_lower(text);
    }
    o->span[split] = (struct span){text->data, text->len};
    return QN_OK;
}

static enum qn_status check_fractions(const double cut[QN_N_SPLITS],
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

/* Bytes of the last n symbols of a valid text. */
static size_t tail_bytes(enum qn_symbol_kind kind, const struct span *s,
                         size_t n)
{
    size_t at = s->len;
    while (n > 0 && at > 0) {
        at--;
        /* Bytes 10xxxxxx continue a code point. */
        if (kind == QN_SYMBOL_BYTE ||
            ((unsigned char)s->text[at] & 0xc0) != 0x80) {
            n--;
        }
    }
    return s->len - at;
}

/* Cut the splits without a path off the end of train: test is last. */
static enum qn_status cut_splits(struct opening *o, struct qn_err *err)
{
    double cut[QN_N_SPLITS] = {0};
    for (int i = QN_VALID; i < QN_N_SPLITS; i++) {
        cut[i] = has_path(o->spec, (enum qn_split)i) ? 0 : o->spec->fraction[i];
    }
    enum qn_status status = check_fractions(cut, err);
    if (status != QN_OK || !has_path(o->spec, QN_TRAIN)) {
        return status;
    }
    struct qn_corpus *c = o->corpus;
    struct span *train = &o->span[QN_TRAIN];
    enum qn_symbol_kind kind = kind_of(o->spec);
    size_t n = 0;
    (void)qn_symbols_count(kind, train->text, train->len, &n, NULL);
    for (int i = QN_N_SPLITS - 1; i >= QN_VALID; i--) {
        if (has_path(o->spec, (enum qn_split)i)) {
            continue;
        }
        size_t bytes = tail_bytes(kind, train, (size_t)(cut[i] * (double)n));
        if (bytes == 0) {
            continue;
        }
        train->len -= bytes;
        o->span[i] = (struct span){train->text + train->len, bytes};
        c->path[i] = qn_xstrdup(c->path[QN_TRAIN]);
        memcpy(c->sha256[i], c->sha256[QN_TRAIN], sizeof c->sha256[i]);
    }
    return QN_OK;
}

/* Ids by first appearance: in train, and for bytes in all splits. Code points
 * that only another split has share the row of <unk>. */
static void learn_vocab(struct opening *o)
{
    struct qn_vocab *v = qn_vocab_new(kind_of(o->spec));
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct span *s = &o->span[i];
        if (i == QN_TRAIN || o->spec->bytes) {
            (void)qn_vocab_learn(v, s->text, s->len, NULL); /* read as valid */
        }
    }
    for (int i = QN_VALID; i < QN_N_SPLITS; i++) {
        if (!qn_vocab_covers(v, o->span[i].text, o->span[i].len)) {
            qn_vocab_add_unk(v);
        }
    }
    o->corpus->vocab = v;
}

static enum qn_status take_vocab(struct opening *o, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = o->spec;
    if (spec->vocab == NULL) {
        learn_vocab(o);
    } else if (qn_vocab_kind(spec->vocab) == kind_of(spec)) {
        o->corpus->vocab = qn_vocab_copy(spec->vocab);
    } else {
        return qn_fail(err, QN_EUSAGE,
                       "data.level is %s, the vocabulary of the run holds %s",
                       spec->bytes ? "byte" : "char",
                       spec->bytes ? "characters" : "bytes");
    }
    int size = qn_vocab_size(o->corpus->vocab);
    bool has_unk = qn_vocab_unk(o->corpus->vocab) != QN_UNK;
    if (spec->vocab == NULL && size - has_unk < 2) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: holds one kind of symbol only, nothing to learn",
                       o->corpus->path[QN_TRAIN]);
    }
    if (spec->vocab_size != 0 && spec->vocab_size != size) {
        return qn_fail(
            err, QN_EUSAGE, "data.vocab_size is %d, the text has %d symbols%s",
            spec->vocab_size, size, has_unk ? ", counting <unk>" : "");
    }
    return QN_OK;
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

static enum qn_status fill(struct opening *o, struct qn_err *err)
{
    if (!has_path(o->spec, QN_TRAIN) && o->spec->vocab == NULL) {
        return qn_fail(err, QN_EUSAGE, "data.train names no text");
    }
    for (int i = 0; i < QN_N_SPLITS; i++) {
        if (!has_path(o->spec, (enum qn_split)i)) {
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

enum qn_status qn_corpus_open(const struct qn_corpus_spec *spec,
                              struct qn_log *log, struct qn_corpus **out,
                              struct qn_err *err)
{
    struct qn_corpus *c = qn_xcalloc(1, sizeof *c);
    struct opening o = {.spec = spec, .log = log, .corpus = c};
    for (int i = 0; i < QN_N_SPLITS; i++) {
        o.span[i].text = "";
    }
    enum qn_status status = fill(&o, err);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        qn_bytes_free(&o.file[i]);
    }
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
    }
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
