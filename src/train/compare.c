/* compare.c - the losses and weights of two runs, bit for bit. */
#include "train/compare.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/run_dir.h"
#include "train/differences.h"
#include "train/metrics_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checkpoints that a training run removes while they are compared: so often
 * those that it has now are listed. */
#define MOST_LISTS 50

bool qn_comparison_same(const struct qn_comparison *c)
{
    bool compared = c->steps > 0 || c->weights_step >= 0;
    bool weights_differ = c->weights_step >= 0 && !c->weights_same;
    return compared && c->first_step < 0 && !weights_differ;
}

void qn_comparison_fini(struct qn_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->difference[i].then);
        free(c->difference[i].now);
    }
    free(c->difference);
    *c = (struct qn_comparison){.first_step = -1, .weights_step = -1};
}

/* What is not finite is NaN on record and as good as another NaN. */
static bool is_same_loss(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The steps that both made; none: zeros. */
struct common {
    int64_t first, last;
};

static int64_t last_step(const struct qn_metrics *m)
{
    return m->n_steps > 0 ? m->step[m->n_steps - 1].step : 0;
}

/* Both by rising step. */
static struct common compare_steps(const struct qn_metrics *then,
                                   const struct qn_metrics *now,
                                   struct qn_comparison *out)
{
    struct common common = {0, 0};
    size_t i = 0, j = 0;
    while (i < then->n_steps && j < now->n_steps) {
        const struct qn_step_record *a = &then->step[i], *b = &now->step[j];
        if (a->step != b->step) {
            a->step < b->step ? i++ : j++;
            continue;
        }
        if (out->first_step < 0 && !is_same_loss(a->loss, b->loss)) {
            out->first_step = a->step;
            out->then = a->loss;
            out->now = b->loss;
        }
        common.first = out->steps > 0 ? common.first : a->step;
        common.last = a->step;
        out->steps++;
        i++;
        j++;
    }
    return common;
}

static enum qn_status compare_losses(const char *then_path,
                                     const char *now_path,
                                     struct qn_comparison *out,
                                     struct common *common, struct qn_err *err)
{
    struct qn_metrics then = {.n_steps = 0}, now = {.n_steps = 0};
    enum qn_status status = qn_metrics_read(then_path, &then, err);
    if (status == QN_OK) {
        status = qn_metrics_read(now_path, &now, err);
    }
    if (status == QN_OK) {
        *common = compare_steps(&then, &now, out);
        out->then_last = last_step(&then);
        out->now_last = last_step(&now);
    }
    qn_metrics_free(&then);
    qn_metrics_free(&now);
    return status;
}

/* The weights of a checkpoint, once they are what was written. *gone: the run
 * does not have it any more. */
static enum qn_status read_weights(const char *run, int64_t step,
                                   struct qn_bytes *out, bool *gone,
                                   struct qn_err *err)
{
    char *which = qn_xasprintf("%lld", (long long)step);
    char *folder = NULL;
    enum qn_status status =
        qn_run_dir_find_checkpoint(run, which, &folder, &step, err);
    if (status == QN_OK) {
        char *path = qn_path_join(folder, "model.safetensors");
        status = qn_file_read(path, out, err);
        free(path);
    }
    *gone = status != QN_OK &&
            (folder == NULL ? status == QN_ENOTFOUND : !qn_path_is_dir(folder));
    free(folder);
    free(which);
    return status;
}

enum look {
    COMPARED,
    DAMAGED, /* one of the two, which is told as a difference */
    GONE     /* one of the two, since they were listed */
};

static enum look compare_checkpoint(const char *then_path, const char *now_path,
                                    int64_t step, struct qn_comparison *out)
{
    bool then_gone, now_gone;
    struct qn_err then_err = {{0}}, now_err = {{0}};
    struct qn_bytes then = {0}, now = {0};
    enum qn_status then_status =
        read_weights(then_path, step, &then, &then_gone, &then_err);
    enum qn_status now_status =
        read_weights(now_path, step, &now, &now_gone, &now_err);
    enum look look = then_gone || now_gone ? GONE : DAMAGED;
    if (then_status == QN_OK && now_status == QN_OK) {
        look = COMPARED;
        out->weights_step = step;
        out->weights_same =
            then.len == now.len && memcmp(then.data, now.data, then.len) == 0;
    } else if (look == DAMAGED) {
        char *what = qn_xasprintf("checkpoint %lld", (long long)step);
        qn_differences_add(out, what, then_status ? then_err.text : "whole",
                           now_status ? now_err.text : "whole");
        free(what);
    }
    qn_bytes_free(&then);
    qn_bytes_free(&now);
    return look;
}

/* The last step before *bound that both saved; false: there is none. */
static bool find_common(const struct qn_steps *then, const struct qn_steps *now,
                        int64_t *bound)
{
    for (size_t i = then->n, j = now->n; i > 0 && j > 0;) {
        int64_t a = then->at[i - 1].step, b = now->at[j - 1].step;
        if (a == b && a < *bound) {
            *bound = a;
            return true;
        }
        if (a >= b) {
            i--;
        }
        if (b >= a) {
            j--;
        }
    }
    return false;
}

/* The last one of those that both have now and that is whole. *gone: one went
 * before it was looked at. Before 'first' lies at most what both began from,
 * which proves nothing; *bound is an upper bound, which goes down past what is
 * damaged. */
static enum qn_status compare_last(const char *then_path, const char *now_path,
                                   int64_t first, int64_t *bound, bool *gone,
                                   struct qn_comparison *out,
                                   struct qn_err *err)
{
    struct qn_steps then = {.n = 0}, now = {.n = 0};
    enum qn_status status = qn_steps_list(then_path, &then, err);
    if (status == QN_OK) {
        status = qn_steps_list(now_path, &now, err);
    }
    enum look look = DAMAGED;
    int64_t step = *bound;
    while (status == QN_OK && look == DAMAGED &&
           find_common(&then, &now, &step) && step >= first) {
        look = compare_checkpoint(then_path, now_path, step, out);
        *bound = look == DAMAGED ? step : *bound;
    }
    *gone = look == GONE;
    qn_steps_free(&then);
    qn_steps_free(&now);
    return status;
}

static enum qn_status compare_weights(const char *then_path,
                                      const char *now_path, int64_t first,
                                      struct qn_comparison *out,
                                      struct qn_err *err)
{
    int64_t bound = INT64_MAX;
    bool gone = true;
    enum qn_status status = QN_OK;
    for (int i = 0; status == QN_OK && gone && i < MOST_LISTS; i++) {
        status =
            compare_last(then_path, now_path, first, &bound, &gone, out, err);
    }
    if (status == QN_OK && gone) {
        return qn_fail(err, QN_ENOTFOUND,
                       "%s and %s: a checkpoint was removed while it was "
                       "compared, %d times in a row: a run saves too often",
                       qn_path_base(then_path), qn_path_base(now_path),
                       MOST_LISTS);
    }
    return status;
}

enum qn_status qn_compare_runs(const char *then_path, const char *now_path,
                               struct qn_comparison *out, struct qn_err *err)
{
    struct qn_comparison c = {.first_step = -1, .weights_step = -1};
    struct common common = {0, 0};
    enum qn_status status =
        compare_losses(then_path, now_path, &c, &common, err);
    if (status == QN_OK) {
        status = qn_differences_read(then_path, now_path, common.last, &c, err);
    }
    if (status == QN_OK) {
        status = compare_weights(then_path, now_path, common.first, &c, err);
    }
    if (status != QN_OK) {
        qn_comparison_fini(&c);
        return status;
    }
    *out = c;
    return QN_OK;
}
