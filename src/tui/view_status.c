/* view_status.c - the run line: what matters most stays longest. */
#include "tui/panes.h"

#include "train/event.h"
#include "tui/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLS_FOR_LABELS 40
#define COLS_FOR_BARS 60
#define COLS_FOR_WORDS 100
#define NAME_COLS 24
#define MAX_PARTS 16
#define KEEP_REASON 65    /* the run's name and its state stay longer */
#define MIN_REASON_COLS 8 /* of one that is cut: less says nothing */

/* Words that belong together and are dropped together. */
struct part {
    char before[16], value[96], after[16];
    enum qn_role role; /* of the value */
    int group;         /* groups are set apart by a bar */
    int keep;          /* the lowest goes first */
};

struct line {
    struct part part[MAX_PARTS];
    int n;
    int cols;
    bool labels, bars, wide; /* words by numbers, bars by groups, long words */
    enum qn_glyphs glyphs;
};

enum { GROUP_PROGRAM, GROUP_RUN, GROUP_LOSS, GROUP_STATE };

static struct part *add(struct line *l, int group, int keep, enum qn_role role)
{
    struct part *p = &l->part[l->n++];
    *p = (struct part){.group = group, .keep = keep, .role = role};
    return p;
}

static void label(const struct line *l, struct part *p, const char *before,
                  const char *after)
{
    if (l->labels) {
        (void)snprintf(p->before, sizeof p->before, "%s", before);
        (void)snprintf(p->after, sizeof p->after, "%s", after);
    }
}

/* Copy at most 'cols' columns; what is cut ends in three dots. */
static void copy_cut(char *out, size_t size, const char *text, int cols)
{
    size_t len = strlen(text), from = 0, end = 0;
    int width = 0;
    bool fits = qn_text_width(text) <= cols && len < size;
    while (from < len) {
        uint32_t code = 0xfffd;
        int bytes = qn_utf8_decode(text + from, len - from, &code);
        size_t next = from + (size_t)(bytes > 0 ? bytes : 1);
        width += qn_glyph_width(code);
        if (!fits && (width > cols - 3 || next + 4 > size)) {
            break;
        }
        from = end = next;
    }
    (void)snprintf(out, size, "%.*s%s", (int)end, text, fits ? "" : "...");
}

/* What goes before part i: a bar between groups, blanks within. */
static const char *gap_before(const struct line *l, int i)
{
    if (i == 0) {
        return l->labels ? " " : "";
    }
    if (l->part[i].before[0] == ':') {
        return "";
    }
    if (l->part[i].group == l->part[i - 1].group) {
        bool tight = l->part[i].group == GROUP_STATE || !l->labels;
        return tight ? " " : "  ";
    }
    if (!l->bars) {
        return l->labels ? "  " : " ";
    }
    return l->glyphs == QN_GLYPHS_ASCII ? " | " : " \u2502 ";
}

static int part_cols(const struct line *l, int i)
{
    const struct part *p = &l->part[i];
    return qn_text_width(gap_before(l, i)) + qn_text_width(p->before) +
           qn_text_width(p->value) + qn_text_width(p->after);
}

static int line_cols(const struct line *l)
{
    int cols = l->labels ? 1 : 0; /* air at the right end */
    for (int i = 0; i < l->n; i++) {
        cols += part_cols(l, i);
    }
    return cols;
}

static int least_kept(const struct line *l)
{
    int least = 0;
    for (int i = 1; i < l->n; i++) {
        least = l->part[i].keep < l->part[least].keep ? i : least;
    }
    return least;
}

static void drop_least(struct line *l)
{
    int least = least_kept(l);
    memmove(&l->part[least], &l->part[least + 1],
            (size_t)(l->n - least - 1) * sizeof *l->part);
    l->n--;
}

static void drop_below(struct line *l, int keep)
{
    while (l->n > 0 && l->part[least_kept(l)].keep < keep) {
        drop_least(l);
    }
}

struct state_look {
    const char *word, *sign, *ascii;
    enum qn_role role;
};

static struct state_look look_of(enum qn_lab_state state)
{
    switch (state) {
    case QN_LAB_HELD:
        return (struct state_look){"held", "\u25cb", "o", QN_ROLE_DIM};
    case QN_LAB_RUNNING:
        return (struct state_look){"running", "\u25cf", "*", QN_ROLE_GOOD};
    case QN_LAB_PAUSED:
        return (struct state_look){"paused", "\u2016", "=", QN_ROLE_WARN};
    case QN_LAB_STOPPING:
        return (struct state_look){"stopping", "\u25cc", "~", QN_ROLE_WARN};
    case QN_LAB_DONE:
        return (struct state_look){"done", "\u2713", "+", QN_ROLE_GOOD};
    case QN_LAB_STOPPED:
        return (struct state_look){"stopped", "\u25a0", "#", QN_ROLE_TEXT};
    case QN_LAB_FAILED:
        break;
    }
    return (struct state_look){"failed", "\u2717", "!", QN_ROLE_ERROR};
}

/* Why it is paused or has failed, in the columns that what matters more does
 * not need: cut there, and left out where the cut would leave no sense. */
static void add_reason(struct line *l, const char *reason)
{
    struct line rest = *l;
    drop_below(&rest, KEEP_REASON);
    int room = l->cols - line_cols(&rest) - 2;
    int most = room < l->cols / 2 ? room : l->cols / 2;
    if (most < qn_text_width(reason) && most < MIN_REASON_COLS) {
        return;
    }
    struct part *p = add(l, GROUP_STATE, KEEP_REASON, QN_ROLE_ERROR);
    (void)snprintf(p->before, sizeof p->before, ": ");
    copy_cut(p->value, sizeof p->value, reason, most);
}

/* What is in a disk's way is a sentence with a path in it, which the log has:
 * here it is a state of its own, short enough to stay. */
static void add_state(struct line *l, const struct qn_lab_run *run)
{
    struct state_look look = look_of(run->state);
    struct part *p = add(l, GROUP_STATE, 100, look.role);
    (void)snprintf(p->value, sizeof p->value, "%s",
                   l->glyphs == QN_GLYPHS_ASCII ? look.ascii : look.sign);
    if (run->waits) {
        p = add(l, GROUP_STATE, KEEP_REASON, look.role);
        (void)snprintf(p->value, sizeof p->value, "waits for the");
    }
    p = add(l, GROUP_STATE, 75, look.role);
    (void)snprintf(p->value, sizeof p->value, "%s",
                   run->waits ? "disk" : look.word);
    if (!run->waits && run->error != NULL && run->error[0] != '\0') {
        add_reason(l, run->error);
    }
}

/* Of classifiers people read the accuracy: the loss goes before it, but a loss
 * that is no number is what they must see. */
static void add_losses(struct line *l, const struct qn_status_view *view)
{
    const struct qn_lab_run *run = view->run;
    bool has_accuracy = isfinite(view->accuracy), fine = isfinite(run->loss);
    if (!isnan(run->loss) || run->step > 0) {
        struct part *p = add(l, GROUP_LOSS, fine && has_accuracy ? 55 : 90,
                             fine ? QN_ROLE_TRAIN : QN_ROLE_ERROR);
        qn_text_value(p->value, sizeof p->value, run->loss);
        label(l, p, "loss ", "");
    }
    if (has_accuracy) {
        struct part *p = add(l, GROUP_LOSS, fine ? 85 : 55, QN_ROLE_TRAIN);
        qn_text_share(p->value, sizeof p->value, view->accuracy);
        label(l, p, "acc ", "");
    }
}

static void add_best(struct line *l, const struct qn_lab_run *run)
{
    if (!run->has_best) {
        return;
    }
    enum qn_reading reading = qn_spec_reading(run->spec);
    struct part *p = add(l, GROUP_LOSS, 60, QN_ROLE_VALID);
    if (reading == QN_READ_ACCURACY) {
        qn_text_share(p->value, sizeof p->value, run->best_accuracy);
    } else {
        qn_text_value(p->value, sizeof p->value, run->best_loss);
    }
    label(l, p, l->wide ? "best valid " : "best ", "");
    if (reading != QN_READ_ACCURACY) {
        p = add(l, GROUP_LOSS, 30, QN_ROLE_VALID);
        qn_text_value(p->value, sizeof p->value,
                      qn_reading_value(reading, run->best_loss, 0));
        /* The whole word would seldom find room. */
        label(l, p, "", reading == QN_READ_PERPLEXITY ? " ppl" : " bpc");
    }
}

static void add_epoch(struct line *l, const struct qn_lab_run *run)
{
    struct part *p = add(l, GROUP_RUN, 40, QN_ROLE_TEXT);
    if (run->epochs_total > 0) {
        bool whole = run->epochs_total == floor(run->epochs_total);
        (void)snprintf(p->value, sizeof p->value, "%.2f/%.*f", run->epoch,
                       whole ? 0 : 2, run->epochs_total);
    } else {
        (void)snprintf(p->value, sizeof p->value, "%.2f", run->epoch);
    }
    label(l, p, "epoch ", "");
}

static void add_progress(struct line *l, const struct qn_lab_run *run)
{
    if (l->labels) {
        add_epoch(l, run);
    }
    struct part *p = add(l, GROUP_RUN, 80, QN_ROLE_TEXT);
    if (run->steps_total > 0) {
        (void)snprintf(p->value, sizeof p->value, "%lld/%lld",
                       (long long)run->step, (long long)run->steps_total);
    } else {
        (void)snprintf(p->value, sizeof p->value, "%lld", (long long)run->step);
    }
    label(l, p, "step ", "");
    bool moves = run->state == QN_LAB_RUNNING;
    if (moves && run->tokens_per_s > 0 && l->labels) {
        p = add(l, GROUP_RUN, 20, QN_ROLE_TEXT);
        qn_text_count(p->value, sizeof p->value, run->tokens_per_s, false);
        label(l, p, "", " tokens/s");
    }
    if (moves && isfinite(run->seconds_left) && l->labels) {
        p = add(l, GROUP_RUN, 50, QN_ROLE_TEXT);
        qn_text_duration(p->value, sizeof p->value, run->seconds_left);
        label(l, p, "", " left");
    }
}

static void add_run(struct line *l, const struct qn_status_view *view)
{
    const struct qn_lab_run *run = view->run;
    struct part *p = add(l, GROUP_RUN, 70, QN_ROLE_TITLE);
    if (run->name != NULL && run->name[0] != '\0') {
        copy_cut(p->value, sizeof p->value, run->name, NAME_COLS);
    } else {
        (void)snprintf(p->value, sizeof p->value, "run %d", run->id);
    }
    add_progress(l, run);
    if (view->n_active > 1) {
        p = add(l, GROUP_RUN, 25, QN_ROLE_TEXT);
        (void)snprintf(p->value, sizeof p->value, "%d", view->n_active);
        label(l, p, "", " runs active");
    }
    add_losses(l, view);
    add_best(l, run);
    add_state(l, run);
}

static int draw_part(struct qn_canvas *c, int row, int col,
                     const struct line *l, int i)
{
    const struct part *p = &l->part[i];
    int from = col;
    col += qn_canvas_text(c, row, col, -1, p->before, QN_ROLE_DIM);
    col += qn_canvas_text(c, row, col, -1, p->value, p->role);
    col += qn_canvas_text(c, row, col, -1, p->after, QN_ROLE_DIM);
    return col - from;
}

/* Progress from the left, losses and state against the right edge, so that
 * neither moves when a number of the other grows. */
static void draw_line(struct qn_canvas *c, struct qn_rect where, struct line *l)
{
    while (l->n > 0 && line_cols(l) > where.cols) {
        drop_least(l);
    }
    int spare = where.cols - line_cols(l), col = where.col;
    for (int i = 0; i < l->n; i++) {
        bool turn = l->part[i].group >= GROUP_LOSS &&
                    (i == 0 || l->part[i - 1].group < GROUP_LOSS);
        col += turn ? spare : 0;
        col += qn_canvas_text(c, where.row, col, -1, gap_before(l, i),
                              QN_ROLE_DIM);
        col += draw_part(c, where.row, col, l, i);
    }
}

void qn_pane_status(struct qn_canvas *c, struct qn_rect where,
                    const struct qn_status_view *view)
{
    if (where.rows < 1 || where.cols < 1) {
        return;
    }
    struct line l = {.cols = where.cols,
                     .labels = where.cols >= COLS_FOR_LABELS,
                     .bars = where.cols >= COLS_FOR_BARS,
                     .wide = where.cols >= COLS_FOR_WORDS,
                     .glyphs = view->glyphs};
    struct part *p = add(&l, GROUP_PROGRAM, 10, QN_ROLE_STATUS);
    (void)snprintf(p->value, sizeof p->value, "quern");
    if (view->run != NULL) {
        add_run(&l, view);
    } else {
        p = add(&l, GROUP_RUN, 70, QN_ROLE_DIM);
        (void)snprintf(p->value, sizeof p->value, "no run yet");
    }
    draw_line(c, where, &l);
}
