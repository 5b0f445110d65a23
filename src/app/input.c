/* input.c - a file or standard input, a line at a time, in bounded memory. */
#include "app/input.h"

#include "app/interrupt.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum qn_status qn_input_open(struct qn_input *l, const char *path,
                             struct qn_err *err)
{
    bool is_stdin = qn_str_eq(path, "-");
    *l = (struct qn_input){.path = is_stdin ? "standard input" : path,
                           .fd = STDIN_FILENO};
    if (is_stdin) {
        return QN_OK;
    }
    if (qn_path_is_dir(path)) {
        return qn_fail(err, QN_EIO, "%s: is a folder, not a file", path);
    }
    l->fd = open(path, O_RDONLY | O_CLOEXEC);
    return l->fd >= 0 ? QN_OK : qn_fail_errno(err, path, "cannot open");
}

void qn_input_close(struct qn_input *l)
{
    if (l->fd != STDIN_FILENO) {
        (void)close(l->fd);
    }
    qn_str_free(&l->line);
}

static enum qn_status check_signal(struct qn_err *err)
{
    return qn_interrupted() ? qn_fail(err, QN_ESTOPPED, "stopped on request")
                            : QN_OK;
}

/* More bytes into the empty buffer. */
static enum qn_status fill(struct qn_input *l, struct qn_err *err)
{
    ssize_t n;
    do {
        enum qn_status status = check_signal(err);
        if (status != QN_OK) {
            return status;
        }
        n = read(l->fd, l->buf, sizeof l->buf);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return qn_fail_errno(err, l->path, "cannot read");
    }
    l->at = 0;
    l->n = (size_t)n;
    l->ended = n == 0;
    return QN_OK;
}

/* What the buffer has of the line, up to its end; whether that is there. */
static bool take(struct qn_input *l)
{
    const char *from = l->buf + l->at;
    const char *end = memchr(from, '\n', l->n - l->at);
    size_t len = end != NULL ? (size_t)(end - from) : l->n - l->at;
    size_t room = QN_INPUT_MAX - l->line.len;
    l->cut = l->cut || len > room;
    qn_str_add_bytes(&l->line, from, len > room ? room : len);
    l->at += len + (end != NULL);
    return end != NULL;
}

enum qn_status qn_input_next(struct qn_input *l, bool *more, struct qn_err *err)
{
    bool any = false; /* a last line may lack its newline */
    bool whole = false;
    qn_str_clear(&l->line);
    qn_str_add(&l->line, ""); /* an empty line is a text, not NULL */
    l->cut = false;
    /* What is in the buffer may be the work of minutes. */
    enum qn_status status = check_signal(err);
    while (status == QN_OK && !whole && !l->ended) {
        if (l->at < l->n) {
            any = true;
            whole = take(l);
        } else {
            status = fill(l, err);
        }
    }
    if (status != QN_OK) {
        return status;
    }
    struct qn_str *line = &l->line;
    if (line->len > 0 && line->text[line->len - 1] == '\r') {
        line->text[--line->len] = '\0';
    }
    l->number += any;
    *more = any;
    return QN_OK;
}
