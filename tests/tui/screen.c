/* screen.c - tests of focus, pop-ups and what each key asks for. */
#include "tui/screen.h"

#include "base/mem.h"
#include "lab_fixture.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const endless[] = {"steps=1000000", NULL};

struct desk {
    struct lab_fixture *f;
    struct qn_line *line;
    struct qn_screen *screen;
};

static void on_accept(void *user, const char *text)
{
    (void)user;
    (void)text;
}

static void on_eof(void *user)
{
    (void)user;
}

static int setup(void **state)
{
    struct desk *d = qn_xcalloc(1, sizeof *d);
    void *f = NULL;
    const struct qn_line_host host = {.accept = on_accept, .eof = on_eof};
    (void)setenv("INPUTRC", "/dev/null", 1);
    if (lab_fixture_setup(&f) != 0) {
        return -1;
    }
    d->f = f;
    d->line = qn_line_start(&host, NULL);
    qn_line_prompt(d->line, "> ");
    d->screen = qn_screen_new(d->f->lab, d->line, QN_GLYPHS_ASCII);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct desk *d = *state;
    void *f = d->f;
    qn_screen_free(d->screen);
    qn_line_stop(d->line);
    free(d);
    return lab_fixture_teardown(&f);
}

static enum qn_screen_wish press(struct desk *d, enum qn_key_code code)
{
    struct qn_key key = {.code = code, .bytes = "", .len = 0};
    return qn_screen_key(d->screen, &key);
}

static enum qn_screen_wish press_char(struct desk *d, char c)
{
    struct qn_key key = {
        .code = QN_KEY_CHAR, .ch = (uint32_t)c, .bytes = &c, .len = 1};
    return qn_screen_key(d->screen, &key);
}

/* The frame as text, to be freed. */
static char *frame(struct desk *d, int *row, int *col)
{
    struct qn_canvas c;
    struct qn_str text = {0};
    qn_canvas_init(&c, 30, 100);
    qn_screen_draw(d->screen, &c, row, col);
    qn_canvas_dump(&c, false, &text);
    qn_canvas_fini(&c);
    return qn_str_take(&text);
}

static bool shows(struct desk *d, const char *what)
{
    int row, col;
    char *text = frame(d, &row, &col);
    bool found = strstr(text, what) != NULL;
    free(text);
    return found;
}

static int cursor_col(struct desk *d)
{
    int row, col;
    free(frame(d, &row, &col));
    return col;
}

static void open_completions(struct desk *d)
{
    char one[] = "preset", two[] = "print";
    char *const words[] = {one, two};
    qn_screen_candidates(d->screen, words, 2);
    assert_true(shows(d, "completions"));
}

static void what_is_typed_goes_to_the_prompt_and_to_no_pane(void **state)
{
    struct desk *d = *state;
    assert_int_equal(press_char(d, 'z'), QN_WISH_LINE);
    assert_int_equal(press_char(d, 'q'), QN_WISH_LINE);
    assert_int_equal(press(d, QN_KEY_PASTE), QN_WISH_PASTE);
    press(d, QN_KEY_F1 + 5);
    assert_int_equal(press_char(d, 'z'), QN_WISH_NONE);
    assert_int_equal(press(d, QN_KEY_PASTE), QN_WISH_NONE);
    assert_int_equal(cursor_col(d), -1);
    assert_int_equal(press(d, QN_KEY_ESC), QN_WISH_NONE);
    assert_int_equal(press_char(d, 'z'), QN_WISH_LINE);
    assert_true(cursor_col(d) >= 0);
}

static void a_key_closes_the_completions_and_does_what_it_does(void **state)
{
    struct desk *d = *state;
    open_completions(d);
    assert_int_equal(press_char(d, 'z'), QN_WISH_LINE);
    assert_false(shows(d, "completions"));
    open_completions(d);
    assert_int_equal(press(d, QN_KEY_PASTE), QN_WISH_PASTE);
    open_completions(d);
    assert_int_equal(press(d, QN_KEY_F1), QN_WISH_NONE);
    assert_true(shows(d, "this help"));
    press(d, QN_KEY_ESC);
    open_completions(d);
    assert_int_equal(press(d, QN_KEY_ESC), QN_WISH_NONE);
    assert_false(shows(d, "completions"));
}

static void quitting_asks_only_while_a_run_is_active(void **state)
{
    struct desk *d = *state;
    assert_int_equal(qn_screen_ask_quit(d->screen), QN_WISH_QUIT);
    qn_run_id id = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    static const char stay[] = "n\033";
    for (const char *c = stay; *c; c++) {
        assert_int_equal(qn_screen_ask_quit(d->screen), QN_WISH_NONE);
        assert_true(shows(d, "quit?"));
        assert_int_equal(press_char(d, 'z'), QN_WISH_NONE);
        assert_int_equal(press(d, QN_KEY_PASTE), QN_WISH_NONE);
        assert_true(shows(d, "quit?"));
        assert_int_equal(*c == '\033' ? press(d, QN_KEY_ESC)
                                      : press_char(d, *c),
                         QN_WISH_NONE);
        assert_false(shows(d, "quit?"));
    }
    (void)qn_screen_ask_quit(d->screen);
    assert_true(shows(d, "quit?"));
    assert_int_equal(press_char(d, 'y'), QN_WISH_QUIT);
    assert_ok(qn_lab_stop(d->f->lab, id, false, &err));
}

/* The newest run becomes the selected one while the question stands. */
static void the_run_that_a_question_names_is_the_one_that_stops(void **state)
{
    struct desk *d = *state;
    qn_run_id first = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    press(d, QN_KEY_F1 + 8);
    assert_true(shows(d, "stop this run?"));
    qn_run_id second = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    press_char(d, 'd');
    assert_false(shows(d, "stop this run?"));
    wait_state(d->f, first, QN_LAB_STOPPED);
    assert_int_equal(view(d->f, second).state, QN_LAB_RUNNING);
}

/* Keys that came before the question could be read. */
static void what_was_typed_ahead_answers_no_question(void **state)
{
    struct desk *d = *state;
    qn_run_id id = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    press(d, QN_KEY_F1 + 8);
    press_char(d, 'd');
    press_char(d, 's');
    assert_true(shows(d, "stop this run?"));
    press_char(d, 'c');
    assert_false(shows(d, "stop this run?"));
    (void)qn_screen_ask_quit(d->screen);
    assert_int_equal(press_char(d, 'y'), QN_WISH_NONE);
    assert_true(shows(d, "quit?"));
    press_char(d, 'n');
    /* The next question is new, even if the last one was read. */
    press(d, QN_KEY_F1 + 8);
    press_char(d, 's');
    assert_int_equal(view(d->f, id).state, QN_LAB_RUNNING);
    press(d, QN_KEY_ESC);
    assert_false(shows(d, "stop this run?"));
    assert_int_equal(view(d->f, id).state, QN_LAB_RUNNING);
}

static void the_hint_of_the_pause_says_what_the_key_does_next(void **state)
{
    struct desk *d = *state;
    assert_true(shows(d, "F8 pause"));
    qn_run_id id = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    assert_true(shows(d, "F8 pause"));
    press(d, QN_KEY_F1 + 7);
    wait_state(d->f, id, QN_LAB_PAUSED);
    assert_true(shows(d, "F8 go on"));
    press(d, QN_KEY_F1 + 7);
    wait_state(d->f, id, QN_LAB_RUNNING);
    assert_true(shows(d, "F8 pause"));
}

/* Nothing is asserted under the limit, which holds for the report as well. */
static void a_full_disk_is_a_state_until_there_is_room(void **state)
{
    struct desk *d = *state;
    qn_run_id id = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    rlim_t before = fixture_limit_files(4000);
    wait_state(d->f, id, QN_LAB_PAUSED);
    struct qn_lab_run run = view(d->f, id);
    bool has_path = strstr(run.error, run.run) != NULL;
    bool said = shows(d, "| = waits for the disk\n");
    bool hinted = shows(d, "F8 go on");
    (void)fixture_limit_files(before);
    assert_true(run.waits);
    assert_true(has_path);
    assert_true(said);
    assert_true(hinted);
    press(d, QN_KEY_F1 + 7);
    wait_state(d->f, id, QN_LAB_RUNNING);
    assert_false(view(d->f, id).waits);
    assert_true(shows(d, "| * running\n"));
}

static enum qn_screen_wish press_alt(struct desk *d, char c)
{
    struct qn_key key = {
        .code = QN_KEY_CHAR, .ch = (uint32_t)c, .alt = true, .bytes = ""};
    return qn_screen_key(d->screen, &key);
}

/* A few documents, whose last word says all there is to know. */
static qn_run_id start_classifier(struct desk *d)
{
    struct qn_str text = {0};
    for (int i = 0; i < 40; i++) {
        qn_str_addf(&text, "%d\t0\tthe film %d was %s\n", i % 2, i,
                    i % 2 == 1 ? "bright" : "dull");
    }
    char *path = fixture_write(d->f->base, "documents.tsv", text.text);
    qn_str_free(&text);
    static const char *const base[] = {
        "task=classify",  "data.valid=none",      "data.test=0.2",
        "batch=4",        "data.fold=1 of 4",     "threads=1",
        "model.layers=1", "model.hidden=8",       "model.embed=6",
        "steps=1000000",  "eval.every=5",         "stats.every=none",
        "log.every=none", "checkpoint.every=none"};
    struct qn_settings *s = qn_settings_new();
    qn_settings_set(s, "data.train", path, QN_FROM_USER);
    free(path);
    for (size_t i = 0; i < sizeof base / sizeof *base; i++) {
        qn_settings_assign(s, base[i], QN_FROM_USER);
    }
    struct qn_spec spec;
    qn_run_id id = 0;
    assert_ok(qn_settings_finish(s, &spec, &err));
    qn_settings_free(s);
    assert_ok(qn_lab_train(d->f->lab, &spec, false, &id, &err));
    wait_step(d->f, id, 12);
    qn_screen_update(d->screen);
    return id;
}

static void classifiers_show_loss_or_accuracy(void **state)
{
    struct desk *d = *state;
    qn_run_id id = start_classifier(d);
    assert_true(shows(d, "loss nats"));
    assert_true(shows(d, " acc "));
    assert_true(shows(d, "Alt-a accuracy"));
    press_alt(d, 'a');
    assert_true(shows(d, "- accuracy "));
    assert_true(shows(d, "0%"));
    assert_false(shows(d, "nats"));
    /* A logarithm of it is refused, and not kept for the loss either. */
    press(d, QN_KEY_F1 + 4);
    assert_true(shows(d, "always linear"));
    press_alt(d, '1');
    press_char(d, 'a');
    assert_true(shows(d, "+- loss nats"));
    assert_ok(qn_lab_stop(d->f->lab, id, false, &err));
}

/* The choice is the screen's: it waits for a run that has an accuracy. */
static void accuracy_gives_way_to_the_loss_of_a_language_model(void **state)
{
    struct desk *d = *state;
    qn_run_id first = start_run(d->f, endless, false);
    wait_step(d->f, first, 2);
    qn_screen_update(d->screen);
    press_alt(d, 'a');
    assert_true(shows(d, "only classifiers have an accuracy"));
    assert_false(shows(d, "Alt-a"));
    qn_run_id second = start_classifier(d);
    assert_true(shows(d, "loss nats"));
    press_alt(d, 'a');
    assert_true(shows(d, "- accuracy "));
    press(d, QN_KEY_F1 + 3);
    assert_true(shows(d, "loss nats"));
    assert_false(shows(d, " acc "));
    press(d, QN_KEY_F1 + 3);
    assert_true(shows(d, "- accuracy "));
    assert_ok(qn_lab_stop(d->f->lab, first, false, &err));
    assert_ok(qn_lab_stop(d->f->lab, second, false, &err));
}

static void cancelling_stops_nothing(void **state)
{
    struct desk *d = *state;
    press(d, QN_KEY_F1 + 8);
    assert_true(shows(d, "no run is training"));
    qn_run_id id = start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    press(d, QN_KEY_F1 + 8);
    press_char(d, 'c');
    press(d, QN_KEY_F1 + 8);
    press(d, QN_KEY_ESC);
    press(d, QN_KEY_F1 + 8);
    qn_screen_interrupt(d->screen);
    assert_false(shows(d, "stop this run?"));
    assert_int_equal(view(d->f, id).state, QN_LAB_RUNNING);
}

static void an_interrupt_undoes_one_thing_at_a_time(void **state)
{
    struct desk *d = *state;
    qn_line_feed(d->line, "text", 4);
    press(d, QN_KEY_F1 + 5);
    press(d, QN_KEY_F1);
    qn_screen_interrupt(d->screen);
    assert_false(shows(d, "this help"));
    assert_int_equal(cursor_col(d), -1);
    qn_screen_interrupt(d->screen);
    assert_int_equal(cursor_col(d), 6);
    assert_true(shows(d, "> text"));
    qn_screen_interrupt(d->screen);
    assert_false(shows(d, "> text"));
    assert_false(shows(d, "Ctrl-D quits"));
    qn_screen_interrupt(d->screen);
    assert_true(shows(d, "Ctrl-D quits"));
}

/* However the row scrolls, what stands before the cursor is the last thing
 * typed. */
static void the_cursor_stands_behind_what_was_typed(void **state)
{
    struct desk *d = *state;
    for (int i = 0; i < 120; i++) {
        struct qn_canvas c;
        int row, col;
        qn_line_feed(d->line, i % 3 == 0 ? "日" : "x", i % 3 == 0 ? 3 : 1);
        qn_canvas_init(&c, 10, 41);
        qn_screen_draw(d->screen, &c, &row, &col);
        assert_in_range(row, 0, 9);
        assert_in_range(col, 1, 40);
        const struct qn_canvas_cell *cell = &c.cells[row * 41 + col];
        assert_int_equal(cell->glyph, ' ');
        assert_int_equal(cell[-1].glyph, i % 3 == 0 ? 0 : 'x');
        qn_canvas_fini(&c);
    }
}

static void one_key_goes_through_all_that_is_counted(void **state)
{
    struct desk *d = *state;
    qn_run_id id = start_run(
        d->f,
        (const char *[]){"steps=2", "stats.of=o,c,f", "stats.every=1", NULL},
        false);
    wait_state(d->f, id, QN_LAB_DONE);
    qn_screen_update(d->screen);
    assert_true(shows(d, " cell states c "));
    press(d, QN_KEY_F1 + 1);
    assert_true(shows(d, " forget gates f "));
    press(d, QN_KEY_F1 + 1);
    assert_true(shows(d, " output gates o "));
    press(d, QN_KEY_F1 + 1);
    assert_true(shows(d, " cell states c "));
    press(d, QN_KEY_F1 + 5); /* in a pane a letter does */
    press_char(d, 'c');
    assert_true(shows(d, " forget gates f "));
}

/* Box lines show it: in ASCII they are + and -. */
static bool in_ascii(struct desk *d)
{
    int row, col;
    char *text = frame(d, &row, &col);
    bool ascii = true;
    for (const char *c = text; *c != '\0'; c++) {
        ascii = ascii && (unsigned char)*c < 0x80;
    }
    free(text);
    return ascii;
}

static void glyphs_change_where_the_locale_has_them(void **state)
{
    struct desk *d = *state;
    for (int i = 0; i < 3; i++) {
        assert_true(in_ascii(d));
        press(d, QN_KEY_F1 + 6);
    }
    qn_screen_free(d->screen);
    d->screen = qn_screen_new(d->f->lab, d->line, QN_GLYPHS_BRAILLE);
    assert_false(in_ascii(d));
    press(d, QN_KEY_F1 + 6);
    press(d, QN_KEY_F1 + 6);
    assert_true(in_ascii(d));
    press(d, QN_KEY_F1 + 6);
    assert_false(in_ascii(d));
}

static void any_size_can_be_drawn(void **state)
{
    struct desk *d = *state;
    (void)start_run(d->f, endless, false);
    qn_screen_update(d->screen);
    qn_line_feed(d->line, "日本", 6);
    for (int popup = 0; popup < 2; popup++) {
        if (popup)
            press(d, QN_KEY_F1);
        for (int rows = 0; rows < 30; rows++) {
            for (int cols = 0; cols < 130; cols += 1 + cols / 12) {
                struct qn_canvas c;
                int row, col;
                qn_canvas_init(&c, rows, cols);
                qn_screen_draw(d->screen, &c, &row, &col);
                assert_true(row < rows && (row < 0 || col >= 0));
                qn_canvas_fini(&c);
            }
        }
    }
}

#define SCREEN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    /* Readline counts characters by the locale; these tests type UTF-8. */
    (void)setenv("LC_ALL", "C.UTF-8", 1);
    (void)setlocale(LC_ALL, "");
    const struct CMUnitTest tests[] = {
        SCREEN_TEST(what_is_typed_goes_to_the_prompt_and_to_no_pane),
        SCREEN_TEST(a_key_closes_the_completions_and_does_what_it_does),
        SCREEN_TEST(quitting_asks_only_while_a_run_is_active),
        SCREEN_TEST(the_run_that_a_question_names_is_the_one_that_stops),
        SCREEN_TEST(what_was_typed_ahead_answers_no_question),
        SCREEN_TEST(the_hint_of_the_pause_says_what_the_key_does_next),
        SCREEN_TEST(a_full_disk_is_a_state_until_there_is_room),
        SCREEN_TEST(classifiers_show_loss_or_accuracy),
        SCREEN_TEST(accuracy_gives_way_to_the_loss_of_a_language_model),
        SCREEN_TEST(cancelling_stops_nothing),
        SCREEN_TEST(an_interrupt_undoes_one_thing_at_a_time),
        SCREEN_TEST(the_cursor_stands_behind_what_was_typed),
        SCREEN_TEST(one_key_goes_through_all_that_is_counted),
        SCREEN_TEST(glyphs_change_where_the_locale_has_them),
        SCREEN_TEST(any_size_can_be_drawn),
    };
    return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
