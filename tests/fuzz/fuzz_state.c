/* fuzz_state.c - no state.safetensors may crash a run that goes on, and one
 * that is refused changes nothing. */
#include "inputs.h"
#include "tiny.h"

#include "base/assert.h"
#include "base/mem.h"
#include "train/state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Moments and carried state are zeros, as before. */
static void check_untouched(const struct fuzz_tiny *t)
{
    struct qn_err err;
    size_t n = t->optim.m.count, n_state = qn_pass_state_len(t->pass);
    float *x = qn_xcalloc(2 * n + n_state, sizeof *x);
    QN_ASSERT(qn_optim_read(&t->optim, x, x + n, &err) == QN_OK);
    QN_ASSERT(qn_pass_read_state(t->pass, x + 2 * n, &err) == QN_OK);
    for (size_t i = 0; i < 2 * n + n_state; i++) {
        QN_ASSERT(x[i] == 0);
    }
    free(x);
}

static void check_file(const char *path, const uint8_t *bytes, size_t len)
{
    struct fuzz_tiny *t = fuzz_tiny_zeroed();
    struct qn_progress at = {.step = -7};
    struct qn_err err = {{0}};
    fuzz_write(path, bytes, len);
    if (qn_state_load(path, &at, &t->optim, t->pass, &err) == QN_OK) {
        QN_ASSERT(at.step >= 0 && at.updates >= 0 && at.epoch >= 0 &&
                  at.segment >= 0);
    } else {
        QN_ASSERT(at.step == -7 && err.text[0] != '\0');
        check_untouched(t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t n;
    char *path = fuzz_path("state");
    uint8_t *file = fuzz_safetensors(bytes, len, &n);
    check_file(path, bytes, len);
    check_file(path, file, n);
    (void)unlink(path);
    free(file);
    free(path);
    return 0;
}
