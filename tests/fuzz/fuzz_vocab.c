/* fuzz_vocab.c - no text may crash a vocabulary or come back changed. */
#include "inputs.h"

#include "base/assert.h"
#include "data/vocab.h"

#include <stdlib.h>
#include <string.h>

static enum qn_status parse(enum qn_symbol_kind kind, const char *text,
                            size_t len, struct qn_vocab **v, struct qn_err *err)
{
    return kind == QN_SYMBOL_WORD
               ? qn_vocab_parse_words(NULL, NULL, text, len, v, err)
               : qn_vocab_parse(kind, text, len, v, err);
}

/* As vocab.txt: what is taken writes a text that parses to the same. */
static void check_parse(enum qn_symbol_kind kind, const char *text, size_t len)
{
    struct qn_vocab *v = NULL, *back = NULL;
    struct qn_err err = {{0}};
    if (parse(kind, text, len, &v, &err) != QN_OK) {
        QN_ASSERT(v == NULL && err.text[0] != '\0');
        return;
    }
    struct qn_str out = {0};
    qn_vocab_text(v, &out);
    enum qn_status status = parse(kind, out.text, out.len, &back, NULL);
    QN_ASSERT(status == QN_OK && qn_vocab_equal(v, back));
    qn_str_free(&out);
    qn_vocab_free(back);
    qn_vocab_free(v);
}

/* As a text: what can be learned can be encoded, and decodes to itself. */
static void check_encode(enum qn_symbol_kind kind, const char *text, size_t len)
{
    struct qn_vocab *v = qn_vocab_new(kind);
    enum qn_status learned = qn_vocab_learn(v, text, len, NULL);
    int32_t *ids = NULL;
    size_t n = 0;
    QN_ASSERT(qn_vocab_encode(v, text, len, &ids, &n, NULL) == learned);
    if (learned == QN_OK) {
        struct qn_str out = {0};
        qn_vocab_decode(v, ids, n, &out);
        QN_ASSERT(out.len == len);
        QN_ASSERT(len == 0 || memcmp(out.text, text, len) == 0);
        QN_ASSERT(qn_vocab_covers(v, text, len));
        qn_str_free(&out);
    }
    free(ids);
    qn_vocab_free(v);
}

/* As a text of words: its ids decode to a text of the same ids. */
static void check_words(const char *text, size_t len)
{
    struct qn_vocab *v = qn_vocab_new_words(NULL, NULL);
    int32_t *ids = NULL, *again = NULL;
    size_t n = 0, n_again = 0;
    if (qn_vocab_learn(v, text, len, NULL) == QN_OK) {
        struct qn_str out = {0};
        QN_ASSERT(qn_vocab_covers(v, text, len));
        QN_ASSERT(qn_vocab_encode(v, text, len, &ids, &n, NULL) == QN_OK);
        qn_vocab_decode(v, ids, n, &out);
        QN_ASSERT(qn_vocab_encode(v, out.len > 0 ? out.text : "", out.len,
                                  &again, &n_again, NULL) == QN_OK);
        QN_ASSERT(n == n_again && memcmp(ids, again, n * sizeof *ids) == 0);
        qn_str_free(&out);
    }
    free(again);
    free(ids);
    qn_vocab_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes;
    for (int kind = 0; kind < 2; kind++) {
        check_parse((enum qn_symbol_kind)kind, text, len);
        check_encode((enum qn_symbol_kind)kind, text, len);
    }
    check_parse(QN_SYMBOL_WORD, text, len);
    check_words(text, len);
    return 0;
}
