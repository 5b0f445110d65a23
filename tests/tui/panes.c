/* panes.c - tests of whole panes: pictures of what they look like, and that
 * they hold for every size. */
#include "tui/panes.h"
#include "tui/view.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sentinel.h"

/* A run in the middle of its training, made up. */
struct fixture {
    struct qn_series *train, *valid;
    struct qn_series *train_accuracy, *valid_accuracy; /* of classifiers */
    double accuracy;
    struct qn_hist layer[12][QN_N_QUANTITIES];
    int n_layers;
    struct qn_spec spec;
    struct qn_lab_run run;
    struct qn_scrollback *scroll;
};

/* Noise in [-1, 1), the same everywhere. */
static double noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) / 8388608.0 - 1;
}

static void fill_layer(struct qn_hist *h, int layer, uint32_t *seed)
{
    qn_hist_init(h, 0.1f);
    for (int i = 0; i < 5000; i++) {
        double magnitude = pow(10, 1.2 * noise(seed) + 0.6 * noise(seed) - 0.5);
        bool zero = noise(seed) > 0.9 - 0.1 * layer;
        bool negative = noise(seed) < -0.2;
        float x = (float)(zero ? 0 : negative ? -magnitude : magnitude);
        qn_hist_add(h, &x, 1);
    }
}

static void set_up(struct fixture *f, int n_steps, int n_layers)
{
    uint32_t seed = 1;
    *f = (struct fixture){.n_layers = n_layers};
    f->accuracy = (double)NAN;
    f->train = qn_series_new();
    f->valid = qn_series_new();
    for (int i = 1; i <= n_steps; i++) {
        double loss = 1.25 + 3.8 * exp(-i / 180.0) + 0.5 * exp(-i / 900.0);
        qn_series_add(f->train, i, loss + 0.2 * noise(&seed));
        if (i % 300 == 0) {
            qn_series_add(f->valid, i, loss + 0.15);
        }
    }
    for (int k = 0; k < n_layers; k++) {
        fill_layer(&f->layer[k][QN_CELL], k, &seed);
    }
    f->run = (struct qn_lab_run){.id = 1,
                                 .name = "psalms-drelu",
                                 .error = "",
                                 .state = QN_LAB_RUNNING,
                                 .step = n_steps,
                                 .steps_total = 3000,
                                 .epoch = 1.2345,
                                 .epochs_total = 10,
                                 .loss = 1.2345,
                                 .tokens_per_s = 12432,
                                 .seconds_left = 372,
                                 .has_best = true,
                                 .best_loss = 1.5204,
                                 .spec = &f->spec};
    f->scroll = qn_scrollback_new(100);
    qn_scrollback_add(f->scroll, "quern> r = qn.train(qn.preset \"demo\")",
                      QN_ROLE_PROMPT);
    qn_scrollback_add(f->scroll, "run 1, psalms-drelu: 3 layers of 256 units",
                      QN_ROLE_TEXT);
    qn_scrollback_add(f->scroll, "step 1800: checkpoint, the best so far",
                      QN_ROLE_GOOD);
}

/* The same run as a classifier's. */
static void set_up_classifier(struct fixture *f, int n_steps)
{
    uint32_t seed = 7;
    set_up(f, n_steps, 3);
    f->train_accuracy = qn_series_new();
    f->valid_accuracy = qn_series_new();
    for (int i = 1; i <= n_steps; i++) {
        double right = 0.91 - 0.41 * exp(-i / 260.0);
        double of_batch = round(24 * (right + 0.12 * noise(&seed))) / 24;
        qn_series_add(f->train_accuracy, i, fmin(of_batch, 1));
        if (i % 300 == 0) {
            qn_series_add(f->valid_accuracy, i, right - 0.03);
        }
    }
    f->spec.task = QN_TASK_CLASSIFY;
    f->run.name = "sentiment/drelu-256";
    f->run.loss = 0.2345;
    f->run.best_loss = 0.3012;
    f->run.best_accuracy = 0.8814;
    f->accuracy = 0.9052;
}

static void tear_down(struct fixture *f)
{
    qn_series_free(f->train_accuracy);
    qn_series_free(f->valid_accuracy);
    qn_series_free(f->train);
    qn_series_free(f->valid);
    qn_scrollback_free(f->scroll);
}

static void draw_loss(struct qn_canvas *c, struct qn_rect where,
                      const struct fixture *f, const struct qn_view_state *s)
{
    bool accuracy = s->accuracy;
    const struct qn_loss_view view = {
        .train = accuracy ? f->train_accuracy : f->train,
        .valid = accuracy ? f->valid_accuracy : f->valid,
        .accuracy = accuracy,
        .smooth = s->smooth,
        .log_y = s->log_y,
        .focused = s->focus == QN_PANE_LOSS,
        .glyphs = s->glyphs,
        .empty = "no steps yet"};
    qn_pane_loss(c, where, &view);
}

static void draw_cells(struct qn_canvas *c, struct qn_rect where,
                       const struct fixture *f, const struct qn_view_state *s)
{
    const struct qn_cells_view view = {.layer = f->layer,
                                       .n_layers = f->n_layers,
                                       .of = s->of,
                                       .selected = s->layer,
                                       .step = f->run.step,
                                       .focused = s->focus == QN_PANE_CELLS,
                                       .glyphs = s->glyphs,
                                       .empty = "no cell states counted yet"};
    qn_pane_cells(c, where, &view);
}

static void draw_status(struct qn_canvas *c, struct qn_rect where,
                        const struct fixture *f, enum qn_glyphs glyphs)
{
    const struct qn_status_view view = {.run = &f->run,
                                        .accuracy = f->accuracy,
                                        .n_active = 1,
                                        .glyphs = glyphs};
    qn_pane_status(c, where, &view);
}

/* Everything but the line being edited and the hints. */
static void draw_screen(struct qn_canvas *c, const struct fixture *f,
                        const struct qn_view_state *s)
{
    struct qn_layout l;
    qn_layout(c->rows, c->cols, QN_N_PANES, 1, &l);
    draw_status(c, l.status, f, s->glyphs);
    draw_loss(c, l.pane[QN_PANE_LOSS], f, s);
    draw_cells(c, l.pane[QN_PANE_CELLS], f, s);
    qn_view_scrollback(c, l.pane[QN_PANE_PROMPT], f->scroll, s);
}

/* Compare with golden/NAME.txt; UPDATE_GOLDEN=1 writes it instead. */
static void check_golden(const struct qn_canvas *c, const char *name)
{
    char path[512];
    struct qn_bytes golden;
    struct qn_err err;
    struct qn_str out = {0};
    (void)snprintf(path, sizeof path, "%s/tui/golden/%s.txt", QN_TESTS_DIR,
                   name);
    qn_canvas_dump(c, true, &out);
    const char *update = getenv("UPDATE_GOLDEN");
    if (update != NULL && qn_str_eq(update, "1")) {
        assert_int_equal(qn_file_write(path, out.text, out.len, &err), QN_OK);
    }
    assert_int_equal(qn_file_read(path, &golden, &err), QN_OK);
    assert_int_equal(golden.len, out.len);
    assert_memory_equal(golden.data, out.text, out.len);
    qn_bytes_free(&golden);
    qn_str_free(&out);
}

static void screens_look_as_they_did(void **state)
{
    (void)state;
    static const int sizes[][2] = {{40, 120}, {24, 80}, {10, 40}, {5, 20}};
    static const char *const glyphs[] = {"braille", "block", "ascii"};
    struct fixture f;
    set_up(&f, 1840, 3);
    for (int i = 0; i < 4; i++) {
        for (int g = 0; g < 3; g++) {
            char name[64];
            struct qn_canvas c;
            const struct qn_view_state s = {.run = 1,
                                            .layer = 1,
                                            .smooth = 0.98,
                                            .glyphs = (enum qn_glyphs)g,
                                            .focus = QN_PANE_PROMPT};
            qn_canvas_init(&c, sizes[i][0], sizes[i][1]);
            draw_screen(&c, &f, &s);
            (void)snprintf(name, sizeof name, "%dx%d-%s", sizes[i][1],
                           sizes[i][0], glyphs[g]);
            check_golden(&c, name);
            qn_canvas_fini(&c);
        }
    }
    tear_down(&f);
}

static void classifiers_look_as_they_did(void **state)
{
    (void)state;
    static const int sizes[][2] = {{40, 120}, {24, 80}, {10, 40}};
    static const char *const glyphs[] = {"braille", "block", "ascii"};
    struct fixture f;
    set_up_classifier(&f, 1840);
    for (int i = 0; i < 3; i++) {
        for (int g = 0; g < 3; g += 2) {
            char name[64];
            struct qn_canvas c;
            const struct qn_view_state s = {.run = 1,
                                            .accuracy = true,
                                            .log_y = true,
                                            .smooth = 0.98,
                                            .glyphs = (enum qn_glyphs)g,
                                            .focus = QN_PANE_PROMPT};
            qn_canvas_init(&c, sizes[i][0], sizes[i][1]);
            draw_screen(&c, &f, &s);
            (void)snprintf(name, sizeof name, "classifier-%dx%d-%s",
                           sizes[i][1], sizes[i][0], glyphs[g]);
            check_golden(&c, name);
            qn_canvas_fini(&c);
        }
    }
    tear_down(&f);
}

static void assert_loss_pane(const struct fixture *f,
                             const struct qn_view_state *s, const char *with,
                             const char *without)
{
    struct qn_canvas c;
    struct qn_str out = {0};
    qn_canvas_init(&c, 20, 80);
    draw_loss(&c, (struct qn_rect){0, 0, 20, 80}, f, s);
    qn_canvas_dump(&c, false, &out);
    assert_non_null(strstr(out.text, with));
    assert_null(strstr(out.text, without));
    qn_str_free(&out);
    qn_canvas_fini(&c);
}

static void accuracy_is_per_cent_on_an_axis_that_ends_at_a_hundred(void **state)
{
    (void)state;
    struct fixture f;
    const struct qn_view_state accuracy = {
        .accuracy = true, .log_y = true, .smooth = 0.9};
    const struct qn_view_state loss = {.smooth = 0.9};
    set_up_classifier(&f, 600);
    assert_loss_pane(&f, &loss, " loss nats, smoothed 0.9 ", "%");
    assert_loss_pane(&f, &accuracy, " accuracy smoothed 0.9 ", "nats");
    assert_loss_pane(&f, &accuracy, "80%", "log");
    assert_loss_pane(&f, &accuracy, "valid 83.9 %", "0.83");
    for (int i = 601; i < 9000; i++) {
        qn_series_add(f.train_accuracy, i, 1);
        qn_series_add(f.valid_accuracy, i, 1);
    }
    assert_loss_pane(&f, &accuracy, "100%", "120%");
    tear_down(&f);
}

/* One unlucky batch at the beginning does not flatten all that follows. */
static void a_first_batch_far_below_is_cut_off_with_an_arrow(void **state)
{
    (void)state;
    struct fixture f;
    const struct qn_view_state s = {.accuracy = true, .smooth = 0.9};
    set_up_classifier(&f, 0);
    qn_series_add(f.train_accuracy, 1, 0);
    for (int i = 2; i < 900; i++) {
        qn_series_add(f.train_accuracy, i, i < 40 ? 0.6 : 0.9);
    }
    assert_loss_pane(&f, &s, "\u2193", "10%");
    assert_loss_pane(&f, &s, "80%", "\u2191");
    tear_down(&f);
}

static void an_accuracy_without_steps_says_so(void **state)
{
    (void)state;
    struct fixture f;
    const struct qn_view_state s = {.accuracy = true};
    set_up_classifier(&f, 0);
    assert_loss_pane(&f, &s, "no steps yet", "%");
    tear_down(&f);
}

static void a_log_axis_looks_as_it_did(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    const struct qn_view_state s = {
        .smooth = 0.9, .log_y = true, .focus = QN_PANE_LOSS};
    set_up(&f, 2500, 1);
    for (int i = 2501; i < 2600; i++) {
        qn_series_add(f.train, i, (double)NAN);
    }
    qn_canvas_init(&c, 20, 80);
    draw_loss(&c, (struct qn_rect){0, 0, 20, 80}, &f, &s);
    check_golden(&c, "loss-log-nan");
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void many_layers_look_as_they_did(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    const struct qn_view_state s = {.layer = 7, .focus = QN_PANE_CELLS};
    const float nan[400] = {(float)NAN, (float)NAN, (float)NAN};
    set_up(&f, 100, 12);
    qn_hist_add(&f.layer[7][QN_CELL], nan, 3);
    qn_canvas_init(&c, 16, 60);
    draw_cells(&c, (struct qn_rect){0, 0, 16, 60}, &f, &s);
    check_golden(&c, "cells-12-layers");
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void the_last_layer_can_be_reached(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    struct qn_str out = {0};
    const struct qn_view_state s = {.layer = 11, .focus = QN_PANE_CELLS};
    set_up(&f, 100, 12);
    qn_canvas_init(&c, 16, 60);
    draw_cells(&c, (struct qn_rect){0, 0, 16, 60}, &f, &s);
    qn_canvas_dump(&c, false, &out);
    assert_non_null(strstr(out.text, "layers 8-12 of 12"));
    assert_non_null(strstr(out.text, "\u25b8 12 "));
    qn_str_free(&out);
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void few_layers_are_all_shown_above_a_small_histogram(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    struct qn_str out = {0};
    const struct qn_view_state s = {.layer = 0};
    set_up(&f, 100, 3);
    qn_canvas_init(&c, 9, 60);
    draw_cells(&c, (struct qn_rect){0, 0, 9, 60}, &f, &s);
    qn_canvas_dump(&c, false, &out);
    assert_non_null(strstr(out.text, "   3  "));
    assert_null(strstr(out.text, "layers 1-"));
    assert_non_null(strstr(out.text, "\u252c")); /* a tick of its axis */
    qn_str_free(&out);
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void a_run_over_words_shows_its_perplexity(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    struct qn_str out = {0};
    set_up(&f, 100, 2);
    f.spec.data.level = QN_LEVEL_WORD;
    f.run.best_loss = log(120.5);
    qn_canvas_init(&c, 1, 130);
    draw_status(&c, (struct qn_rect){0, 0, 1, 130}, &f, QN_GLYPHS_ASCII);
    qn_canvas_dump(&c, false, &out);
    assert_non_null(strstr(out.text, "best valid 4.792  120.5 ppl |"));
    assert_null(strstr(out.text, "bpc"));
    qn_str_free(&out);
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void the_title_says_what_is_counted(void **state)
{
    (void)state;
    static const char *const titles[QN_N_QUANTITIES] = {
        " cell states c at step 100 ", " candidates z at step 100 ",
        " outputs h at step 100 ", " forget gates f at step 100 ",
        " output gates o at step 100 "};
    struct fixture f;
    const float gate[] = {0.9f, 0.9f, 0.9f, 0.05f};
    set_up(&f, 100, 2);
    for (int of = QN_CANDIDATE; of < QN_N_QUANTITIES; of++) {
        qn_hist_init(&f.layer[0][of], 0.1f);
        qn_hist_init(&f.layer[1][of], 0.1f);
        qn_hist_add(&f.layer[0][of], gate, 4);
    }
    for (int of = 0; of < QN_N_QUANTITIES; of++) {
        struct qn_canvas c;
        struct qn_str out = {0};
        const struct qn_view_state s = {.of = (enum qn_quantity)of};
        qn_canvas_init(&c, 14, 36);
        draw_cells(&c, (struct qn_rect){0, 0, 14, 36}, &f, &s);
        qn_canvas_dump(&c, false, &out);
        assert_non_null(strstr(out.text, titles[of]));
        if (of != QN_CELL) {
            assert_non_null(strstr(out.text, "1   0%  25%  75%"));
        }
        qn_str_free(&out);
        qn_canvas_fini(&c);
    }
    tear_down(&f);
}

static void what_was_not_counted_gives_way_to_what_was(void **state)
{
    (void)state;
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    r->of = 1u << QN_CELL | 1u << QN_OUTGATE;
    assert_int_equal(qn_view_quantity(r, QN_CELL), QN_CELL);
    assert_int_equal(qn_view_quantity(r, QN_OUTGATE), QN_OUTGATE);
    assert_int_equal(qn_view_quantity(r, QN_FORGET), QN_CELL);
    r->of = 1u << QN_FORGET | 1u << QN_OUTGATE;
    assert_int_equal(qn_view_quantity(r, QN_CELL), QN_FORGET);
    free(r);
}

static void empty_panes_say_so(void **state)
{
    (void)state;
    struct fixture f;
    struct qn_canvas c;
    const struct qn_view_state s = {.glyphs = QN_GLYPHS_BRAILLE};
    set_up(&f, 0, 0);
    qn_canvas_init(&c, 9, 60);
    draw_loss(&c, (struct qn_rect){0, 0, 9, 30}, &f, &s);
    draw_cells(&c, (struct qn_rect){0, 30, 9, 30}, &f, &s);
    check_golden(&c, "empty");
    qn_canvas_fini(&c);
    tear_down(&f);
}

static void panes_stay_inside_for_all_sizes(void **state)
{
    (void)state;
    struct fixture f;
    set_up_classifier(&f, 700);
    f.n_layers = 12;
    for (int k = 3; k < 12; k++) {
        f.layer[k][QN_CELL] = f.layer[0][QN_CELL];
    }
    for (int rows = 0; rows <= 45; rows += rows < 18 ? 1 : 9) {
        for (int cols = 0; cols <= 130; cols += cols < 50 ? 1 : 20) {
            for (int pane = 0; pane < 3; pane++) {
                struct qn_canvas c;
                struct qn_rect where = {1, 2, rows, cols};
                const struct qn_view_state s = {
                    .layer = rows,
                    .log_y = cols % 2 == 0,
                    .accuracy = pane == 2,
                    .smooth = 0.5,
                    .glyphs = (enum qn_glyphs)((rows + cols) % 3)};
                sentinel_init(&c, rows + 2, cols + 4);
                if (pane != 1) {
                    draw_loss(&c, where, &f, &s);
                } else {
                    draw_cells(&c, where, &f, &s);
                }
                assert_true(sentinel_kept(&c, where));
                qn_canvas_fini(&c);
            }
        }
    }
    tear_down(&f);
}

static void whole_screens_draw_at_all_sizes(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 60, 3);
    for (int rows = 1; rows <= 45; rows++) {
        for (int cols = 1; cols <= 130; cols += rows % 5 == 0 ? 1 : 7) {
            struct qn_canvas c;
            const struct qn_view_state s = {
                .smooth = 0.9, .glyphs = (enum qn_glyphs)(rows % 3)};
            qn_canvas_init(&c, rows, cols);
            draw_screen(&c, &f, &s);
            /* The state is the last thing to go. */
            bool sign = false;
            for (int i = 0; i < cols; i++) {
                sign |= c.cells[i].role == QN_ROLE_GOOD;
            }
            assert_true(sign);
            qn_canvas_fini(&c);
        }
    }
    tear_down(&f);
}

static char *status_of(const struct qn_status_view *view, int cols)
{
    struct qn_canvas c;
    struct qn_str out = {0};
    sentinel_init(&c, 3, cols + 4);
    qn_canvas_clear(&c, (struct qn_rect){1, 2, 1, cols});
    qn_pane_status(&c, (struct qn_rect){1, 2, 1, cols}, view);
    assert_true(sentinel_kept(&c, (struct qn_rect){1, 2, 1, cols}));
    for (int i = 0; i < cols; i++) {
        char bytes[4];
        uint32_t glyph = c.cells[cols + 4 + 2 + i].glyph;
        int n = qn_utf8_encode(glyph, bytes);
        qn_str_add_bytes(&out, bytes, (size_t)n);
    }
    qn_canvas_fini(&c);
    return qn_str_take(&out);
}

static void assert_status(const struct qn_lab_run *run, int n_active, int cols,
                          const char *expected)
{
    const struct qn_status_view view = {.run = run,
                                        .accuracy = (double)NAN,
                                        .n_active = n_active,
                                        .glyphs = QN_GLYPHS_ASCII};
    char *text = status_of(&view, cols);
    assert_string_equal(text, expected);
    free(text);
}

static void the_status_drops_what_matters_least(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 1840, 1);
    assert_status(&f.run, 2, 150,
                  " quern | psalms-drelu  epoch 1.23/10  step 1840/3000  12.4k "
                  "tokens/s  6m12s left  2 runs active "
                  "| loss 1.234  best valid 1.520  2.193 bpc | * running ");
    assert_status(&f.run, 1, 80,
                  " psalms-drelu  step 1840/3000  6m12s left  "
                  "| loss 1.234  best 1.520 | * running ");
    assert_status(&f.run, 1, 40, " step 1840/3000   loss 1.234  * running ");
    assert_status(&f.run, 1, 20, "1840/3000    1.234 *");
    assert_status(&f.run, 1, 1, "*");
    f.run.name = "";
    assert_status(&f.run, 1, 48,
                  " run 1  step 1840/3000    loss 1.234  * running ");
    tear_down(&f);
}

static void assert_accuracy_status(const struct fixture *f, int cols,
                                   const char *expected)
{
    const struct qn_status_view view = {.run = &f->run,
                                        .accuracy = f->accuracy,
                                        .n_active = 1,
                                        .glyphs = QN_GLYPHS_ASCII};
    char *text = status_of(&view, cols);
    assert_string_equal(text, expected);
    free(text);
}

static void a_classifiers_accuracy_outlives_its_loss(void **state)
{
    (void)state;
    struct fixture f;
    set_up_classifier(&f, 1840);
    assert_accuracy_status(
        &f, 121,
        " sentiment/drelu-256  epoch 1.23/10  step 1840/3000  6m12s left  "
        "| loss 0.234  acc 90.5 %  best valid 88.1 % | * running ");
    assert_accuracy_status(&f, 80,
                           " sentiment/drelu-256  step 1840/3000      "
                           "| acc 90.5 %  best 88.1 % | * running ");
    assert_accuracy_status(&f, 40, " step 1840/3000   acc 90.5 %  * running ");
    assert_accuracy_status(&f, 20, "1840/3000   90.5 % *");
    f.run.loss = (double)NAN;
    assert_accuracy_status(&f, 40, " step 1840/3000     loss NaN  * running ");
    f.run.loss = 0.7;
    f.run.step = 1;
    f.run.has_best = false;
    f.accuracy = (double)NAN;
    assert_accuracy_status(&f, 40, " step 1/3000      loss 0.700  * running ");
    tear_down(&f);
}

/* A number in the status is there whole or not at all. */
static void no_number_is_cut(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 1840, 1);
    for (int cols = 1; cols <= 130; cols++) {
        const struct qn_status_view view = {.run = &f.run,
                                            .accuracy = (double)NAN,
                                            .n_active = 1,
                                            .glyphs = QN_GLYPHS_ASCII};
        char *text = status_of(&view, cols);
        assert_int_equal(strstr(text, "1840") != NULL,
                         strstr(text, "1840/3000") != NULL);
        assert_int_equal(strstr(text, "1.2") != NULL,
                         strstr(text, "1.234") != NULL);
        assert_int_equal(strstr(text, "2.1") != NULL,
                         strstr(text, "2.193 bpc") != NULL);
        free(text);
    }
    tear_down(&f);
}

static void every_state_has_a_word_and_a_sign(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "o held", "* running", "= paused", "~ stopping",
        "+ done", "# stopped", "! failed"};
    struct fixture f;
    set_up(&f, 10, 1);
    for (int i = 0; i < 7; i++) {
        f.run.state = (enum qn_lab_state)i;
        const struct qn_status_view view = {.run = &f.run,
                                            .accuracy = (double)NAN,
                                            .n_active = 1,
                                            .glyphs = QN_GLYPHS_ASCII};
        char *text = status_of(&view, 80);
        assert_non_null(strstr(text, expected[i]));
        free(text);
    }
    tear_down(&f);
}

static void a_status_says_what_is_wrong(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 10, 1);
    f.run.state = QN_LAB_PAUSED;
    f.run.error = "the loss is NaN";
    f.run.loss = (double)NAN;
    f.run.seconds_left = HUGE_VAL;
    assert_status(&f.run, 1, 80,
                  " psalms-drelu  step 10/3000  "
                  "| loss NaN  best 1.520 | = paused: the loss is NaN ");
    assert_status(NULL, 0, 40, " quern  no run yet                      ");
    assert_status(NULL, 0, 4, "    ");
    tear_down(&f);
}

static const char full_disk[] =
    "/a/long/path/runs/20261128T172857Z-16f3-full/metrics.jsonl: cannot write: "
    "No space left on device";

/* The path is the log's: in the status it would push out all else. */
static void a_wait_for_the_disk_is_said_in_a_few_words(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 1840, 1);
    f.run.state = QN_LAB_PAUSED;
    f.run.waits = true;
    f.run.error = full_disk;
    assert_status(&f.run, 1, 120,
                  " quern | psalms-drelu  epoch 1.23/10  step 1840/3000   "
                  "| loss 1.234  best valid 1.520  2.193 bpc "
                  "| = waits for the disk ");
    assert_status(&f.run, 1, 80,
                  " psalms-drelu  step 1840/3000   "
                  "| loss 1.234  best 1.520 | = waits for the disk ");
    assert_status(&f.run, 1, 40, " step 1840/3000      loss 1.234  = disk ");
    assert_status(&f.run, 1, 20, "1840/3000    1.234 =");
    tear_down(&f);
}

static void a_reason_costs_neither_name_nor_state(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, 1840, 1);
    f.run.state = QN_LAB_PAUSED;
    for (int cols = 1; cols <= 130; cols++) {
        const struct qn_status_view view = {.run = &f.run,
                                            .accuracy = (double)NAN,
                                            .n_active = 1,
                                            .glyphs = QN_GLYPHS_ASCII};
        f.run.error = "";
        char *without = status_of(&view, cols);
        f.run.error = full_disk;
        char *with = status_of(&view, cols);
        assert_int_equal(strstr(with, "psalms-drelu") != NULL,
                         strstr(without, "psalms-drelu") != NULL);
        assert_int_equal(strstr(with, "paused") != NULL,
                         strstr(without, "paused") != NULL);
        assert_int_equal(strstr(with, "paused: ") != NULL,
                         strstr(with, "...") != NULL);
        free(with);
        free(without);
    }
    assert_status(&f.run, 1, 80,
                  " psalms-drelu  step 1840/3000 | loss 1.234 "
                  "| = paused: /a/long/path/runs/202... ");
    tear_down(&f);
}

static const char *const help[] = {"F1    this help", "F8    pause, go on",
                                   "F9    stop the run", "one line without",
                                   NULL};

static void a_popup_looks_as_it_did(void **state)
{
    (void)state;
    struct qn_canvas c;
    const struct qn_popup popup = {.title = "help", .lines = help};
    qn_canvas_init(&c, 12, 40);
    for (int i = 0; i < 12 * 40; i++) {
        qn_canvas_put(&c, i / 40, i % 40, '/', QN_ROLE_DIM);
    }
    qn_view_popup(&c, &popup, QN_GLYPHS_BRAILLE);
    check_golden(&c, "popup");
    qn_canvas_fini(&c);
}

static void a_popup_scrolls_and_holds_at_all_sizes(void **state)
{
    (void)state;
    for (int rows = 0; rows < 12; rows++) {
        for (int cols = 0; cols < 40; cols++) {
            struct qn_canvas c;
            qn_canvas_init(&c, rows, cols);
            struct qn_popup popup = {
                .title = "help", .lines = help, .top = 1000};
            qn_view_popup(&c, &popup, QN_GLYPHS_ASCII);
            assert_true(qn_view_popup_last_top(&c, &popup) <= 4);
            popup.top = -3;
            popup.by_prompt = true;
            qn_view_popup(&c, &popup, QN_GLYPHS_BLOCK);
            qn_canvas_fini(&c);
        }
    }
    struct qn_canvas c;
    struct qn_str out = {0};
    /* Further than there are lines: the last ones. */
    const struct qn_popup popup = {.title = "help", .lines = help, .top = 1000};
    qn_canvas_init(&c, 4, 40);
    assert_int_equal(qn_view_popup_last_top(&c, &popup), 2);
    qn_view_popup(&c, &popup, QN_GLYPHS_ASCII);
    qn_canvas_dump(&c, false, &out);
    assert_non_null(strstr(out.text, "one line without"));
    assert_null(strstr(out.text, "F1"));
    qn_str_free(&out);
    qn_canvas_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens_look_as_they_did),
        cmocka_unit_test(classifiers_look_as_they_did),
        cmocka_unit_test(
            accuracy_is_per_cent_on_an_axis_that_ends_at_a_hundred),
        cmocka_unit_test(a_first_batch_far_below_is_cut_off_with_an_arrow),
        cmocka_unit_test(an_accuracy_without_steps_says_so),
        cmocka_unit_test(a_log_axis_looks_as_it_did),
        cmocka_unit_test(many_layers_look_as_they_did),
        cmocka_unit_test(the_last_layer_can_be_reached),
        cmocka_unit_test(few_layers_are_all_shown_above_a_small_histogram),
        cmocka_unit_test(a_run_over_words_shows_its_perplexity),
        cmocka_unit_test(the_title_says_what_is_counted),
        cmocka_unit_test(what_was_not_counted_gives_way_to_what_was),
        cmocka_unit_test(empty_panes_say_so),
        cmocka_unit_test(panes_stay_inside_for_all_sizes),
        cmocka_unit_test(whole_screens_draw_at_all_sizes),
        cmocka_unit_test(the_status_drops_what_matters_least),
        cmocka_unit_test(a_classifiers_accuracy_outlives_its_loss),
        cmocka_unit_test(no_number_is_cut),
        cmocka_unit_test(every_state_has_a_word_and_a_sign),
        cmocka_unit_test(a_status_says_what_is_wrong),
        cmocka_unit_test(a_wait_for_the_disk_is_said_in_a_few_words),
        cmocka_unit_test(a_reason_costs_neither_name_nor_state),
        cmocka_unit_test(a_popup_looks_as_it_did),
        cmocka_unit_test(a_popup_scrolls_and_holds_at_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
