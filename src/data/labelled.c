/* labelled.c - documents with a label, from a folder or a file. */
#include "data/labelled.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/source.h"
#include "data/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of the labels, which are those of a folder's two folders as well. */
static const char *const class_names[] = {"neg", "pos"};
#define N_CLASSES ((int)(sizeof class_names / sizeof *class_names))

/* Where the first byte stands that is no UTF-8; false: all of it is. */
static bool find_bad_byte(const char *text, size_t len, size_t *at)
{
    uint32_t code;
    for (*at = 0; *at < len;) {
        if (!qn_symbol_next(QN_SYMBOL_CODE_POINT, text, len, at, &code)) {
            return true;
        }
    }
    return false;
}

static bool is_text(const char *s, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(s, text, len) == 0;
}

static bool parse_label(const char *s, size_t len, int32_t *out)
{
    for (int label = 0; label < N_CLASSES; label++) {
        const char digit[] = {(char)('0' + label), '\0'};
        if (is_text(s, len, class_names[label]) || is_text(s, len, digit)) {
            *out = label;
            return true;
        }
    }
    return false;
}

/* With a front of what was found in the place of a label, also behind a NUL. */
static enum qn_status fail_label(const char *s, size_t len, struct qn_err *err)
{
    char front[32], shown[24];
    size_t n = len < sizeof front - 1 ? len : sizeof front - 1;
    for (size_t i = 0; i < n; i++) {
        front[i] = s[i] != '\0' ? s[i] : '?';
    }
    front[n] = '\0';
    qn_copy_text(shown, sizeof shown, front);
    return qn_fail(err, QN_EFORMAT,
                   "the label is \"%s\", must be 0 or neg, 1 or pos", shown);
}

/* label TAB rating TAB text; later tabs belong to the text. */
static enum qn_status parse_line(const char *line, size_t len,
                                 struct qn_labelled_doc *out,
                                 struct qn_err *err)
{
    size_t at;
    if (find_bad_byte(line, len, &at)) {
        return qn_fail(err, QN_EFORMAT, "invalid UTF-8 at its byte %zu", at);
    }
    const char *end = line + len;
    const char *tab = len > 0 ? memchr(line, '\t', len) : NULL;
    const char *second =
        tab != NULL ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
    if (second == NULL) {
        return qn_fail(err, QN_EFORMAT,
                       "has fewer than two tabs, must be label TAB rating TAB "
                       "text");
    }
    if (!parse_label(line, (size_t)(tab - line), &out->label)) {
        return fail_label(line, (size_t)(tab - line), err);
    }
    out->text = second + 1;
    out->len = (size_t)(end - out->text);
    return QN_OK;
}

static size_t count_lines(const char *at, const char *end)
{
    size_t n = 0;
    for (; at < end; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    return n;
}

static enum qn_status parse_lines(const struct qn_bytes *text,
                                  struct qn_labelled *l, struct qn_err *err)
{
    const char *end = text->data + text->len;
    const char *at = text->data;
    if (qn_starts_with(at, QN_BYTE_ORDER_MARK)) {
        at += strlen(QN_BYTE_ORDER_MARK);
    }
    l->docs = qn_xcalloc(count_lines(at, end), sizeof *l->docs);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        enum qn_status status =
            parse_line(at, (size_t)(line_end - at), &l->docs[l->n], err);
        if (status != QN_OK) {
            char place[64];
            (void)snprintf(place, sizeof place, "line %zu", l->n + 1);
            return qn_fail_in(err, status, place);
        }
        l->n++;
        at = line_end + 1;
    }
    return l->n > 0 ? QN_OK
                    : qn_fail(err, QN_EFORMAT, "is empty, holds no documents");
}

static enum qn_status read_lines(struct qn_labelled *l, struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_file_read_gz(l->path, &text, err);
    if (status != QN_OK) {
        return status;
    }
    l->memory = text.data;
    qn_sha256_hex(text.data, text.len, l->sha256);
    status = parse_lines(&text, l, err);
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, l->path);
}

/* A folder while it is read: documents one after the other in 'text', which
 * moves as it grows; they point to nothing until it is complete. */
struct folder {
    struct qn_labelled *l;
    struct qn_log *log;
    struct qn_str text;
    size_t cap; /* of l->docs and l->names */
};

/* Takes the name. */
static void add_document(struct folder *f, const struct qn_bytes *text,
                         int label, char *name)
{
    struct qn_labelled *l = f->l;
    if (l->n == f->cap) {
        f->cap = f->cap > 0 ? 2 * f->cap : 64;
        l->docs = qn_xrealloc(l->docs, f->cap, sizeof *l->docs);
        l->names = qn_xrealloc(l->names, f->cap, sizeof *l->names);
    }
    l->docs[l->n] =
        (struct qn_labelled_doc){.len = text->len, .label = (int32_t)label};
    l->names[l->n++] = name;
    qn_str_add_bytes(&f->text, text->data, text->len);
}

/* The document NAME of a class. */
static enum qn_status read_document(struct folder *f, int label,
                                    const char *name, struct qn_err *err)
{
    char *below = qn_path_join(class_names[label], name);
    char *path = qn_path_join(f->l->path, below);
    struct qn_bytes text = {0};
    size_t at;
    enum qn_status status =
        qn_path_is_special(path)
            ? qn_fail(err, QN_EFORMAT, "%s: is not a regular file", path)
            : qn_file_read(path, &text, err);
    if (status == QN_OK && find_bad_byte(text.data, text.len, &at)) {
        status =
            qn_fail(err, QN_EFORMAT, "%s: invalid UTF-8 at byte %zu", path, at);
    }
    if (status == QN_OK) {
        add_document(f, &text, label, below);
        below = NULL;
    }
    qn_bytes_free(&text);
    free(path);
    free(below);
    return status;
}

static enum qn_status read_names(struct folder *f, int label,
                                 char *const *names, size_t n,
                                 struct qn_err *err)
{
    size_t before = f->l->n;
    for (size_t i = 0; i < n; i++) {
        if (!qn_ends_with(names[i], ".txt")) {
            continue;
        }
        enum qn_status status = read_document(f, label, names[i], err);
        if (status != QN_OK) {
            return status;
        }
    }
    size_t taken = f->l->n - before;
    if (taken == 0) {
        return qn_fail(err, QN_EFORMAT, "%s/%s: holds no .txt file", f->l->path,
                       class_names[label]);
    }
    if (taken < n) {
        qn_log_write(f->log, QN_LOG_INFO,
                     "%s/%s: %zu of its %zu names do not end in .txt and are "
                     "ignored",
                     f->l->path, class_names[label], n - taken, n);
    }
    return QN_OK;
}

static enum qn_status read_class(struct folder *f, int label,
                                 struct qn_err *err)
{
    char *path = qn_path_join(f->l->path, class_names[label]);
    char **names;
    size_t n;
    enum qn_status status = qn_dir_list(path, &names, &n, err);
    free(path);
    if (status != QN_OK) {
        return status;
    }
    status = read_names(f, label, names, n, err);
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
    return status;
}

/* How many of the two folders are in this one; *lacking is one that is not. */
static int count_classes(const char *path, int *lacking)
{
    int n = 0;
    for (int label = 0; label < N_CLASSES; label++) {
        char *folder = qn_path_join(path, class_names[label]);
        if (qn_path_is_dir(folder)) {
            n++;
        } else {
            *lacking = label;
        }
        free(folder);
    }
    return n;
}

static enum qn_status check_classes(const char *path, struct qn_err *err)
{
    int lacking = 0, unused;
    int n = count_classes(path, &lacking);
    if (n == N_CLASSES) {
        return QN_OK;
    }
    if (n > 0) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: holds one class only: there is a folder %s and no "
                       "folder %s",
                       path, class_names[1 - lacking], class_names[lacking]);
    }
    char *train = qn_path_join(path, "train");
    bool deeper = count_classes(train, &unused) == N_CLASSES;
    enum qn_status status = qn_fail(
        err, QN_EFORMAT, "%s: has no folders neg and pos with documents%s%s%s",
        path, deeper ? "; " : "", deeper ? train : "",
        deeper ? " has them" : "");
    free(train);
    return status;
}

static enum qn_status read_folder(struct qn_labelled *l, struct qn_log *log,
                                  struct qn_err *err)
{
    struct folder f = {.l = l, .log = log};
    enum qn_status status = check_classes(l->path, err);
    for (int label = 0; status == QN_OK && label < N_CLASSES; label++) {
        status = read_class(&f, label, err);
    }
    size_t len = f.text.len;
    l->memory = qn_str_take(&f.text);
    if (status != QN_OK) {
        return status;
    }
    const char *at = l->memory;
    for (size_t i = 0; i < l->n; i++) {
        l->docs[i].text = at;
        at += l->docs[i].len;
    }
    qn_sha256_hex(l->memory, len, l->sha256);
    return QN_OK;
}

enum qn_status qn_labelled_read(const char *given, const char *data_dir,
                                struct qn_log *log, struct qn_labelled *out,
                                struct qn_err *err)
{
    if (qn_source_is_builtin(given)) {
        return qn_fail(err, QN_EUSAGE,
                       "%s: is a text without labels, not labelled documents",
                       given);
    }
    struct qn_labelled l = {0};
    enum qn_status status = qn_source_find(given, data_dir, &l.path, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_path_is_dir(l.path) ? read_folder(&l, log, err)
                                    : read_lines(&l, err);
    if (status != QN_OK) {
        qn_labelled_fini(&l);
        return status;
    }
    *out = l;
    return QN_OK;
}

void qn_labelled_fini(struct qn_labelled *l)
{
    for (size_t i = 0; l->names != NULL && i < l->n; i++) {
        free(l->names[i]);
    }
    free(l->names);
    free(l->docs);
    free(l->path);
    free(l->memory);
    *l = (struct qn_labelled){0};
}

const char *qn_labelled_where(const struct qn_labelled *l, size_t i, char *buf,
                              size_t size)
{
    if (l->names != NULL) {
        qn_copy_text(buf, size, l->names[i]);
    } else {
        (void)snprintf(buf, size, "line %zu", i + 1);
    }
    return buf;
}
