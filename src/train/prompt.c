/* prompt.c - the ids of what a sample begins with. */
#include "train/text.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* The prompt as the text was read. */
static char *as_read(const struct qn_spec *spec, const char *prompt)
{
    char *text = qn_xstrdup(prompt);
    for (char *c = text; *c != '\0'; c++) {
        if (spec->data.lower && *c >= 'A' && *c <= 'Z') {
            *c = (char)(*c + ('a' - 'A'));
        }
        /* Where that stream goes on to a next line it has a space. */
        if (spec->data.stream == QN_STREAM_PTB49 && *c == '\n') {
            *c = ' ';
        }
    }
    return text;
}

static enum qn_status unknown_symbol(enum qn_symbol_kind kind, const char *s,
                                     size_t bytes, struct qn_err *err)
{
    if (kind == QN_SYMBOL_BYTE) {
        return qn_fail(err, QN_EUSAGE,
                       "prompt: byte 0x%02x is not in the run's vocabulary",
                       (unsigned)(unsigned char)*s);
    }
    uint32_t code = 0;
    (void)qn_utf8_decode(s, bytes, &code);
    return qn_fail(err, QN_EUSAGE,
                   "prompt: \"%.*s\" (U+%04X) is not in the run's vocabulary",
                   (int)bytes, s, (unsigned)code);
}

static enum qn_status find_symbols(const struct qn_vocab *vocab,
                                   const char *text, int32_t *ids, size_t *n,
                                   struct qn_err *err)
{
    enum qn_symbol_kind kind = qn_vocab_kind(vocab);
    size_t len = strlen(text);
    for (size_t at = 0; at < len; (*n)++) {
        size_t from = at;
        uint32_t symbol = 0;
        (void)qn_symbol_next(kind, text, len, &at, &symbol); /* is valid */
        ids[*n] = qn_vocab_find(vocab, symbol);
        if (ids[*n] < 0) {
            return unknown_symbol(kind, text + from, at - from, err);
        }
    }
    return QN_OK;
}

/* The known word nearest to one that is not, or NULL. Words much shorter or
 * longer are not near; a vocabulary may have them by the million. */
static const char *nearest_word(const struct qn_vocab *vocab, const char *word,
                                size_t len)
{
    int size = qn_vocab_size(vocab), n = 0;
    size_t most = len / 3 + 1;
    const char **names = qn_xcalloc((size_t)size + 1, sizeof *names);
    for (int id = 0; id < size; id++) {
        size_t name_len;
        const char *name = qn_vocab_word(vocab, id, &name_len);
        if (name_len <= len + most && name_len + most >= len) {
            names[n++] = name;
        }
    }
    int nearest = qn_nearest(word, names, n);
    const char *found = nearest >= 0 ? names[nearest] : NULL;
    free(names);
    return found;
}

static enum qn_status unknown_word(const struct qn_vocab *vocab,
                                   const char *word, size_t len,
                                   struct qn_err *err)
{
    if (len == 0) {
        return qn_fail(err, QN_EUSAGE,
                       "prompt: the end of a line is not in the run's "
                       "vocabulary");
    }
    char *whole = qn_xstrndup(word, len);
    const char *nearest = nearest_word(vocab, whole, len);
    struct qn_str shown = {0};
    qn_str_add(&shown, "prompt: the word \"");
    qn_word_escape(word, len, &shown);
    qn_str_add(&shown, "\" is not in the run's vocabulary");
    if (nearest != NULL) {
        qn_str_add(&shown, ", which has \"");
        qn_word_escape(nearest, strlen(nearest), &shown);
        qn_str_add(&shown, "\"");
    }
    enum qn_status status = qn_fail(err, QN_EUSAGE, "%s", shown.text);
    qn_str_free(&shown);
    free(whole);
    return status;
}

/* A line that the prompt leaves open is to be gone on with: unlike a text's,
 * its end is no symbol. What begins with nothing begins a line. */
static enum qn_status find_words(const struct qn_vocab *vocab, const char *text,
                                 int32_t *ids, size_t *n, struct qn_err *err)
{
    struct qn_word_reader r = {text, strlen(text), 0};
    const char *word;
    size_t len;
    while (qn_word_next(&r, &word, &len) && r.at <= r.len) {
        int id = len > 0 ? qn_vocab_find_word(vocab, word, len)
                         : qn_vocab_eos(vocab);
        ids[*n] = id >= 0 ? id : qn_vocab_unk(vocab);
        if (ids[*n] < 0) {
            return unknown_word(vocab, word, len, err);
        }
        (*n)++;
    }
    if (*n == 0 && qn_vocab_eos(vocab) >= 0) {
        ids[(*n)++] = qn_vocab_eos(vocab);
    }
    return QN_OK;
}

static enum qn_status check_utf8(enum qn_symbol_kind kind, const char *text,
                                 size_t len, struct qn_err *err)
{
    uint32_t symbol;
    for (size_t at = 0; at < len;) {
        if (!qn_symbol_next(kind, text, len, &at, &symbol)) {
            return qn_fail(err, QN_EUSAGE,
                           "prompt: byte %zu is not valid UTF-8", at);
        }
    }
    return QN_OK;
}

enum qn_status qn_text_prompt(const struct qn_vocab *vocab,
                              const struct qn_spec *spec, const char *prompt,
                              int32_t **ids, size_t *n, struct qn_err *err)
{
    enum qn_symbol_kind kind = qn_vocab_kind(vocab);
    size_t len = strlen(prompt), count = 0;
    enum qn_status status = check_utf8(kind, prompt, len, err);
    if (status != QN_OK) {
        return status;
    }
    char *text = as_read(spec, prompt);
    int32_t *made = qn_xcalloc(len + 1, sizeof *made);
    status = kind == QN_SYMBOL_WORD
                 ? find_words(vocab, text, made, &count, err)
                 : find_symbols(vocab, text, made, &count, err);
    free(text);
    if (status != QN_OK) {
        free(made);
        return status;
    }
    *ids = made;
    *n = count;
    return QN_OK;
}
