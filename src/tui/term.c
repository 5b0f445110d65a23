/* term.c - the terminal: start, draw, restore.
 *
 * The one mutable static holds what the crash handler needs, since a signal
 * handler has no other way to it.
 */
#include "tui/term.h"

#include "base/assert.h"
#include "base/mem.h"
#include "tui/theme.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Bracketed paste off, attributes off, cursor on, main screen. */
static const char reset_sequence[] = "\033[?2004l\033[0m\033[?25h\033[?1049l";
static const char paste_on[] = "\033[?2004h";
static const char paste_off[] = "\033[?2004l";

static const int crash_signals[] = {SIGSEGV, SIGBUS,  SIGILL,
                                    SIGFPE,  SIGABRT, SIGQUIT};
#define N_CRASH_SIGNALS (sizeof crash_signals / sizeof *crash_signals)

struct qn_term {
    FILE *in, *out; /* the tty under names of our own */
    SCREEN *screen;
    int saved_out, saved_err; /* what 1 and 2 were */
    int pipe[2];              /* strays: read end, write end */
    int n_colors;
    bool utf8;
    struct qn_canvas shown; /* what was drawn last */
    struct sigaction old_action[N_CRASH_SIGNALS];
    void *signal_stack;
};

/* For the crash handler: the terminal to restore, and how it was. */
static struct {
    volatile sig_atomic_t armed;
    int fd;
    struct termios modes;
} rescue;

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
}

/* Async-signal-safe. */
static void restore_terminal(void)
{
    if (!rescue.armed)
        return;
    rescue.armed = 0;
    write_all(rescue.fd, reset_sequence, sizeof reset_sequence - 1);
    tcsetattr(rescue.fd, TCSANOW, &rescue.modes);
}

static void on_crash(int sig)
{
    restore_terminal();
    raise(sig); /* SA_RESETHAND: the default action ends the program */
}

/* A handler of its own stack, so that a stack overflow restores, too. */
static void catch_crashes(struct qn_term *t)
{
    size_t size = 65536;
    t->signal_stack = qn_xmalloc(size);
    stack_t stack = {.ss_sp = t->signal_stack, .ss_size = size};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_crash,
                               .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &action, &t->old_action[i]);
    qn_set_restore_hook(restore_terminal);
}

static void release_crashes(struct qn_term *t)
{
    qn_set_restore_hook(NULL);
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &t->old_action[i], NULL);
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    free(t->signal_stack);
}

/* From here on 1 and 2 lead into the pipe. A full pipe drops instead of
 * blocking whoever wrote. */
static enum qn_status capture_output(struct qn_term *t, struct qn_err *err)
{
    fflush(stdout);
    fflush(stderr);
    if (pipe(t->pipe) != 0)
        return qn_fail(err, QN_EIO, "pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        fcntl(t->pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(t->pipe[i], F_SETFD, FD_CLOEXEC);
    }
    t->saved_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    t->saved_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2(t->pipe[1], STDOUT_FILENO);
    dup2(t->pipe[1], STDERR_FILENO);
    return QN_OK;
}

static void release_output(struct qn_term *t)
{
    fflush(stdout);
    fflush(stderr);
    dup2(t->saved_out, STDOUT_FILENO);
    dup2(t->saved_err, STDERR_FILENO);
    close(t->saved_out);
    close(t->saved_err);
    /* What nobody read belongs on stderr now. */
    char buf[512];
    ssize_t n;
    while ((n = read(t->pipe[0], buf, sizeof buf)) > 0)
        write_all(STDERR_FILENO, buf, (size_t)n);
    close(t->pipe[0]);
    close(t->pipe[1]);
}

static FILE *dup_stream(int fd, const char *mode)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    return copy < 0 ? NULL : fdopen(copy, mode);
}

/* What newterm would answer by ending the program. */
enum qn_status qn_term_check(struct qn_err *err)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return qn_fail(err, QN_EUSAGE,
                       "the workbench needs a terminal; without one use quern "
                       "train");
    const char *name = getenv("TERM");
    if (!name || !*name)
        return qn_fail(err, QN_EUSAGE,
                       "TERM is not set, so the terminal's abilities are "
                       "unknown; use quern train");
    int found;
    if (setupterm(name, STDOUT_FILENO, &found) != OK)
        return qn_fail(err, QN_EUSAGE,
                       "TERM=%s is unknown here; try TERM=xterm, or use quern "
                       "train",
                       name);
    const char *cup = tigetstr("cup");
    bool able = cup && cup != (const char *)-1; /* -1: no string capability */
    del_curterm(cur_term);
    if (!able)
        return qn_fail(err, QN_EUSAGE,
                       "TERM=%s cannot place a cursor; use quern train", name);
    return QN_OK;
}

static void start_colors(struct qn_term *t)
{
    const char *no_color = getenv("NO_COLOR");
    t->n_colors = 0;
    if ((no_color && *no_color) || !has_colors())
        return;
    start_color();
    if (use_default_colors() != OK)
        return;
    t->n_colors = COLORS >= 256 && COLOR_PAIRS > QN_N_ROLES ? 256 : 8;
    for (int role = 0; role < QN_N_ROLES; role++) {
        struct qn_style s = qn_theme_style((enum qn_role)role, t->n_colors);
        init_pair((short)(role + 1), s.fg, -1);
    }
}

/* cbreak keeps the signal keys; flow control and literal-next go, since Ctrl-S,
 * Ctrl-Q and Ctrl-V are Readline's. */
static void set_modes(struct qn_term *t)
{
    cbreak();
    noecho();
    nonl();
    int fd = fileno(t->in);
    struct termios modes;
    if (tcgetattr(fd, &modes) == 0) {
        modes.c_iflag &= ~(tcflag_t)(IXON | IXOFF);
        modes.c_lflag &= ~(tcflag_t)IEXTEN;
        tcsetattr(fd, TCSANOW, &modes);
        def_prog_mode();
    }
    typeahead(-1);
    keypad(stdscr, FALSE);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, FALSE);
}

static void announce(struct qn_term *t, const char *sequence)
{
    write_all(fileno(t->out), sequence, strlen(sequence));
}

static void free_streams(struct qn_term *t)
{
    qn_canvas_fini(&t->shown);
    if (t->in)
        fclose(t->in);
    if (t->out)
        fclose(t->out);
    free(t);
}

enum qn_status qn_term_start(struct qn_term **out, struct qn_err *err)
{
    enum qn_status st = qn_term_check(err);
    if (st != QN_OK)
        return st;
    struct qn_term *t = qn_xcalloc(1, sizeof *t);
    t->in = dup_stream(STDIN_FILENO, "r");
    t->out = dup_stream(STDOUT_FILENO, "w");
    if (!t->in || !t->out) {
        st = qn_fail(err, QN_EIO, "terminal: %s", strerror(errno));
        goto fail;
    }
    rescue.fd = fileno(t->out);
    if (tcgetattr(rescue.fd, &rescue.modes) != 0) {
        st = qn_fail(err, QN_EIO, "terminal: %s", strerror(errno));
        goto fail;
    }
    /* ncurses would believe these over the terminal itself. */
    unsetenv("LINES");
    unsetenv("COLUMNS");
    st = capture_output(t, err);
    if (st != QN_OK)
        goto fail;
    t->screen = newterm(NULL, t->out, t->in);
    if (!t->screen) {
        release_output(t);
        st = qn_fail(err, QN_EUSAGE, "this terminal cannot show the workbench");
        goto fail;
    }
    rescue.armed = 1;
    catch_crashes(t);
    t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    start_colors(t);
    set_modes(t);
    announce(t, paste_on);
    fcntl(fileno(t->in), F_SETFL, O_RDWR); /* poll decides, reads never wait */
    *out = t;
    return QN_OK;
fail:
    free_streams(t);
    return st;
}

void qn_term_stop(struct qn_term *t)
{
    if (!t)
        return;
    announce(t, paste_off);
    /* Where there is no second screen the frame would stay under the shell. */
    erase();
    refresh();
    endwin();
    delscreen(t->screen);
    tcsetattr(rescue.fd, TCSANOW, &rescue.modes);
    rescue.armed = 0;
    release_crashes(t);
    release_output(t);
    free_streams(t);
}

int qn_term_fd(const struct qn_term *t)
{
    return fileno(t->in);
}

int qn_term_output_fd(const struct qn_term *t)
{
    return t->pipe[0];
}

/* read(2) that never waits: 0 = nothing now, -1 = gone. */
static int read_ready(int fd, char *buf, size_t size)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0)
        return 0;
    ssize_t n = read(fd, buf, size);
    if (n > 0)
        return (int)n;
    return n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

int qn_term_read(struct qn_term *t, char *buf, size_t size)
{
    return read_ready(fileno(t->in), buf, size);
}

int qn_term_read_output(struct qn_term *t, char *buf, size_t size)
{
    return read_ready(t->pipe[0], buf, size);
}

void qn_term_size(const struct qn_term *t, int *rows, int *cols)
{
    (void)t; /* ncurses keeps it for the one screen there is */
    getmaxyx(stdscr, *rows, *cols);
}

void qn_term_resized(struct qn_term *t)
{
    struct winsize size;
    if (ioctl(fileno(t->out), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
        size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
    qn_canvas_resize(&t->shown, 0, 0); /* ncurses has moved what was there */
}

void qn_term_repaint(struct qn_term *t)
{
    (void)t;
    clearok(curscr, TRUE);
}

void qn_term_beep(struct qn_term *t)
{
    (void)t;
    beep();
}

enum qn_glyphs qn_term_glyphs(const struct qn_term *t)
{
    return t->utf8 ? QN_GLYPHS_BRAILLE : QN_GLYPHS_ASCII;
}

static attr_t cell_attributes(const struct qn_term *t,
                              const struct qn_canvas_cell *cell)
{
    struct qn_style s = qn_theme_style((enum qn_role)cell->role, t->n_colors);
    attr_t a = A_NORMAL;
    if (s.bold || cell->bold)
        a |= A_BOLD;
    if (s.dim)
        a |= A_DIM;
    if (s.underline)
        a |= A_UNDERLINE;
    if (s.reverse != cell->reverse)
        a |= A_REVERSE;
    return a;
}

static void put_cell(const struct qn_term *t, int row, int col,
                     const struct qn_canvas_cell *cell)
{
    uint32_t glyph = cell->glyph;
    if (glyph < 0x20 || (!t->utf8 && glyph > 0x7e))
        glyph = glyph < 0x20 ? ' ' : '?';
    wchar_t text[2] = {(wchar_t)glyph, 0};
    cchar_t c;
    short pair = t->n_colors > 0 ? (short)(cell->role + 1) : 0;
    setcchar(&c, text, cell_attributes(t, cell), pair, NULL);
    mvadd_wch(row, col, &c);
}

static void put_row(struct qn_term *t, int row,
                    const struct qn_canvas_cell *cells, int n)
{
    move(row, 0);
    clrtoeol();
    for (int x = 0; x < n; x++) {
        if (cells[x].glyph != 0) /* 0: covered by the wide one before it */
            put_cell(t, row, x, &cells[x]);
    }
}

static bool same_row(const struct qn_canvas_cell *a,
                     const struct qn_canvas_cell *b, int n)
{
    for (int x = 0; x < n; x++) {
        if (a[x].glyph != b[x].glyph || a[x].role != b[x].role ||
            a[x].bold != b[x].bold || a[x].reverse != b[x].reverse)
            return false;
    }
    return true;
}

/* ncurses compares, too, but has to be given every cell for that, which took
 * half of a frame's time: it gets the rows that are not as they were. */
static void put_rows(struct qn_term *t, const struct qn_canvas *c, int rows,
                     int cols)
{
    struct qn_canvas *shown = &t->shown;
    bool all = shown->rows != c->rows || shown->cols != c->cols;
    if (all) {
        erase();
        qn_canvas_resize(shown, c->rows, c->cols);
    }
    int n = c->cols < cols ? c->cols : cols;
    for (int y = 0; y < c->rows && y < rows; y++) {
        const struct qn_canvas_cell *cells = &c->cells[y * c->cols];
        struct qn_canvas_cell *before = &shown->cells[y * c->cols];
        if (all || !same_row(cells, before, c->cols)) {
            put_row(t, y, cells, n);
            memcpy(before, cells, (size_t)c->cols * sizeof *cells);
        }
    }
}

void qn_term_draw(struct qn_term *t, const struct qn_canvas *c, int row,
                  int col)
{
    int rows, cols;
    qn_term_size(t, &rows, &cols);
    put_rows(t, c, rows, cols);
    bool shown = row >= 0 && row < rows && col >= 0 && col < cols;
    curs_set(shown ? 1 : 0);
    if (shown)
        move(row, col);
    refresh();
}

void qn_term_suspend(struct qn_term *t)
{
    announce(t, paste_off);
    endwin();
    raise(SIGSTOP);
    refresh();
    announce(t, paste_on);
    qn_term_resized(t);
}
