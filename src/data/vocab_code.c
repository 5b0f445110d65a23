/* vocab_code.c - texts into ids and back. */
#include "data/vocab.h"

#include "base/assert.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many ids are no prompt but a corpus, which may not fit. */
#define BIG 65536
/* Of a word that an error names. */
#define MOST_SHOWN 60

static enum qn_status check_text(const struct qn_vocab *v, const char *text,
                                 size_t len, size_t *n, struct qn_err *err)
{
    return qn_symbols_count(qn_vocab_kind(v), text, len, n, err);
}

static enum qn_status learn_words(struct qn_vocab *v, const char *text,
                                  size_t len, struct qn_err *err)
{
    struct qn_word_reader r = {text, len, 0};
    const char *word;
    size_t n;
    while (qn_word_next(&r, &word, &n)) {
        if (n == 0) {
            qn_vocab_add_eos(v);
        } else {
            qn_vocab_add_word(v, word, n);
        }
        if (qn_vocab_size(v) > QN_MAX_WORDS) {
            return qn_fail(err, QN_EFORMAT, "holds more than %d words",
                           QN_MAX_WORDS);
        }
    }
    return QN_OK;
}

enum qn_status qn_vocab_learn(struct qn_vocab *v, const char *text, size_t len,
                              struct qn_err *err)
{
    size_t n;
    enum qn_status status = check_text(v, text, len, &n, err);
    if (status != QN_OK) {
        return status;
    }
    if (qn_vocab_kind(v) == QN_SYMBOL_WORD) {
        return learn_words(v, text, len, err);
    }
    uint32_t symbol = 0;
    for (size_t at = 0; at < len;) {
        (void)qn_symbol_next(qn_vocab_kind(v), text, len, &at, &symbol);
        qn_vocab_add(v, symbol);
    }
    return QN_OK;
}

/* Reads a text as ids, one after the other; -1 for what has none. */
struct id_reader {
    const struct qn_vocab *vocab;
    struct qn_word_reader text;
    /* The symbol that was read last. */
    uint32_t symbol;
    const char *word;
    size_t word_len;
};

static struct id_reader read_ids(const struct qn_vocab *v, const char *text,
                                 size_t len)
{
    return (struct id_reader){.vocab = v, .text = {text, len, 0}};
}

static bool next_id(struct id_reader *r, int *id)
{
    enum qn_symbol_kind kind = qn_vocab_kind(r->vocab);
    if (kind == QN_SYMBOL_WORD) {
        bool more = qn_word_next(&r->text, &r->word, &r->word_len);
        if (more) {
            *id = r->word_len > 0
                      ? qn_vocab_find_word(r->vocab, r->word, r->word_len)
                      : qn_vocab_eos(r->vocab);
        }
        return more;
    }
    if (r->text.at >= r->text.len ||
        !qn_symbol_next(kind, r->text.text, r->text.len, &r->text.at,
                        &r->symbol)) {
        return false;
    }
    *id = qn_vocab_find(r->vocab, r->symbol);
    return true;
}

bool qn_vocab_covers(const struct qn_vocab *v, const char *text, size_t len)
{
    struct id_reader r = read_ids(v, text, len);
    for (int id = 0; next_id(&r, &id);) {
        if (id < 0) {
            return false;
        }
    }
    return true;
}

static enum qn_status fail_word(const struct id_reader *r, struct qn_err *err)
{
    if (r->word_len == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "the end of a line is not in the vocabulary");
    }
    struct qn_str shown = {0};
    char cut[MOST_SHOWN];
    qn_word_escape(r->word, r->word_len, &shown);
    qn_copy_text(cut, sizeof cut, shown.text);
    qn_str_free(&shown);
    return qn_fail(err, QN_EUSAGE, "the word \"%s\" is not in the vocabulary",
                   cut);
}

static enum qn_status fail_symbol(const struct id_reader *r, struct qn_err *err)
{
    enum qn_symbol_kind kind = qn_vocab_kind(r->vocab);
    if (kind == QN_SYMBOL_WORD) {
        return fail_word(r, err);
    }
    if (kind == QN_SYMBOL_BYTE) {
        return qn_fail(err, QN_EUSAGE,
                       "the byte 0x%02" PRIx32 " is not in the vocabulary",
                       r->symbol);
    }
    char shown[8] = "";
    if (!qn_is_control(r->symbol)) {
        shown[0] = ' ';
        (void)qn_utf8_encode(r->symbol, shown + 1);
    }
    return qn_fail(err, QN_EUSAGE,
                   "the symbol U+%04" PRIX32 "%s is not in the vocabulary",
                   r->symbol, shown);
}

enum qn_status qn_vocab_encode(const struct qn_vocab *v, const char *text,
                               size_t len, int32_t **ids, size_t *n,
                               struct qn_err *err)
{
    size_t count;
    enum qn_status status = check_text(v, text, len, &count, err);
    if (status != QN_OK) {
        return status;
    }
    int32_t *made = count < BIG ? qn_xcalloc(count, sizeof *made)
                                : qn_try_big(count, sizeof *made);
    if (made == NULL) {
        char size[32];
        return qn_fail(err, QN_ENOMEM, "no memory for %zu symbols (%s)", count,
                       qn_format_bytes(size, sizeof size, 4.0 * (double)count));
    }
    struct id_reader r = read_ids(v, text, len);
    int id = -1;
    for (size_t i = 0; next_id(&r, &id); i++) {
        QN_ASSERT(i < count);
        if (id < 0 && qn_vocab_unk(v) == QN_UNK) {
            free(made);
            return fail_symbol(&r, err);
        }
        made[i] = id >= 0 ? id : qn_vocab_unk(v);
    }
    *ids = made;
    *n = count;
    return QN_OK;
}

static void decode_word(const struct qn_vocab *v, int id, struct qn_str *out)
{
    if (id == qn_vocab_eos(v)) {
        qn_str_add(out, "\n");
        return;
    }
    if (out->len > 0 && !qn_is_blank(out->text[out->len - 1])) {
        qn_str_add(out, " ");
    }
    size_t len;
    const char *word = qn_vocab_word(v, id, &len);
    qn_str_add_bytes(out, word, len);
}

static void decode_symbol(const struct qn_vocab *v, int id, struct qn_str *out)
{
    bool unk = id == qn_vocab_unk(v);
    if (qn_vocab_kind(v) == QN_SYMBOL_BYTE) {
        char byte = unk ? '?' : (char)qn_vocab_symbol(v, id);
        qn_str_add_bytes(out, &byte, 1);
        return;
    }
    char utf8[4];
    uint32_t shown = unk ? 0xfffd : qn_vocab_symbol(v, id);
    qn_str_add_bytes(out, utf8, (size_t)qn_utf8_encode(shown, utf8));
}

void qn_vocab_decode(const struct qn_vocab *v, const int32_t *ids, size_t n,
                     struct qn_str *out)
{
    bool words = qn_vocab_kind(v) == QN_SYMBOL_WORD;
    for (size_t i = 0; i < n; i++) {
        QN_ASSERT(ids[i] >= 0 && ids[i] < qn_vocab_size(v));
        if (words) {
            decode_word(v, ids[i], out);
        } else {
            decode_symbol(v, ids[i], out);
        }
    }
}
