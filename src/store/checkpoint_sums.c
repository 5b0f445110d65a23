/* checkpoint_sums.c - digests of a checkpoint's files, written and checked. */
#include "store/checkpoint_sums.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define N_HEX 64
/* Between a digest and a name; the second blank says that the file was read as
 * text, which here is no different. */
#define GAP "  "

static void add_line(struct qn_str *sums, const char *hex, const char *name)
{
    qn_str_addf(sums, "%s" GAP "%s\n", hex, name);
}

/* The list itself, what is listed at last, and what a failed write left. */
static bool is_covered(const char *name)
{
    return !qn_str_eq(name, QN_SUMS) && !qn_str_eq(name, QN_METRIC) &&
           !qn_ends_with(name, ".tmp");
}

static enum qn_status add_file(struct qn_str *sums, const char *folder,
                               const char *name, struct qn_err *err)
{
    char hex[N_HEX + 1];
    uint64_t size;
    char *path = qn_path_join(folder, name);
    enum qn_status status = qn_file_sha256(path, hex, &size, err);
    if (status == QN_OK) {
        add_line(sums, hex, name);
    }
    free(path);
    return status;
}

static enum qn_status add_files(struct qn_str *sums, const char *folder,
                                struct qn_err *err)
{
    char **names = NULL;
    size_t n = 0;
    enum qn_status status = qn_dir_list(folder, &names, &n, err);
    for (size_t i = 0; i < n; i++) {
        if (status == QN_OK && is_covered(names[i])) {
            status = add_file(sums, folder, names[i], err);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

enum qn_status qn_sums_write(const char *folder, const char *metric, size_t len,
                             struct qn_err *err)
{
    struct qn_str sums = {0};
    enum qn_status status = add_files(&sums, folder, err);
    if (status == QN_OK) {
        char hex[N_HEX + 1];
        char *path = qn_path_join(folder, QN_SUMS);
        qn_sha256_hex(metric, len, hex);
        add_line(&sums, hex, QN_METRIC);
        status = qn_file_write(path, sums.text, sums.len, err);
        free(path);
    }
    qn_str_free(&sums);
    return status;
}

/* A line of the list. */
struct sum {
    char hex[N_HEX + 1];
    char name[256];
};

/* A name of a file in this folder: nothing that leads out of it. */
static bool is_plain(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           !qn_str_eq(name, ".") && !qn_str_eq(name, "..");
}

/* The line of len bytes without its newline; false when it is none. */
static bool parse_line(const char *line, size_t len, struct sum *out)
{
    const size_t before = N_HEX + sizeof GAP - 1;
    if (len <= before || len - before >= sizeof out->name ||
        memchr(line, '\0', len) != NULL ||
        memcmp(line + N_HEX, GAP, sizeof GAP - 1) != 0) {
        return false;
    }
    memcpy(out->hex, line, N_HEX);
    out->hex[N_HEX] = '\0';
    memcpy(out->name, line + before, len - before);
    out->name[len - before] = '\0';
    return strspn(out->hex, "0123456789abcdef") == N_HEX && is_plain(out->name);
}

/* So many digits tell two digests apart for a reader. */
#define SHOWN 16

static enum qn_status check_file(const char *folder, const struct sum *sum,
                                 struct qn_err *err)
{
    char hex[N_HEX + 1];
    uint64_t size;
    char *path = qn_path_join(folder, sum->name);
    enum qn_status status = qn_file_sha256(path, hex, &size, err);
    if (status == QN_ENOTFOUND) {
        status = qn_fail(err, QN_EFORMAT,
                         "%s: is missing, " QN_SUMS " lists it", path);
    } else if (status == QN_OK && !qn_str_eq(hex, sum->hex)) {
        status = qn_fail(err, QN_EFORMAT,
                         "%s: is damaged: the SHA-256 of its %" PRIu64
                         " bytes begins with %.*s, not with %.*s as " QN_SUMS
                         " says",
                         path, size, SHOWN, hex, SHOWN, sum->hex);
    }
    free(path);
    return status;
}

static enum qn_status check_list(const char *folder, const char *path,
                                 const struct qn_bytes *list,
                                 struct qn_err *err)
{
    struct sum sum = {.name = ""};
    size_t number = 0;
    for (size_t at = 0; at < list->len;) {
        const char *line = list->data + at;
        const char *end = memchr(line, '\n', list->len - at);
        number++;
        if (end == NULL || !parse_line(line, (size_t)(end - line), &sum)) {
            return qn_fail(err, QN_EFORMAT,
                           "%s: line %zu is not a SHA-256 and a file's name",
                           path, number);
        }
        enum qn_status status = check_file(folder, &sum, err);
        if (status != QN_OK) {
            return status;
        }
        at += (size_t)(end - line) + 1;
    }
    if (!qn_str_eq(sum.name, QN_METRIC)) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: is cut short, its last line must be that of "
                       "\"" QN_METRIC "\"",
                       path);
    }
    return QN_OK;
}

enum qn_status qn_sums_check(const char *folder, struct qn_err *err)
{
    char *path = qn_path_join(folder, QN_SUMS);
    struct qn_bytes list = {0};
    enum qn_status status = qn_file_read(path, &list, err);
    if (status == QN_OK) {
        status = check_list(folder, path, &list, err);
    } else if (status == QN_ENOTFOUND) {
        status = QN_OK;
    }
    qn_bytes_free(&list);
    free(path);
    return status;
}
