/* input.c - the decoder: one unit at a time off the front of a buffer. */
#include "tui/input.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define ESCAPE_MS 30
#define PASTE_MS 1000

static const char paste_begin[] = "\033[200~";
static const char paste_end[] = "\033[201~";

struct qn_input {
    qn_key_fn fn;
    void *user;
    struct qn_str held; /* bytes not yet handed on */
    bool pasting;
};

struct qn_input *qn_input_new(qn_key_fn fn, void *user)
{
    struct qn_input *in = qn_xcalloc(1, sizeof *in);
    in->fn = fn;
    in->user = user;
    return in;
}

void qn_input_free(struct qn_input *in)
{
    if (!in)
        return;
    qn_str_free(&in->held);
    free(in);
}

/* A sequence after ESC [ or ESC O, and the key it stands for. */
static const struct {
    const char *tail;
    enum qn_key_code code;
} sequences[] = {
    {"A", QN_KEY_UP},         {"B", QN_KEY_DOWN},     {"C", QN_KEY_RIGHT},
    {"D", QN_KEY_LEFT},       {"H", QN_KEY_HOME},     {"F", QN_KEY_END},
    {"1~", QN_KEY_HOME},      {"7~", QN_KEY_HOME},    {"4~", QN_KEY_END},
    {"8~", QN_KEY_END},       {"3~", QN_KEY_DELETE},  {"5~", QN_KEY_PAGE_UP},
    {"6~", QN_KEY_PAGE_DOWN}, {"P", QN_KEY_F1},       {"Q", QN_KEY_F1 + 1},
    {"R", QN_KEY_F1 + 2},     {"S", QN_KEY_F1 + 3},   {"[A", QN_KEY_F1},
    {"[B", QN_KEY_F1 + 1},    {"[C", QN_KEY_F1 + 2},  {"[D", QN_KEY_F1 + 3},
    {"[E", QN_KEY_F1 + 4},    {"11~", QN_KEY_F1},     {"12~", QN_KEY_F1 + 1},
    {"13~", QN_KEY_F1 + 2},   {"14~", QN_KEY_F1 + 3}, {"15~", QN_KEY_F1 + 4},
    {"17~", QN_KEY_F1 + 5},   {"18~", QN_KEY_F1 + 6}, {"19~", QN_KEY_F1 + 7},
    {"20~", QN_KEY_F1 + 8},   {"21~", QN_KEY_F1 + 9}, {"23~", QN_KEY_F1 + 10},
    {"24~", QN_KEY_F1 + 11},
};

static enum qn_key_code sequence_code(const char *tail, size_t len)
{
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        const char *t = sequences[i].tail;
        if (strlen(t) == len && memcmp(t, tail, len) == 0)
            return sequences[i].code;
    }
    return QN_KEY_OTHER;
}

/* Whether a control sequence may end in this byte. */
static bool ends_sequence(char c)
{
    return c >= 0x40 && c < 0x7f;
}

/* Length of the control sequence that starts at s ("ESC [" or "ESC O" are its
 * first two bytes), or 0 while its end has not come. A byte that no sequence
 * has breaks it off and is not part of it. */
static size_t sequence_len(const char *s, size_t len)
{
    size_t i = 2;
    if (len > 3 && s[1] == '[' &&
        s[2] == '[') /* the Linux console's F1 to F5 */
        return 4;
    if (len == 3 && s[1] == '[' && s[2] == '[')
        return 0;
    while (s[1] == '[' && i < len && s[i] >= 0x20 && s[i] < 0x40)
        i++;
    if (i == len)
        return 0;
    return ends_sequence(s[i]) ? i + 1 : i;
}

static void drop(struct qn_input *in, size_t n)
{
    memmove(in->held.text, in->held.text + n, in->held.len - n);
    in->held.len -= n;
    in->held.text[in->held.len] = '\0';
}

/* Hand on the first n bytes as this key, and forget the 'more' behind them.
 * They are copied first: the receiver may feed more. */
static void emit_and_drop(struct qn_input *in, size_t n, size_t more,
                          struct qn_key key)
{
    char *bytes = qn_xstrndup(in->held.text, n);
    drop(in, n + more);
    key.bytes = bytes;
    key.len = n;
    in->fn(in->user, &key);
    free(bytes);
}

static void emit(struct qn_input *in, size_t n, struct qn_key key)
{
    emit_and_drop(in, n, 0, key);
}

/* How many bytes the UTF-8 character beginning with c should have. */
static size_t utf8_want(unsigned char c)
{
    return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
}

/* One character at s; 0 while it is cut off. */
static size_t decode_char(const char *s, size_t len, bool final, uint32_t *ch)
{
    int n = qn_utf8_decode(s, len, ch);
    if (n > 0)
        return (size_t)n;
    if (!final && len < utf8_want((unsigned char)s[0]))
        return 0;
    *ch = (unsigned char)s[0]; /* no UTF-8: a byte of its own */
    return 1;
}

/* A bracketed paste whose beginning has been taken off. */
static bool take_paste(struct qn_input *in, bool final)
{
    const char *end = strstr(in->held.text, paste_end);
    if (!end && !final)
        return false;
    size_t n = end ? (size_t)(end - in->held.text) : in->held.len;
    in->pasting = false;
    emit_and_drop(in, n, end ? sizeof paste_end - 1 : 0,
                  (struct qn_key){.code = QN_KEY_PASTE});
    return true;
}

static bool take_escape(struct qn_input *in, bool final)
{
    const char *s = in->held.text;
    size_t len = in->held.len;
    if (len == 1) {
        if (final)
            emit(in, 1, (struct qn_key){.code = QN_KEY_ESC});
        return final;
    }
    if (s[1] == '[' || s[1] == 'O') {
        size_t n = sequence_len(s, len);
        if (n == 0 && !final)
            return false;
        if (n == sizeof paste_begin - 1 && memcmp(s, paste_begin, n) == 0) {
            drop(in, n);
            in->pasting = true;
            return true;
        }
        if (n > 0) {
            enum qn_key_code code = sequence_code(s + 2, n - 2);
            emit(in, n, (struct qn_key){.code = code});
            return true;
        }
    }
    if (s[1] == '\033') {
        emit(in, 1, (struct qn_key){.code = QN_KEY_ESC});
        return true;
    }
    uint32_t ch;
    size_t n = decode_char(s + 1, len - 1, final, &ch);
    if (n == 0)
        return false;
    emit(in, n + 1,
         (struct qn_key){.code = QN_KEY_CHAR, .ch = ch, .alt = true});
    return true;
}

/* Take one unit off the front; false when what is there may go on. */
static bool take(struct qn_input *in, bool final)
{
    if (in->pasting)
        return take_paste(in, final);
    if (in->held.len == 0)
        return false;
    if (in->held.text[0] == '\033')
        return take_escape(in, final);
    uint32_t ch;
    size_t n = decode_char(in->held.text, in->held.len, final, &ch);
    if (n == 0)
        return false;
    emit(in, n, (struct qn_key){.code = QN_KEY_CHAR, .ch = ch});
    return true;
}

void qn_input_feed(struct qn_input *in, const char *bytes, size_t len)
{
    /* A terminal never sends NUL inside a paste or a key but Ctrl-Space;
     * strstr above relies on there being none. */
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != '\0')
            qn_str_add_bytes(&in->held, &bytes[i], 1);
    }
    while (take(in, false))
        ;
}

int qn_input_patience_ms(const struct qn_input *in)
{
    if (in->pasting)
        return PASTE_MS;
    return in->held.len > 0 ? ESCAPE_MS : 0;
}

void qn_input_flush(struct qn_input *in)
{
    while (take(in, true))
        ;
}
