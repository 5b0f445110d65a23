/* fuzz_metrics_cache.c - no bytes are taken for a metrics.cache that is not
 * whole, and what is taken can be used. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/metrics_cache.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)

static bool parse(const char *bytes, size_t len)
{
    struct qn_metrics_prefix prefix;
    struct qn_metrics m = {.n_steps = 0};
    if (!qn_metrics_cache_parse(bytes, len, &prefix, &m)) {
        QN_ASSERT(m.step == NULL && m.eval == NULL);
        return false;
    }
    for (size_t i = 0; i < m.n_steps; i++) {
        QN_ASSERT(m.step[i].segment >= 1);
    }
    for (size_t i = 0; i < m.n_evals; i++) {
        QN_ASSERT(m.eval[i].e.split < QN_N_SPLITS);
        QN_ASSERT(qn_reading_name(m.eval[i].e.reading) != NULL);
    }
    qn_metrics_free(&m);
    return true;
}

/* As docs/run-format.md says. */
static uint64_t hash_words(const char *bytes, size_t n)
{
    const uint64_t add = 0x9e3779b97f4a7c15u;
    uint64_t h = qn_mix64(add ^ n * WORD) + add;
    for (size_t i = 0; i <= n; i++) {
        uint64_t word = 0; /* one of zeros behind the last */
        if (i < n) {
            memcpy(&word, bytes + i * WORD, WORD);
        }
        h = qn_mix64(h ^ word) + add;
    }
    return h;
}

/* The bytes between a beginning and a hash that are right, which chance does
 * not find; then without the last of them. */
static void check_sealed(const uint8_t *bytes, size_t len)
{
    static const char start[2 * WORD] = "\x89QNMchc\n\x01";
    size_t n = 2 + len / WORD, n_bytes = (n + 1) * WORD;
    char *cache = qn_xmalloc(n_bytes);
    memcpy(cache, start, sizeof start);
    memcpy(cache + sizeof start, bytes, len / WORD * WORD);
    uint64_t h = hash_words(cache, n);
    memcpy(cache + n * WORD, &h, WORD);
    bool is = parse(cache, n_bytes);
    cache[n_bytes - 1] = (char)(cache[n_bytes - 1] ^ 1);
    QN_ASSERT(!is || !parse(cache, n_bytes));
    free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    (void)parse((const char *)bytes, len);
    if (len > 0) {
        check_sealed(bytes, len);
    }
    return 0;
}
