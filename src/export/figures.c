/* figures.c - all figures of a run, and svg and png files of them. */
#include "export/figures.h"

#include "base/mem.h"
#include "export/files.h"
#include "nn/settings.h"
#include "store/run_dir.h"

#include <stdio.h>
#include <stdlib.h>

static enum qn_status read_spec(const char *run_path, struct qn_spec *out,
                                struct qn_err *err)
{
    struct qn_bytes bytes = {0};
    enum qn_status status = qn_run_dir_read(run_path, "spec.json", &bytes, err);
    if (status == QN_OK) {
        status = qn_spec_parse(bytes.data, bytes.len, out, err);
        if (status != QN_OK) {
            status = qn_fail_in(err, QN_EFORMAT, "spec.json");
        }
    }
    qn_bytes_free(&bytes);
    /* "Not found" would say that there is nothing to draw. */
    return status == QN_ENOTFOUND ? QN_EIO : status;
}

static void free_source(struct qn_figure_source *s)
{
    qn_stats_history_free(&s->stats);
    free(s);
}

static enum qn_status read_source(const char *run_path,
                                  const struct qn_metrics *metrics,
                                  struct qn_figure_source **out,
                                  struct qn_err *err)
{
    struct qn_figure_source *s = qn_xcalloc(1, sizeof *s);
    enum qn_status status = read_spec(run_path, &s->spec, err);
    s->metrics = metrics;
    if (status == QN_OK) {
        status =
            qn_stats_history_read(run_path, s->spec.stats.near, &s->stats, err);
    }
    if (status == QN_OK) {
        *out = s;
    } else {
        free_source(s);
    }
    return status;
}

/* The name with what it is of, if made. */
static void keep(struct qn_figure_list *list, bool made,
                 struct qn_drawing *drawing, const char *name, const char *of)
{
    if (made) {
        struct qn_figure *f = &list->figure[list->n++];
        (void)snprintf(f->name, sizeof f->name, "%s%s%s", name,
                       of[0] != '\0' ? "-" : "", of);
        f->drawing = *drawing;
    }
}

static void make_all(const struct qn_figure_source *s,
                     struct qn_figure_list *list)
{
    struct qn_drawing d;
    keep(list, qn_figure_loss(s, &d), &d, "loss", "");
    keep(list, qn_figure_accuracy(s, &d), &d, "accuracy", "");
    keep(list, qn_figure_shares(s, &d), &d, "shares", "");
    for (int i = 0; i < QN_N_QUANTITIES; i++) {
        enum qn_quantity of = (enum qn_quantity)i;
        const char *name = qn_quantity_name(of);
        keep(list, qn_figure_histogram(s, of, &d), &d, "histogram", name);
        keep(list, qn_figure_heatmap(s, of, &d), &d, "heatmap", name);
    }
}

enum qn_status qn_figures_make(const char *run_path,
                               const struct qn_metrics *metrics,
                               struct qn_figure_list *out, struct qn_err *err)
{
    struct qn_figure_source *source;
    enum qn_status status = read_source(run_path, metrics, &source, err);
    if (status == QN_OK) {
        *out = (struct qn_figure_list){
            .figure = qn_xcalloc(3 + 2 * QN_N_QUANTITIES, sizeof *out->figure)};
        make_all(source, out);
        free_source(source);
    }
    return status;
}

void qn_figures_free(struct qn_figure_list *list)
{
    for (int i = 0; i < list->n; i++) {
        qn_drawing_free(&list->figure[i].drawing);
    }
    free(list->figure);
    *list = (struct qn_figure_list){.n = 0};
}

/* --- the formats ---------------------------------------------------------- */

/* svg and png show the same figures, which are made once. */
static enum qn_status need_figures(struct qn_export_files *x,
                                   struct qn_err *err)
{
    enum qn_status status = QN_OK;
    if (x->figures == NULL) {
        const struct qn_metrics *metrics;
        struct qn_figure_list made;
        status = qn_export_metrics(x, &metrics, err);
        if (status == QN_OK) {
            status = qn_figures_make(x->run, metrics, &made, err);
        }
        if (status == QN_OK) {
            x->figures = qn_xcalloc(1, sizeof *x->figures);
            *x->figures = made;
        }
    }
    if (status == QN_OK && x->figures->n == 0) {
        return qn_fail(err, QN_ENOTFOUND,
                       "the run has recorded nothing yet that could be drawn");
    }
    return status;
}

typedef enum qn_status (*write_fn)(const struct qn_drawing *d,
                                   struct qn_str *out, struct qn_err *err);

static enum qn_status add_figures(struct qn_export_files *x, const char *ending,
                                  write_fn write, struct qn_err *err)
{
    struct qn_str bytes = {0};
    enum qn_status status = need_figures(x, err);
    for (int i = 0; status == QN_OK && i < x->figures->n; i++) {
        const struct qn_figure *f = &x->figures->figure[i];
        char *name = qn_xasprintf("%s.%s", f->name, ending);
        struct qn_new_file *file;
        qn_str_clear(&bytes);
        status = write(&f->drawing, &bytes, err);
        if (status == QN_OK) {
            status = qn_export_add_file(x, name, &file, err);
        }
        if (status == QN_OK) {
            qn_new_file_add(file, bytes.text, bytes.len);
        }
        free(name);
    }
    qn_str_free(&bytes);
    return status;
}

static enum qn_status write_svg(const struct qn_drawing *d, struct qn_str *out,
                                struct qn_err *err)
{
    (void)err;
    qn_draw_svg(d, out);
    return QN_OK;
}

enum qn_status qn_export_svg(struct qn_export_files *x, struct qn_err *err)
{
    return add_figures(x, "svg", write_svg, err);
}

enum qn_status qn_export_png(struct qn_export_files *x, struct qn_err *err)
{
    if (!qn_draw_has_png()) {
        return qn_draw_png(NULL, NULL, err); /* its sentence */
    }
    return add_figures(x, "png", qn_draw_png, err);
}
