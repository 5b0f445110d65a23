/* run_lines.c - read a .jsonl file of a run as if no resume had happened. */
#include "store/run_dir.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/files.h"
#include "store/line.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const file_names[QN_N_RUN_FILES] = {
    [QN_METRICS] = "metrics.jsonl",
    [QN_EVENTS] = "events.jsonl",
    [QN_STATS] = "stats.jsonl",
};

const char *qn_run_file_name(enum qn_run_file file)
{
    return file_names[file];
}

/* A resume: what stands before 'offset' counts up to step 'from' only. After
 * keep_least, 'from' is the least of this and all later resumes. */
struct resume {
    size_t offset;
    double from;
};
struct resumes {
    struct resume *at;
    size_t n, cap;
};

struct line {
    const char *text;
    size_t len;
};

/* The next line that ends in a newline, stepping over it; a torn last line is
 * as if it were not there. */
static bool next_line(const struct qn_bytes *bytes, size_t *at,
                      struct line *line)
{
    if (*at >= bytes->len) {
        return false;
    }
    line->text = bytes->data + *at;
    const char *end = memchr(line->text, '\n', bytes->len - *at);
    if (end == NULL) {
        return false;
    }
    line->len = (size_t)(end - line->text);
    *at += line->len + 1;
    return true;
}

/* The object that a line holds, or NULL with the reason. */
static json_t *parse_line(struct line line, json_error_t *why)
{
    return json_loadb(line.text, line.len, JSON_ALLOW_NUL, why);
}

/* Whether the line may be a resume's, without parsing it: few lines are. */
static bool mentions_segment(struct line line)
{
    static const char word[] = "\"segment\"";
    const size_t len = sizeof word - 1;
    for (size_t i = 0; i + len <= line.len; i++) {
        const char *quote = memchr(line.text + i, '"', line.len - i);
        if (quote == NULL) {
            return false;
        }
        i = (size_t)(quote - line.text);
        if (i + len <= line.len && memcmp(quote, word, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_resume(struct line line, double *from)
{
    if (!mentions_segment(line)) {
        return false;
    }
    json_t *object = parse_line(line, &(json_error_t){0});
    *from = qn_line_number(object, "from");
    bool is =
        !isnan(*from) && json_is_integer(json_object_get(object, "segment"));
    json_decref(object);
    return is;
}

static void find_resumes(const struct qn_bytes *bytes, struct resumes *r)
{
    struct line line;
    for (size_t at = 0; next_line(bytes, &at, &line);) {
        double from;
        if (!is_resume(line, &from)) {
            continue;
        }
        if (r->n == r->cap) {
            r->cap = r->cap > 0 ? 2 * r->cap : 8;
            r->at = qn_xrealloc(r->at, r->cap, sizeof *r->at);
        }
        size_t offset = (size_t)(line.text - bytes->data);
        r->at[r->n++] = (struct resume){offset, from};
    }
    for (size_t i = r->n; i > 1; i--) {
        r->at[i - 2].from = fmin(r->at[i - 2].from, r->at[i - 1].from);
    }
}

/* Every line that counts goes to fn until that has seen enough. */
static enum qn_status pass_lines(const struct qn_bytes *bytes,
                                 const struct resumes *r, qn_line_fn fn,
                                 void *user, struct qn_err *err)
{
    size_t number_of_line = 0, resume = 0;
    struct line line;
    for (size_t at = 0; next_line(bytes, &at, &line);) {
        number_of_line++;
        size_t offset = (size_t)(line.text - bytes->data);
        while (resume < r->n && r->at[resume].offset <= offset) {
            resume++;
        }
        json_error_t why;
        json_t *object = parse_line(line, &why);
        if (!json_is_object(object)) {
            const char *reason = object == NULL ? why.text : "it is an array";
            json_decref(object);
            return qn_fail(err, QN_EFORMAT, "line %zu is no JSON object: %s",
                           number_of_line, reason);
        }
        bool replaced = resume < r->n &&
                        qn_line_number(object, "step") > r->at[resume].from;
        bool more = replaced || fn(user, object);
        json_decref(object);
        if (!more) {
            break;
        }
    }
    return QN_OK;
}

enum qn_status qn_lines_parse(const struct qn_bytes *bytes, qn_line_fn fn,
                              void *user, struct qn_err *err)
{
    struct resumes resumes = {0};
    struct qn_bytes whole = {bytes->data,
                             qn_whole_lines(bytes->data, bytes->len)};
    find_resumes(&whole, &resumes);
    enum qn_status status = pass_lines(&whole, &resumes, fn, user, err);
    free(resumes.at);
    return status;
}

enum qn_status qn_run_dir_lines(const char *path, enum qn_run_file file,
                                qn_line_fn fn, void *user, struct qn_err *err)
{
    char *name = qn_path_join(path, file_names[file]);
    struct qn_bytes bytes = {0};
    enum qn_status status = QN_OK;
    /* A run that was made and never started may lack it. */
    if (qn_path_exists(name) || !qn_path_is_dir(path)) {
        status = qn_file_read(name, &bytes, err);
        if (status == QN_OK) {
            status = qn_lines_parse(&bytes, fn, user, err);
            status = status == QN_OK ? QN_OK : qn_fail_in(err, status, name);
        }
    }
    qn_bytes_free(&bytes);
    free(name);
    return status;
}

/* The last max_bytes of a file; *cut: it is longer. */
static enum qn_status read_tail(const char *path, size_t max_bytes,
                                struct qn_bytes *out, bool *cut,
                                struct qn_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    if (fstat(fd, &st) != 0) {
        enum qn_status status = qn_fail_errno(err, path, "cannot stat");
        (void)close(fd);
        return status;
    }
    off_t most = (off_t)max_bytes;
    off_t from = st.st_size > most ? st.st_size - most : 0;
    out->data = qn_xmalloc(max_bytes + 1);
    ssize_t n = pread(fd, out->data, max_bytes, from);
    enum qn_status status =
        n < 0 ? qn_fail_errno(err, path, "cannot read") : QN_OK;
    out->len = n > 0 ? (size_t)n : 0;
    out->data[out->len] = '\0';
    *cut = from > 0;
    (void)close(fd);
    return status;
}

/* Where the lines begin that no later resume replaced. */
static size_t tail_start(const struct qn_bytes *bytes, bool cut)
{
    struct line line;
    double from;
    size_t start = 0, at = 0;
    if (cut && next_line(bytes, &at, &line)) {
        start = at; /* its beginning is missing */
    }
    while (next_line(bytes, &at, &line)) {
        if (is_resume(line, &from)) {
            start = at;
        }
    }
    return start;
}

enum qn_status qn_run_dir_tail(const char *path, enum qn_run_file file,
                               size_t max_bytes, qn_line_fn fn, void *user,
                               struct qn_err *err)
{
    char *full = qn_path_join(path, file_names[file]);
    struct qn_bytes bytes = {0};
    bool cut = false;
    enum qn_status status = read_tail(full, max_bytes, &bytes, &cut, err);
    free(full);
    if (status != QN_OK) {
        qn_bytes_free(&bytes);
        return status;
    }
    struct line line;
    bool more = true;
    for (size_t at = tail_start(&bytes, cut);
         more && next_line(&bytes, &at, &line);) {
        json_t *object = parse_line(line, &(json_error_t){0});
        more = !json_is_object(object) || fn(user, object);
        json_decref(object);
    }
    qn_bytes_free(&bytes);
    return QN_OK;
}
