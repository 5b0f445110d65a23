/* fuzz_weights.c - no file of weights may crash an import or a run that goes
 * on; what an import takes from one is a spec that a run may have, and weights
 * that are refused change no model. */
#include "inputs.h"
#include "tiny.h"

#include "base/assert.h"
#include "base/mem.h"
#include "model/checkpoint.h"
#include "nn/settings.h"

#include <string.h>
#include <stdlib.h>
#include <unistd.h>

static void check_spec(const struct qn_spec *spec)
{
    struct qn_json json = {.comma = false};
    struct qn_spec read;
    struct qn_err err = {{0}};
    qn_spec_json(spec, &json);
    QN_ASSERT(qn_spec_parse(json.text.text, json.text.len, &read, &err) ==
              QN_OK);
    qn_json_free(&json);
}

static bool is_small(const struct qn_spec *spec, int vocab)
{
    bool small = spec->model.layers <= 4 && spec->model.hidden <= 16 &&
                 spec->model.embed <= 16 && spec->seq <= 16 && vocab <= 64;
    for (int i = 0; i < spec->model.layers; i++) {
        small = small && spec->model.window[i] <= 8;
    }
    return small;
}

/* The spec that the file implies, and a model of it. */
static void check_infer(const char *path, enum qn_task task)
{
    struct qn_spec spec = fuzz_tiny_spec();
    struct qn_err err = {{0}};
    int vocab = -7;
    spec.task = task;
    struct qn_spec before = spec;
    if (qn_checkpoint_infer(path, &spec, &vocab, &err) != QN_OK) {
        QN_ASSERT(err.text[0] != '\0' && vocab == -7);
        QN_ASSERT(memcmp(&before, &spec, sizeof spec) == 0);
        return;
    }
    QN_ASSERT(vocab > 0);
    check_spec(&spec);
    if (is_small(&spec, vocab)) {
        struct fuzz_tiny t = fuzz_tiny_new(&spec, vocab);
        if (qn_checkpoint_load(t.model, path, &err) != QN_OK) {
            QN_ASSERT(err.text[0] != '\0');
        }
        fuzz_tiny_free(&t);
    }
}

/* The weights are zeros, as before. */
static void check_untouched(const struct fuzz_tiny *t)
{
    struct qn_tensor weights = qn_model_weights(t->model);
    float *w = qn_xcalloc(weights.count, sizeof *w);
    QN_ASSERT(t->be->ops->read(t->be, weights, w, NULL) == QN_OK);
    for (size_t i = 0; i < weights.count; i++) {
        QN_ASSERT(w[i] == 0);
    }
    free(w);
}

/* Into a model that is there: all of it or nothing. */
static void check_load(const char *path)
{
    struct fuzz_tiny *t = fuzz_tiny_zeroed();
    struct qn_err err = {{0}};
    if (qn_checkpoint_load(t->model, path, &err) != QN_OK) {
        QN_ASSERT(err.text[0] != '\0');
        check_untouched(t);
    }
}

static void check_file(const char *path, const uint8_t *bytes, size_t len)
{
    fuzz_write(path, bytes, len);
    check_infer(path, QN_TASK_LM);
    check_infer(path, QN_TASK_CLASSIFY);
    check_load(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t n;
    char *path = fuzz_path("weights");
    uint8_t *file = fuzz_safetensors(bytes, len, &n);
    check_file(path, bytes, len);
    check_file(path, file, n);
    (void)unlink(path);
    free(file);
    free(path);
    return 0;
}
