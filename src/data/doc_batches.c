/* doc_batches.c - documents into batches of neighbours in length. */
#include "data/doc_batches.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct item {
    size_t len, document;
};

/* qsort keeps no order of equals: the place decides between them. */
static int by_length(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->len != y->len) {
        return x->len < y->len ? -1 : 1;
    }
    return x->document < y->document ? -1 : 1;
}

static size_t length_of(const struct qn_documents *d, size_t document)
{
    return d->start[document + 1] - d->start[document];
}

void qn_doc_batches_init(struct qn_doc_batches *b, const struct qn_corpus *c,
                         enum qn_split split, size_t n, int batch)
{
    const struct qn_documents *d = qn_corpus_documents(c, split);
    QN_ASSERT(batch > 0 && n > 0 && n <= d->n);
    struct item *items = qn_xcalloc(n, sizeof *items);
    for (size_t i = 0; i < n; i++) {
        items[i] = (struct item){length_of(d, i), i};
    }
    qsort(items, n, sizeof *items, by_length);
    size_t *sorted = qn_xcalloc(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = items[i].document;
    }
    size_t n_ids;
    *b = (struct qn_doc_batches){
        .ids = qn_corpus_ids(c, split, &n_ids),
        .documents = d,
        .sorted = sorted,
        .n = n,
        .batch = batch,
        .n_batches = (n - 1) / (size_t)batch + 1,
        .longest = (int)items[n - 1].len,
    };
    free(items);
}

void qn_doc_batches_fini(struct qn_doc_batches *b)
{
    free(b->sorted);
    *b = (struct qn_doc_batches){0};
}

int qn_doc_batches_fill(const struct qn_doc_batches *b, size_t i, int32_t *ids,
                        int32_t *labels, int *n_real)
{
    QN_ASSERT(i < b->n_batches);
    const struct qn_documents *d = b->documents;
    const size_t *sorted = b->sorted + i * (size_t)b->batch;
    size_t left = b->n - i * (size_t)b->batch;
    size_t rows = left < (size_t)b->batch ? left : (size_t)b->batch;
    size_t steps = length_of(d, sorted[rows - 1]);
    for (size_t row = 0; row < (size_t)b->batch; row++) {
        size_t len = 0;
        labels[row] = -1;
        if (row < rows) {
            size_t document = sorted[row];
            len = length_of(d, document);
            labels[row] = d->label[document];
            memcpy(ids + row * steps, b->ids + d->start[document],
                   len * sizeof *ids);
        }
        for (size_t t = len; t < steps; t++) {
            ids[row * steps + t] = -1;
        }
        n_real[row] = (int)len;
    }
    return (int)steps;
}
