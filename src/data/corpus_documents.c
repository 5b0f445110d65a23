/* corpus_documents.c - open a corpus of labelled documents.
 *
 * Which document belongs to which split is decided first (data/doc_parts.h), so
 * the folds are the same ones whatever words are known. Then it is decided
 * which words have an id, and what is left of a document. */
#include "data/corpus_self.h"

#include "base/assert.h"
#include "base/mem.h"
#include "data/doc_parts.h"
#include "data/vectors.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    const struct qn_corpus_spec *spec;
    struct qn_log *log;
    struct qn_corpus *c;
    struct qn_doc_parts parts;
    int32_t *id_of; /* of each of the parts' words; -1: it is dropped */
    bool added_unk;
};

/* Documents of a split of which something is said. */
struct tally {
    size_t n, first; /* the first as they stand in the file */
};

static void count(struct tally *t, size_t document)
{
    t->first = t->n == 0 || document < t->first ? document : t->first;
    t->n++;
}

static size_t most_words(const struct qn_corpus_spec *spec)
{
    return spec->max_words > 0 ? (size_t)spec->max_words : SIZE_MAX;
}

/* Whether all words that are read of a split have an id; with 'learn' those
 * that have none get the next one. */
static bool cover(struct reading *r, enum qn_split split, bool learn)
{
    struct qn_vocab *v = r->c->vocab;
    const struct qn_doc_part *p = &r->parts.part[split];
    for (size_t i = 0; i < p->n; i++) {
        size_t n;
        const int32_t *words = qn_doc_part_words(p, i, &n);
        for (size_t t = 0; t < n && t < most_words(r->spec); t++) {
            int32_t *id = &r->id_of[words[t]];
            if (*id < 0 && !learn) {
                return false;
            }
            if (*id < 0) {
                size_t len;
                const char *word = qn_words_get(r->parts.words, words[t], &len);
                *id = qn_vocab_add_word(v, word, len);
            }
        }
    }
    return true;
}

/* The words of train, and <unk> when another split has other words. */
static enum qn_status learn_words(struct reading *r, struct qn_err *err)
{
    struct qn_vocab *v = r->c->vocab;
    (void)cover(r, QN_TRAIN, true);
    if (qn_vocab_size(v) == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: holds no words",
                       r->c->path[QN_TRAIN]);
    }
    if (!cover(r, QN_VALID, false) || !cover(r, QN_TEST, false)) {
        r->added_unk = qn_vocab_unk(v) == QN_UNK;
        (void)qn_vocab_add_unk(v);
    }
    return QN_OK;
}

/* How much of the text has no vector: it says at once when the vectors want
 * data.lower. */
static void tell_coverage(const struct reading *r)
{
    size_t n = 0, dropped = 0;
    int kinds = qn_words_size(r->parts.words);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct qn_doc_words *file = &r->parts.file[i];
        size_t n_words =
            file->start != NULL ? file->start[file->labelled.n] : 0;
        for (size_t k = 0; k < n_words; k++) {
            dropped += r->id_of[file->words[k]] < 0;
        }
        n += n_words;
    }
    if (dropped == 0) {
        return;
    }
    int without = kinds - qn_vocab_size(r->c->vocab);
    qn_log_write(
        r->log, QN_LOG_INFO,
        "%s: no vector for %zu of %zu words (%.2f %%; %d of %d kinds), "
        "which are dropped",
        r->spec->vectors, dropped, n, 100.0 * (double)dropped / (double)n,
        without, kinds);
}

static void find_ids(struct reading *r)
{
    const struct qn_vocab *v = r->c->vocab;
    for (int w = 0; w < qn_words_size(r->parts.words); w++) {
        size_t len;
        const char *word = qn_words_get(r->parts.words, w, &len);
        r->id_of[w] = qn_vocab_find_word(v, word, len);
    }
}

/* The words that have a vector. */
static enum qn_status take_vectors(struct reading *r, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = r->spec;
    struct qn_words *found;
    enum qn_status status =
        qn_vectors_read(spec->vectors, spec->data_dir, spec->vector_width,
                        r->parts.words, r->log, &found, &r->c->vectors, err);
    if (status != QN_OK) {
        return status;
    }
    int n = qn_words_size(found);
    r->c->n_vectors = (size_t)n * (size_t)spec->vector_width;
    for (int id = 0; id < n; id++) {
        size_t len;
        const char *word = qn_words_get(found, id, &len);
        (void)qn_vocab_add_word(r->c->vocab, word, len);
    }
    qn_words_free(found);
    if (n == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: no word of %s has a vector",
                       spec->vectors, r->c->path[QN_TRAIN]);
    }
    find_ids(r);
    tell_coverage(r);
    return QN_OK;
}

static enum qn_status take_vocab(struct reading *r, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = r->spec;
    struct qn_corpus *c = r->c;
    int kinds = qn_words_size(r->parts.words);
    r->id_of = qn_xmalloc((size_t)kinds * sizeof *r->id_of);
    for (int w = 0; w < kinds; w++) {
        r->id_of[w] = -1;
    }
    enum qn_status status = QN_OK;
    if (spec->vocab != NULL) {
        QN_ASSERT(qn_vocab_kind(spec->vocab) == QN_SYMBOL_WORD);
        c->vocab = qn_vocab_copy(spec->vocab);
        find_ids(r);
    } else {
        c->vocab = qn_vocab_new_words(spec->eos, spec->unk);
        status = qn_corpus_is_set(spec->vectors) ? take_vectors(r, err)
                                                 : learn_words(r, err);
    }
    for (int w = 0; w < kinds; w++) {
        if (r->id_of[w] < 0) {
            r->id_of[w] = qn_vocab_unk(c->vocab); /* or -1 as well */
        }
    }
    return status == QN_OK
               ? qn_corpus_check_size(spec, c->vocab, r->added_unk, err)
               : status;
}

/* Words of a document that have an id, as many as are read; *cut: there were
 * more. */
static size_t encode(const struct reading *r, const int32_t *words, size_t n,
                     int32_t *ids, bool *cut)
{
    size_t n_ids = 0;
    for (size_t t = 0; t < n; t++) {
        int32_t id = r->id_of[words[t]];
        if (id < 0) {
            continue;
        }
        if (n_ids == most_words(r->spec)) {
            *cut = true;
            break;
        }
        ids[n_ids++] = id;
    }
    return n_ids;
}

static void tell_tally(const struct reading *r, enum qn_split split,
                       const struct tally *empty, const struct tally *cut)
{
    if (empty->n == 0 && cut->n == 0) {
        return; /* and the split may have no file */
    }
    const struct qn_labelled *l = &r->parts.part[split].file->labelled;
    char where[512];
    if (empty->n > 0) {
        qn_log_write(r->log, QN_LOG_WARN,
                     "%s split: %zu document%s without a known word left out, "
                     "the first is %s of %s",
                     qn_split_name(split), empty->n, empty->n > 1 ? "s" : "",
                     qn_labelled_where(l, empty->first, where, sizeof where),
                     l->path);
    }
    if (cut->n > 0) {
        /* A setting did it: worth knowing, but nobody's mistake. */
        qn_log_write(r->log, QN_LOG_INFO,
                     "%s split: %zu of %zu documents cut at data.max_words = "
                     "%d, the first is %s of %s",
                     qn_split_name(split), cut->n, r->parts.part[split].n,
                     r->spec->max_words,
                     qn_labelled_where(l, cut->first, where, sizeof where),
                     l->path);
    }
}

/* The documents of a split without those that have no word left. */
static void encode_part(struct reading *r, enum qn_split split)
{
    struct qn_corpus *c = r->c;
    const struct qn_doc_part *p = &r->parts.part[split];
    struct tally empty = {0}, cut = {0};
    size_t n_words = 0, n_kept = 0, n_ids = 0, longest = 0, len;
    for (size_t i = 0; i < p->n; i++) {
        (void)qn_doc_part_words(p, i, &len);
        n_words += len;
    }
    int32_t *ids = qn_xcalloc(n_words, sizeof *ids);
    size_t *start = qn_xcalloc(p->n + 1, sizeof *start);
    int32_t *label = qn_xcalloc(p->n, sizeof *label);
    for (size_t i = 0; i < p->n; i++) {
        bool too_long = false;
        const int32_t *words = qn_doc_part_words(p, i, &len);
        size_t n = encode(r, words, len, ids + n_ids, &too_long);
        if (n == 0) {
            count(&empty, p->documents[i]);
            continue;
        }
        if (too_long) {
            count(&cut, p->documents[i]);
        }
        label[n_kept] = qn_doc_part_label(p, i);
        longest = n > longest ? n : longest;
        n_ids += n;
        start[++n_kept] = n_ids;
    }
    c->ids[split] = qn_xrealloc(ids, n_ids, sizeof *ids);
    c->n[split] = n_ids;
    c->start[split] = start;
    c->label[split] = label;
    c->documents[split] =
        (struct qn_documents){n_kept, start, label, (int)longest};
    tell_tally(r, split, &empty, &cut);
}

/* A new run wants both labels in what it learns from. */
static enum qn_status check_labels(const struct reading *r, size_t n,
                                   size_t n_positive, struct qn_err *err)
{
    if (n_positive > 0 && n_positive < n) {
        return QN_OK;
    }
    return qn_fail(err, QN_EFORMAT,
                   "%s: all documents of the train split are %s, nothing to "
                   "learn",
                   r->c->path[QN_TRAIN],
                   n_positive == 0 ? "negative" : "positive");
}

/* Before vectors are read, which may take minutes. */
static enum qn_status check_read(const struct reading *r, struct qn_err *err)
{
    const struct qn_doc_part *p = &r->parts.part[QN_TRAIN];
    size_t n_positive = 0;
    for (size_t i = 0; i < p->n; i++) {
        n_positive += qn_doc_part_label(p, i) == 1;
    }
    return check_labels(r, p->n, n_positive, err);
}

/* Of the documents that have a known word. */
static enum qn_status check_kept(const struct reading *r, struct qn_err *err)
{
    const struct qn_documents *d = &r->c->documents[QN_TRAIN];
    size_t n_positive = 0;
    for (size_t i = 0; i < d->n; i++) {
        n_positive += d->label[i] == 1;
    }
    if (d->n == 0) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: no document of the train split has a known word",
                       r->c->path[QN_TRAIN]);
    }
    return check_labels(r, d->n, n_positive, err);
}

/* Where the documents of each split came from. */
static void take_origins(struct reading *r)
{
    struct qn_corpus *c = r->c;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct qn_doc_words *file = r->parts.part[i].file;
        if (file != NULL) {
            c->path[i] = qn_xstrdup(file->labelled.path);
            memcpy(c->sha256[i], file->labelled.sha256, sizeof c->sha256[i]);
        }
    }
}

static enum qn_status fill(struct reading *r, struct qn_err *err)
{
    bool new_run = r->spec->vocab == NULL;
    take_origins(r);
    enum qn_status status = new_run ? check_read(r, err) : QN_OK;
    if (status == QN_OK) {
        status = take_vocab(r, err);
    }
    if (status != QN_OK) {
        return status;
    }
    for (int i = 0; i < QN_N_SPLITS; i++) {
        encode_part(r, (enum qn_split)i);
    }
    return new_run ? check_kept(r, err) : QN_OK;
}

enum qn_status qn_corpus_fill_documents(struct qn_corpus *c,
                                        const struct qn_corpus_spec *spec,
                                        struct qn_log *log, struct qn_err *err)
{
    QN_ASSERT(spec->kind == QN_SYMBOL_WORD);
    struct reading r = {.spec = spec, .log = log, .c = c};
    c->has_documents = true;
    enum qn_status status = qn_doc_parts_read(spec, log, &r.parts, err);
    if (status != QN_OK) {
        return status;
    }
    status = fill(&r, err);
    qn_doc_parts_fini(&r.parts);
    free(r.id_of);
    return status;
}
