/* vectors.c - word vectors from a text file, of the words that are wanted. */
#include "data/vectors.h"

#include "base/lines.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/source.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first lines say how wide the file is. */
#define N_ASKED 100
/* A line has a word of up to 64 kB and numbers of up to 64 bytes. */
#define LONGEST_WORD ((size_t)64 << 10)
#define LONGEST_NUMBER ((size_t)64)
#define MOST_NUMBERS ((size_t)8192) /* model.embed has no more */

struct reading {
    const char *path;
    int width;
    const struct qn_words *wanted;
    float *table; /* [size of wanted, width] */
    bool *have;   /* [size of wanted]: the row is filled */
    float *row;   /* [width] */
    size_t n_good, n_bad, first_bad;
    int asked[N_ASKED]; /* how many numbers end each of the first lines */
    int n_asked;
};

/* A piece of a line, not ended by NUL. */
struct piece {
    const char *text;
    size_t len;
};

/* The last field, after the last space; the whole piece when it has none. */
static struct piece last_field(struct piece p)
{
    size_t at = p.len;
    while (at > 0 && p.text[at - 1] != ' ') {
        at--;
    }
    return (struct piece){p.text + at, p.len - at};
}

/* The powers of ten that a double holds exactly. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* "-0.038194" and its like, which is nearly all there is: digits that make an
 * exact double over an exact power of ten, so that one rounding is left. False
 * for anything else, a number or not. */
static bool parse_plain(struct piece p, double *out)
{
    uint64_t digits = 0;
    size_t n_digits = 0, n_after = 0, at = 0;
    bool negative = p.len > 0 && p.text[0] == '-', point = false;
    for (at = negative ? 1 : 0; at < p.len; at++) {
        char c = p.text[at];
        if (c >= '0' && c <= '9' && n_digits < 15) {
            digits = 10 * digits + (uint64_t)(c - '0');
            n_digits++;
            n_after += point ? 1 : 0;
        } else if (c == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (n_digits == 0) {
        return false;
    }
    double v = (double)digits / powers[n_after];
    *out = negative ? -v : v;
    return true;
}

/* A finite number, also as a float. */
static bool parse_number(struct piece p, float *out)
{
    double v;
    if (!parse_plain(p, &v)) {
        char text[LONGEST_NUMBER + 1];
        if (p.len > LONGEST_NUMBER || memchr(p.text, '\0', p.len) != NULL) {
            return false;
        }
        memcpy(text, p.text, p.len);
        text[p.len] = '\0';
        if (!qn_parse_double(text, &v)) {
            return false;
        }
    }
    *out = (float)v;
    return isfinite(*out);
}

/* A number, or what programs print for one that is not finite. */
static bool looks_like_number(struct piece p)
{
    static const char *const others[] = {"nan", "inf", "infinity"};
    float v;
    if (parse_number(p, &v)) {
        return true;
    }
    bool sign = p.len > 0 && (p.text[0] == '-' || p.text[0] == '+');
    struct piece bare = {p.text + (sign ? 1 : 0), p.len - (sign ? 1 : 0)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t n = 0;
        while (n < bare.len && (bare.text[n] | 0x20) == others[i][n]) {
            n++;
        }
        if (n == bare.len && others[i][n] == '\0') {
            return true;
        }
    }
    return false;
}

/* The line without a byte order mark before it, the CR of a CR LF and the space
 * that fastText leaves. */
static struct piece trimmed(const struct qn_line *line)
{
    static const char mark[] = QN_BYTE_ORDER_MARK;
    const size_t n_mark = sizeof mark - 1;
    struct piece p = {line->text, line->len};
    if (line->number == 1 && p.len >= n_mark &&
        memcmp(p.text, mark, n_mark) == 0) {
        p = (struct piece){p.text + n_mark, p.len - n_mark};
    }
    while (p.len > 0 &&
           (p.text[p.len - 1] == '\r' || p.text[p.len - 1] == ' ')) {
        p.len--;
    }
    return p;
}

/* Take the last field off p. False, and p as it was, for the only one. */
static bool cut_field(struct piece *p, struct piece *field)
{
    *field = last_field(*p);
    if (field->len == p->len) {
        return false;
    }
    p->len -= field->len + 1;
    return true;
}

/* How many numbers end the line, which begins with a word at least; 0 where two
 * spaces stand before them. */
static int count_numbers(struct piece p)
{
    int n = 0;
    struct piece field;
    while (cut_field(&p, &field)) {
        if (!looks_like_number(field)) {
            return field.len > 0 ? n : 0;
        }
        n++;
    }
    return n;
}

/* fastText's first line: how many words, how many numbers each. */
static bool is_header(struct piece p)
{
    struct piece second;
    if (!cut_field(&p, &second)) {
        return false;
    }
    for (size_t i = 0; i < p.len + 1 + second.len; i++) {
        if (i != p.len && (p.text[i] < '0' || p.text[i] > '9')) {
            return false;
        }
    }
    return p.len > 0 && second.len > 0;
}

/* Could it be a number, by its letters? Lines that nobody wants are looked at
 * no closer. */
static bool has_letters_of_number(struct piece p)
{
    for (size_t i = 0; i < p.len; i++) {
        char c = p.text[i];
        if (!(c >= '0' && c <= '9') && memchr(".-+eE", c, 5) == NULL) {
            return false;
        }
    }
    return p.len > 0;
}

/* The word of a line that ends with 'width' fields like numbers. A word of
 * several parts is none when its last part is a number, for the line then has
 * too many of them, or nothing, for two spaces part nothing. */
static bool find_word(struct piece line, int width, struct piece *word)
{
    struct piece field;
    for (int i = 0; i < width; i++) {
        if (!cut_field(&line, &field) || !has_letters_of_number(field)) {
            return false;
        }
    }
    *word = line;
    if (!cut_field(&line, &field)) {
        return line.len > 0;
    }
    float v;
    return field.len > 0 && !parse_number(field, &v);
}

/* The numbers that end the line into the scratch row. */
static bool parse_row(struct reading *r, struct piece line)
{
    struct piece field;
    for (int i = r->width - 1; i >= 0; i--) {
        if (!cut_field(&line, &field) || !parse_number(field, &r->row[i])) {
            return false;
        }
    }
    return true;
}

/* False for a line that is no word and 'width' numbers. */
static bool take_line(struct reading *r, struct piece line)
{
    struct piece word;
    if (!find_word(line, r->width, &word)) {
        return false;
    }
    int id = qn_words_find(r->wanted, word.text, word.len);
    if (id < 0) {
        return true;
    }
    if (!parse_row(r, line)) {
        return false;
    }
    if (!r->have[id]) {
        size_t width = (size_t)r->width;
        memcpy(r->table + (size_t)id * width, r->row, width * sizeof *r->row);
        r->have[id] = true;
    }
    return true;
}

static int times_asked(const struct reading *r, int width)
{
    int n = 0;
    for (int i = 0; i < r->n_asked; i++) {
        n += r->asked[i] == width ? 1 : 0;
    }
    return n;
}

/* The width that most of the first lines have; r->width when that is among
 * those which most have. */
static int common_width(const struct reading *r)
{
    int best = r->width;
    for (int i = 0; i < r->n_asked; i++) {
        if (times_asked(r, r->asked[i]) > times_asked(r, best)) {
            best = r->asked[i];
        }
    }
    return best;
}

static enum qn_status check_width(const struct reading *r, struct qn_err *err)
{
    int width = common_width(r);
    if (width == r->width) {
        return QN_OK;
    }
    if (width == 0) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: holds no word vectors: its lines are no word and "
                       "numbers with single spaces between",
                       r->path);
    }
    return qn_fail(err, QN_EFORMAT,
                   "%s: its vectors have %d number%s, model.embed is %d",
                   r->path, width, width == 1 ? "" : "s", r->width);
}

/* Whether the line is a header; if not it is asked for its width. */
static bool skip_or_ask(struct reading *r, const struct qn_line *line,
                        struct piece p)
{
    if (line->number == 1 && line->text != NULL && is_header(p)) {
        return true;
    }
    if (r->n_asked < N_ASKED) {
        r->asked[r->n_asked++] = line->text != NULL ? count_numbers(p) : 0;
    }
    return false;
}

static enum qn_status read_line(struct reading *r, const struct qn_line *line,
                                struct qn_err *err)
{
    struct piece p = trimmed(line);
    bool asked = r->n_asked == N_ASKED;
    if (skip_or_ask(r, line, p)) {
        return QN_OK;
    }
    if (!asked && r->n_asked == N_ASKED) {
        enum qn_status status = check_width(r, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (line->text != NULL && take_line(r, p)) {
        r->n_good++;
    } else if (r->n_bad++ == 0) {
        r->first_bad = line->number;
    }
    return QN_OK;
}

/* What can be said only when all lines are read. */
static enum qn_status check_whole(const struct reading *r, size_t n_lines,
                                  struct qn_log *log, struct qn_err *err)
{
    if (n_lines == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: is empty", r->path);
    }
    enum qn_status status = r->n_asked < N_ASKED ? check_width(r, err) : QN_OK;
    if (status != QN_OK) {
        return status;
    }
    if (r->n_good == 0) {
        return qn_fail(err, QN_EFORMAT, "%s: no line is a word and %d numbers",
                       r->path, r->width);
    }
    if (r->n_bad > 0) {
        qn_log_write(log, QN_LOG_WARN,
                     "%s: left out %zu line%s that %s no word and %d numbers, "
                     "the first is line %zu",
                     r->path, r->n_bad, r->n_bad == 1 ? "" : "s",
                     r->n_bad == 1 ? "is" : "are", r->width, r->first_bad);
    }
    return QN_OK;
}

static enum qn_status read_lines(struct reading *r, struct qn_lines *lines,
                                 struct qn_log *log, struct qn_err *err)
{
    for (size_t n_lines = 0;;) {
        struct qn_line line;
        enum qn_status status = qn_lines_next(lines, &line, err);
        if (status == QN_OK && line.number == 0) {
            return check_whole(r, n_lines, log, err);
        }
        if (status == QN_OK) {
            n_lines = line.number;
            status = read_line(r, &line, err);
        }
        if (status != QN_OK) {
            return status;
        }
    }
}

static enum qn_status read_path(struct reading *r, struct qn_log *log,
                                struct qn_err *err)
{
    struct qn_lines *lines;
    size_t longest = LONGEST_WORD + (size_t)r->width * LONGEST_NUMBER;
    enum qn_status status = qn_lines_open(r->path, longest, &lines, err);
    if (status == QN_OK) {
        status = read_lines(r, lines, log, err);
        qn_lines_close(lines);
    }
    return status;
}

/* The words that were found, and their rows moved to the front of the table,
 * which gives back the rest. */
static struct qn_words *gather(struct reading *r)
{
    struct qn_words *found = qn_words_new();
    size_t width = (size_t)r->width, n = 0;
    for (int id = 0; id < qn_words_size(r->wanted); id++) {
        if (r->have[id]) {
            size_t len;
            const char *word = qn_words_get(r->wanted, id, &len);
            (void)qn_words_add(found, word, len);
            memmove(r->table + n++ * width, r->table + (size_t)id * width,
                    width * sizeof *r->table);
        }
    }
    r->table = qn_xrealloc(r->table, n > 0 ? n : 1, width * sizeof *r->table);
    return found;
}

static enum qn_status make_table(struct reading *r, struct qn_err *err)
{
    size_t n = (size_t)qn_words_size(r->wanted);
    size_t size = (size_t)r->width * sizeof *r->table;
    r->table = qn_try_big(n > 0 ? n : 1, size);
    if (r->table == NULL) {
        char bytes[32];
        qn_format_bytes(bytes, sizeof bytes, (double)n * (double)size);
        return qn_fail(err, QN_ENOMEM, "%s: no memory for %s of vectors",
                       r->path, bytes);
    }
    r->have = qn_xcalloc(n, sizeof *r->have);
    r->row = qn_xcalloc((size_t)r->width, sizeof *r->row);
    return QN_OK;
}

/* Files of more than this are read for longer than a person waits in silence.
 */
#define LARGE (256.0 * 1024 * 1024)

static void announce(const char *path, struct qn_log *log)
{
    struct stat st;
    char size[32];
    if (stat(path, &st) == 0 && (double)st.st_size > LARGE) {
        qn_log_write(log, QN_LOG_INFO, "%s: reading %s of word vectors", path,
                     qn_format_bytes(size, sizeof size, (double)st.st_size));
    }
}

enum qn_status qn_vectors_read(const char *given, const char *data_dir,
                               int width, const struct qn_words *wanted,
                               struct qn_log *log, struct qn_words **found,
                               float **table, struct qn_err *err)
{
    char *path;
    enum qn_status status = qn_source_find(given, data_dir, &path, err);
    if (status != QN_OK) {
        return status;
    }
    announce(path, log);
    struct reading r = {.path = path, .width = width, .wanted = wanted};
    status = make_table(&r, err);
    if (status == QN_OK) {
        status = read_path(&r, log, err);
    }
    if (status == QN_OK) {
        *found = gather(&r);
        *table = r.table;
    } else {
        free(r.table);
    }
    free(r.row);
    free(r.have);
    free(path);
    return status;
}

int qn_vectors_width(const char *given, const char *data_dir)
{
    struct reading r = {.width = 0};
    struct qn_lines *lines = NULL;
    struct qn_line line;
    char *path = NULL;
    size_t longest = LONGEST_WORD + MOST_NUMBERS * LONGEST_NUMBER;
    if (qn_source_find(given, data_dir, &path, NULL) == QN_OK &&
        qn_lines_open(path, longest, &lines, NULL) == QN_OK) {
        while (r.n_asked < N_ASKED &&
               qn_lines_next(lines, &line, NULL) == QN_OK && line.number > 0) {
            (void)skip_or_ask(&r, &line, trimmed(&line));
        }
    }
    qn_lines_close(lines);
    free(path);
    return common_width(&r);
}
