/* desk.c - one poll loop on one thread: keys, signals, wake-ups, frames.
 *
 * Whatever happens ends in a dirty screen, and a dirty screen is drawn at once
 * after a key and at most ten times a second for training's sake.
 */
#include "app/desk.h"

#include "app/end_runs.h"
#include "app/hint.h"
#include "app/out.h"
#include "app/signals.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "tui/input.h"
#include "tui/line.h"
#include "tui/screen.h"
#include "tui/term.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME_SECONDS 0.1
#define NEWS_SECONDS 0.03
#define PROMPT "quern> "
#define PROMPT_MORE "   >> "

struct desk {
    struct qn_lab *lab;
    struct qn_script *script;
    struct qn_term *term;
    struct qn_line *line;
    struct qn_input *input;
    struct qn_screen *screen;
    struct qn_canvas canvas;
    struct qn_str chunk;   /* lines of an unfinished chunk */
    struct qn_str strays;  /* an unfinished line of a library's */
    struct qn_str printed; /* an unfinished line of print's */
    bool print_error;      /* that it is of errors */
    bool in_lua, quit, save;
    bool dirty;
    double drawn; /* when */
    double heard; /* when the lab last had something new */
    double keyed; /* when bytes last came from the keyboard */
};

static void draw(struct desk *d)
{
    int rows, cols, row, col;
    qn_term_size(d->term, &rows, &cols);
    qn_canvas_resize(&d->canvas, rows, cols);
    qn_screen_draw(d->screen, &d->canvas, &row, &col);
    qn_term_draw(d->term, &d->canvas, row, col);
    d->dirty = false;
    d->drawn = qn_clock_now();
}

static void draw_when_due(struct desk *d)
{
    if (d->dirty && qn_clock_now() - d->drawn >= FRAME_SECONDS)
        draw(d);
}

/* --- what Lua prints: whole lines go to the scroll-back */

static void flush_printed(struct desk *d)
{
    if (d->printed.len == 0)
        return;
    qn_screen_print(d->screen, d->printed.text,
                    d->print_error ? QN_ROLE_ERROR : QN_ROLE_TEXT);
    qn_str_clear(&d->printed);
    d->dirty = true;
}

static void on_print(void *user, const char *text, bool is_error)
{
    struct desk *d = user;
    if (is_error != d->print_error)
        flush_printed(d);
    d->print_error = is_error;
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            if (d->printed.len == 0)
                qn_str_add(&d->printed, " "); /* an empty line is a line */
            flush_printed(d);
        } else {
            qn_str_add_bytes(&d->printed, p, 1);
        }
    }
}

/* --- signals */

static void take_signal(struct desk *d, int sig)
{
    d->dirty = true;
    switch (sig) {
    case SIGWINCH: {
        int rows, cols;
        qn_term_resized(d->term);
        qn_term_size(d->term, &rows, &cols);
        qn_line_size(d->line, rows, cols);
        break;
    }
    case SIGINT:
        if (d->in_lua) {
            qn_script_interrupt(d->script);
            break;
        }
        qn_str_clear(&d->chunk);
        qn_screen_interrupt(d->screen);
        qn_line_prompt(d->line, PROMPT);
        break;
    case SIGTSTP:
        qn_term_suspend(d->term);
        break;
    default: /* TERM, HUP: leave, losing nothing */
        d->quit = d->save = true;
    }
}

static void take_signals(struct desk *d)
{
    int sig;
    while ((sig = qn_signals_take()) != 0)
        take_signal(d, sig);
}

/* What libraries wrote to 1 and 2. */
static void take_strays(struct desk *d)
{
    char buf[1024];
    int n = qn_term_read_output(d->term, buf, sizeof buf);
    for (int i = 0; i < n; i++) {
        if (buf[i] == '\n' || d->strays.len >= sizeof buf) {
            qn_screen_print(d->screen, d->strays.text ? d->strays.text : "",
                            QN_ROLE_DIM);
            qn_str_clear(&d->strays);
            d->dirty = true;
        }
        if (buf[i] != '\n' && buf[i] != '\0')
            qn_str_add_bytes(&d->strays, &buf[i], 1);
    }
}

static void take_news(struct desk *d)
{
    if (qn_lab_poll(d->lab)) {
        qn_screen_update(d->screen);
        d->dirty = true;
        d->heard = qn_clock_now();
    }
}

/* --- waiting */

enum { WAIT_SIGNAL, WAIT_LAB, WAIT_STRAY, WAIT_KEYS, N_WAITS };

/* Sleep until something happens or the seconds are over (INFINITY: no limit);
 * keys only when asked for: while Lua runs they stay in the terminal. */
static void wait_for(struct desk *d, double seconds, bool keys)
{
    struct pollfd fds[N_WAITS] = {
        [WAIT_SIGNAL] = {.fd = qn_signals_fd(), .events = POLLIN},
        [WAIT_LAB] = {.fd = qn_lab_fd(d->lab), .events = POLLIN},
        [WAIT_STRAY] = {.fd = qn_term_output_fd(d->term), .events = POLLIN},
        [WAIT_KEYS] = {.fd = qn_term_fd(d->term), .events = POLLIN},
    };
    /* A fast run wakes us at every step: hear it thirty times a second. */
    double deaf = d->heard + NEWS_SECONDS - qn_clock_now();
    if (deaf > 0) {
        fds[WAIT_LAB].fd = -1;
        seconds = seconds < deaf ? seconds : deaf;
    }
    int ms = isinf(seconds) ? -1 : (int)(seconds * 1000 + 0.999);
    (void)poll(fds, keys ? N_WAITS : WAIT_KEYS, ms); /* EINTR: a signal */
    take_signals(d);
    take_strays(d);
    if (qn_clock_now() - d->heard >= NEWS_SECONDS)
        take_news(d);
}

/* From inside Lua. */
static void on_pump(void *user, double timeout)
{
    struct desk *d = user;
    double frame = d->dirty ? FRAME_SECONDS : timeout;
    wait_for(d, timeout < frame ? timeout : frame, false);
    if (d->quit) /* again at every turn: Lua may catch the first */
        qn_script_interrupt(d->script);
    draw_when_due(d);
}

/* --- the prompt */

static void echo_line(struct desk *d, const char *prompt, const char *text)
{
    char *echo = qn_xasprintf("%s%s", prompt, text);
    qn_screen_print(d->screen, echo, QN_ROLE_PROMPT);
    free(echo);
}

static void run_lua(struct desk *d, const char *text, const char *file,
                    const char *const *args, int n_args)
{
    draw(d); /* what was typed, before a call that never pumps */
    d->in_lua = true;
    qn_screen_busy(d->screen, true);
    d->dirty = true; /* drawn by the pump if it takes that long */
    enum qn_script_result r =
        file ? qn_script_file(d->script, file, args, n_args)
             : qn_script_eval(d->script, text);
    d->in_lua = false;
    qn_screen_busy(d->screen, false);
    flush_printed(d);
    if (r == QN_SCRIPT_INCOMPLETE) {
        qn_line_prompt(d->line, PROMPT_MORE);
        return;
    }
    if (!file)
        qn_line_remember(d->line, text);
    qn_str_clear(&d->chunk);
    qn_line_prompt(d->line, PROMPT);
    if (r == QN_SCRIPT_QUIT)
        d->quit = d->save = true;
}

static void on_accept(void *user, const char *text)
{
    struct desk *d = user;
    echo_line(d, d->chunk.len > 0 ? PROMPT_MORE : PROMPT, text);
    if (d->chunk.len > 0)
        qn_str_add(&d->chunk, "\n");
    qn_str_add(&d->chunk, text);
    if (d->chunk.len > 0) {
        char *chunk = qn_xstrdup(d->chunk.text);
        run_lua(d, chunk, NULL, NULL, 0);
        free(chunk);
    }
    take_news(d);
}

static void take_wish(struct desk *d, enum qn_screen_wish wish,
                      const struct qn_key *key)
{
    switch (wish) {
    case QN_WISH_LINE:
        if (key->code == QN_KEY_ESC)
            qn_line_escape(d->line);
        else
            qn_line_feed(d->line, key->bytes, key->len);
        break;
    case QN_WISH_PASTE:
        qn_line_insert(d->line, key->bytes, key->len);
        break;
    case QN_WISH_REPAINT:
        qn_term_repaint(d->term);
        break;
    case QN_WISH_QUIT:
        d->quit = d->save = true;
        break;
    case QN_WISH_NONE:
        break;
    }
}

static void on_eof(void *user)
{
    struct desk *d = user;
    take_wish(d, qn_screen_ask_quit(d->screen), NULL);
}

static char **on_complete(void *user, const char *text, int point, int *start)
{
    struct desk *d = user;
    return qn_script_complete(d->script, text, point, start);
}

static void on_candidates(void *user, char *const *words, int n)
{
    struct desk *d = user;
    qn_screen_candidates(d->screen, words, n);
}

static void on_key(void *user, const struct qn_key *key)
{
    struct desk *d = user;
    if (!d->quit) /* what was typed ahead is for nobody then */
        take_wish(d, qn_screen_key(d->screen, key), key);
}

static void take_keys(struct desk *d)
{
    char buf[4096];
    int n = qn_term_read(d->term, buf, sizeof buf);
    if (n < 0) { /* the terminal is gone */
        d->quit = d->save = true;
    } else if (n > 0) {
        d->keyed = qn_clock_now();
        qn_input_feed(d->input, buf, (size_t)n);
        draw(d);
    }
}

/* Until what the decoder holds back is due; INFINITY when nothing is. */
static double held_seconds(const struct desk *d)
{
    int ms = qn_input_patience_ms(d->input);
    if (ms == 0)
        return (double)INFINITY;
    return fmax(d->keyed + ms / 1000.0 - qn_clock_now(), 0);
}

static void loop(struct desk *d)
{
    while (!d->quit) {
        double frame = d->drawn + FRAME_SECONDS - qn_clock_now();
        frame = d->dirty ? fmax(frame, 0) : (double)INFINITY;
        wait_for(d, fmin(frame, held_seconds(d)), true);
        struct pollfd p = {.fd = qn_term_fd(d->term), .events = POLLIN};
        if (poll(&p, 1, 0) > 0)
            take_keys(d);
        else if (held_seconds(d) <= 0) {
            qn_input_flush(d->input);
            d->dirty = true;
        }
        draw_when_due(d);
    }
}

/* --- beginning and end */

static void welcome(struct desk *d, bool has_run)
{
    qn_screen_print(d->screen,
                    "quern " QN_VERSION
                    "   F1 keys   qn.help() what Lua can do   Tab completes",
                    QN_ROLE_DIM);
    if (!has_run)
        qn_screen_print(d->screen, "try: run = qn.train(qn.preset(\"demo\"))",
                        QN_ROLE_DIM);
}

static enum qn_status open_lua(struct desk *d,
                               const struct qn_desk_options *options,
                               struct qn_err *err)
{
    struct qn_script_host host = {
        .user = d, .print = on_print, .pump = on_pump, .has_screen = true};
    return qn_script_new(d->lab, &host, &options->script_options, &d->script,
                         err);
}

static void open_prompt(struct desk *d)
{
    struct qn_line_host host = {.user = d,
                                .accept = on_accept,
                                .eof = on_eof,
                                .complete = on_complete,
                                .candidates = on_candidates};
    char *dir = qn_xdg_dir("STATE");
    char *history = qn_path_join(dir, "history");
    d->line = qn_line_start(&host, history);
    free(history);
    free(dir);
    qn_line_prompt(d->line, PROMPT);
    d->input = qn_input_new(on_key, d);
    d->screen = qn_screen_new(d->lab, d->line, qn_term_glyphs(d->term));
    int rows, cols;
    qn_term_size(d->term, &rows, &cols);
    qn_line_size(d->line, rows, cols);
}

/* What a person should know after the screen has gone. The runs save first and
 * evaluate then, which may take a while. */
static void say_goodbye(struct desk *d, const struct qn_desk_options *options)
{
    int n = qn_lab_n_runs(d->lab);
    for (int i = 0; i < n; i++) {
        struct qn_lab_run run;
        if (!qn_lab_run(d->lab, qn_lab_run_at(d->lab, i), &run) ||
            !qn_lab_state_active(run.state))
            continue;
        struct qn_str hint = {0};
        qn_hint_resume(&hint, options->store, options->data, run.run);
        printf("saving %s at step %lld; go on with: %s\n", run.name,
               (long long)run.step, hint.text);
        qn_str_free(&hint);
    }
    fflush(stdout);
}

static void hear_lab(void *user)
{
    struct desk *d = user;
    struct pollfd news = {.fd = qn_lab_fd(d->lab), .events = POLLIN};
    (void)poll(&news, 1, 500); /* EINTR: another signal */
    (void)qn_lab_poll(d->lab);
}

static void say_not_saved(void *user, const struct qn_lab_run *run)
{
    (void)user;
    if (run->state == QN_LAB_FAILED) {
        struct qn_str s = {0};
        qn_str_addf(&s, "%s was not saved: %s", run->name, run->error);
        qn_complain(s.text);
        qn_str_free(&s);
    }
}

/* false: something could not be saved. */
static bool close_desk(struct desk *d, const struct qn_desk_options *options)
{
    bool saved = true;
    qn_screen_free(d->screen);
    qn_input_free(d->input);
    qn_line_stop(d->line);
    qn_term_stop(d->term);
    qn_signals_let_interrupt(); /* of a long evaluation: all is saved by then */
    if (d->save) {
        const struct qn_end_runs how = {
            .user = d, .pump = hear_lab, .say = say_not_saved};
        say_goodbye(d, options);
        saved = qn_end_runs(d->lab, &how);
    }
    qn_script_free(d->script);
    qn_lab_free(d->lab, d->save);
    qn_canvas_fini(&d->canvas);
    qn_str_free(&d->chunk);
    qn_str_free(&d->printed);
    qn_str_free(&d->strays);
    qn_signals_stop();
    return saved;
}

static void start_work(struct desk *d, const struct qn_desk_options *options)
{
    welcome(d, options->spec || options->script);
    draw(d);
    if (options->script)
        run_lua(d, NULL, options->script, options->script_args,
                options->n_script_args);
    take_news(d);
    draw(d);
}

int qn_desk_run(const struct qn_desk_options *options)
{
    struct desk d = {0};
    struct qn_err err;
    int code = 0;
    struct qn_train_env env = options->env;
    env.log = NULL; /* notices come with the lab's log, their level kept */
    env.gives_way = true;
    qn_pool_give_way(env.pool);
    /* Before ncurses, which would else install handlers of its own. */
    enum qn_status st = qn_signals_start(&err);
    if (st == QN_OK)
        st = qn_lab_new(&env, &d.lab, &err);
    if (st == QN_OK)
        st = open_lua(&d, options, &err);
    if (st == QN_OK)
        st = qn_term_check(&err);
    /* A run that cannot begin is said on the plain terminal. */
    qn_run_id id;
    if (st == QN_OK && options->spec)
        st = qn_lab_train(d.lab, options->spec, false, &id, &err);
    if (st == QN_OK)
        st = qn_term_start(&d.term, &err);
    if (st != QN_OK) {
        code = qn_give_up(st, &err);
    } else {
        open_prompt(&d);
        start_work(&d, options);
        loop(&d);
        code = qn_script_exit_code(d.script);
    }
    return close_desk(&d, options) ? code : QN_EXIT_FAILURE;
}
