/* corpus_documents.c - open a corpus of labelled documents.
 *
 * Files become numbered words first; then it is decided which document belongs
 * to which split, which words have an id, and what is left of a document. So
 * the folds are the same ones whatever words are known. */
#include "data/corpus_self.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/doc_words.h"
#include "data/shuffle.h"
#include "data/vectors.h"

#include <stdlib.h>
#include <string.h>

/* The order of documents is of the program and not of a run: folds, and what
 * eval.limit takes from the front, can be compared between runs. */
#define ORDER_SEED 2019

struct reading {
    const struct qn_corpus_spec *spec;
    struct qn_log *log;
    struct qn_corpus *c;
    struct qn_words *words; /* of all files, as they stand */
    struct qn_doc_words file[QN_N_SPLITS];
    size_t *order[QN_N_SPLITS]; /* documents of a file, shuffled */
    /* The documents of a split: a piece of a file's order. */
    struct part {
        const struct qn_doc_words *file;
        const size_t *documents;
        size_t n;
    } part[QN_N_SPLITS];
    int32_t *id_of; /* of each of 'words'; -1: it is dropped */
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

static enum qn_status read_files(struct reading *r, struct qn_err *err)
{
    struct qn_corpus *c = r->c;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        if (!qn_corpus_has_path(r->spec, (enum qn_split)i)) {
            continue;
        }
        struct qn_doc_words *file = &r->file[i];
        enum qn_status status = qn_doc_words_read(r->spec->path[i], r->spec,
                                                  r->log, r->words, file, err);
        if (status != QN_OK) {
            return status;
        }
        c->path[i] = qn_xstrdup(file->labelled.path);
        memcpy(c->sha256[i], file->labelled.sha256, sizeof c->sha256[i]);
        size_t n = file->labelled.n;
        r->order[i] = qn_xcalloc(n, sizeof *r->order[i]);
        for (size_t k = 0; k < n; k++) {
            r->order[i][k] = k;
        }
        qn_shuffle(qn_rng_key(ORDER_SEED, (uint64_t)i, 0, QN_RNG_SHUFFLE),
                   r->order[i], n);
        r->part[i] = (struct part){file, r->order[i], n};
    }
    return QN_OK;
}

/* The last n documents of train become split i. */
static void cut_part(struct reading *r, enum qn_split i, size_t n)
{
    struct qn_corpus *c = r->c;
    struct part *train = &r->part[QN_TRAIN];
    if (n == 0) {
        return;
    }
    train->n -= n;
    r->part[i] = (struct part){train->file, train->documents + train->n, n};
    c->path[i] = qn_xstrdup(c->path[QN_TRAIN]);
    memcpy(c->sha256[i], c->sha256[QN_TRAIN], sizeof c->sha256[i]);
}

/* Move items [from, to) of n behind the others; all keep their order. */
static void move_back(size_t *items, size_t from, size_t to, size_t n)
{
    size_t len = to - from;
    size_t *moved = qn_xcalloc(len, sizeof *moved);
    memcpy(moved, items + from, len * sizeof *items);
    memmove(items + from, items + to, (n - to) * sizeof *items);
    memcpy(items + n - len, moved, len * sizeof *items);
    free(moved);
}

static enum qn_status cut_fold(struct reading *r, struct qn_err *err)
{
    size_t k = (size_t)r->spec->fold.k, n = (size_t)r->spec->fold.n;
    size_t n_left = r->part[QN_TRAIN].n;
    QN_ASSERT(n >= 2 && k >= 1 && k <= n);
    if (n_left < n) {
        return qn_fail(err, QN_EUSAGE,
                       "%s: has %zu documents to train on, too few for %zu "
                       "folds",
                       r->c->path[QN_TRAIN], n_left, n);
    }
    size_t from = n_left * (k - 1) / n, to = n_left * k / n;
    move_back(r->order[QN_TRAIN], from, to, n_left);
    cut_part(r, QN_VALID, to - from);
    return QN_OK;
}

static enum qn_status cut_parts(struct reading *r, struct qn_err *err)
{
    const struct qn_corpus_spec *spec = r->spec;
    double cut[QN_N_SPLITS] = {0};
    if (!qn_corpus_has_path(spec, QN_TEST)) {
        cut[QN_TEST] = spec->fraction[QN_TEST];
    }
    enum qn_status status = qn_corpus_check_fractions(cut, err);
    if (status != QN_OK || !qn_corpus_has_path(spec, QN_TRAIN)) {
        return status;
    }
    cut_part(r, QN_TEST, qn_split_cut(cut[QN_TEST], r->part[QN_TRAIN].n));
    if (spec->fold.n > 0 && !qn_corpus_has_path(spec, QN_VALID)) {
        status = cut_fold(r, err);
    }
    return status;
}

/* Words of a document from its front on. */
static const int32_t *words_of(const struct part *p, size_t i, size_t *n)
{
    const size_t *start = p->file->start + p->documents[i];
    *n = start[1] - start[0];
    return p->file->words + start[0];
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
    const struct part *p = &r->part[split];
    for (size_t i = 0; i < p->n; i++) {
        size_t n;
        const int32_t *words = words_of(p, i, &n);
        for (size_t t = 0; t < n && t < most_words(r->spec); t++) {
            int32_t *id = &r->id_of[words[t]];
            if (*id < 0 && !learn) {
                return false;
            }
            if (*id < 0) {
                size_t len;
                const char *word = qn_words_get(r->words, words[t], &len);
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
    int kinds = qn_words_size(r->words);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        const struct qn_doc_words *file = &r->file[i];
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
    for (int w = 0; w < qn_words_size(r->words); w++) {
        size_t len;
        const char *word = qn_words_get(r->words, w, &len);
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
                        r->words, r->log, &found, &r->c->vectors, err);
    if (status != QN_OK) {
        return status;
    }
    int n = qn_words_size(found);
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
    int kinds = qn_words_size(r->words);
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
    const struct qn_labelled *l = &r->part[split].file->labelled;
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
        qn_log_write(r->log, QN_LOG_WARN,
                     "%s split: %zu document%s cut at data.max_words = %d, the "
                     "first is %s of %s",
                     qn_split_name(split), cut->n, cut->n > 1 ? "s" : "",
                     r->spec->max_words,
                     qn_labelled_where(l, cut->first, where, sizeof where),
                     l->path);
    }
}

/* The documents of a split without those that have no word left. */
static void encode_part(struct reading *r, enum qn_split split)
{
    struct qn_corpus *c = r->c;
    const struct part *p = &r->part[split];
    struct tally empty = {0}, cut = {0};
    size_t n_words = 0, n_kept = 0, n_ids = 0, longest = 0, len;
    for (size_t i = 0; i < p->n; i++) {
        (void)words_of(p, i, &len);
        n_words += len;
    }
    int32_t *ids = qn_xcalloc(n_words, sizeof *ids);
    size_t *start = qn_xcalloc(p->n + 1, sizeof *start);
    int32_t *label = qn_xcalloc(p->n, sizeof *label);
    for (size_t i = 0; i < p->n; i++) {
        bool too_long = false;
        const int32_t *words = words_of(p, i, &len);
        size_t n = encode(r, words, len, ids + n_ids, &too_long);
        if (n == 0) {
            count(&empty, p->documents[i]);
            continue;
        }
        if (too_long) {
            count(&cut, p->documents[i]);
        }
        label[n_kept] = p->file->labelled.docs[p->documents[i]].label;
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
static enum qn_status check_train(const struct reading *r, struct qn_err *err)
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
    if (n_positive == 0 || n_positive == d->n) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: all documents of the train split are %s, nothing "
                       "to learn",
                       r->c->path[QN_TRAIN],
                       n_positive == 0 ? "negative" : "positive");
    }
    return QN_OK;
}

static enum qn_status fill(struct reading *r, struct qn_err *err)
{
    enum qn_status status = read_files(r, err);
    if (status == QN_OK) {
        status = cut_parts(r, err);
    }
    if (status == QN_OK) {
        status = take_vocab(r, err);
    }
    if (status != QN_OK) {
        return status;
    }
    for (int i = 0; i < QN_N_SPLITS; i++) {
        encode_part(r, (enum qn_split)i);
    }
    return r->spec->vocab == NULL ? check_train(r, err) : QN_OK;
}

enum qn_status qn_corpus_fill_documents(struct qn_corpus *c,
                                        const struct qn_corpus_spec *spec,
                                        struct qn_log *log, struct qn_err *err)
{
    QN_ASSERT(spec->kind == QN_SYMBOL_WORD);
    struct reading r = {
        .spec = spec, .log = log, .c = c, .words = qn_words_new()};
    c->has_documents = true;
    enum qn_status status = fill(&r, err);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        qn_doc_words_fini(&r.file[i]);
        free(r.order[i]);
    }
    qn_words_free(r.words);
    free(r.id_of);
    return status;
}
