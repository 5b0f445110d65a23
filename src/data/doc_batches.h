/* doc_batches.h - documents into batches of neighbours in length.
 *
 * Documents are sorted by their length, those of one length staying as they
 * came, and every 'batch' of them make a batch, the last one what is left. So a
 * batch needs little padding, and it is the same one in every epoch.
 */
#ifndef QN_DATA_DOC_BATCHES_H
#define QN_DATA_DOC_BATCHES_H

#include "data/corpus.h"

struct qn_doc_batches {
    const int32_t *ids;
    const struct qn_documents *documents;
    size_t *sorted; /* [n] documents, the shortest first; owned */
    size_t n;
    int batch;
    size_t n_batches;
    int longest; /* steps of the longest batch, which is the last one */
};

/* The first n documents of a split; what it points to is borrowed. */
void qn_doc_batches_init(struct qn_doc_batches *b, const struct qn_corpus *c,
                         enum qn_split split, size_t n, int batch);
void qn_doc_batches_fini(struct qn_doc_batches *b);

/* Batch i into ids [batch, steps], labels [batch] and n_real [batch]: padding
 * and the labels of rows without a document are -1. Returns the steps. */
int qn_doc_batches_fill(const struct qn_doc_batches *b, size_t i, int32_t *ids,
                        int32_t *labels, int *n_real);

#endif
