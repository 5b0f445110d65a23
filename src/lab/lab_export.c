/* lab_export.c - exporting a run on a thread of its own.
 *
 * Threads: all fields belong to the thread from its start until 'done'; the two
 * atomics are shared. */
#include "lab/lab_export.h"

#include "base/mem.h"
#include "base/thread.h"
#include "export/export.h"

#include <stdatomic.h>
#include <stdlib.h>

struct qn_lab_export {
    char *run, *to;
    unsigned formats;
    bool gives_way;
    struct qn_exported files;
    enum qn_status status;
    struct qn_err err;
    pthread_t thread;
    atomic_bool cancel, done;
};

static bool cancelled(void *user)
{
    struct qn_lab_export *x = user;
    return atomic_load(&x->cancel);
}

static void *work(void *arg)
{
    struct qn_lab_export *x = arg;
    if (x->gives_way) {
        qn_thread_give_way();
    }
    x->status = qn_export_until(x->run, x->to, x->formats, cancelled, x,
                                &x->files, &x->err);
    atomic_store(&x->done, true);
    return NULL;
}

static void free_export(struct qn_lab_export *x)
{
    qn_exported_free(&x->files);
    free(x->run);
    free(x->to);
    free(x);
}

enum qn_status qn_lab_export_start(const struct qn_lab *lab, qn_run_id id,
                                   const char *to, const char *formats,
                                   struct qn_lab_export **out,
                                   struct qn_err *err)
{
    struct qn_lab_run run;
    unsigned set = 0;
    enum qn_status status = QN_OK;
    if (!qn_lab_run(lab, id, &run)) {
        return qn_fail(err, QN_ENOTFOUND, "there is no run %d", id);
    }
    if (formats != NULL) {
        status = qn_export_formats_parse(formats, &set, err);
    }
    if (status != QN_OK) {
        return status;
    }
    struct qn_lab_export *x = qn_xcalloc(1, sizeof *x);
    x->run = qn_xstrdup(run.dir);
    x->to = qn_xstrdup(to);
    x->formats = set;
    x->gives_way = qn_lab_env(lab)->gives_way;
    atomic_init(&x->cancel, false);
    atomic_init(&x->done, false);
    status = qn_thread_start(&x->thread, "export", work, x, err);
    if (status != QN_OK) {
        free_export(x);
        return status;
    }
    *out = x;
    return QN_OK;
}

bool qn_lab_export_done(const struct qn_lab_export *x)
{
    return atomic_load(&x->done);
}

enum qn_status qn_lab_export_result(const struct qn_lab_export *x,
                                    const char *const **files, int *n,
                                    struct qn_err *err)
{
    if (x->status != QN_OK) {
        return qn_fail(err, x->status, "%s", x->err.text);
    }
    *files = (const char *const *)x->files.path;
    *n = x->files.n;
    return QN_OK;
}

void qn_lab_export_free(struct qn_lab_export *x)
{
    if (x != NULL) {
        atomic_store(&x->cancel, true);
        qn_thread_join(x->thread);
        free_export(x);
    }
}
