/* out.c - writes that are checked, and sentences on standard error. */
#include "app/out.h"

#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Somebody else made the stream non-blocking: terminals and pipes are shared.
 */
static void wait_for_room(void)
{
    struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
    /* Whatever comes, the next write tells. */
    (void)poll(&fd, 1, -1);
}

bool qn_out_text(struct qn_out *out, const char *text, size_t len)
{
    while (len > 0 && !out->failed) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n >= 0) {
            text += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            wait_for_room();
        } else if (errno != EINTR) {
            out->failed = true;
            (void)qn_fail(&out->err, QN_EIO, "cannot write the output: %s",
                          strerror(errno));
        }
    }
    return !out->failed;
}

bool qn_out_line(struct qn_out *out, const char *text)
{
    struct qn_str line = {0};
    qn_str_add(&line, text);
    qn_str_add(&line, "\n");
    bool ok = qn_out_text(out, line.text, line.len);
    qn_str_free(&line);
    return ok;
}

bool qn_out_linef(struct qn_out *out, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return qn_out_line(out, text);
}

bool qn_out_json(struct qn_out *out, struct qn_json *j)
{
    bool ok = qn_out_line(out, j->text.text);
    qn_json_clear(j);
    return ok;
}

int qn_out_close(const struct qn_out *out, int status)
{
    if (!out->failed) {
        return status;
    }
    qn_complain(out->err.text);
    return status == QN_EXIT_OK ? QN_EXIT_FAILURE : status;
}

void qn_complain(const char *text)
{
    struct qn_str s = {0};
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        qn_str_add(&s, "quern: ");
        qn_str_add_bytes(&s, text, len);
        qn_str_add(&s, "\n");
        text += len + (text[len] == '\n');
    }
    if (s.len > 0) {
        /* Nothing is left to tell when even this cannot be written. */
        ssize_t n = write(STDERR_FILENO, s.text, s.len);
        (void)n;
    }
    qn_str_free(&s);
}

int qn_give_up(enum qn_status status, const struct qn_err *err)
{
    qn_complain(err->text);
    return status == QN_EUSAGE ? QN_EXIT_MISUSE : QN_EXIT_FAILURE;
}
