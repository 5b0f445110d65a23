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
    float *vectors; /* [n_vectors] = [vocabulary, vector_width], or NULL */
    size_t n_vectors;
};

/* Whether a name is given, a path of this split is. */
bool qn_corpus_is_set(const char *text);
bool qn_corpus_has_path(const struct qn_corpus_spec *spec, enum qn_split split);

/* Of the splits that are cut from train; 0 of others. */
enum qn_status qn_corpus_check_fractions(const double cut[QN_N_SPLITS],
                                         struct qn_err *err);
/* Against data.vocab_size; added_unk: <unk> is no word of train itself. */
enum qn_status qn_corpus_check_size(const struct qn_corpus_spec *spec,
                                    const struct qn_vocab *vocab,
                                    bool added_unk, struct qn_err *err);

/* Fill a corpus of labelled documents; what an error leaves is freed with it.
 */
enum qn_status qn_corpus_fill_documents(struct qn_corpus *c,
                                        const struct qn_corpus_spec *spec,
                                        struct qn_log *log, struct qn_err *err);

#endif
