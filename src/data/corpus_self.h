/* corpus_self.h - a corpus while it is being opened, for the files that do. */
#ifndef QN_DATA_CORPUS_SELF_H
#define QN_DATA_CORPUS_SELF_H

#include "data/corpus.h"

struct qn_corpus {
    struct qn_vocab *vocab;
    int32_t *ids[QN_N_SPLITS];
    size_t n[QN_N_SPLITS];
    char *path[QN_N_SPLITS];
    char sha256[QN_N_SPLITS][65];
    /* Of labelled documents; 'documents' are views of what is owned here. */
    bool has_documents;
    struct qn_documents documents[QN_N_SPLITS];
    size_t *start[QN_N_SPLITS];
    int32_t *label[QN_N_SPLITS];
    float *vectors; /* [vocabulary, vector_width], or NULL */
};

#endif
