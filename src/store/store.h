/* store.h - the folder of all runs: where it is, finding and listing runs. */
#ifndef QN_STORE_STORE_H
#define QN_STORE_STORE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The store: 'given' (--store) if not NULL, else QUERN_STORE, else
 * "runs" in XDG state. The caller frees it; it need not exist. */
char *qn_store_dir(const char *given);

struct qn_run_summary {
    char id[320]; /* the folder's name */
    char name[256];
    char state[16];    /* running, paused, done, stopped, failed, interrupted */
    bool of_words;     /* its symbols: data.level is word */
    bool of_labels;    /* it classifies: task is classify */
    int64_t step;      /* the last one recorded */
    int64_t best_step; /* 0 = none yet */
    double best_loss;  /* NaN = none yet */
    double best_accuracy; /* NaN = none */
    char parent[320];     /* id of the run that it is a fork or rerun of; "" */
};

/* Runs of a store that cannot be read. */
struct qn_bad_runs {
    int n;
    struct qn_err first; /* what is wrong with the first of them */
};

/* All runs, oldest first; *runs is the caller's to free. One that cannot be
 * read is left out and counted in *bad (NULL is fine); what is no run at all
 * is passed over. A missing store has no runs. */
enum qn_status qn_store_list(const char *store, struct qn_run_summary **runs,
                             int *n, struct qn_bad_runs *bad,
                             struct qn_err *err);

/* A name for a new run: a final "-*" becomes "-" and the first number above
 * those that the store's runs of this name have; any other name stays. The
 * caller frees it. */
char *qn_store_fresh_name(const char *store, const char *name);

/* RUN as a person names it, tried in this order: the path of a run's folder, an
 * id, a name (of several the newest: *n_same says how many, NULL is fine), a
 * unique prefix of ids (QN_EUSAGE when it is not). The path of the folder is
 * the caller's to free. QN_ENOTFOUND names the nearest run. */
enum qn_status qn_store_find(const char *store, const char *run, char **path,
                             int *n_same, struct qn_err *err);

#endif
