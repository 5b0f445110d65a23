/* figures.h - the figures of a run, as drawings.
 *
 * docs/interchange.md says what each shows.
 */
#ifndef QN_EXPORT_FIGURES_H
#define QN_EXPORT_FIGURES_H

#include "export/draw.h"
#include "export/stats_history.h"
#include "nn/spec.h"
#include "train/metrics_read.h"

/* All that figures are drawn from. */
struct qn_figure_source {
    struct qn_spec spec;
    const struct qn_metrics *metrics; /* borrowed */
    struct qn_stats_history stats;
};

/* Each makes a drawing, or returns false when the run has nothing for it. */
bool qn_figure_loss(const struct qn_figure_source *s, struct qn_drawing *out);
bool qn_figure_accuracy(const struct qn_figure_source *s,
                        struct qn_drawing *out);
bool qn_figure_shares(const struct qn_figure_source *s, struct qn_drawing *out);
bool qn_figure_histogram(const struct qn_figure_source *s, enum qn_quantity of,
                         struct qn_drawing *out);
bool qn_figure_heatmap(const struct qn_figure_source *s, enum qn_quantity of,
                       struct qn_drawing *out);

struct qn_figure {
    char name[32]; /* of its file, without an ending */
    struct qn_drawing drawing;
};
struct qn_figure_list {
    struct qn_figure *figure;
    int n;
};
/* All figures that a run, whose metrics have been read, has something for, in a
 * settled order. */
enum qn_status qn_figures_make(const char *run_path,
                               const struct qn_metrics *metrics,
                               struct qn_figure_list *out, struct qn_err *err);
void qn_figures_free(struct qn_figure_list *list);

#endif
