/* status.c - errors as values: format the sentence, name the code. */
#include "base/status.h"

#include "base/assert.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Drop the code point that the end of the buffer cut in two, if any: a
 * continuation byte sequence that its lead byte does not cover. */
static void trim_cut_utf8(char *text, size_t len)
{
    size_t start = len;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80) {
        start--;
    }
    if (start == 0 || (unsigned char)text[start - 1] < 0xc0) {
        return;
    }
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (len - (start - 1) < want) {
        text[start - 1] = '\0';
    }
}

enum qn_status qn_fail(struct qn_err *err, enum qn_status status,
                       const char *fmt, ...)
{
    if (err == NULL) {
        return status;
    }
    /* Not straight into err: the arguments may point at the sentence there. */
    struct qn_err made;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(made.text, sizeof made.text, fmt, args);
    va_end(args);
    if (len < 0) {
        made.text[0] = '\0';
    } else if ((size_t)len >= sizeof made.text) {
        trim_cut_utf8(made.text, sizeof made.text - 1);
    }
    qn_blunt_controls(made.text);
    memcpy(err->text, made.text, strlen(made.text) + 1);
    return status;
}

enum qn_status qn_fail_in(struct qn_err *err, enum qn_status status,
                          const char *prefix)
{
    if (err == NULL) {
        return status;
    }
    return qn_fail(err, status, "%s: %s", prefix, err->text);
}

const char *qn_status_name(enum qn_status status)
{
    static const char *const names[QN_N_STATUS] = {
        [QN_OK] = "ok",
        [QN_EUSAGE] = "usage",
        [QN_ENOTFOUND] = "not_found",
        [QN_EIO] = "io",
        [QN_EFORMAT] = "format",
        [QN_ENOMEM] = "no_memory",
        [QN_ESTATE] = "state",
        [QN_ESTOPPED] = "stopped",
    };
    QN_ASSERT((unsigned)status < QN_N_STATUS);
    return names[status];
}
