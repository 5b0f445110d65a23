/* run_dir.h - one run's folder: what is written, when, and how it is read back.
 *
 *   spec.json       complete and resolved; written once
 *   metrics.jsonl   a line per step and per evaluation
 *   events.jsonl    every change with the step at which it held
 *   stats.jsonl     shares and bins of every layer's c
 *   vocab.txt code.json, and vectors.safetensors of frozen word vectors
 *   parent.json     of a fork or a rerun (parent.h)
 *   checkpoints/<step>/{model,state}.safetensors, SHA256SUMS, and metric,
 *                   numbers
 *   best last       text files naming a step
 *   lock            held by whoever trains the run
 *
 * docs/run-format.md describes all of it.
 * Threads: a qn_run_dir belongs to the thread that trains the run; only
 * qn_run_dir_checkpoint and qn_run_dir_commit may be called from one other
 * thread at a time, beside appending.
 */
#ifndef QN_STORE_RUN_DIR_H
#define QN_STORE_RUN_DIR_H

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct qn_run_dir;

/* Make <store>/<UTC>-<4 hex>-<name, "/" as "~">, locked, with these files in
 * it (spec, vocab and code are the texts to write). On failure nothing stays.
 */
struct qn_run_files {
    const char *name, *spec_json, *vocab_txt, *code_json;
    const char *parent_json;  /* of a fork or a rerun (parent.h); else NULL */
    const char *events_jsonl; /* its first lines; NULL: none */
    /* Writes what else the folder holds from the start; NULL: nothing. */
    enum qn_status (*more)(void *user, const char *folder, struct qn_err *err);
    void *user;
};
enum qn_status qn_run_dir_create(const char *store,
                                 const struct qn_run_files *files,
                                 struct qn_run_dir **out, struct qn_err *err);
/* Open an existing run for writing: lock it (QN_ESTATE when another process
 * trains it), repair torn last lines. */
enum qn_status qn_run_dir_open(const char *path, struct qn_run_dir **out,
                               struct qn_err *err);
void qn_run_dir_close(struct qn_run_dir *d); /* NULL is fine; unlocks */

const char *qn_run_dir_path(const struct qn_run_dir *d);
const char *qn_run_dir_id(const struct qn_run_dir *d);

enum qn_run_file { QN_METRICS, QN_EVENTS, QN_STATS, QN_N_RUN_FILES };
/* Append one JSON line (its newline is added). A file that was deleted under
 * the run is made again, with all that it held. */
enum qn_status qn_run_dir_append(struct qn_run_dir *d, enum qn_run_file file,
                                 const struct qn_json *line,
                                 struct qn_err *err);

/* The folder of a checkpoint for this step, made and empty; then, when its
 * files are written, commit: SHA256SUMS, fsync, 'best' (when is_best) and
 * 'last' name it, and checkpoints beyond the rule are removed. The newest
 * keep.last and the keep.best of least metric stay, what 'best' and 'last'
 * name, and the one that a fork began from; those of later steps, from a
 * history that a resume replaced, go unless 'best' names them. A crash at any
 * point leaves 'last' naming a whole checkpoint. Files that were deleted under
 * the run come back: the lines, 'best', 'last' and the lock. QN_ESTATE when
 * another process took the run after its lock was deleted, QN_EIO when the
 * folder itself is gone; either may be tried again. */
enum qn_status qn_run_dir_checkpoint(struct qn_run_dir *d, int64_t step,
                                     char **path, struct qn_err *err);
struct qn_keep {
    int best, last;
};
/* What an evaluation said; NaN: nothing. */
struct qn_figures {
    double metric; /* that the rule looks at: negate what should be large */
    double loss, accuracy; /* written beside it when there is an accuracy */
};
enum qn_status qn_run_dir_commit(struct qn_run_dir *d, int64_t step,
                                 bool is_best, const struct qn_figures *figures,
                                 struct qn_keep keep, struct qn_err *err);

/* What a resume or a rollback mends, while no checkpoint is being written.
 *
 * 'best' names this step if that checkpoint exists, which it does not when a
 * crash came between replacing 'best' and 'last'; step < 0: there is no best
 * yet. A step without a checkpoint changes nothing. */
enum qn_status qn_run_dir_correct_best(struct qn_run_dir *d, int64_t step,
                                       struct qn_err *err);
/* The run goes on from this step, where 'last' does not name it any more (it
 * was damaged) or not yet (a rollback): 'last' names the newest checkpoint that
 * is not after it, and is removed when there is none; those after it are
 * removed unless 'best' names them, so correct that first. */
enum qn_status qn_run_dir_rewind(struct qn_run_dir *d, int64_t step,
                                 struct qn_err *err);

/* Reading, for any process; path is the run's folder. Nothing is written. */
enum qn_status qn_run_dir_read(const char *path, const char *file,
                               struct qn_bytes *out, struct qn_err *err);
/* "best", "last", "last_good" or a step's number to the checkpoint's folder and
 * step. best falls back to last when there is no best yet; last_good is the
 * newest whole one against which nothing speaks: no "nan" or "spike" event of
 * its own step or of the one after, which is the first that its weights made.
 * QN_ENOTFOUND lists the steps that exist. Its files are as they were written:
 * one that is damaged is QN_EFORMAT and named. */
enum qn_status qn_run_dir_find_checkpoint(const char *path, const char *which,
                                          char **folder, int64_t *step,
                                          struct qn_err *err);
/* Where to go on: what "last" names or, when that is damaged or gone, the
 * newest one before it that is whole; *damage then says what is wrong, else it
 * is "". QN_ENOTFOUND when the run never had one; QN_EFORMAT when it had some
 * and none is whole. */
enum qn_status qn_run_dir_find_whole(const char *path, char **folder,
                                     int64_t *step, struct qn_err *damage,
                                     struct qn_err *err);
/* Each whole line of a .jsonl file, in order, lines replaced by a resume left
 * out: after {"segment":k,"from":s} earlier lines with step > s do not count.
 * The segment lines themselves are passed too; they have no "step". What a
 * crash leaves at the end (qn_whole_lines) is left out, another damaged line is
 * QN_EFORMAT with its number.
 * fn gets the parsed object and may stop by returning false. */
typedef bool (*qn_line_fn)(void *user, const json_t *line);
enum qn_status qn_run_dir_lines(const char *path, enum qn_run_file file,
                                qn_line_fn fn, void *user, struct qn_err *err);

/* The whole lines within the last max_bytes of a file that may be growing,
 * those after its newest resume only: the cost does not grow with the file.
 * Lines that are no JSON objects are passed over. */
enum qn_status qn_run_dir_tail(const char *path, enum qn_run_file file,
                               size_t max_bytes, qn_line_fn fn, void *user,
                               struct qn_err *err);

#endif
