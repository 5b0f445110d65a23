/* line.c - Readline by its callback interface, fed from a queue of bytes.
 *
 * The queue matters: Readline asks for further bytes from inside a key (UTF-8,
 * Ctrl-R, escape sequences), and finds them here instead of blocking on the
 * terminal. Its hooks take no user data, hence the one static pointer.
 */
#include "tui/line.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/mem.h"
#include "tui/canvas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#define HISTORY_ENTRIES 5000

struct qn_line {
    struct qn_line_host host;
    struct qn_str queue; /* bytes that Readline has not asked for yet */
    size_t taken;        /* of queue */
    char *accepted;      /* a finished line, until it is handed on */
    bool eof;
    char *history;
    int n_new; /* entries since it was read */
    char *prompt;
    FILE *sink; /* where Readline believes the screen to be */
};

static struct qn_line *the_line;

static int next_byte(FILE *unused)
{
    (void)unused;
    struct qn_line *line = the_line;
    if (line->taken >= line->queue.len)
        return EOF; /* a sequence that ended too early */
    return (unsigned char)line->queue.text[line->taken++];
}

static int bytes_waiting(void)
{
    return the_line->taken < the_line->queue.len;
}

static void draw_nothing(void)
{
}

/* Inside Readline: only keep the line. */
static void on_line(char *text)
{
    if (!text) {
        the_line->eof = true;
        return;
    }
    free(the_line->accepted);
    the_line->accepted = qn_xstrdup(text);
    free(text);
}

static void show_candidates(char **matches, int n, int longest)
{
    (void)longest; /* matches[0] is what they have in common */
    if (the_line->host.candidates)
        the_line->host.candidates(the_line->host.user, matches + 1, n);
}

/* Readline's array of matches: the common prefix first, each malloced. */
static char **with_common_prefix(char **words)
{
    size_t n = 0;
    while (words[n])
        n++;
    size_t common = strlen(words[0]);
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        while (k < common && words[i][k] == words[0][k])
            k++;
        common = k;
    }
    char **matches = qn_xcalloc(n + 2, sizeof *matches);
    matches[0] = qn_xstrndup(words[0], common);
    if (n == 1) {
        free(words[0]);
        free(words);
        return matches;
    }
    memcpy(matches + 1, words, n * sizeof *words);
    free(words);
    return matches;
}

/* A completion of the word that begins at byte 'from' of the line, as one of
 * the word that Readline sees at 'start'; takes word. */
static char *begin_at(char *word, int from, int start)
{
    size_t len = strlen(word);
    size_t skip = from < start ? (size_t)(start - from) : 0;
    int before = from > start ? from - start : 0;
    char *moved = qn_xasprintf("%.*s%s", before, rl_line_buffer + start,
                               word + (skip < len ? skip : len));
    free(word);
    return moved;
}

static char **complete(const char *text, int start, int end)
{
    (void)text;
    rl_attempted_completion_over = 1; /* never file names by default */
    rl_completion_append_character = '\0';
    if (!the_line->host.complete)
        return NULL;
    int from = start;
    char **words = the_line->host.complete(the_line->host.user, rl_line_buffer,
                                           end, &from);
    if (!words || !words[0]) {
        free(words);
        return NULL;
    }
    for (size_t i = 0; words[i]; i++)
        words[i] = begin_at(words[i], from, start);
    return with_common_prefix(words);
}

static void set_hooks(struct qn_line *line)
{
    rl_readline_name = "quern";
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_change_environment = 0;
    rl_prep_term_function = NULL;
    rl_deprep_term_function = NULL;
    rl_redisplay_function = draw_nothing;
    rl_getc_function = next_byte;
    rl_input_available_hook = bytes_waiting;
    rl_attempted_completion_function = complete;
    rl_completion_display_matches_hook = show_candidates;
    rl_basic_word_break_characters = " \t\n\"'(){}[]=,;+-*/<>~&|#%^";
    rl_basic_quote_characters = ""; /* none is closed: a folder goes on */
    line->sink = fopen("/dev/null", "w");
    rl_outstream = line->sink;
}

/* Keys that terminals send and not every inputrc knows. */
static void bind_keys(void)
{
    rl_bind_keyseq_if_unbound("\033[3~", rl_delete);
    rl_bind_keyseq_if_unbound("\033[1~", rl_beg_of_line);
    rl_bind_keyseq_if_unbound("\033[4~", rl_end_of_line);
    rl_bind_keyseq_if_unbound("\033[1;5C", rl_forward_word);
    rl_bind_keyseq_if_unbound("\033[1;5D", rl_backward_word);
    /* These would wait or make a noise behind the screen's back. */
    rl_variable_bind("blink-matching-paren", "off");
    rl_variable_bind("bell-style", "none");
    rl_variable_bind("enable-bracketed-paste", "off");
}

static void load_history(struct qn_line *line)
{
    stifle_history(HISTORY_ENTRIES);
    history_comment_char = '#';
    history_write_timestamps = 1; /* keeps entries of several lines whole */
    if (line->history)
        (void)read_history(line->history); /* none yet is fine */
    using_history(); /* stand behind the last entry, not on the first */
}

struct qn_line *qn_line_start(const struct qn_line_host *host,
                              const char *history)
{
    QN_ASSERT(!the_line);
    struct qn_line *line = qn_xcalloc(1, sizeof *line);
    line->host = *host;
    line->history = history ? qn_xstrdup(history) : NULL;
    line->prompt = qn_xstrdup("");
    the_line = line;
    set_hooks(line);
    rl_initialize();
    bind_keys();
    load_history(line);
    rl_callback_handler_install(line->prompt, on_line);
    rl_tty_set_echoing(0);
    return line;
}

static void save_history(struct qn_line *line)
{
    if (!line->history)
        return;
    const char *slash = strrchr(line->history, '/');
    if (slash) {
        char *dir = qn_xstrndup(line->history, (size_t)(slash - line->history));
        (void)qn_make_dirs(dir, NULL); /* write_history says what it finds */
        free(dir);
    }
    /* Appended, so that two workbenches keep what both were told. */
    mode_t old = umask(077); /* what people type is theirs */
    if (line->n_new > 0 && append_history(line->n_new, line->history) != 0)
        (void)write_history(line->history); /* there is none yet */
    (void)history_truncate_file(line->history, HISTORY_ENTRIES);
    umask(old);
}

void qn_line_stop(struct qn_line *line)
{
    if (!line)
        return;
    rl_callback_handler_remove();
    save_history(line);
    clear_history();
    qn_str_free(&line->queue);
    free(line->accepted);
    free(line->history);
    free(line->prompt);
    if (line->sink)
        fclose(line->sink);
    rl_outstream = NULL;
    the_line = NULL;
    free(line);
}

/* Hand on what Readline finished, now that we are out of it. */
static void hand_on(struct qn_line *line)
{
    if (line->eof) {
        line->eof = false;
        line->host.eof(line->host.user);
        return;
    }
    char *text = line->accepted;
    if (!text)
        return;
    line->accepted = NULL;
    line->host.accept(line->host.user, text);
    free(text);
}

void qn_line_feed(struct qn_line *line, const char *bytes, size_t len)
{
    qn_str_add_bytes(&line->queue, bytes, len);
    while (line->taken < line->queue.len) {
        rl_callback_read_char();
        hand_on(line);
    }
    qn_str_clear(&line->queue);
    line->taken = 0;
}

void qn_line_escape(struct qn_line *line)
{
    const int vi = 0, emacs = 1; /* of rl_editing_mode */
    if (RL_ISSTATE(RL_STATE_ISEARCH) && rl_editing_mode == emacs)
        qn_line_feed(line, "\n", 1); /* ends it and is not run itself */
    else if (rl_editing_mode == vi)
        qn_line_feed(line, "\033", 1);
}

void qn_line_insert(struct qn_line *line, const char *text, size_t len)
{
    /* A search has a text of its own, which only keys reach; there a newline
     * would be one. */
    bool searching = RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH);
    struct qn_str clean = {0};
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\r' && i + 1 < len && text[i + 1] == '\n')
            continue; /* CR LF is one end of line */
        char put = c == '\r' ? '\n' : (char)c;
        if (c >= 0x20 || (!searching && (put == '\n' || c == '\t')))
            qn_str_add_bytes(&clean, &put, 1);
    }
    while (clean.len > 0 && clean.text[clean.len - 1] == '\n')
        clean.text[--clean.len] = '\0'; /* it would only hide the end */
    if (clean.len > 0 && searching)
        qn_line_feed(line, clean.text, clean.len);
    else if (clean.len > 0)
        rl_insert_text(clean.text);
    qn_str_free(&clean);
}

bool qn_line_interrupt(struct qn_line *line)
{
    bool had_text = rl_end > 0 || RL_ISSTATE(RL_STATE_ISEARCH);
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_replace_line("", 0);
    rl_readline_state &= ~(
        unsigned long)(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_VIMOTION |
                       RL_STATE_NUMERICARG | RL_STATE_MULTIKEY);
    rl_initialize(); /* a new line: the history starts from its end, too */
    rl_set_prompt(line->prompt);
    return had_text;
}

void qn_line_prompt(struct qn_line *line, const char *prompt)
{
    char *copy = qn_xstrdup(prompt);
    free(line->prompt);
    line->prompt = copy;
    rl_set_prompt(line->prompt);
}

void qn_line_remember(struct qn_line *line, const char *text)
{
    HIST_ENTRY *last = history_length > 0
                           ? history_get(history_base + history_length - 1)
                           : NULL;
    if (!*text || (last && strcmp(last->line, text) == 0))
        return;
    add_history(text);
    line->n_new++;
    char stamp[32];
    snprintf(stamp, sizeof stamp, "#%lld", (long long)time(NULL));
    add_history_time(stamp);
    using_history(); /* the next line begins behind it, not before */
}

void qn_line_size(struct qn_line *line, int rows, int cols)
{
    (void)line;
    rl_set_screen_size(rows, cols);
}

/* Append one character as it looks; returns the columns it takes. */
static int look_char(struct qn_str *out, uint32_t code, const char *bytes,
                     int len)
{
    if (code == '\n') {
        qn_str_add(out, "⏎");
        return 1;
    }
    if (code == '\t') {
        qn_str_add(out, "  ");
        return 2;
    }
    if (code < 0x20 || code == 0x7f) {
        qn_str_addf(out, "^%c", code == 0x7f ? '?' : (char)(code + '@'));
        return 2;
    }
    qn_str_add_bytes(out, bytes, (size_t)len);
    return qn_glyph_width(code);
}

/* Append bytes [0, len) as they look; returns the columns. */
static int look_text(struct qn_str *out, const char *text, size_t len)
{
    int cols = 0;
    for (size_t i = 0; i < len;) {
        uint32_t code;
        int n = qn_utf8_decode(text + i, len - i, &code);
        if (n == 0) { /* a byte that is no UTF-8 */
            qn_str_add(out, "?");
            cols++;
            i++;
            continue;
        }
        cols += look_char(out, code, text + i, n);
        i += (size_t)n;
    }
    return cols;
}

/* The prompt without \1 and \2, with which it marks invisible parts. */
static int look_prompt(struct qn_str *out, const char *prompt)
{
    int cols = 0;
    while (*prompt) {
        size_t n = strcspn(prompt, "\001\002");
        cols += look_text(out, prompt, n);
        prompt += n + strspn(prompt + n, "\001\002");
    }
    return cols;
}

void qn_line_look(struct qn_line *line, struct qn_line_look *look)
{
    qn_str_clear(&look->text);
    /* rl_display_prompt: the search's own prompt while it searches. */
    const char *prompt = rl_display_prompt ? rl_display_prompt : line->prompt;
    look->prompt_cols = look_prompt(&look->text, prompt);
    size_t point = (size_t)rl_point, end = (size_t)rl_end;
    look->cursor_col =
        look->prompt_cols + look_text(&look->text, rl_line_buffer, point);
    (void)look_text(&look->text, rl_line_buffer + point, end - point);
}
