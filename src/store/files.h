/* files.h - names and pieces of a run folder that this module's files share. */
#ifndef QN_STORE_FILES_H
#define QN_STORE_FILES_H

#include "base/file.h"
#include "store/run_dir.h"
#include "store/store.h"

#define QN_RUN_SPEC "spec.json"
#define QN_RUN_VOCAB "vocab.txt"
#define QN_RUN_CODE "code.json"
#define QN_RUN_PARENT "parent.json"
#define QN_RUN_LOCK "lock"
#define QN_RUN_CHECKPOINTS "checkpoints"
/* A run that is being made has this in front of its folder's name. */
#define QN_NEW_PREFIX ".new-"

const char *qn_run_file_name(enum qn_run_file file);
/* The lines of a .jsonl file by the rule of qn_run_dir_lines. */
enum qn_status qn_lines_parse(const struct qn_bytes *bytes, qn_line_fn fn,
                              void *user, struct qn_err *err);

/* "<UTC>-<4 hex>-<name>" with a name that suits as a file's; the caller frees
 * it. Before the name it sorts after 'newest', the newest id that there is
 * (NULL when there is none), whatever the clock says: when 'wall' is not after
 * it, its digits are counted on. No two calls are likely to give the same. */
char *qn_run_id_make(const char *name, double wall, const char *newest);
/* Whether it begins with a time and digits, as qn_run_id_make makes them. */
bool qn_run_id_is_dated(const char *id);
/* The name that an id holds, "/" for "~", or the whole id when it has not that
 * form; the caller frees it. */
char *qn_run_id_name(const char *id);

/* Whether a folder is a run: one with spec.json, and with code.json or
 * checkpoints, which an export of a run has not. */
bool qn_is_run(const char *path);

/* What a listing says of one run. */
enum qn_status qn_run_summarise(const char *path, struct qn_run_summary *out,
                                struct qn_err *err);
/* The run's name, from spec.json or else from its folder's name. */
enum qn_status qn_run_read_name(const char *path, char **name,
                                struct qn_err *err);

#endif
