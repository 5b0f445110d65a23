/* code.h - code.json: which program made a run, from which bytes.
 *
 * Equal code.json, spec.json and data give equal results; where they differ,
 * it says what to look at. */
#ifndef QN_TRAIN_CODE_H
#define QN_TRAIN_CODE_H

#include "base/json.h"
#include "base/log.h"
#include "data/corpus.h"

#include <jansson.h>

/* Filled in when the program is built: the commit, "unknown" outside git, and
 * whether the sources differed from it. */
extern const char qn_code_commit[];
extern const bool qn_code_dirty;

/* What of this process and data decides the numbers. */
struct qn_code {
    const char *backend;
    int threads; /* the logical split */
    const struct qn_corpus *corpus;
    const float *vectors; /* word vectors that are not trained; NULL: none */
    size_t n_vectors;     /* their numbers */
};

void qn_code_json(const struct qn_code *code, struct qn_json *out);

/* The code.json of a run, the caller's to release. */
enum qn_status qn_code_read(const char *run_path, json_t **out,
                            struct qn_err *err);

/* Is the text of these splits still the one that the run was made from, as
 * run_path/code.json tells? skip[s]: split s is another one on purpose. No:
 * QN_ESTATE with a sentence for each split. */
enum qn_status qn_code_check_data(const char *run_path,
                                  const struct qn_corpus *corpus,
                                  const bool skip[QN_N_SPLITS],
                                  struct qn_err *err);
/* Are the word vectors in this file of the run those that it was made with? No:
 * QN_ESTATE. A run of a program that did not note them may have any. */
enum qn_status qn_code_check_vectors(const char *run_path, const char *path,
                                     struct qn_err *err);
/* Say in the log what else differs and may change the last bits. */
void qn_code_notice(const char *run_path, const struct qn_code *code,
                    struct qn_log *log);

#endif
