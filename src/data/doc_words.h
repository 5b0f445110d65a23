/* doc_words.h - a file of labelled documents as numbered words. */
#ifndef QN_DATA_DOC_WORDS_H
#define QN_DATA_DOC_WORDS_H

#include "data/corpus.h"
#include "data/labelled.h"
#include "data/words.h"

struct qn_doc_words {
    struct qn_labelled labelled; /* without texts: words are kept instead */
    size_t *start;               /* [documents + 1] */
    int32_t *words;              /* of document i: [start[i], start[i + 1]) */
};

/* Read and split; words get their numbers in 'set', to which new ones are added
 * as they come. What data_dir and lower say is taken from the spec. */
enum qn_status qn_doc_words_read(const char *given,
                                 const struct qn_corpus_spec *spec,
                                 struct qn_log *log, struct qn_words *set,
                                 struct qn_doc_words *out, struct qn_err *err);
void qn_doc_words_fini(struct qn_doc_words *d);

#endif
