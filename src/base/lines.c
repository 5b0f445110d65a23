/* lines.c - a file's lines one after the other, in little memory. */
#include "base/lines.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Bytes that are asked for at a time. */
#define PIECE ((size_t)128 << 10)

struct qn_lines {
    gzFile file;
    char *path;
    size_t longest, number;
    bool ended;        /* nothing more to read */
    size_t start, end; /* what is read and not yet given */
    size_t cap;        /* longest + PIECE: a line may be had whole */
    char *buf;
};

enum qn_status qn_lines_open(const char *path, size_t longest,
                             struct qn_lines **out, struct qn_err *err)
{
    if (qn_path_is_dir(path)) {
        return qn_fail(err, QN_EIO, "%s: is a folder, not a file", path);
    }
    errno = 0;
    gzFile file = gzopen(path, "rbe");
    if (file == NULL && errno == 0) {
        return qn_fail(err, QN_ENOMEM, "%s: no memory to read it", path);
    }
    if (file == NULL) {
        return qn_fail_errno(err, path, "cannot open");
    }
    (void)gzbuffer(file, (unsigned)PIECE); /* a matter of speed only */
    struct qn_lines *l = qn_xmalloc(sizeof *l);
    *l = (struct qn_lines){.file = file,
                           .path = qn_xstrdup(path),
                           .longest = longest,
                           .cap = longest + PIECE};
    l->buf = qn_xmalloc(l->cap);
    *out = l;
    return QN_OK;
}

void qn_lines_close(struct qn_lines *l)
{
    if (l == NULL) {
        return;
    }
    (void)gzclose_r(l->file); /* read only: nothing can be lost */
    free(l->buf);
    free(l->path);
    free(l);
}

/* What zlib has against the file, which it may tell only at the end. */
static enum qn_status check_stream(const struct qn_lines *l, struct qn_err *err)
{
    int code = Z_OK;
    int why = errno;
    const char *text = gzerror(l->file, &code);
    if (code == Z_OK || code == Z_STREAM_END) {
        return QN_OK;
    }
    if (code == Z_ERRNO) {
        errno = why;
        return qn_fail_errno(err, l->path, "cannot read");
    }
    if (code == Z_MEM_ERROR) {
        return qn_fail(err, QN_ENOMEM, "%s: no memory to decompress", l->path);
    }
    if (code == Z_BUF_ERROR) {
        return qn_fail(err, QN_EFORMAT, "%s: the gzip stream is cut short",
                       l->path);
    }
    /* zlib's text may begin with the path. */
    size_t len = strlen(l->path);
    if (strncmp(text, l->path, len) == 0 && strncmp(text + len, ": ", 2) == 0) {
        text += len + 2;
    }
    return qn_fail(err, QN_EFORMAT, "%s: damaged gzip stream: %s", l->path,
                   text);
}

/* Read on behind what is there. */
static enum qn_status refill(struct qn_lines *l, struct qn_err *err)
{
    if (l->start > 0) {
        memmove(l->buf, l->buf + l->start, l->end - l->start);
        l->end -= l->start;
        l->start = 0;
    }
    int n = gzread(l->file, l->buf + l->end, (unsigned)PIECE);
    if (n <= 0) {
        l->ended = true;
        return check_stream(l, err);
    }
    l->end += (size_t)n;
    return QN_OK;
}

/* The newline of the line that begins at 'start', or NULL; the first 'seen'
 * bytes are known to hold none. */
static const char *find_newline(const struct qn_lines *l, size_t seen)
{
    return memchr(l->buf + l->start + seen, '\n', l->end - l->start - seen);
}

enum qn_status qn_lines_next(struct qn_lines *l, struct qn_line *line,
                             struct qn_err *err)
{
    const char *newline = find_newline(l, 0);
    bool whole = true;
    while (newline == NULL && !l->ended) {
        size_t seen = l->end - l->start;
        if (seen > l->longest) {
            whole = false;
            l->start = l->end;
            seen = 0;
        }
        enum qn_status status = refill(l, err);
        if (status != QN_OK) {
            return status;
        }
        newline = find_newline(l, seen);
    }
    const char *text = l->buf + l->start;
    size_t len = newline != NULL ? (size_t)(newline - text) : l->end - l->start;
    if (newline == NULL && len == 0 && whole) {
        *line = (struct qn_line){0};
        return QN_OK;
    }
    whole = whole && len <= l->longest;
    *line = (struct qn_line){whole ? text : NULL, whole ? len : 0, ++l->number};
    l->start += len + (newline != NULL ? 1 : 0);
    return QN_OK;
}
