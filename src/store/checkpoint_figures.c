/* checkpoint_figures.c - the file "metric" of a checkpoint, written and read.
 */
#include "store/checkpoints.h"

#include "base/mem.h"
#include "store/checkpoint_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What its lines after the first begin with. */
#define LOSS "loss "
#define ACCURACY "accuracy "

/* A line of the number, after the name if it has one. */
static void add_figure(struct qn_str *text, const char *name, double value)
{
    char number[32] = "nan";
    if (isfinite(value)) {
        (void)qn_format_double(number, sizeof number, value);
    }
    qn_str_addf(text, "%s%s\n", name, number);
}

void qn_figures_add(struct qn_str *text, const struct qn_figures *figures)
{
    add_figure(text, "", figures->metric);
    if (!isnan(figures->accuracy)) {
        add_figure(text, LOSS, figures->loss);
        add_figure(text, ACCURACY, figures->accuracy);
    }
}

/* The number of the first line that begins with this name, NaN without one. */
static double figure(const char *text, const char *name)
{
    double value = (double)NAN;
    while (*text != '\0' && !qn_starts_with(text, name)) {
        text += strcspn(text, "\n");
        text += *text != '\0';
    }
    if (*text != '\0') {
        text += strlen(name);
        char *number = qn_xstrndup(text, strcspn(text, "\r\n"));
        (void)qn_parse_double(number, &value);
        free(number);
    }
    return value;
}

struct qn_figures qn_run_checkpoint_figures(const char *run, int64_t step)
{
    struct qn_figures figures = {(double)NAN, (double)NAN, (double)NAN};
    char *folder = qn_run_checkpoint_folder(run, step);
    if (folder == NULL) {
        return figures;
    }
    char *path = qn_path_join(folder, QN_METRIC);
    struct qn_bytes text = {0};
    if (qn_file_read(path, &text, NULL) == QN_OK) {
        figures.metric = figure(text.data, "");
        figures.accuracy = figure(text.data, ACCURACY);
        figures.loss =
            isnan(figures.accuracy) ? figures.metric : figure(text.data, LOSS);
    }
    qn_bytes_free(&text);
    free(path);
    free(folder);
    return figures;
}
