/* fuzz_safetensors.c - no bytes may crash the reader or mislead its caller. */
#include "base/assert.h"
#include "base/mem.h"
#include "base/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* The entry that libFuzzer calls by this name. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Every element can be read: the sanitizers see one that lies outside. */
static double sum(const struct qn_st_tensor *t)
{
    double total = 0;
    size_t count = qn_st_count(t);
    for (size_t i = 0; i < count; i++) {
        total += qn_st_value(t, i);
    }
    return total;
}

static void check_file(const uint8_t *bytes, size_t len)
{
    struct qn_st_file *f = NULL;
    struct qn_err err = {{0}};
    if (qn_st_parse("fuzz", bytes, len, &f, &err) != QN_OK) {
        QN_ASSERT(f == NULL && err.text[0] != '\0');
        return;
    }
    volatile double total = 0;
    for (size_t i = 0; i < qn_st_n_tensors(f); i++) {
        const struct qn_st_tensor *t = qn_st_at(f, i);
        total = total + sum(t);
        QN_ASSERT(qn_st_find(f, t->name) == t);
    }
    (void)qn_st_meta(f, "format");
    qn_st_close(f);
}

/* A file whose length is right: chance rarely finds one. The header is what
 * stands before the first '|', the rest is data. */
static void check_header(const uint8_t *bytes, size_t len)
{
    const uint8_t *bar = len > 0 ? memchr(bytes, '|', len) : NULL;
    uint64_t n_header = bar != NULL ? (uint64_t)(bar - bytes) : len;
    size_t n_data = bar != NULL ? len - n_header - 1 : 0;
    uint8_t *file = qn_xmalloc(sizeof n_header + len);
    memcpy(file, &n_header, sizeof n_header);
    if (len > 0) {
        memcpy(file + sizeof n_header, bytes, n_header);
    }
    if (n_data > 0) {
        memcpy(file + sizeof n_header + n_header, bar + 1, n_data);
    }
    check_file(file, sizeof n_header + n_header + n_data);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    check_file(bytes, len);
    check_header(bytes, len);
    return 0;
}
