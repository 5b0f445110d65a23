/* figures.c - tests of the figures of a run: golden files, and runs that have
 * little or nothing to show. */
#include "../store/make_run.h"

#include "export/export.h"
#include "export/figures.h"
#include "nn/settings.h"

#include <math.h>
#include <stdio.h>

#define MOST_BYTES 1000000 /* of a figure */

struct place {
    void *scratch;
    char *run, *to;
};

static int make_place(void **state)
{
    struct place *p = qn_xcalloc(1, sizeof *p);
    assert_int_equal(make_scratch(&p->scratch), 0);
    p->to = qn_path_join(p->scratch, "out");
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *p = *state;
    int failed = remove_scratch(&p->scratch);
    free(p->run);
    free(p->to);
    free(p);
    return failed;
}

/* --- runs ----------------------------------------------------------------- */

static struct qn_run_dir *begin_run(struct place *p, const char *spec)
{
    struct qn_run_files files = {.name = "t",
                                 .spec_json = spec,
                                 .vocab_txt = "a\n",
                                 .code_json = "{}\n"};
    struct qn_run_dir *d = NULL;
    assert_int_equal(qn_run_dir_create(p->scratch, &files, &d, NULL), QN_OK);
    p->run = qn_xstrdup(qn_run_dir_path(d));
    return d;
}

static const char text_spec[] = "{\"name\":\"a <b> & c\",\"data\":{\"train\":"
                                "\"x\"},\"stats\":{\"of\":\"c,f\"}}";
static const char words_spec[] =
    "{\"name\":\"w\",\"data\":{\"train\":\"x\",\"level\":\"word\"}}";
static const char labels_spec[] =
    "{\"name\":\"labels\",\"task\":\"classify\",\"data\":{\"train\":\"x\","
    "\"fold\":\"1 of 5\"},\"checkpoint\":{\"metric\":\"valid.accuracy\"}}";

static void line(struct qn_run_dir *d, enum qn_run_file file, const char *text)
{
    struct qn_json j = {.comma = false};
    qn_str_add(&j.text, text);
    assert_int_equal(qn_run_dir_append(d, file, &j, NULL), QN_OK);
    qn_json_free(&j);
}

/* loss is text, so that it may be null; accuracy in hundredths, below 0: none.
 */
static void add_step(struct qn_run_dir *d, int step, const char *loss,
                     int accuracy)
{
    char text[256], share[32] = "";
    if (accuracy >= 0) {
        (void)snprintf(share, sizeof share, "\"accuracy\":%d.%02d,",
                       accuracy / 100, accuracy % 100);
    }
    (void)snprintf(text, sizeof text,
                   "{\"event\":\"step\",\"step\":%d,\"epoch\":%d.%d,"
                   "\"loss\":%s,%s\"lr\":0.1,\"grad_norm\":1,"
                   "\"tokens_per_s\":9,\"seconds\":1}",
                   step, step / 10, step % 10, loss, share);
    line(d, QN_METRICS, text);
}

static void add_eval(struct qn_run_dir *d, int step, const char *rest)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"event\":\"eval\",\"step\":%d,\"split\":\"valid\",%s,"
                   "\"predictions\":9,\"seconds\":0.1}",
                   step, rest);
    line(d, QN_METRICS, text);
}

/* One entry of a layer, with three values in ten near zero, one of them 0, and
 * some NaN; 'up' moves the others a decade up. */
static void add_entry(struct qn_str *layers, struct qn_str *bins, int layer,
                      const char *of, int n_nan, int up)
{
    const char *comma = layers->len > 0 ? "," : "";
    qn_str_addf(layers,
                "%s{\"layer\":%d,\"of\":\"%s\",\"n_negative\":2,\"n_near\":3,"
                "\"n_positive\":5,\"n_zero\":1,\"n_nan\":%d}",
                comma, layer, of, n_nan);
    qn_str_addf(bins,
                "%s{\"negative\":[[%d,2],[60,1]],\"positive\":[[30,1],[%d,3],"
                "[%d,2]]}",
                comma, 70 + up, 75 + up, 76 + up);
}

static void add_stats(struct qn_run_dir *d, int step, int up)
{
    struct qn_str layers = {0}, bins = {0};
    add_entry(&layers, &bins, 1, "c", 0, up);
    add_entry(&layers, &bins, 2, "c", 1, up + 16);
    add_entry(&layers, &bins, 1, "f", 0, 0);
    add_entry(&layers, &bins, 2, "f", 0, 0);
    char *text = qn_xasprintf("{\"event\":\"stats\",\"step\":%d,\"threshold\":"
                              "0.1,\"layers\":[%s],\"bins\":[%s]}",
                              step, layers.text, bins.text);
    line(d, QN_STATS, text);
    free(text);
    qn_str_free(&layers);
    qn_str_free(&bins);
}

/* 30 steps with a spike and one that was not finite. */
static void make_text_run(struct place *p)
{
    struct qn_run_dir *d = begin_run(p, text_spec);
    for (int step = 1; step <= 30; step++) {
        char loss[32];
        int hundredths = 400 - 7 * step + 9 * (step % 3);
        (void)snprintf(loss, sizeof loss, "%d.%02d", hundredths / 100,
                       hundredths % 100);
        add_step(d, step, step == 12 ? "null" : step == 20 ? "90" : loss, -1);
        if (step % 10 == 0) {
            add_stats(d, step, step / 10);
        }
    }
    add_eval(d, 10, "\"loss\":3.4,\"bpc\":4.9");
    add_eval(d, 20, "\"loss\":2.6,\"bpc\":3.75");
    add_eval(d, 30, "\"loss\":2.7,\"bpc\":3.9");
    qn_run_dir_close(d);
}

static void make_labels_run(struct place *p)
{
    struct qn_run_dir *d = begin_run(p, labels_spec);
    for (int step = 1; step <= 6; step++) {
        add_step(d, step, "0.5", 50 + 7 * step);
    }
    add_eval(d, 2, "\"loss\":0.4,\"accuracy\":0.6");
    add_eval(d, 4, "\"loss\":0.5,\"accuracy\":0.85");
    add_eval(d, 6, "\"loss\":0.6,\"accuracy\":0.8");
    qn_run_dir_close(d);
}

/* --- golden files --------------------------------------------------------- */

static void draw(const struct place *p, struct qn_figure_list *out)
{
    struct qn_metrics metrics = {.n_steps = 0};
    struct qn_err err = {""};
    if (qn_metrics_read(p->run, &metrics, &err) != QN_OK ||
        qn_figures_make(p->run, &metrics, out, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_metrics_free(&metrics);
}

static void check_golden(const char *name, const struct qn_str *svg)
{
    char *path = qn_xasprintf("%s/export/golden/%s.svg", QN_TESTS_DIR, name);
    struct qn_bytes golden = {0};
    if (getenv("UPDATE_GOLDEN") != NULL) {
        assert_int_equal(qn_file_write(path, svg->text, svg->len, NULL), QN_OK);
    }
    assert_int_equal(qn_file_read(path, &golden, NULL), QN_OK);
    if (!qn_str_eq(golden.data, svg->text)) {
        fail_msg("%s: not as it was; UPDATE_GOLDEN=1 writes it anew", path);
    }
    qn_bytes_free(&golden);
    free(path);
}

/* The names of all figures are these, and those among 'golden' have the bytes
 * of their files, which begin with 'prefix'. */
static void check_figures(const struct place *p, const char *names,
                          const char *golden, const char *prefix)
{
    struct qn_figure_list list;
    struct qn_str found = {0}, svg = {0};
    draw(p, &list);
    for (int i = 0; i < list.n; i++) {
        const struct qn_figure *f = &list.figure[i];
        char *file = qn_xasprintf("%s%s", prefix, f->name);
        qn_str_addf(&found, "%s ", f->name);
        qn_str_clear(&svg);
        qn_draw_svg(&f->drawing, &svg);
        assert_true(fabs(f->drawing.width - 170 * 72 / 25.4) < 1e-9);
        if (strstr(golden, f->name) != NULL) {
            check_golden(file, &svg);
        }
        free(file);
    }
    assert_string_equal(found.text != NULL ? found.text : "", names);
    qn_str_free(&found);
    qn_str_free(&svg);
    qn_figures_free(&list);
}

static void figures_of_a_text_are_as_they_were(void **state)
{
    make_text_run(*state);
    check_figures(*state,
                  "loss shares histogram-c heatmap-c histogram-f heatmap-f ",
                  "loss shares histogram-c heatmap-c", "text-");
}

static void figures_of_a_classifier_are_as_they_were(void **state)
{
    make_labels_run(*state);
    check_figures(*state, "loss accuracy ", "accuracy", "labels-");
}

/* --- what is in them ------------------------------------------------------ */

/* Whether a figure's SVG mentions the text. */
static bool mentions(const struct place *p, const char *name, const char *text)
{
    struct qn_figure_list list;
    struct qn_str svg = {0};
    draw(p, &list);
    for (int i = 0; i < list.n; i++) {
        if (qn_str_eq(list.figure[i].name, name)) {
            qn_draw_svg(&list.figure[i].drawing, &svg);
        }
    }
    bool found = svg.text != NULL && strstr(svg.text, text) != NULL;
    qn_str_free(&svg);
    qn_figures_free(&list);
    return found;
}

static void the_best_is_the_one_by_the_runs_own_rule(void **state)
{
    struct place *p = *state;
    make_labels_run(p);
    assert_true(mentions(p, "accuracy", "best: 85.0% at step 4<"));
    assert_true(mentions(p, "loss", "best: 0.5 at step 4<"));
}

static void steps_that_are_not_finite_are_counted(void **state)
{
    struct place *p = *state;
    make_text_run(p);
    assert_true(mentions(p, "loss", "not finite: 1 step<"));
    assert_true(mentions(p, "shares", ">NaN<"));
    assert_false(mentions(p, "loss", "nan"));
}

/* With as many layers, of which the last one is at zero. */
static void make_deep_run(struct place *p, int n_layers)
{
    struct qn_str layers = {0}, bins = {0};
    struct qn_run_dir *d = begin_run(p, text_spec);
    for (int i = 1; i < n_layers; i++) {
        add_entry(&layers, &bins, i, "c", 0, i % 8);
    }
    qn_str_addf(&layers,
                "%s{\"layer\":%d,\"of\":\"c\",\"n_near\":9,"
                "\"n_zero\":9}",
                n_layers > 1 ? "," : "", n_layers);
    char *text = qn_xasprintf("{\"event\":\"stats\",\"step\":5,\"threshold\":"
                              "0.1,\"layers\":[%s],\"bins\":[%s]}",
                              layers.text, bins.text != NULL ? bins.text : "");
    line(d, QN_STATS, text);
    free(text);
    qn_str_free(&layers);
    qn_str_free(&bins);
    qn_run_dir_close(d);
}

/* From x to x and how far down it stands. */
static bool overlap(const struct qn_shape *a, const struct qn_shape *b)
{
    static const double part[] = {
        [QN_START] = 0, [QN_MIDDLE] = 0.5, [QN_END] = 1};
    double a_width = qn_draw_text_width(a->text, &a->font);
    double b_width = qn_draw_text_width(b->text, &b->font);
    double a_left = a->spot[0].x - part[a->font.anchor] * a_width;
    double b_left = b->spot[0].x - part[b->font.anchor] * b_width;
    return fabs(a->spot[0].y - b->spot[0].y) < 6 && a_left + a_width > b_left &&
           b_left + b_width > a_left;
}

static void check_texts(const struct qn_figure *f)
{
    const struct qn_drawing *d = &f->drawing;
    for (size_t i = 0; i < d->n; i++) {
        const struct qn_shape *a = &d->shape[i];
        for (size_t k = 0; k < i && a->text != NULL; k++) {
            const struct qn_shape *b = &d->shape[k];
            if (b->text != NULL && !a->font.upwards && !b->font.upwards &&
                overlap(a, b)) {
                fail_msg("%s: \"%s\" over \"%s\"", f->name, a->text, b->text);
            }
        }
    }
}

static void words_stand_clear_however_many_layers_there_are(void **state)
{
    struct place *p = *state;
    static const int layers[] = {1, 2, 3, 4, 5, 8, 9, 12, 13, 24, 25, 64};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        struct qn_figure_list list;
        free(p->run);
        make_deep_run(p, layers[i]);
        draw(p, &list);
        assert_int_equal(list.n, 3);
        for (int k = 0; k < list.n; k++) {
            check_texts(&list.figure[k]);
        }
        qn_figures_free(&list);
    }
}

/* Their perplexity is not a large number. */
static void words_that_are_not_finite_are_gaps(void **state)
{
    struct place *p = *state;
    struct qn_run_dir *d = begin_run(p, words_spec);
    add_step(d, 1, "null", -1);
    assert_true(mentions(p, "loss", ">10<"));
    add_step(d, 2, "3", -1);
    add_step(d, 3, "null", -1);
    add_eval(d, 1, "\"loss\":null,\"perplexity\":null");
    add_eval(d, 2, "\"loss\":3,\"perplexity\":20");
    assert_true(mentions(p, "loss", "not finite: 2 steps<"));
    assert_true(mentions(p, "loss", "best: 20 at step 2<"));
    assert_true(mentions(p, "loss", " stroke=\"#d55e00\" stroke-width=\"5\""));
    assert_false(mentions(p, "loss", "e+"));
    qn_run_dir_close(d);
}

/* Files from outside may say anything. */
static void a_perplexity_below_none_is_not_drawn(void **state)
{
    struct place *p = *state;
    struct qn_run_dir *d = begin_run(p, words_spec);
    add_step(d, 1, "-1e300", -1);
    add_step(d, 2, "2", -1);
    add_eval(d, 1, "\"loss\":1,\"perplexity\":-5");
    add_eval(d, 2, "\"loss\":3,\"perplexity\":20");
    assert_true(mentions(p, "loss", "best: 20 at step 2<"));
    assert_false(mentions(p, "loss", "nan"));
    qn_run_dir_close(d);
}

/* Whatever the rule is. */
static void an_accuracy_without_a_loss_is_not_the_best(void **state)
{
    struct place *p = *state;
    static const char *const metrics[] = {"valid.loss", "valid.accuracy"};
    for (size_t i = 0; i < 2; i++) {
        char *spec = qn_xasprintf(
            "{\"name\":\"l\",\"task\":\"classify\",\"data\":{\"train\":"
            "\"x\",\"fold\":\"1 of 5\"},\"checkpoint\":{\"metric\":"
            "\"%s\"}}",
            metrics[i]);
        free(p->run);
        struct qn_run_dir *d = begin_run(p, spec);
        add_step(d, 2, "1", 50);
        add_eval(d, 1, "\"loss\":null,\"accuracy\":0.9");
        add_eval(d, 2, "\"loss\":3,\"accuracy\":0.75");
        assert_true(mentions(p, "accuracy", "best: 75.0% at step 2<"));
        qn_run_dir_close(d);
        free(spec);
    }
}

static void a_run_without_records_has_no_figures(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    struct qn_exported e = {.n = 0};
    qn_run_dir_close(begin_run(p, text_spec));
    check_figures(p, "", "", "");
    assert_int_equal(qn_export(p->run, p->to, 1u << QN_EXPORT_SVG, &e, &err),
                     QN_ENOTFOUND);
    assert_string_equal(err.text,
                        "the run has recorded nothing yet that could be drawn");
    assert_false(qn_path_exists(p->to));
    assert_int_equal(qn_export(p->run, p->to, 0, &e, &err), QN_OK);
    assert_int_equal(e.n, 7);
    qn_exported_free(&e);
}

static void one_step_is_a_figure_and_so_are_steps_of_nan_alone(void **state)
{
    struct place *p = *state;
    struct qn_run_dir *d = begin_run(p, text_spec);
    add_step(d, 1, "null", -1);
    check_figures(p, "loss ", "", "");
    add_step(d, 2, "3", -1);
    add_eval(d, 2, "\"loss\":null,\"bpc\":null");
    check_figures(p, "loss ", "", "");
    assert_false(mentions(p, "loss", "validation"));
    qn_run_dir_close(d);
}

static void a_damaged_or_missing_spec_is_named(void **state)
{
    struct place *p = *state;
    struct qn_metrics metrics = {.n_steps = 0};
    struct qn_figure_list list;
    struct qn_err err = {""};
    qn_run_dir_close(begin_run(p, "{\"model\":3}"));
    assert_int_equal(qn_figures_make(p->run, &metrics, &list, &err),
                     QN_EFORMAT);
    assert_true(qn_starts_with(err.text, "spec.json: "));
    char *spec = qn_path_join(p->run, "spec.json");
    assert_int_equal(qn_remove_tree(spec, NULL), QN_OK);
    assert_int_equal(qn_figures_make(p->run, &metrics, &list, &err), QN_EIO);
    assert_non_null(strstr(err.text, spec));
    free(spec);
}

static void many_records_are_summed_into_columns(void **state)
{
    struct place *p = *state;
    struct qn_stats_history h;
    struct qn_run_dir *d = begin_run(p, text_spec);
    for (int step = 1; step <= 600; step++) {
        add_stats(d, step, 0);
    }
    qn_run_dir_close(d);
    assert_int_equal(qn_stats_history_read(p->run, 0.1, &h, NULL), QN_OK);
    /* 600 records, 4 to a column. */
    assert_int_equal(h.n_columns, 150);
    assert_true(h.column[0].first == 1 && h.column[0].last == 4);
    assert_true(h.column[149].first == 597 && h.column[149].last == 600);
    const struct qn_history_bands *b =
        qn_stats_history_bands(&h, 7, 1, QN_CELL);
    assert_true(b->zero == 4 && b->side[QN_HIST_NEGATIVE][(86 - 1) / 2] == 8);
    assert_null(qn_stats_history_bands(&h, 7, 1, QN_OUTPUT));
    assert_int_equal(h.newest->step, 600);
    qn_stats_history_free(&h);
}

/* Which leaves fewer columns than there were, by an odd number. */
static void records_stay_when_a_later_one_has_more_layers(void **state)
{
    struct place *p = *state;
    struct qn_stats_history h;
    struct qn_run_dir *d = begin_run(p, text_spec);
    for (int step = 1; step <= 102; step++) {
        add_stats(d, step, 0);
    }
    for (int step = 103; step <= 105; step++) {
        char *text =
            qn_xasprintf("{\"event\":\"stats\",\"step\":%d,\"layers\":["
                         "{\"layer\":64,\"of\":\"c\",\"n_near\":1}]}",
                         step);
        line(d, QN_STATS, text);
        free(text);
    }
    qn_run_dir_close(d);
    assert_int_equal(qn_stats_history_read(p->run, 0.1, &h, NULL), QN_OK);
    int records = 0;
    for (int i = 0; i < h.n_columns; i++) {
        records += h.column[i].n_records;
        assert_true(i == 0 || h.column[i].first == h.column[i - 1].last + 1);
    }
    assert_int_equal(records, 105);
    assert_true(h.column[h.n_columns - 1].last == 105 && h.n_columns <= 64);
    qn_stats_history_free(&h);
}

static void a_million_steps_make_a_small_file(void **state)
{
    (void)state;
    size_t n = 1000000;
    struct qn_metrics m = {.step = qn_xcalloc(n, sizeof *m.step), .n_steps = n};
    struct qn_figure_source *s = qn_xcalloc(1, sizeof *s);
    struct qn_drawing d;
    struct qn_str svg = {0};
    assert_int_equal(
        qn_spec_parse(text_spec, strlen(text_spec), &s->spec, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        m.step[i].step = (int64_t)i + 1;
        m.step[i].epoch = (double)i / 1000;
        m.step[i].loss = 2 + (double)(i * 7919 % 1000) / 1000;
    }
    s->metrics = &m;
    assert_true(qn_figure_loss(s, &d));
    qn_draw_svg(&d, &svg);
    assert_true(svg.len > 10000 && svg.len < MOST_BYTES);
    assert_non_null(strstr(svg.text, "training step (thousands)"));
    qn_str_free(&svg);
    qn_drawing_free(&d);
    free(m.step);
    free(s);
}

/* --- files ---------------------------------------------------------------- */

static void every_file_is_whole_xml(void **state)
{
    struct place *p = *state;
    struct qn_exported e;
    if (system("command -v xmllint >/dev/null 2>&1") != 0) {
        skip();
    }
    make_text_run(p);
    assert_int_equal(qn_export(p->run, p->to, 1u << QN_EXPORT_SVG, &e, NULL),
                     QN_OK);
    assert_int_equal(e.n, 6);
    char *command = qn_xasprintf("xmllint --noout %s/*.svg", p->to);
    assert_int_equal(system(command), 0);
    free(command);
    qn_exported_free(&e);
}

/* Asked before every file; true at the n-th. */
static bool is_enough(void *user)
{
    int *left = user;
    return --*left < 0;
}

static void an_export_that_is_interrupted_leaves_nothing(void **state)
{
    struct place *p = *state;
    struct qn_exported e;
    struct qn_err err;
    make_text_run(p);
    for (int files = 0; files < 6; files++) {
        int left = files;
        assert_int_equal(qn_export_until(p->run, p->to, 1u << QN_EXPORT_SVG,
                                         is_enough, &left, &e, &err),
                         QN_ESTOPPED);
        assert_false(qn_path_exists(p->to));
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(figures_of_a_text_are_as_they_were),
        TEST(figures_of_a_classifier_are_as_they_were),
        TEST(the_best_is_the_one_by_the_runs_own_rule),
        TEST(steps_that_are_not_finite_are_counted),
        TEST(words_stand_clear_however_many_layers_there_are),
        TEST(words_that_are_not_finite_are_gaps),
        TEST(a_perplexity_below_none_is_not_drawn),
        TEST(an_accuracy_without_a_loss_is_not_the_best),
        TEST(a_run_without_records_has_no_figures),
        TEST(one_step_is_a_figure_and_so_are_steps_of_nan_alone),
        TEST(a_damaged_or_missing_spec_is_named),
        TEST(many_records_are_summed_into_columns),
        TEST(records_stay_when_a_later_one_has_more_layers),
        TEST(a_million_steps_make_a_small_file),
        TEST(every_file_is_whole_xml),
        TEST(an_export_that_is_interrupted_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
