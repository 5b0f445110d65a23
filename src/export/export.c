/* export.c - the table of formats, and files that take their places together.
 */
#include "export/export.h"

#include "base/mem.h"
#include "base/str.h"
#include "export/figures.h"
#include "export/files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum qn_status (*write)(struct qn_export_files *x, struct qn_err *err);
} formats[QN_N_EXPORT_FORMATS] = {
    [QN_EXPORT_CSV] = {"csv", qn_export_csv},
    [QN_EXPORT_JSONL] = {"jsonl", qn_export_jsonl},
    [QN_EXPORT_SAFETENSORS] = {"safetensors", qn_export_weights},
    [QN_EXPORT_TFEVENTS] = {"tfevents", qn_export_events},
    [QN_EXPORT_SVG] = {"svg", qn_export_svg},
    [QN_EXPORT_PNG] = {"png", qn_export_png},
};

const char *qn_export_format_name(enum qn_export_format format)
{
    return formats[format].name;
}

static int find_format(const char *name, size_t len)
{
    for (int i = 0; i < QN_N_EXPORT_FORMATS; i++) {
        if (strlen(formats[i].name) == len &&
            memcmp(formats[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static enum qn_status no_format(const char *name, size_t len,
                                struct qn_err *err)
{
    struct qn_str all = {0};
    for (int i = 0; i < QN_N_EXPORT_FORMATS; i++) {
        qn_str_addf(&all, "%s%s", i > 0 ? ", " : "", formats[i].name);
    }
    enum qn_status status =
        qn_fail(err, QN_EUSAGE, "there is no format '%.*s', only %s",
                len < 64 ? (int)len : 64, name, all.text);
    qn_str_free(&all);
    return status;
}

enum qn_status qn_export_formats_parse(const char *list, unsigned *set,
                                       struct qn_err *err)
{
    unsigned found = 0;
    for (const char *name = list;; name++) {
        size_t len = strcspn(name, ",");
        int i = find_format(name, len);
        if (i < 0) {
            return no_format(name, len, err);
        }
        found |= 1u << i;
        name += len;
        if (*name == '\0') {
            *set = found;
            return QN_OK;
        }
    }
}

void qn_exported_free(struct qn_exported *e)
{
    for (int i = 0; i < e->n; i++) {
        free(e->path[i]);
    }
    free(e->path);
    *e = (struct qn_exported){.n = 0};
}

enum qn_status qn_export_add_file(struct qn_export_files *x, const char *name,
                                  struct qn_new_file **out, struct qn_err *err)
{
    if (x->asked != NULL && x->asked(x->user)) {
        return qn_fail(err, QN_ESTOPPED, "the export was interrupted");
    }
    char *path = qn_path_join(x->to, name);
    enum qn_status status = qn_new_file_open(path, out, err);
    if (status != QN_OK) {
        free(path);
        return status;
    }
    if (x->n == x->room) {
        x->room = x->room > 0 ? 2 * x->room : 8;
        x->path = qn_xrealloc(x->path, (size_t)x->room, sizeof *x->path);
        x->file = qn_xrealloc(x->file, (size_t)x->room, sizeof *x->file);
    }
    x->path[x->n] = path;
    x->file[x->n++] = *out;
    return QN_OK;
}

static bool has(const char *folder, const char *name)
{
    char *path = qn_path_join(folder, name);
    bool there = qn_path_exists(path);
    free(path);
    return there;
}

/* Whether a run lies in this folder: an export has a spec.json, too. */
static bool is_run(const char *folder)
{
    return has(folder, "spec.json") &&
           (has(folder, "lock") || has(folder, "checkpoints"));
}

/* How much of the path is there already, up to a slash; 0: nothing of it. */
static size_t part_there(const char *path)
{
    char *part = qn_xstrdup(path);
    size_t len = strlen(part);
    while (len > 0 && !qn_path_exists(part)) {
        do {
            len--;
        } while (len > 0 && part[len] != '/');
        part[len] = '\0';
    }
    free(part);
    return len;
}

/* Folders that were made, which are empty; others cannot be removed so. */
static void remove_made(const char *path, size_t there)
{
    char *part = qn_xstrdup(path);
    for (size_t len = strlen(part); len > there; len--) {
        if (part[len] == '/' || part[len] == '\0') {
            part[len] = '\0';
            (void)rmdir(part);
        }
    }
    free(part);
}

static enum qn_status fail_place(const char *to, struct qn_err *err)
{
    return qn_fail(err, QN_EUSAGE,
                   "%s: is in a run's folder; export to another", to);
}

/* What is in a run's folder stays as it is: metrics.jsonl, spec.json and
 * model.safetensors are names of both. */
static enum qn_status check_place(const char *to, size_t there,
                                  struct qn_err *err)
{
    enum qn_status status = QN_OK;
    const char *start = to[0] == '/' ? "/" : ".";
    char *part = there > 0 ? qn_xstrndup(to, there) : qn_xstrdup(start);
    char *folder = realpath(part, NULL);
    if (folder == NULL) {
        status = qn_fail_errno(err, part, "cannot find the folder");
        free(part);
        return status;
    }
    for (size_t len = strlen(folder); len > 0 && status == QN_OK; len--) {
        if (folder[len] == '/' || folder[len] == '\0') {
            folder[len] = '\0';
            status = is_run(folder) ? fail_place(to, err) : QN_OK;
        }
    }
    free(folder);
    free(part);
    return status;
}

/* Whether a format that was not asked for by name has nothing to write: no
 * weights, no figures yet, or a build that makes no PNG. */
static bool is_left_out(int format, enum qn_status status)
{
    bool drawn = format == QN_EXPORT_SVG || format == QN_EXPORT_PNG;
    return (status == QN_ENOTFOUND &&
            (drawn || format == QN_EXPORT_SAFETENSORS)) ||
           (status == QN_ESTATE && format == QN_EXPORT_PNG);
}

/* set 0: all that there is. */
static enum qn_status fill(struct qn_export_files *x, unsigned set,
                           struct qn_err *no_weights, struct qn_err *err)
{
    struct qn_err why = {""};
    for (int i = 0; i < QN_N_EXPORT_FORMATS; i++) {
        if (set != 0 && (set >> i & 1u) == 0) {
            continue;
        }
        enum qn_status status = formats[i].write(x, &why);
        if (set == 0 && is_left_out(i, status)) {
            *no_weights = i == QN_EXPORT_SAFETENSORS ? why : *no_weights;
        } else if (status != QN_OK) {
            return qn_fail(err, status, "%s", why.text);
        }
    }
    return QN_OK;
}

/* Into a folder that is there. */
static enum qn_status export_into(struct qn_export_files *x, unsigned set,
                                  struct qn_exported *out, struct qn_err *err)
{
    struct qn_exported made = {.n = 0};
    enum qn_status status = fill(x, set, &made.no_weights, err);
    qn_export_free_metrics(x);
    if (status == QN_OK) {
        status = qn_new_files_commit(x->file, x->n, err);
    }
    for (int i = 0; i < x->n; i++) {
        qn_new_file_close(x->file[i]);
    }
    free(x->file);
    if (x->figures != NULL) {
        qn_figures_free(x->figures);
        free(x->figures);
    }
    made.path = x->path;
    made.n = x->n;
    if (status == QN_OK) {
        *out = made;
    } else {
        qn_exported_free(&made);
    }
    return status;
}

enum qn_status qn_export_until(const char *run_path, const char *to,
                               unsigned set, bool (*asked)(void *user),
                               void *user, struct qn_exported *out,
                               struct qn_err *err)
{
    struct qn_export_files x = {
        .run = run_path, .to = to, .asked = asked, .user = user};
    size_t there = part_there(to);
    enum qn_status status = check_place(to, there, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_make_dirs(to, err);
    if (status == QN_OK) {
        status = export_into(&x, set, out, err);
    }
    if (status != QN_OK) {
        remove_made(to, there);
    }
    return status;
}

enum qn_status qn_export(const char *run_path, const char *to, unsigned set,
                         struct qn_exported *out, struct qn_err *err)
{
    return qn_export_until(run_path, to, set, NULL, NULL, out, err);
}
