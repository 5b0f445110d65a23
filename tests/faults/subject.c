/* subject.c - the program under test and its folders, seen from outside. */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "store/line.h"
#include "store/run_dir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One word of n, by number i of the sequence. */
static const char *pick(const char *const *words, int n, uint64_t seed,
                        uint64_t i)
{
    return words[(int)(qn_rng_uniform(seed, i) * n)];
}

void write_sentences(const char *name, int n, uint64_t seed)
{
    static const char *const who[] = {"the cat", "a dog", "no bird", "her ox"};
    static const char *const does[] = {"sees", "hears", "follows", "likes"};
    static const char *const whom[] = {"the moon", "a mouse", "him", "rain"};
    struct qn_str text = {0};
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        qn_str_addf(&text, "%s %s %s\n", pick(who, 4, seed, 3 * i),
                    pick(does, 4, seed, 3 * i + 1),
                    pick(whom, 4, seed, 3 * i + 2));
    }
    write_file(name, text.text, text.len);
    qn_str_free(&text);
}

void write_reviews(const char *name, int n, uint64_t seed)
{
    static const char *const words[] = {"fine",  "kind", "bright", "the",
                                        "story", "dull", "poor",   "flat"};
    struct qn_str text = {0};
    uint64_t at = 0;
    for (int i = 0; i < n; i++) {
        bool good = i % 2 == 0;
        qn_str_addf(&text, "%s\t%d\t", good ? "pos" : "neg", good ? 9 : 2);
        int length = 5 + (int)(qn_rng_uniform(seed, at++) * 20);
        for (int w = 0; w < length; w++) {
            qn_str_addf(&text, "%s ",
                        pick(good ? words : words + 3, 5, seed, at++));
        }
        qn_str_add(&text, "\n");
    }
    write_file(name, text.text, text.len);
    qn_str_free(&text);
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
}

char *only_run(const char *store)
{
    char **names = NULL;
    size_t n = 0;
    char *run = NULL;
    if (qn_path_exists(store)) {
        assert_int_equal(qn_dir_list(store, &names, &n, NULL), QN_OK);
    }
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] != '.') {
            assert_null(run);
            run = qn_path_join(store, names[i]);
        }
    }
    free_names(names, n);
    return run;
}

char *run_state(const char *store)
{
    char *out = quern_out("runs --json --store %s", store);
    char *state = NULL;
    if (out[0] != '\0') {
        json_t *line = parse(out);
        state = qn_xstrdup(string(line, "state"));
        json_decref(line);
    }
    free(out);
    return state != NULL ? state : qn_xstrdup("none");
}

static char *vtext(const char *format, va_list args) QN_PRINTF(1, 0);

static char *vtext(const char *format, va_list args)
{
    char text[8192];
    (void)vsnprintf(text, sizeof text, format, args);
    return qn_xstrdup(text);
}

static char *read_text(const char *path)
{
    struct qn_bytes bytes = {0};
    if (qn_file_read(path, &bytes, NULL) != QN_OK) {
        return qn_xstrdup("");
    }
    return bytes.data;
}

char *file_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = vtext(format, args);
    va_end(args);
    char *text = read_text(path);
    free(path);
    return text;
}

static struct outcome outcome_of(const char *line)
{
    struct outcome o = {
        .status = sh("{ timeout -k 5 60 %s %s; } >.out 2>.err </dev/null",
                     QUERN, line)};
    o.out = read_text(".out");
    o.err = read_text(".err");
    return o;
}

struct outcome tried_any(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = vtext(format, args);
    va_end(args);
    struct outcome o = outcome_of(line);
    free(line);
    return o;
}

struct outcome tried(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = vtext(format, args);
    va_end(args);
    struct outcome o = outcome_of(line);
    if (o.status != 0 && o.status != 1) {
        fail_msg("quern %s: status %d%s\n%s", line, o.status,
                 o.status == 124 ? " (it did not end)" : "", o.err);
    }
    free(line);
    return o;
}

bool is_one_sentence(const char *text)
{
    size_t len = strlen(text);
    if (strncmp(text, "quern: ", 7) != 0 ||
        strchr(text, '\n') != text + len - 1) {
        return false;
    }
    for (size_t i = 0; i + 1 < len; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 127) {
            return false;
        }
    }
    return true;
}

void check_sentence(const struct outcome *o, const char *word)
{
    if (!is_one_sentence(o->err) || strstr(o->err, word) == NULL) {
        fail_msg("no single sentence with \"%s\", status %d: \"%s\"", word,
                 o->status, o->err);
    }
}

static void add_file(struct qn_str *out, const char *path, const char *name,
                     const struct stat *st)
{
    char sum[65] = "-";
    char *text = NULL;
    if (S_ISREG(st->st_mode)) {
        struct qn_bytes bytes = {0};
        assert_int_equal(qn_file_read(path, &bytes, NULL), QN_OK);
        qn_sha256_hex(bytes.data, bytes.len, sum);
        text = bytes.data;
    }
    qn_str_addf(out, "%s %o %lld %s\n", name, (unsigned)st->st_mode,
                S_ISREG(st->st_mode) ? (long long)st->st_size : 0, sum);
    free(text);
}

static void add_tree(struct qn_str *out, const char *folder, const char *below,
                     const char *but)
{
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(qn_dir_list(folder, &names, &n, NULL), QN_OK);
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        char *path = qn_path_join(folder, names[i]);
        char *name = qn_path_join(below, names[i]);
        if (lstat(path, &st) != 0) {
            fail_msg("%s went away", path);
        }
        bool left_out = but != NULL && strcmp(name, but) == 0;
        if (!left_out && S_ISDIR(st.st_mode)) {
            qn_str_addf(out, "%s/\n", name);
            add_tree(out, path, name, but);
        } else if (!left_out) {
            add_file(out, path, name, &st);
        }
        free(name);
        free(path);
    }
    free_names(names, n);
}

char *tree(const char *folder, const char *but)
{
    struct qn_str out = {0};
    add_tree(&out, folder, "", but);
    return qn_str_take(&out);
}

void same_bytes(const char *a, const char *b)
{
    struct qn_bytes x = {0}, y = {0};
    struct qn_err err;
    if (qn_file_read(a, &x, &err) != QN_OK ||
        qn_file_read(b, &y, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0) {
        fail_msg("%s and %s differ", a, b);
    }
    qn_bytes_free(&x);
    qn_bytes_free(&y);
}

static void add_number(struct qn_str *s, const json_t *line, const char *key)
{
    char text[40];
    qn_str_addf(s, " %s",
                qn_format_double(text, sizeof text, qn_line_number(line, key)));
}

static bool take_line(void *user, const json_t *line)
{
    struct view *v = user;
    const char *event = qn_line_text(line, "event");
    long long step = qn_line_int(line, "step");
    if (strcmp(event, "step") == 0) {
        if (step != ++v->n_steps) {
            fail_msg("step %lld comes where %d is due", step, v->n_steps);
        }
        qn_str_addf(&v->steps, "%lld", step);
        add_number(&v->steps, line, "loss");
        add_number(&v->steps, line, "accuracy");
        add_number(&v->steps, line, "lr");
        add_number(&v->steps, line, "grad_norm");
        qn_str_add(&v->steps, "\n");
    } else if (strcmp(event, "eval") == 0) {
        qn_str_addf(&v->evals, "%lld %s", step, qn_line_text(line, "split"));
        add_number(&v->evals, line, "loss");
        add_number(&v->evals, line, "predictions");
        qn_str_add(&v->evals, "\n");
    } else if (strcmp(event, "stats") == 0 || strcmp(event, "sample") == 0) {
        char *text = json_dumps(line, JSON_SORT_KEYS);
        qn_str_addf(event[1] == 't' ? &v->stats : &v->samples, "%s\n", text);
        free(text);
    }
    return true;
}

struct view view_of(const char *run)
{
    static const enum qn_run_file files[] = {QN_METRICS, QN_STATS, QN_EVENTS};
    struct view v = {0};
    struct qn_err err;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (qn_run_dir_lines(run, files[i], take_line, &v, &err) != QN_OK) {
            fail_msg("%s", err.text);
        }
    }
    return v;
}

void view_free(struct view *v)
{
    qn_str_free(&v->steps);
    qn_str_free(&v->evals);
    qn_str_free(&v->stats);
    qn_str_free(&v->samples);
}

void same_text(const char *what, const struct qn_str *a, const struct qn_str *b)
{
    const char *x = a->text != NULL ? a->text : "";
    const char *y = b->text != NULL ? b->text : "";
    for (int line = 1; *x != '\0' || *y != '\0'; line++) {
        size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
        if (n != m || memcmp(x, y, n) != 0) {
            fail_msg("%s: line %d is\n%.*s\nand not\n%.*s", what, line,
                     n < 300 ? (int)n : 300, x, m < 300 ? (int)m : 300, y);
        }
        x += n + (x[n] != '\0');
        y += m + (y[m] != '\0');
    }
}

void same_view(const struct view *a, const struct view *b)
{
    same_text("steps", &a->steps, &b->steps);
    same_text("evaluations", &a->evals, &b->evals);
    same_text("statistics", &a->stats, &b->stats);
    same_text("samples", &a->samples, &b->samples);
}

int n_lines(const char *text)
{
    int n = 0;
    for (; text != NULL && *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

int n_missing(const struct qn_str *a, const struct qn_str *b)
{
    int n = 0;
    for (const char *line = a->text; line != NULL && *line != '\0';
         line += strcspn(line, "\n") + 1) {
        char *whole = qn_xasprintf("\n%.*s\n", (int)strcspn(line, "\n"), line);
        bool first = b->text != NULL && qn_starts_with(b->text, whole + 1);
        bool later = b->text != NULL && strstr(b->text, whole) != NULL;
        n += !first && !later;
        free(whole);
    }
    return n;
}

bool can_preload(void)
{
#ifdef QN_SANITIZED
    return false;
#else
    return true;
#endif
}
