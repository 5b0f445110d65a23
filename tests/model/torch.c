/* torch.c - a network trained in PyTorch evaluates here as it did there
 * (tests/golden/torch_lm.*, made by scripts/make_torch_fixture.py). */
#include "base/file.h"
#include "base/mem.h"
#include "model/checkpoint.h"
#include "model/support.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIXTURE QN_TESTS_DIR "/golden/torch_lm"
enum { SEQ = 40, MAX_BATCH = 16 };

struct text {
    int32_t *ids;
    size_t n;
};

static struct qn_bytes read_file(const char *path)
{
    struct qn_bytes bytes;
    struct qn_err err;
    if (qn_file_read(path, &bytes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return bytes;
}

/* The test text by ids of first appearance in the training text (ASCII). */
static struct text read_test_text(int *vocab)
{
    struct qn_bytes train = read_file(FIXTURE ".train.txt");
    struct qn_bytes test = read_file(FIXTURE ".test.txt");
    int32_t id_of[256];
    memset(id_of, -1, sizeof id_of);
    *vocab = 0;
    for (size_t i = 0; i < train.len; i++) {
        unsigned char c = (unsigned char)train.data[i];
        id_of[c] = id_of[c] < 0 ? (*vocab)++ : id_of[c];
    }
    struct text text = {qn_xcalloc(test.len, sizeof(int32_t)), test.len};
    for (size_t i = 0; i < test.len; i++) {
        text.ids[i] = id_of[(unsigned char)test.data[i]];
        assert_true(text.ids[i] >= 0);
    }
    qn_bytes_free(&train);
    qn_bytes_free(&test);
    return text;
}

/* Steps [from, from + n) of stream b, padded with symbol 0 and no target;
 * returns how many are real. */
static int cut(const struct text *text, size_t stream, size_t from, int n,
               int32_t *ids, int32_t *targets)
{
    int n_real = 0;
    for (int t = 0; t < n; t++) {
        size_t at = stream + from + (size_t)t;
        bool real = at + 1 < text->n;
        ids[t] = real ? text->ids[at] : 0;
        targets[t] = real ? text->ids[at + 1] : -1;
        n_real += real;
    }
    return n_real;
}

/* All of the text in 'batch' streams, segment by segment: the loss, and the
 * cell states of every layer counted. */
static double evaluate(struct qn_model *m, const struct text *text, int batch,
                       struct qn_hist (*hists)[QN_N_QUANTITIES])
{
    struct qn_backend *be = qn_model_backend(m);
    size_t length = (text->n - 1 + (size_t)batch - 1) / (size_t)batch;
    struct qn_step_result sum = {0};
    struct qn_pass *p = qn_test_pass(m, batch, SEQ, false);
    for (size_t from = 0; from < length; from += SEQ) {
        int n = length - from < SEQ ? (int)(length - from) : SEQ;
        int32_t ids[MAX_BATCH * SEQ];
        int32_t targets[MAX_BATCH * SEQ];
        int n_real[MAX_BATCH];
        struct qn_err err;
        for (int b = 0; b < batch; b++) {
            n_real[b] = cut(text, (size_t)b * length, from, n, ids + b * n,
                            targets + b * n);
        }
        struct qn_segment seg = {
            .ids = ids, .targets = targets, .steps = n, .n_real = n_real};
        struct qn_step_result r;
        struct qn_probe probe = {1u << QN_CELL, hists};
        be->ops->step_begin(be);
        assert_int_equal(qn_pass_forward_counting(p, &seg, &probe, &err),
                         QN_OK);
        assert_int_equal(be->ops->step_end(be, &r, &err), QN_OK);
        sum.loss_sum += r.loss_sum;
        sum.count += r.count;
        qn_pass_carry(p);
    }
    qn_pass_free(p);
    assert_true(sum.count == (double)(text->n - 1));
    return qn_test_loss(sum);
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    assert_true(json_is_number(v));
    return json_number_value(v);
}

/* Shares may differ by states that lie within rounding of the threshold: 5e-5
 * of some 50000 states are two or three of them. */
static void check_shares(const struct qn_hist *h, const json_t *expected)
{
    struct qn_shares s = qn_hist_shares(h);
    assert_true(fabs(s.negative - number(expected, "negative")) < 5e-5);
    assert_true(fabs(s.near - number(expected, "near")) < 5e-5);
    assert_true(fabs(s.positive - number(expected, "positive")) < 5e-5);
}

static void check_on(const char *backend, const json_t *expected)
{
    struct qn_err err;
    struct qn_spec spec = QN_SPEC("model.activation=drelu");
    int text_vocab;
    int vocab = 0;
    struct text text = read_test_text(&text_vocab);
    const char *weights = FIXTURE ".safetensors";
    if (qn_checkpoint_infer(weights, &spec, &vocab, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vocab, text_vocab);
    assert_int_equal(spec.model.hidden, (int)number(expected, "hidden"));
    assert_int_equal(spec.model.layers, (int)number(expected, "layers"));

    struct qn_backend *be = qn_test_backend(backend);
    struct qn_model *m = qn_test_model(be, &spec, vocab);
    struct qn_hist hists[QN_MAX_LAYERS][QN_N_QUANTITIES];
    for (int k = 0; k < spec.model.layers; k++) {
        qn_hist_init(&hists[k][QN_CELL], (float)number(expected, "threshold"));
    }
    assert_int_equal(qn_checkpoint_load(m, weights, &err), QN_OK);
    double loss =
        evaluate(m, &text, (int)number(expected, "eval_batch"), hists);
    assert_true(fabs(loss - number(expected, "loss")) < 1e-5);
    const json_t *shares = json_object_get(expected, "shares");
    for (int k = 0; k < spec.model.layers; k++) {
        check_shares(&hists[k][QN_CELL], json_array_get(shares, (size_t)k));
    }
    qn_model_free(m);
    qn_backend_free(be);
    free(text.ids);
}

static void pytorch_weights_give_pytorch_numbers(void **state)
{
    (void)state;
    json_error_t why;
    json_t *expected = json_load_file(FIXTURE ".json", 0, &why);
    assert_non_null(expected);
    check_on("ref", expected);
    check_on("cpu", expected);
    json_decref(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pytorch_weights_give_pytorch_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
