/* fuzz_tokens.c - no text may crash the tokeniser or lose a letter in it. */
#include "inputs.h"

#include "base/assert.h"
#include "data/tokens.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that no rule takes away or respells: ASCII but white space, quotes, and
 * the letters of a line break with their brackets. */
static bool is_kept(char c)
{
    return c > ' ' && c != '\x7f' && memchr("\"'`<>/.-", c, 8) == NULL &&
           memchr("brBR", c, 4) == NULL;
}

static size_t count_kept(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += is_kept(text[i]) ? 1 : 0;
    }
    return n;
}

/* With 'lower' the words are the same but for the letters' case. */
static void check_lower(const char *text, size_t len)
{
    struct qn_tokens *as_is = qn_tokens_new(false);
    struct qn_tokens *small = qn_tokens_new(true);
    const char *a, *b;
    size_t n_a, n_b;
    qn_tokens_start(as_is, text, len);
    qn_tokens_start(small, text, len);
    while (qn_tokens_next(as_is, &a, &n_a)) {
        QN_ASSERT(qn_tokens_next(small, &b, &n_b) && n_a == n_b);
        for (size_t i = 0; i < n_a; i++) {
            bool capital = a[i] >= 'A' && a[i] <= 'Z';
            QN_ASSERT(b[i] == (capital ? a[i] - 'A' + 'a' : a[i]));
        }
    }
    QN_ASSERT(!qn_tokens_next(small, &b, &n_b));
    qn_tokens_free(small);
    qn_tokens_free(as_is);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes, *word;
    struct qn_tokens *t = qn_tokens_new(false);
    size_t n, n_kept = 0;
    qn_tokens_start(t, text, len);
    while (qn_tokens_next(t, &word, &n)) {
        QN_ASSERT(n > 0);
        n_kept += count_kept(word, n);
    }
    QN_ASSERT(n_kept == count_kept(text, len));
    qn_tokens_free(t);
    check_lower(text, len);
    return 0;
}
