/* doc_parts.h - which labelled documents belong to which split. */
#ifndef QN_DATA_DOC_PARTS_H
#define QN_DATA_DOC_PARTS_H

#include "data/doc_words.h"

/* The documents of a split: a piece of a file's order. */
struct qn_doc_part {
    const struct qn_doc_words *file; /* NULL: the split has none */
    const size_t *documents;         /* [n] of the file */
    size_t n;
};

struct qn_doc_parts {
    struct qn_words *words; /* of all files, numbered as they stand there */
    struct qn_doc_words file[QN_N_SPLITS];
    size_t *order[QN_N_SPLITS]; /* documents of a file, shuffled */
    struct qn_doc_part part[QN_N_SPLITS];
};

/* Read the files that the spec names, shuffle each by itself, and cut what it
 * says off train: words and vectors have no say in it. */
enum qn_status qn_doc_parts_read(const struct qn_corpus_spec *spec,
                                 struct qn_log *log, struct qn_doc_parts *out,
                                 struct qn_err *err);
void qn_doc_parts_fini(struct qn_doc_parts *p);

/* Words of document i of a part, from its front on. */
const int32_t *qn_doc_part_words(const struct qn_doc_part *p, size_t i,
                                 size_t *n);
int32_t qn_doc_part_label(const struct qn_doc_part *p, size_t i);

#endif
