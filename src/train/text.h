/* text.h - the corpus and the vocabulary of a run, as its spec names them: of a
 * text or of labelled documents. */
#ifndef QN_TRAIN_TEXT_H
#define QN_TRAIN_TEXT_H

#include "data/corpus.h"
#include "model/model.h"
#include "train/trainer.h"

/* Open the text of a spec. vocab: a run's fixed vocabulary, borrowed for the
 * corpus's lifetime, or NULL to make one. */
enum qn_status qn_text_open(const struct qn_train_env *env,
                            const struct qn_spec *spec,
                            const struct qn_vocab *vocab,
                            struct qn_corpus **out, struct qn_err *err);

/* Whether a split has something to predict. */
bool qn_text_has(const struct qn_corpus *corpus, enum qn_split split);
/* Symbols of the longest segment that any split gives. */
int qn_text_longest(const struct qn_corpus *corpus, const struct qn_spec *spec);

/* The vocabulary that stands in a run's folder. */
enum qn_status qn_text_vocab(const char *run_path, const struct qn_spec *spec,
                             struct qn_vocab **out, struct qn_err *err);

/* The file of word vectors in the folder of a run with data.vectors. */
#define QN_VECTORS_FILE "vectors.safetensors"
/* Into the run's model; a run without them is fine. QN_ESTATE when they are not
 * those that code.json tells of. */
enum qn_status qn_text_vectors(const char *run_path, struct qn_model *model,
                               struct qn_err *err);

/* Ids of a prompt, written as the text was read (data.lower); the caller frees
 * them. Invalid UTF-8 and a symbol that the vocabulary lacks are QN_EUSAGE; a
 * word that it lacks becomes <unk> where there is one. Of words, an empty
 * prompt is the end symbol: the sample begins a line. */
enum qn_status qn_text_prompt(const struct qn_vocab *vocab,
                              const struct qn_spec *spec, const char *prompt,
                              int32_t **ids, size_t *n, struct qn_err *err);

#endif
