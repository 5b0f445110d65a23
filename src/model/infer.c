/* infer.c - the network that a file of weights is of, told from its tensors'
 * names and shapes.
 *
 * What cannot be told, and must be right in the spec: the task, and the
 * activation and the pooling of a QRNN, which decide how many gate blocks its
 * rows split into. */
#include "base/safetensors.h"
#include "base/str.h"
#include "model/checkpoint.h"
#include "nn/layer.h"
#include "nn/settings.h"

#include <stdio.h>
#include <string.h>

#define MAX_VOCAB 10000000
#define MAX_SEQ 100000
#define MAX_ROWS ((size_t)QN_MAX_BLOCKS * QN_MAX_WIDTH)
/* What a layer of a dense stack may read. */
#define MAX_INPUT ((size_t)(QN_MAX_LAYERS + 1) * QN_MAX_WIDTH)

static const size_t max_table[] = {MAX_VOCAB, QN_MAX_WIDTH};
static const size_t max_conv[] = {MAX_ROWS, MAX_INPUT, QN_MAX_WINDOW};
static const size_t max_step_bias[] = {MAX_SEQ, MAX_ROWS};
static const size_t max_lstm[] = {MAX_ROWS, MAX_INPUT};

static const struct qn_st_tensor *layer_tensor(const struct qn_st_file *file,
                                               int layer, const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    return qn_st_find(file, full);
}

/* A tensor of n_dims, dimension i from 1 to max[i], or why not. */
static bool has_dims(const struct qn_st_tensor *t, const char *name, int n_dims,
                     const size_t *max, struct qn_err *err)
{
    if (t == NULL) {
        (void)qn_fail(err, QN_EFORMAT, "%s is missing", name);
        return false;
    }
    if (t->n_dims != n_dims) {
        (void)qn_fail(err, QN_EFORMAT, "%s has %d dimensions, must have %d",
                      name, t->n_dims, n_dims);
        return false;
    }
    for (int i = 0; i < n_dims; i++) {
        if (t->dim[i] < 1 || t->dim[i] > max[i]) {
            (void)qn_fail(err, QN_EFORMAT,
                          "%s has %zu in dimension %d, must have 1..%zu", name,
                          t->dim[i], i, max[i]);
            return false;
        }
    }
    return true;
}

static bool infer_cell(const struct qn_st_file *file, struct qn_spec *spec,
                       struct qn_err *err)
{
    if (layer_tensor(file, 0, "conv.weight") != NULL) {
        spec->model.cell = QN_CELL_QRNN;
        return true;
    }
    if (layer_tensor(file, 0, "lstm.weight_ih") != NULL) {
        spec->model.cell = QN_CELL_LSTM;
        return true;
    }
    (void)qn_fail(err, QN_EFORMAT,
                  "layers.0.conv.weight is missing, and so is "
                  "layers.0.lstm.weight_ih");
    return false;
}

/* The width of the vectors that layer 0 reads: its tensors' second dimension.
 */
static bool infer_embed(const struct qn_st_file *file, struct qn_spec *spec,
                        struct qn_err *err)
{
    const struct qn_st_tensor *t = spec->model.cell == QN_CELL_LSTM
                                       ? layer_tensor(file, 0, "lstm.weight_ih")
                                       : layer_tensor(file, 0, "conv.weight");
    if (t->n_dims < 2 || t->dim[1] < 1 || t->dim[1] > QN_MAX_WIDTH) {
        (void)qn_fail(err, QN_EFORMAT,
                      "%s does not say how wide word vectors are", t->name);
        return false;
    }
    spec->model.embed = (int)t->dim[1];
    return true;
}

/* One row tells a classifier's decoder from that of a language model, which
 * has a row for each symbol of its table. */
static bool check_task(const struct qn_st_file *file,
                       const struct qn_spec *spec, struct qn_err *err)
{
    const struct qn_st_tensor *table = qn_st_find(file, "embedding.weight");
    const struct qn_st_tensor *decoder = qn_st_find(file, "decoder.weight");
    if (spec->task == QN_TASK_LM && decoder != NULL && decoder->n_dims == 2 &&
        decoder->dim[0] == 1 && (table == NULL || table->dim[0] != 1)) {
        (void)qn_fail(err, QN_EFORMAT,
                      "decoder.weight has one row: this network classifies, "
                      "which is task=classify");
        return false;
    }
    return true;
}

/* The table of the symbols, or in its place word vectors from elsewhere. */
static bool infer_table(const struct qn_st_file *file, struct qn_spec *spec,
                        int *vocab, struct qn_err *err)
{
    const struct qn_st_tensor *t = qn_st_find(file, "embedding.weight");
    bool classify = spec->task == QN_TASK_CLASSIFY;
    if (classify && spec->data.vectors[0] != '\0') {
        *vocab = 0;
        return true;
    }
    if (classify && t == NULL) {
        (void)qn_fail(err, QN_EFORMAT,
                      "embedding.weight is missing, and data.vectors does not "
                      "say where word vectors are");
        return false;
    }
    if (!has_dims(t, "embedding.weight", 2, max_table, err)) {
        return false;
    }
    spec->model.embed = (int)t->dim[1];
    *vocab = (int)t->dim[0];
    return true;
}

static bool infer_decoder(const struct qn_st_file *file, struct qn_spec *spec,
                          struct qn_err *err)
{
    const struct qn_st_tensor *t = qn_st_find(file, "decoder.weight");
    if (!has_dims(t, "decoder.weight", 2, max_table, err)) {
        return false;
    }
    if (spec->task == QN_TASK_CLASSIFY && t->dim[0] != 1) {
        (void)qn_fail(err, QN_EFORMAT,
                      "decoder.weight has %zu rows, not the one of a network "
                      "that classifies",
                      t->dim[0]);
        return false;
    }
    spec->model.hidden = (int)t->dim[1];
    return true;
}

/* Columns [dim 1] of layer 1 say whether it reads the embedding, too; with one
 * layer both are the same network. */
static bool infer_dense(const struct qn_st_tensor *t, int layer,
                        struct qn_spec *spec, struct qn_err *err)
{
    size_t embed = (size_t)spec->model.embed;
    size_t hidden = (size_t)spec->model.hidden;
    if (layer != 1) {
        return true;
    }
    spec->model.dense = t->dim[1] == embed + hidden;
    if (spec->model.dense || t->dim[1] == hidden) {
        return true;
    }
    (void)qn_fail(err, QN_EFORMAT,
                  "%s reads %zu numbers, not the %zu of the layer below, nor "
                  "%zu with what that one reads",
                  t->name, t->dim[1], hidden, embed + hidden);
    return false;
}

/* One layer of a QRNN. */
static bool infer_conv(const struct qn_st_tensor *t, int layer,
                       struct qn_spec *spec, struct qn_err *err)
{
    int gates = qn_n_gates(spec->model.activation, spec->model.pooling);
    size_t hidden = (size_t)spec->model.hidden;
    if (!has_dims(t, t->name, 3, max_conv, err)) {
        return false;
    }
    if (t->dim[0] != (size_t)gates * hidden) {
        (void)qn_fail(err, QN_EFORMAT,
                      "%s has %zu rows, not %d gate blocks of %zu: "
                      "activation or pooling is another",
                      t->name, t->dim[0], gates, hidden);
        return false;
    }
    spec->model.window[layer] = (int)t->dim[2];
    return infer_dense(t, layer, spec, err);
}

static bool infer_lstm(const struct qn_st_tensor *t, int layer,
                       struct qn_spec *spec, struct qn_err *err)
{
    size_t hidden = (size_t)spec->model.hidden;
    if (!has_dims(t, t->name, 2, max_lstm, err)) {
        return false;
    }
    if (t->dim[0] != 4 * hidden) {
        (void)qn_fail(err, QN_EFORMAT, "%s has %zu rows, not 4 gates of %zu",
                      t->name, t->dim[0], hidden);
        return false;
    }
    return infer_dense(t, layer, spec, err);
}

/* The layers that the file has, up to the first that is missing. */
static bool infer_layers(const struct qn_st_file *file, struct qn_spec *spec,
                         struct qn_err *err)
{
    bool lstm = spec->model.cell == QN_CELL_LSTM;
    int n = 0;
    for (; n < QN_MAX_LAYERS; n++) {
        const struct qn_st_tensor *t =
            layer_tensor(file, n, lstm ? "lstm.weight_ih" : "conv.weight");
        if (t == NULL) {
            break;
        }
        bool fits =
            lstm ? infer_lstm(t, n, spec, err) : infer_conv(t, n, spec, err);
        if (!fits) {
            return false;
        }
    }
    spec->model.layers = n;
    if (!lstm) {
        spec->model.n_window = n;
        memset(spec->model.window + n, 0,
               (size_t)(QN_MAX_LAYERS - n) * sizeof spec->model.window[0]);
    }
    return true;
}

/* Batch norm, a bias for each step of a segment, or one for all. */
static bool infer_bias(const struct qn_st_file *file, struct qn_spec *spec,
                       struct qn_err *err)
{
    const struct qn_st_tensor *bias = layer_tensor(file, 0, "conv.bias");
    spec->model.batch_norm = layer_tensor(file, 0, "norm.weight") != NULL;
    spec->model.bias = QN_BIAS_LAYER;
    if (spec->model.batch_norm || bias == NULL || bias->n_dims != 2) {
        return true;
    }
    if (!has_dims(bias, bias->name, 2, max_step_bias, err)) {
        return false;
    }
    spec->model.bias = QN_BIAS_STEP;
    spec->seq = (int)bias->dim[0];
    return true;
}

/* Another cell or another bias makes other settings void: they go back to what
 * they are when nobody says anything. */
static bool settle(struct qn_spec *spec, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    qn_settings_take(s, spec);
    bool fits = qn_settings_finish(s, spec, err) == QN_OK;
    qn_settings_free(s);
    return fits;
}

static bool infer_all(const struct qn_st_file *file, struct qn_spec *spec,
                      int *vocab, struct qn_err *err)
{
    int symbols = 0;
    if (!check_task(file, spec, err) ||
        !infer_table(file, spec, &symbols, err) ||
        !infer_decoder(file, spec, err) || !infer_cell(file, spec, err)) {
        return false;
    }
    bool has_table = symbols > 0;
    if ((!has_table && !infer_embed(file, spec, err)) ||
        !infer_layers(file, spec, err) || !infer_bias(file, spec, err) ||
        !settle(spec, err)) {
        return false;
    }
    *vocab = symbols;
    return true;
}

enum qn_status qn_checkpoint_infer(const char *path, struct qn_spec *spec,
                                   int *vocab, struct qn_err *err)
{
    struct qn_st_file *file;
    struct qn_spec found = *spec;
    enum qn_status status = qn_st_open(path, &file, err);
    if (status != QN_OK) {
        return status;
    }
    if (infer_all(file, &found, vocab, err)) {
        *spec = found;
    } else {
        status = qn_fail_in(err, QN_EFORMAT, path);
    }
    qn_st_close(file);
    return status;
}
