/* fuzz_safetensors.c - no bytes may crash the reader or mislead its caller. */
#include "inputs.h"

#include "base/assert.h"
#include "base/safetensors.h"

#include <stdlib.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    check_file(bytes, len);
    size_t n;
    uint8_t *file = fuzz_safetensors(bytes, len, &n);
    check_file(file, n);
    free(file);
    return 0;
}
