/* checkpoint_find.c - the checkpoint that a word means, and where to go on. */
#include "store/checkpoints.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/checkpoint_sums.h"
#include "store/files.h"

#include <inttypes.h>
#include <stdlib.h>

/* Whoever trains the run may remove a checkpoint while it is looked at; the
 * word then means another one. */
#define MOST_LOOKS 5

/* The words; everything else is a step. */
#define BEST "best"
#define LAST "last"
#define LAST_GOOD "last_good"

static enum qn_status fail_no_checkpoint(const char *run, const char *which,
                                         struct qn_err *err)
{
    struct qn_steps steps;
    enum qn_status status = qn_steps_list(run, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_str text = {0};
    for (size_t i = 0; i < steps.n; i++) {
        qn_str_addf(&text, "%s%" PRId64, i > 0 ? ", " : "", steps.at[i].step);
    }
    status = qn_fail(err, QN_ENOTFOUND, "%s: no checkpoint \"%s\"; %s%s",
                     qn_path_base(run), which,
                     steps.n > 0 ? "it has those of steps " : "it has none yet",
                     steps.n > 0 ? text.text : "");
    qn_str_free(&text);
    qn_steps_free(&steps);
    return status;
}

/* One thing more. */
static void add_damage(struct qn_err *damage, const char *sentence)
{
    struct qn_err before = *damage;
    (void)qn_fail(damage, QN_EFORMAT, "%s%s%s", before.text,
                  before.text[0] != '\0' ? "; " : "", sentence);
}

/* The newest of the steps marked "keep" that is whole, -1 when none is. What is
 * wrong with those passed over is added to 'damage'. */
static int64_t newest_whole(const char *run, const struct qn_steps *steps,
                            struct qn_err *damage)
{
    for (size_t i = steps->n; i > 0; i--) {
        const struct qn_step *s = &steps->at[i - 1];
        char *folder = s->keep ? qn_run_checkpoint_folder(run, s->step) : NULL;
        if (folder == NULL) {
            continue;
        }
        struct qn_err why;
        bool whole = qn_sums_check(folder, &why) == QN_OK;
        free(folder);
        if (whole) {
            return s->step;
        }
        add_damage(damage, why.text);
    }
    return -1;
}

/* Steps after the one that "last" names belong to a history that a resume has
 * replaced; with last < 0 nobody knows. */
static void keep_until(struct qn_steps *steps, int64_t last)
{
    for (size_t i = 0; i < steps->n; i++) {
        steps->at[i].keep = last < 0 || steps->at[i].step <= last;
    }
}

/* What speaks against a checkpoint is damage, too: *step -1 when none is left.
 */
static enum qn_status resolve_last_good(const char *run, int64_t *step,
                                        struct qn_err *err)
{
    int64_t last;
    enum qn_status status = qn_run_checkpoint_named(run, LAST, &last, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_steps steps;
    status = qn_steps_list(run, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    keep_until(&steps, last);
    status = qn_steps_accuse(run, &steps, err);
    for (size_t i = 0; i < steps.n; i++) {
        steps.at[i].keep = steps.at[i].keep && !steps.at[i].spoilt;
    }
    if (status == QN_OK) {
        struct qn_err damage = {""};
        *step = newest_whole(run, &steps, &damage);
        if (*step < 0 && damage.text[0] != '\0') {
            status = qn_fail(err, QN_EFORMAT, "%s", damage.text);
        }
    }
    qn_steps_free(&steps);
    return status;
}

/* The step that a person's word means, -1 when it means none. */
static enum qn_status resolve(const char *run, const char *which, int64_t *step,
                              struct qn_err *err)
{
    if (qn_str_eq(which, LAST_GOOD)) {
        return resolve_last_good(run, step, err);
    }
    bool best = qn_str_eq(which, BEST);
    if (!best && !qn_str_eq(which, LAST)) {
        *step = -1;
        (void)qn_step_parse(which, step);
        return QN_OK;
    }
    enum qn_status status = qn_run_checkpoint_named(run, which, step, err);
    if (status == QN_OK && best && *step < 0) {
        status = qn_run_checkpoint_named(run, LAST, step, err);
    }
    return status;
}

/* *gone: it was there and no longer is. */
static enum qn_status look(const char *run, const char *which, char **folder,
                           int64_t *step, bool *gone, struct qn_err *err)
{
    *gone = false;
    int64_t found;
    enum qn_status status = resolve(run, which, &found, err);
    if (status != QN_OK) {
        return status;
    }
    char *there = found >= 0 ? qn_run_checkpoint_folder(run, found) : NULL;
    if (there == NULL) {
        *gone = found >= 0; /* or never was: another look does no harm */
        return fail_no_checkpoint(run, which, err);
    }
    status = qn_sums_check(there, err);
    *gone = !qn_path_is_dir(there);
    if (status == QN_OK && *gone) { /* its digests went first */
        status = fail_no_checkpoint(run, which, err);
    }
    if (status != QN_OK) {
        free(there);
        return status;
    }
    *folder = there;
    *step = found;
    return QN_OK;
}

enum qn_status qn_run_dir_find_checkpoint(const char *path, const char *which,
                                          char **folder, int64_t *step,
                                          struct qn_err *err)
{
    bool gone = true;
    enum qn_status status = QN_OK;
    for (int i = 0; i < MOST_LOOKS && gone; i++) {
        status = look(path, which, folder, step, &gone, err);
    }
    return status;
}

/* What "last" names, -1 when nothing that is there; what is wrong with it. */
static enum qn_status named_last(const char *run, const struct qn_steps *steps,
                                 int64_t *last, struct qn_err *damage,
                                 struct qn_err *err)
{
    struct qn_err why = {""};
    enum qn_status status = qn_run_checkpoint_named(run, LAST, last, &why);
    if (status == QN_EFORMAT) {
        add_damage(damage, why.text);
        return QN_OK;
    }
    if (status != QN_OK) {
        return qn_fail(err, status, "%s", why.text);
    }
    char *folder = *last >= 0 ? qn_run_checkpoint_folder(run, *last) : NULL;
    if (*last < 0 && steps->n > 0) {
        (void)qn_fail(damage, QN_EFORMAT, "%s: has no file \"" LAST "\"",
                      qn_path_base(run));
    } else if (*last >= 0 && folder == NULL) {
        (void)qn_fail(damage, QN_EFORMAT,
                      "%s: the checkpoint of step %" PRId64 ", which \"" LAST
                      "\" names, is gone",
                      qn_path_base(run), *last);
    }
    free(folder);
    return QN_OK;
}

static enum qn_status choose_whole(const char *run, struct qn_steps *steps,
                                   int64_t *step, struct qn_err *damage,
                                   struct qn_err *err)
{
    int64_t last;
    enum qn_status status = named_last(run, steps, &last, damage, err);
    if (status != QN_OK) {
        return status;
    }
    keep_until(steps, last);
    *step = newest_whole(run, steps, damage);
    if (*step >= 0) {
        return QN_OK;
    }
    if (damage->text[0] == '\0') {
        return fail_no_checkpoint(run, LAST, err);
    }
    return qn_fail(err, QN_EFORMAT, "%s: has no checkpoint that is whole: %s",
                   qn_path_base(run), damage->text);
}

enum qn_status qn_run_dir_find_whole(const char *path, char **folder,
                                     int64_t *step, struct qn_err *damage,
                                     struct qn_err *err)
{
    struct qn_steps steps;
    enum qn_status status = qn_steps_list(path, &steps, err);
    if (status != QN_OK) {
        return status;
    }
    int64_t found = -1;
    damage->text[0] = '\0';
    status = choose_whole(path, &steps, &found, damage, err);
    qn_steps_free(&steps);
    if (status != QN_OK) {
        return status;
    }
    char *there = qn_run_checkpoint_folder(path, found);
    if (there == NULL) {
        return fail_no_checkpoint(path, LAST, err);
    }
    *folder = there;
    *step = found;
    return QN_OK;
}
