/* str.c - a string that grows, and questions about strings. */
#include "base/str.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for 'more' bytes and a NUL after them. */
static void reserve(struct qn_str *s, size_t more)
{
    QN_ASSERT(more < SIZE_MAX / 2 - s->len);
    size_t need = s->len + more + 1;
    if (need <= s->cap) {
        return;
    }
    size_t cap = s->cap > 0 ? s->cap : 32;
    while (cap < need) {
        cap *= 2;
    }
    s->text = qn_xrealloc(s->text, cap, 1);
    s->cap = cap;
}

void qn_str_free(struct qn_str *s)
{
    free(s->text);
    *s = (struct qn_str){0};
}

void qn_str_clear(struct qn_str *s)
{
    s->len = 0;
    if (s->text != NULL) {
        s->text[0] = '\0';
    }
}

void qn_str_add(struct qn_str *s, const char *text)
{
    qn_str_add_bytes(s, text, strlen(text));
}

void qn_str_add_bytes(struct qn_str *s, const void *bytes, size_t len)
{
    reserve(s, len);
    if (len > 0) {
        memcpy(s->text + s->len, bytes, len);
    }
    s->len += len;
    s->text[s->len] = '\0';
}

void qn_str_addf(struct qn_str *s, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    QN_ASSERT(len >= 0);
    reserve(s, (size_t)len);
    (void)vsnprintf(s->text + s->len, (size_t)len + 1, fmt, again);
    va_end(again);
    s->len += (size_t)len;
}

char *qn_str_take(struct qn_str *s)
{
    char *text = s->text != NULL ? s->text : qn_xstrdup("");
    *s = (struct qn_str){0};
    return text;
}

/* Where to cut s, which goes on beyond len: before the code point that len
 * would cut in two. No code point has more than three continuation bytes, and
 * what has more is not UTF-8 and cut anywhere. */
static size_t cut_at(const char *s, size_t len)
{
    for (size_t back = 0; back <= 3 && back <= len; back++) {
        if (((unsigned char)s[len - back] & 0xc0) != 0x80) {
            return len - back;
        }
    }
    return len;
}

void qn_copy_text(char *to, size_t size, const char *s)
{
    QN_ASSERT(size > 0);
    size_t len = strlen(s);
    if (len >= size) {
        len = cut_at(s, size - 1);
    }
    memcpy(to, s, len);
    to[len] = '\0';
}

void qn_blunt_controls(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)text[0];
        unsigned char next = (unsigned char)text[1];
        if ((c < 0x20 && c != '\n') || c == 0x7f) {
            *text = '?';
        } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            *text++ = '?'; /* U+0080 to U+009F: controls as well */
            *text = '?';
        }
    }
}

bool qn_str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool qn_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool qn_ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && memcmp(s + n - k, suffix, k) == 0;
}
