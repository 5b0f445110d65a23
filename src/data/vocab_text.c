/* vocab_text.c - a vocabulary as vocab.txt, and back. */
#include "data/vocab.h"

#include "base/assert.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct escape {
    uint32_t symbol;
    char letter;
};
static const struct escape escapes[] = {
    {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {' ', 's'},
};
#define N_ESCAPES (sizeof escapes / sizeof *escapes)

/* Code points above 0x9f that an editor shows as nothing, as a gap or that
 * change how what follows is shown: white space, zero-width and direction
 * marks, non-characters. First and last of each range. */
static const uint32_t invisible[][2] = {
    {0xa0, 0xa0},       {0xad, 0xad},     {0x61c, 0x61c},   {0x1680, 0x1680},
    {0x180e, 0x180e},   {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f},
    {0x3000, 0x3000},   {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff},
    {0xe0000, 0xe0fff},
};

static bool is_plain(enum qn_symbol_kind kind, uint32_t symbol)
{
    if (symbol < 0x80) {
        return symbol > 0x20 && symbol != 0x7f && symbol != '\\';
    }
    if (kind == QN_SYMBOL_BYTE || symbol < 0xa0) {
        return false;
    }
    for (size_t i = 0; i < sizeof invisible / sizeof *invisible; i++) {
        if (symbol >= invisible[i][0] && symbol <= invisible[i][1]) {
            return false;
        }
    }
    return true;
}

static void add_symbol(enum qn_symbol_kind kind, uint32_t symbol,
                       struct qn_str *out)
{
    if (is_plain(kind, symbol)) {
        char utf8[4];
        qn_str_add_bytes(out, utf8, (size_t)qn_utf8_encode(symbol, utf8));
        return;
    }
    for (size_t i = 0; i < N_ESCAPES; i++) {
        if (escapes[i].symbol == symbol) {
            qn_str_addf(out, "\\%c", escapes[i].letter);
            return;
        }
    }
    if (symbol < 0x100) {
        qn_str_addf(out, "\\x%02" PRIx32, symbol);
    } else {
        qn_str_addf(out, "\\u{%" PRIx32 "}", symbol);
    }
}

void qn_word_escape(const char *word, size_t len, struct qn_str *out)
{
    uint32_t code = 0;
    for (size_t at = 0; at < len;) {
        bool valid = qn_symbol_next(QN_SYMBOL_WORD, word, len, &at, &code);
        QN_ASSERT(valid);
        add_symbol(QN_SYMBOL_WORD, code, out);
    }
}

void qn_vocab_text(const struct qn_vocab *v, struct qn_str *out)
{
    bool words = qn_vocab_kind(v) == QN_SYMBOL_WORD;
    for (int id = 0; id < qn_vocab_size(v); id++) {
        if (words) {
            size_t len;
            const char *word = qn_vocab_word(v, id, &len);
            qn_word_escape(word, len, out);
        } else if (id == qn_vocab_unk(v)) {
            qn_str_add(out, QN_UNK_NAME);
        } else {
            add_symbol(qn_vocab_kind(v), qn_vocab_symbol(v, id), out);
        }
        qn_str_add(out, "\n");
    }
}

/* The value of hexadecimal digits that fill s[0..len), or false. */
static bool parse_hex(const char *s, size_t len, uint32_t *out)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t value = 0;
    if (len == 0 || len > 6) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, s[i], 16);
        if (digit == NULL) {
            return false;
        }
        value = value * 16 + (uint32_t)(digit - digits);
    }
    *out = value;
    return true;
}

static bool is_symbol(enum qn_symbol_kind kind, uint32_t symbol)
{
    if (kind == QN_SYMBOL_BYTE) {
        return symbol < 0x100;
    }
    return symbol < 0xd800 || (symbol > 0xdfff && symbol <= 0x10ffff);
}

/* Bytes of the escape at the start of s, as far as its first letters tell. */
static size_t escape_len(const char *s, size_t len)
{
    if (len > 1 && s[1] == 'x') {
        return len < 4 ? len : 4;
    }
    const char *brace = len > 1 && s[1] == 'u' ? memchr(s, '}', len) : NULL;
    if (brace != NULL) {
        return (size_t)(brace - s) + 1;
    }
    return len < 2 ? len : 2;
}

/* An escape and nothing after it. */
static bool parse_escape(const char *line, size_t len, uint32_t *symbol)
{
    for (size_t i = 0; len == 2 && i < N_ESCAPES; i++) {
        if (line[1] == escapes[i].letter) {
            *symbol = escapes[i].symbol;
            return true;
        }
    }
    if (len == 4 && line[1] == 'x') {
        return parse_hex(line + 2, 2, symbol);
    }
    return len > 4 && line[1] == 'u' && line[2] == '{' &&
           line[len - 1] == '}' && parse_hex(line + 3, len - 4, symbol);
}

static bool parse_symbol(enum qn_symbol_kind kind, const char *line, size_t len,
                         uint32_t *symbol)
{
    if (len > 0 && line[0] == '\\') {
        return parse_escape(line, len, symbol) && is_symbol(kind, *symbol);
    }
    int taken = qn_utf8_decode(line, len, symbol);
    return taken > 0 && (size_t)taken == len && is_plain(kind, *symbol);
}

/* A line as the word that it shows. */
static bool parse_word(const char *line, size_t len, struct qn_str *word)
{
    for (size_t at = 0; at < len;) {
        uint32_t symbol = 0;
        size_t next = at;
        if (line[at] == '\\') {
            next += escape_len(line + at, len - at);
        } else {
            next += (size_t)qn_utf8_decode(line + at, len - at, &symbol);
        }
        if (!parse_symbol(QN_SYMBOL_WORD, line + at, next - at, &symbol) ||
            (symbol < 0x80 && qn_is_blank((char)symbol))) {
            return false;
        }
        char utf8[4];
        qn_str_add_bytes(word, utf8, (size_t)qn_utf8_encode(symbol, utf8));
        at = next;
    }
    return len > 0;
}

static bool add_word_line(struct qn_vocab *v, const char *line, size_t len)
{
    struct qn_str word = {0};
    bool taken = parse_word(line, len, &word);
    if (taken) {
        qn_vocab_add_word(v, word.text, word.len);
    }
    qn_str_free(&word);
    return taken;
}

static bool is_unk_line(const char *line, size_t len)
{
    return len == strlen(QN_UNK_NAME) && memcmp(line, QN_UNK_NAME, len) == 0;
}

static bool add_symbol_line(struct qn_vocab *v, const char *line, size_t len)
{
    uint32_t symbol;
    if (is_unk_line(line, len)) {
        qn_vocab_add_unk(v);
        return true;
    }
    if (!parse_symbol(qn_vocab_kind(v), line, len, &symbol)) {
        return false;
    }
    qn_vocab_add(v, symbol);
    return true;
}

static enum qn_status add_line(struct qn_vocab *v, const char *line, size_t len,
                               struct qn_err *err)
{
    static const char *const what[] = {
        [QN_SYMBOL_CODE_POINT] = "symbol",
        [QN_SYMBOL_BYTE] = "byte",
        [QN_SYMBOL_WORD] = "word",
    };
    enum qn_symbol_kind kind = qn_vocab_kind(v);
    int before = qn_vocab_size(v);
    bool taken = kind == QN_SYMBOL_WORD ? add_word_line(v, line, len)
                                        : add_symbol_line(v, line, len);
    if (!taken) {
        return qn_fail(err, QN_EFORMAT, "line %d is not one %s", before + 1,
                       what[kind]);
    }
    if (qn_vocab_size(v) == before) {
        return qn_fail(err, QN_EFORMAT,
                       "line %d repeats the %s of an earlier "
                       "line",
                       before + 1, kind == QN_SYMBOL_WORD ? "word" : "symbol");
    }
    if (qn_vocab_size(v) > QN_MAX_WORDS) {
        return qn_fail(err, QN_EFORMAT, "holds more than %d words",
                       QN_MAX_WORDS);
    }
    return QN_OK;
}

/* Every line into v, which is the caller's or, after an error, freed. */
static enum qn_status parse_lines(struct qn_vocab *v, const char *text,
                                  size_t len, struct qn_vocab **out,
                                  struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (size_t at = 0; at < len && status == QN_OK;) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', len - at);
        size_t line_len = end != NULL ? (size_t)(end - line) : len - at;
        status = add_line(v, line, line_len, err);
        at += line_len + 1;
    }
    if (status == QN_OK && qn_vocab_size(v) == 0) {
        status = qn_fail(err, QN_EFORMAT, "holds no symbols");
    }
    if (status != QN_OK) {
        qn_vocab_free(v);
        return status;
    }
    *out = v;
    return QN_OK;
}

enum qn_status qn_vocab_parse(enum qn_symbol_kind kind, const char *text,
                              size_t len, struct qn_vocab **out,
                              struct qn_err *err)
{
    return parse_lines(qn_vocab_new(kind), text, len, out, err);
}

enum qn_status qn_vocab_parse_words(const char *eos, const char *unk,
                                    const char *text, size_t len,
                                    struct qn_vocab **out, struct qn_err *err)
{
    return parse_lines(qn_vocab_new_words(eos, unk), text, len, out, err);
}
