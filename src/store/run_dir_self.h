/* run_dir_self.h - what a qn_run_dir is, for the files that make and open one.
 */
#ifndef QN_STORE_RUN_DIR_SELF_H
#define QN_STORE_RUN_DIR_SELF_H

#include "store/run_dir.h"

struct qn_run_dir {
    char *path;   /* absolute */
    int folder;   /* descriptor of it, which tells whether it is still there */
    int lock;     /* descriptor that holds the lock */
    int64_t best; /* what "best" is known to name, -1: nothing; of whoever
                     commits */
    struct qn_appender *file[QN_N_RUN_FILES];
};

/* One without any file, for qn_run_dir_close. The path is taken. */
struct qn_run_dir *qn_run_dir_new(char *path);
/* Hold the folder itself and its lock; QN_ESTATE when another one has it. */
enum qn_status qn_run_dir_hold(struct qn_run_dir *d, struct qn_err *err);
/* The three files of lines, repaired first. */
enum qn_status qn_run_dir_open_files(struct qn_run_dir *d, struct qn_err *err);
void qn_run_dir_close_files(struct qn_run_dir *d);

#endif
