/* stream.c - Penn Treebank's lines as the paper's authors or Mikolov join them.
 *
 * A line of those files is a space, words parted by single spaces, a space and
 * a newline. The authors cut the last two characters off, Mikolov strips the
 * line and writes a symbol for its end; both are one symbol a line. */
#include "data/stream.h"

#include "base/mem.h"

#include <string.h>

/* Narrow [*from, *to) to what stands between its blanks. */
static void strip(const char *text, size_t *from, size_t *to)
{
    while (*from < *to && qn_is_blank(text[*from])) {
        (*from)++;
    }
    while (*from < *to && qn_is_blank(text[*to - 1])) {
        (*to)--;
    }
}

void qn_stream_join(enum qn_text_stream stream, struct qn_bytes *text)
{
    if (stream == QN_TEXT_PLAIN || text->len == 0) {
        return;
    }
    /* A line takes one byte more than what is left of it, so that only an
     * unterminated last line can grow; qn_bytes has a NUL to end with. */
    char *joined = qn_xmalloc(text->len + 2);
    size_t n = 0;
    for (size_t at = 0; at < text->len;) {
        const char *newline = memchr(text->data + at, '\n', text->len - at);
        size_t end =
            newline != NULL ? (size_t)(newline - text->data) : text->len;
        size_t from = at, to = end;
        at = end + 1;
        strip(text->data, &from, &to);
        if (stream == QN_TEXT_PTB49 && to > from) {
            joined[n++] = ' ';
        }
        memcpy(joined + n, text->data + from, to - from);
        n += to - from;
        if (stream == QN_TEXT_PTB50) {
            joined[n++] = '\n';
        }
    }
    joined[n] = '\0';
    qn_bytes_free(text);
    *text = (struct qn_bytes){joined, n};
}
