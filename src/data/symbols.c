/* symbols.c - the symbols that a text consists of, one after the other. */
#include "data/symbols.h"

#include "base/str.h"

#include <string.h>

bool qn_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool qn_symbol_next(enum qn_symbol_kind kind, const char *text, size_t len,
                    size_t *at, uint32_t *symbol)
{
    unsigned char first = (unsigned char)text[*at];
    if (kind == QN_SYMBOL_BYTE || first < 0x80) {
        *symbol = first;
        (*at)++;
        return true;
    }
    int taken = qn_utf8_decode(text + *at, len - *at, symbol);
    *at += (size_t)taken;
    return taken > 0;
}

bool qn_word_next(struct qn_word_reader *r, const char **word, size_t *len)
{
    size_t at = r->at;
    if (at > r->len) {
        return false;
    }
    while (at < r->len && r->text[at] != '\n' && qn_is_blank(r->text[at])) {
        at++;
    }
    size_t from = at;
    while (at < r->len && !qn_is_blank(r->text[at])) {
        at++;
    }
    *word = r->text + from;
    *len = at - from;
    r->at = at;
    if (at > from) {
        return true;
    }
    if (at < r->len) {
        r->at = at + 1; /* the newline */
        return true;
    }
    /* One past the end says that the last line's end has been read. */
    r->at = r->len + 1;
    return at > 0 && r->text[at - 1] != '\n';
}

static enum qn_status count_code_points(const char *text, size_t len, size_t *n,
                                        struct qn_err *err)
{
    size_t count = 0;
    uint32_t symbol;
    for (size_t at = 0; at < len; count++) {
        if (!qn_symbol_next(QN_SYMBOL_CODE_POINT, text, len, &at, &symbol)) {
            return qn_fail(err, QN_EFORMAT,
                           "invalid UTF-8 at byte %zu (data.level=byte takes "
                           "any bytes)",
                           at);
        }
    }
    *n = count;
    return QN_OK;
}

enum qn_status qn_symbols_count(enum qn_symbol_kind kind, const char *text,
                                size_t len, size_t *n, struct qn_err *err)
{
    size_t count = len;
    if (kind != QN_SYMBOL_BYTE) {
        enum qn_status status = count_code_points(text, len, &count, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (kind == QN_SYMBOL_WORD) {
        struct qn_word_reader r = {text, len, 0};
        const char *word;
        size_t word_len;
        for (count = 0; qn_word_next(&r, &word, &word_len);) {
            count++;
        }
    }
    *n = count;
    return QN_OK;
}

/* After 'skip' words: there, or at the start of the next line. */
static size_t words_tail(const char *text, size_t len, size_t skip, size_t n)
{
    struct qn_word_reader r = {text, len, 0};
    const char *word;
    size_t word_len;
    while (skip > 0 && qn_word_next(&r, &word, &word_len)) {
        skip--;
    }
    size_t at = r.at < len ? r.at : len;
    if (at == 0 || text[at - 1] == '\n') {
        return at;
    }
    const char *newline = memchr(text + at, '\n', len - at);
    if (newline == NULL) {
        return at;
    }
    size_t line = (size_t)(newline - text) + 1, left;
    (void)qn_symbols_count(QN_SYMBOL_WORD, text + line, len - line, &left,
                           NULL); /* the text is valid */
    return left >= n / 2 ? line : at;
}

size_t qn_symbols_tail(enum qn_symbol_kind kind, const char *text, size_t len,
                       size_t n_all, size_t n)
{
    if (n == 0) {
        return len;
    }
    if (kind == QN_SYMBOL_WORD) {
        return words_tail(text, len, n_all - n, n);
    }
    size_t at = len;
    while (n > 0 && at > 0) {
        at--;
        /* Bytes 10xxxxxx continue a code point. */
        if (kind == QN_SYMBOL_BYTE ||
            ((unsigned char)text[at] & 0xc0) != 0x80) {
            n--;
        }
    }
    return at;
}
