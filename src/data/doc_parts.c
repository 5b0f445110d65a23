/* doc_parts.c - which labelled documents belong to which split. */
#include "data/doc_parts.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/corpus_self.h"
#include "data/shuffle.h"

#include <stdlib.h>
#include <string.h>

/* The order of documents is of the program and not of a run: folds, and what
 * eval.limit takes from the front, can be compared between runs. */
#define ORDER_SEED 2019

static enum qn_status read_file(struct qn_doc_parts *p, enum qn_split split,
                                const struct qn_corpus_spec *spec,
                                struct qn_log *log, struct qn_err *err)
{
    struct qn_doc_words *file = &p->file[split];
    enum qn_status status =
        qn_doc_words_read(spec->path[split], spec, log, p->words, file, err);
    if (status != QN_OK) {
        return status;
    }
    size_t n = file->labelled.n;
    size_t *order = qn_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
    }
    qn_shuffle(qn_rng_key(ORDER_SEED, (uint64_t)split, 0, QN_RNG_SHUFFLE),
               order, n);
    p->order[split] = order;
    p->part[split] = (struct qn_doc_part){file, order, n};
    return QN_OK;
}

/* The last n documents of train become another split. */
static void cut_part(struct qn_doc_parts *p, enum qn_split split, size_t n)
{
    struct qn_doc_part *train = &p->part[QN_TRAIN];
    if (n > 0) {
        train->n -= n;
        p->part[split] =
            (struct qn_doc_part){train->file, train->documents + train->n, n};
    }
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

/* Part k of n of what is left of train. */
static enum qn_status cut_fold(struct qn_doc_parts *p, size_t k, size_t n,
                               struct qn_err *err)
{
    QN_ASSERT(n >= 2 && k >= 1 && k <= n);
    size_t n_left = p->part[QN_TRAIN].n;
    if (n_left < n) {
        return qn_fail(err, QN_EUSAGE,
                       "%s: has %zu document%s to train on, too few for %zu "
                       "folds",
                       p->file[QN_TRAIN].labelled.path, n_left,
                       n_left == 1 ? "" : "s", n);
    }
    size_t from = n_left * (k - 1) / n, to = n_left * k / n;
    move_back(p->order[QN_TRAIN], from, to, n_left);
    cut_part(p, QN_VALID, to - from);
    return QN_OK;
}

static enum qn_status cut_parts(struct qn_doc_parts *p,
                                const struct qn_corpus_spec *spec,
                                struct qn_err *err)
{
    double cut[QN_N_SPLITS] = {0};
    if (!qn_corpus_has_path(spec, QN_TEST)) {
        cut[QN_TEST] = spec->fraction[QN_TEST];
    }
    enum qn_status status = qn_corpus_check_fractions(cut, err);
    if (status != QN_OK || !qn_corpus_has_path(spec, QN_TRAIN)) {
        return status;
    }
    cut_part(p, QN_TEST, qn_split_cut(cut[QN_TEST], p->part[QN_TRAIN].n));
    if (spec->fold.n > 0 && !qn_corpus_has_path(spec, QN_VALID)) {
        status = cut_fold(p, (size_t)spec->fold.k, (size_t)spec->fold.n, err);
    }
    return status;
}

enum qn_status qn_doc_parts_read(const struct qn_corpus_spec *spec,
                                 struct qn_log *log, struct qn_doc_parts *out,
                                 struct qn_err *err)
{
    *out = (struct qn_doc_parts){.words = qn_words_new()};
    enum qn_status status = QN_OK;
    for (int i = 0; status == QN_OK && i < QN_N_SPLITS; i++) {
        if (qn_corpus_has_path(spec, (enum qn_split)i)) {
            status = read_file(out, (enum qn_split)i, spec, log, err);
        }
    }
    if (status == QN_OK) {
        status = cut_parts(out, spec, err);
    }
    if (status != QN_OK) {
        qn_doc_parts_fini(out);
    }
    return status;
}

void qn_doc_parts_fini(struct qn_doc_parts *p)
{
    for (int i = 0; i < QN_N_SPLITS; i++) {
        qn_doc_words_fini(&p->file[i]);
        free(p->order[i]);
    }
    qn_words_free(p->words);
    *p = (struct qn_doc_parts){0};
}

const int32_t *qn_doc_part_words(const struct qn_doc_part *p, size_t i,
                                 size_t *n)
{
    const size_t *start = p->file->start + p->documents[i];
    *n = start[1] - start[0];
    return p->file->words + start[0];
}

int32_t qn_doc_part_label(const struct qn_doc_part *p, size_t i)
{
    return p->file->labelled.docs[p->documents[i]].label;
}
