/* corpus.h - a text or labelled documents in three splits, as ids in memory.
 *
 * Ids count by first appearance in train (char, word) or in all splits (byte).
 * <unk> has a row only when valid or test hold a symbol that train has not; a
 * word of that name in train is it.
 * Paths are looked for as given, then under the data folder; x and x.gz stand
 * for each other. "builtin:kjv" is the King James Bible of Debian's bible-kjv,
 * made once and cached; where that is not installed, a text of a seeded grammar
 * ("builtin:grammar") and one line of notice. The splits valid and test are
 * files of their own or cut from the end of train: valid before test.
 * Documents (data/labelled.h reads them, data/tokens.h makes words of them)
 * come in an order of our own: shuffled once with a fixed seed, each split by
 * itself, so that a front of a split is a fair sample of it. A test fraction is
 * cut from train's end after that, and fold k of n of what is left validates.
 * With vectors the vocabulary is the words of all splits that have one, ids by
 * first appearance as the files stand; a word without vector is dropped (the
 * paper's authors do so, there is no <unk>). Without, it is the words of train,
 * and <unk> as of a text. A fixed vocabulary drops what it lacks unless it has
 * <unk>. A document that has no word left is left out, and one longer than
 * max_words is cut, with one line each for a split saying how many, which was
 * the first.
 * Threads: immutable once opened; any thread may read it.
 */
#ifndef QN_DATA_CORPUS_H
#define QN_DATA_CORPUS_H

#include "base/log.h"
#include "data/vocab.h"

#include <stdbool.h>

enum qn_split { QN_TRAIN, QN_VALID, QN_TEST, QN_N_SPLITS };
const char *qn_split_name(enum qn_split split); /* "train", "valid", "test" */
bool qn_split_parse(const char *name, enum qn_split *out);

/* A text's lines as one stream of characters or bytes. Plain: as they are.
 * Otherwise each line loses the white space at both its ends and then begins
 * with one space, empty lines being dropped (ptb49), or ends with a newline,
 * the last line as well (ptb50). */
enum qn_text_stream { QN_TEXT_PLAIN, QN_TEXT_PTB49, QN_TEXT_PTB50 };

struct qn_corpus_spec {
    const char *path[QN_N_SPLITS]; /* "" or NULL: cut from train */
    double fraction[QN_N_SPLITS];  /* for those cut; 0 = an empty split */
    enum qn_symbol_kind kind;
    bool lower;                 /* ASCII letters to lower case */
    enum qn_text_stream stream; /* not of words */
    const char *eos, *unk;      /* words; NULL or "": "<eos>", "<unk>" */
    int vocab_size;             /* 0 = unchecked */
    bool documents;             /* labelled documents, of words */
    struct {
        int k, n; /* which part of train validates; n 0: none */
    } fold;
    const char *vectors;          /* "" or NULL: none; not read with a vocab */
    int vector_width;             /* numbers of a vector */
    int max_words;                /* of a document; 0 = all */
    const char *data_dir;         /* NULL: QUERN_DATA, then XDG data */
    const struct qn_vocab *vocab; /* a run's fixed vocabulary, or NULL */
};

struct qn_corpus;

/* Symbols of n that a fraction cuts off: its product with n as a decimal
 * number, rounded down. */
size_t qn_split_cut(double fraction, size_t n);

/* Every error is one sentence with the file's name. data.train may be empty
 * only with a fixed vocabulary: then just the named splits have text. */
enum qn_status qn_corpus_open(const struct qn_corpus_spec *spec,
                              struct qn_log *log, struct qn_corpus **out,
                              struct qn_err *err);
void qn_corpus_free(struct qn_corpus *c); /* NULL is fine */
const struct qn_vocab *qn_corpus_vocab(const struct qn_corpus *c);
const int32_t *qn_corpus_ids(const struct qn_corpus *c, enum qn_split split,
                             size_t *n);
/* Labelled documents of a split; document i is ids [start[i], start[i+1]) of
 * qn_corpus_ids and never empty. NULL: the corpus is a text. */
struct qn_documents {
    size_t n;
    const size_t *start;  /* [n + 1] */
    const int32_t *label; /* [n]: 0 negative, 1 positive */
    int longest;          /* symbols; 0 when n is 0 */
};
const struct qn_documents *qn_corpus_documents(const struct qn_corpus *c,
                                               enum qn_split split);
/* The vectors read from 'vectors', [vocabulary, vector_width] in order of ids;
 * NULL when none were. */
const float *qn_corpus_vectors(const struct qn_corpus *c);
/* Free them, once somebody else has them. */
void qn_corpus_drop_vectors(struct qn_corpus *c);
/* What the corpus holds, the vocabulary aside, and what of that the vectors
 * are.
 */
size_t qn_corpus_bytes(const struct qn_corpus *c);
size_t qn_corpus_vectors_bytes(const struct qn_corpus *c);

/* SHA-256 of the file a split came from, decompressed and before data.lower, as
 * hex; a cut split has train's, a folder's is of its documents in the order of
 * their names. "" when the split has no text. */
const char *qn_corpus_sha256(const struct qn_corpus *c, enum qn_split split);
/* Where it was found; of a built-in text the one that was taken, in case of
 * "builtin:kjv" without the Bible "builtin:grammar". */
const char *qn_corpus_path(const struct qn_corpus *c, enum qn_split split);

#endif
