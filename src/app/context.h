/* context.h - what every command needs: store, pool of threads, notices. */
#ifndef QN_APP_CONTEXT_H
#define QN_APP_CONTEXT_H

#include "app/args.h"
#include "nn/settings.h"
#include "train/trainer.h"

struct qn_context {
    char *store; /* owned */
    struct qn_train_env env;
};

/* A pool over all cores; notices go to standard error. Free with fini. */
void qn_context_init(struct qn_context *c, const struct qn_args *args);
void qn_context_fini(struct qn_context *c);

/* Defaults < preset < KEY=VALUE of the command line. */
enum qn_status qn_context_spec(const struct qn_args *args, struct qn_spec *out,
                               struct qn_err *err);
/* The same; data.train may be missing where data.vocab_size is given, or word
 * vectors that are not trained. */
enum qn_status qn_context_shape(const struct qn_args *args, struct qn_spec *out,
                                struct qn_err *err);
/* The settings of a run as it began, and KEY=VALUE over them. */
enum qn_status qn_context_run_spec(const char *path, const struct qn_args *args,
                                   struct qn_spec *spec, struct qn_err *err);
/* The folder of the run that a person's word means; the caller frees it. Says
 * so when several have that name. */
enum qn_status qn_find_run(const char *store, const char *word, char **path,
                           struct qn_err *err);
/* Of words[0]. */
enum qn_status qn_context_run(const struct qn_context *c,
                              const struct qn_args *args, char **path,
                              struct qn_err *err);

#endif
