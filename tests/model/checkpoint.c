/* checkpoint.c - weights through files: order, equality, and what is wrong. */
#include "model/checkpoint.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "model/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { VOCAB = 9, HIDDEN = 6, EMBED = 5 };

struct net {
    struct qn_backend *be;
    struct qn_model *m;
    struct qn_spec spec;
    char dir[64], path[128];
};

static struct qn_spec small(void)
{
    return QN_SPEC("model.hidden=6", "model.embed=5", "model.window=3,2");
}

static int set_up(void **state)
{
    struct net *net = qn_xcalloc(1, sizeof *net);
    net->spec = small();
    net->be = qn_test_backend("cpu");
    net->m = qn_test_model(net->be, &net->spec, VOCAB);
    (void)snprintf(net->dir, sizeof net->dir, "/tmp/qn-checkpoint-XXXXXX");
    if (mkdtemp(net->dir) == NULL) {
        return 1;
    }
    (void)snprintf(net->path, sizeof net->path, "%s/model.safetensors",
                   net->dir);
    *state = net;
    return 0;
}

static int tear_down(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    (void)qn_remove_tree(net->dir, &err);
    qn_model_free(net->m);
    qn_backend_free(net->be);
    free(net);
    return 0;
}

static void save(struct net *net, struct qn_model *m)
{
    struct qn_err err;
    if (qn_checkpoint_save(m, net->path, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
}

static void weights_come_back_equal(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    struct qn_model *other = NULL;
    save(net, net->m);
    assert_int_equal(qn_model_new(net->be, &net->spec, VOCAB, &other, &err),
                     QN_OK);
    assert_int_equal(qn_checkpoint_load(other, net->path, &err), QN_OK);
    float *a = qn_test_read(net->m, qn_model_weights(net->m));
    float *b = qn_test_read(other, qn_model_weights(other));
    assert_memory_equal(a, b, qn_model_n_params(other) * sizeof *a);
    free(a);
    free(b);
    qn_model_free(other);
}

static void equal_weights_are_equal_bytes(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    struct qn_bytes a;
    struct qn_bytes b;
    struct qn_backend *be = qn_test_backend("ref");
    struct qn_model *other = qn_test_model(be, &net->spec, VOCAB);
    save(net, net->m);
    assert_int_equal(qn_file_read(net->path, &a, &err), QN_OK);
    save(net, other);
    assert_int_equal(qn_file_read(net->path, &b, &err), QN_OK);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    qn_bytes_free(&a);
    qn_bytes_free(&b);
    qn_model_free(other);
    qn_backend_free(be);
}

/* [G*H, D, n] in the file, [G*H, n, D] in memory. */
static void files_have_the_taps_last(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    struct qn_st_file *file = NULL;
    struct qn_param_list list;
    save(net, net->m);
    assert_int_equal(qn_st_open(net->path, &file, &err), QN_OK);
    qn_param_list_init(&list, &net->spec, VOCAB);
    const struct qn_param *p = qn_param_find(&list, "layers.0.conv.weight");
    const struct qn_st_tensor *t = qn_st_find(file, p->name);
    float *w = qn_test_read(net->m, qn_model_weights(net->m));
    assert_int_equal(t->n_dims, 3);
    assert_int_equal(t->dim[0], 4 * HIDDEN);
    assert_int_equal(t->dim[1], EMBED);
    assert_int_equal(t->dim[2], 3);
    for (size_t r = 0; r < t->dim[0]; r++) {
        for (size_t d = 0; d < EMBED; d++) {
            for (size_t tap = 0; tap < 3; tap++) {
                size_t in_file = (r * EMBED + d) * 3 + tap;
                size_t in_memory = p->offset + (r * 3 + tap) * EMBED + d;
                assert_true(qn_st_value(t, in_file) == (double)w[in_memory]);
            }
        }
    }
    free(w);
    qn_param_list_fini(&list);
    qn_st_close(file);
}

/* --- files that do not fit ---------------------------------------------- */

/* The tensors of a network's file as F64, to be changed and written again;
 * ROOM doubles each, so that a changed shape has its data. */
enum { ROOM = 4096, MAX_TENSORS = 32 };
struct copy {
    struct qn_st_tensor tensors[MAX_TENSORS];
    char names[MAX_TENSORS][64];
    double *data[MAX_TENSORS];
    size_t n;
};

static struct copy *copy_file(struct net *net)
{
    struct qn_err err;
    struct qn_st_file *file = NULL;
    struct copy *copy = qn_xcalloc(1, sizeof *copy);
    save(net, net->m);
    assert_int_equal(qn_st_open(net->path, &file, &err), QN_OK);
    copy->n = qn_st_n_tensors(file);
    for (size_t i = 0; i < copy->n; i++) {
        const struct qn_st_tensor *t = qn_st_at(file, i);
        assert_true(qn_st_count(t) < ROOM);
        (void)snprintf(copy->names[i], sizeof copy->names[i], "%s", t->name);
        copy->data[i] = qn_xcalloc(ROOM, sizeof(double));
        for (size_t j = 0; j < qn_st_count(t); j++) {
            copy->data[i][j] = qn_st_value(t, j);
        }
        copy->tensors[i] = *t;
        copy->tensors[i].name = copy->names[i];
        copy->tensors[i].dtype = QN_F64;
        copy->tensors[i].data = copy->data[i];
    }
    qn_st_close(file);
    return copy;
}

static struct qn_st_tensor *find(struct copy *copy, const char *name)
{
    for (size_t i = 0; i < copy->n; i++) {
        if (strcmp(copy->tensors[i].name, name) == 0) {
            return &copy->tensors[i];
        }
    }
    fail_msg("no %s", name);
    return NULL;
}

static void rename_tensor(struct copy *copy, const char *from, const char *to)
{
    size_t i = (size_t)(find(copy, from) - copy->tensors);
    (void)snprintf(copy->names[i], sizeof copy->names[i], "%s", to);
}

static void write_copy(struct net *net, const struct copy *copy)
{
    struct qn_err err;
    if (qn_st_write(net->path, copy->tensors, copy->n, NULL, 0, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
}

static void free_copy(struct copy *copy)
{
    for (size_t i = 0; i < copy->n; i++) {
        free(copy->data[i]);
    }
    free(copy);
}

static void doubles_are_read_as_floats(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    struct copy *copy = copy_file(net);
    float *before = qn_test_read(net->m, qn_model_weights(net->m));
    write_copy(net, copy);
    qn_model_init(net->m, 99);
    assert_int_equal(qn_checkpoint_load(net->m, net->path, &err), QN_OK);
    float *after = qn_test_read(net->m, qn_model_weights(net->m));
    assert_memory_equal(before, after,
                        qn_model_n_params(net->m) * sizeof *before);
    free(before);
    free(after);
    free_copy(copy);
}

static void every_tensor_that_does_not_fit_is_named(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    char expected[1024];
    struct copy *copy = copy_file(net);
    float *before = qn_test_read(net->m, qn_model_weights(net->m));
    rename_tensor(copy, "decoder.bias", "decoder.bais");
    find(copy, "layers.1.conv.weight")->dim[2] = 3;
    find(copy, "embedding.weight")->n_dims = 1;
    find(copy, "layers.0.conv.bias")->dtype = QN_I64;
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_load(net->m, net->path, &err), QN_EFORMAT);
    (void)snprintf(
        expected, sizeof expected,
        "%s does not hold this network's weights:\n"
        "embedding.weight is [9] in the file and [9, 5] in the network\n"
        "layers.0.conv.bias is not of type F32 or F64\n"
        "layers.1.conv.weight is [24, 6, 3] in the file and [24, 6, 2] in the "
        "network\n"
        "decoder.bias [9] is missing\n"
        "decoder.bais [9] is in the file and not in the network",
        net->path);
    assert_string_equal(err.text, expected);
    float *after = qn_test_read(net->m, qn_model_weights(net->m));
    assert_memory_equal(before, after,
                        qn_model_n_params(net->m) * sizeof *before);
    free(before);
    free(after);
    free_copy(copy);
}

static void a_missing_file_is_said(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    int vocab = 0;
    assert_int_not_equal(qn_checkpoint_load(net->m, "/none/such", &err), QN_OK);
    assert_non_null(strstr(err.text, "/none/such"));
    assert_int_not_equal(
        qn_checkpoint_infer("/none/such", &net->spec, &vocab, &err), QN_OK);
    assert_non_null(strstr(err.text, "/none/such"));
    assert_int_not_equal(qn_checkpoint_save(net->m, "/none/such/file", &err),
                         QN_OK);
    assert_non_null(strstr(err.text, "/none/such"));
}

/* --- sizes from a file -------------------------------------------------- */

static void sizes_are_inferred_from_the_shapes(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    int vocab = 0;
    struct qn_spec spec = QN_SPEC("model.layers=7", "model.hidden=100",
                                  "optim.lr=0.5", "model.window=4");
    save(net, net->m);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_OK);
    assert_int_equal(vocab, VOCAB);
    assert_int_equal(spec.model.layers, 2);
    assert_int_equal(spec.model.hidden, HIDDEN);
    assert_int_equal(spec.model.embed, EMBED);
    assert_int_equal(spec.model.n_window, 2);
    assert_memory_equal(spec.model.window, net->spec.model.window,
                        sizeof spec.model.window);
    assert_true(spec.optim.lr == 0.5);
}

static void inference_needs_the_right_activation(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    int vocab = -3;
    char expected[256];
    struct qn_spec spec = QN_SPEC("model.activation=tanh", "model.hidden=3");
    save(net, net->m);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    (void)snprintf(expected, sizeof expected,
                   "%s: layers.0.conv.weight has 24 rows, not 3 gate blocks "
                   "of 6: activation or pooling is another",
                   net->path);
    assert_string_equal(err.text, expected);
    assert_int_equal(spec.model.hidden, 3);
    assert_int_equal(vocab, -3);
}

static void inference_needs_the_tensors(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    int vocab = 0;
    struct qn_spec spec = small();
    struct copy *copy = copy_file(net);
    rename_tensor(copy, "layers.0.conv.weight", "layers.0.conv.width");
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "layers.0.conv.weight is missing"));
    rename_tensor(copy, "layers.0.conv.width", "layers.0.conv.weight");
    find(copy, "layers.0.conv.weight")->dim[1] = 1;
    find(copy, "layers.0.conv.weight")->dim[2] = 65;
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "layers.0.conv.weight has 65 in dimension "
                                     "2, must have 1..64"));
    rename_tensor(copy, "embedding.weight", "embeddings.weight");
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "embedding.weight is missing"));
    free_copy(copy);
}

/* --- every kind of network ---------------------------------------------- */

/* The network's model becomes one of this spec. */
static void become(struct net *net, struct qn_spec spec)
{
    qn_model_free(net->m);
    net->spec = spec;
    net->m = qn_test_model(net->be, &spec, VOCAB);
}

/* What a file says of a network is all that the network is of. */
static void check_inferred(const struct qn_spec *found,
                           const struct qn_spec *spec)
{
    assert_int_equal(found->model.cell, spec->model.cell);
    assert_int_equal(found->model.layers, spec->model.layers);
    assert_int_equal(found->model.hidden, spec->model.hidden);
    assert_int_equal(found->model.embed, spec->model.embed);
    assert_int_equal(found->model.dense, spec->model.dense);
    assert_int_equal(found->model.batch_norm, spec->model.batch_norm);
    assert_int_equal(found->model.bias, spec->model.bias);
    if (spec->model.bias == QN_BIAS_STEP) {
        assert_int_equal(found->seq, spec->seq);
    }
    if (spec->model.cell == QN_CELL_QRNN) {
        assert_int_equal(found->model.n_window, spec->model.layers);
        assert_memory_equal(found->model.window, spec->model.window,
                            sizeof spec->model.window);
    }
}

static void every_kind_goes_through_a_file(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        int vocab = 0;
        become(net, qn_test_kind(kind));
        save(net, net->m);
        float *before = qn_test_read(net->m, qn_model_weights(net->m));
        /* Only activation and pooling are known. */
        struct qn_spec found = QN_SPEC("model.layers=9", "model.dense=true",
                                       "model.batch_norm=true", "seq=33");
        found.model.activation = net->spec.model.activation;
        found.model.pooling = net->spec.model.pooling;
        if (qn_checkpoint_infer(net->path, &found, &vocab, &err) != QN_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(vocab, VOCAB);
        check_inferred(&found, &net->spec);
        become(net, found);
        qn_model_init(net->m, 77);
        assert_int_equal(qn_checkpoint_load(net->m, net->path, &err), QN_OK);
        float *after = qn_test_read(net->m, qn_model_weights(net->m));
        assert_memory_equal(before, after,
                            qn_model_n_params(net->m) * sizeof *before);
        free(before);
        free(after);
    }
}

static struct qn_spec lstm(void)
{
    return QN_SPEC("model.cell=lstm", "model.hidden=6", "model.embed=5");
}

static void the_biases_of_an_lstm_are_added_up(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    become(net, lstm());
    struct copy *copy = copy_file(net);
    struct qn_st_tensor *twin = find(copy, "layers.1.lstm.bias_hh");
    double *values = copy->data[twin - copy->tensors];
    assert_int_equal(twin->n_dims, 1);
    assert_int_equal(twin->dim[0], 4 * HIDDEN);
    for (size_t i = 0; i < twin->dim[0]; i++) {
        assert_true(values[i] == 0);
        values[i] = (double)i + 1;
    }
    write_copy(net, copy);
    float *before = qn_test_read(net->m, qn_model_weights(net->m));
    assert_int_equal(qn_checkpoint_load(net->m, net->path, &err), QN_OK);
    float *after = qn_test_read(net->m, qn_model_weights(net->m));
    struct qn_param_list list;
    qn_param_list_init(&list, &net->spec, VOCAB);
    const struct qn_param *p = qn_param_find(&list, "layers.1.lstm.bias_ih");
    for (size_t i = 0; i < list.count; i++) {
        bool summed = i >= p->offset && i < p->offset + p->count;
        double more = summed ? (double)(i - p->offset) + 1 : 0;
        assert_true(after[i] == (float)((double)before[i] + more));
    }
    qn_param_list_fini(&list);
    free(before);
    free(after);
    free_copy(copy);
}

static void both_biases_of_an_lstm_are_wanted(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    become(net, lstm());
    struct copy *copy = copy_file(net);
    rename_tensor(copy, "layers.0.lstm.bias_hh", "layers.0.lstm.bias");
    find(copy, "layers.1.lstm.bias_hh")->dim[0] = 23;
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_load(net->m, net->path, &err), QN_EFORMAT);
    assert_non_null(
        strstr(err.text, "\nlayers.0.lstm.bias_hh [24] is missing"));
    assert_non_null(strstr(err.text, "\nlayers.0.lstm.bias [24] is in the "
                                     "file and not in the network"));
    assert_non_null(strstr(err.text, "\nlayers.1.lstm.bias_hh is [23] in the "
                                     "file and [24] in the network"));
    free_copy(copy);
}

static void check_infer_fails(struct net *net, const struct copy *copy,
                              const char *why)
{
    struct qn_err err;
    struct qn_spec spec = net->spec;
    int vocab = -3;
    write_copy(net, copy);
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    if (strstr(err.text, why) == NULL) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vocab, -3);
    assert_memory_equal(&spec, &net->spec, sizeof spec);
}

static void shapes_that_are_of_no_network_are_said(void **state)
{
    struct net *net = *state;
    become(net, lstm());
    struct copy *copy = copy_file(net);
    find(copy, "layers.1.lstm.weight_ih")->dim[1] = 9;
    check_infer_fails(net, copy,
                      "layers.1.lstm.weight_ih reads 9 numbers, not the 6 of "
                      "the layer below, nor 11 with what that one reads");
    find(copy, "layers.0.lstm.weight_ih")->dim[0] = 25;
    check_infer_fails(net, copy,
                      "layers.0.lstm.weight_ih has 25 rows, not 4 gates of 6");
    find(copy, "layers.0.lstm.weight_ih")->n_dims = 1;
    check_infer_fails(net, copy,
                      "layers.0.lstm.weight_ih has 1 dimensions, must have 2");
    rename_tensor(copy, "layers.0.lstm.weight_ih", "weight");
    check_infer_fails(net, copy,
                      "layers.0.conv.weight is missing, and so is "
                      "layers.0.lstm.weight_ih");
    free_copy(copy);

    become(net, QN_SPEC("model.hidden=6", "model.embed=5", "model.bias=step",
                        "seq=3"));
    copy = copy_file(net);
    find(copy, "layers.0.conv.bias")->dim[0] = 0;
    check_infer_fails(net, copy, "layers.0.conv.bias has 0 in dimension 0");
    free_copy(copy);
}

/* With one layer a dense stack is no other than a plain one. */
static void one_layer_keeps_dense_as_it_was(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    for (int dense = 0; dense < 2; dense++) {
        int vocab;
        struct qn_spec found =
            QN_SPEC(dense == 1 ? "model.dense=true" : "model.dense=false");
        become(net,
               QN_SPEC("model.layers=1", "model.hidden=6", "model.embed=5"));
        save(net, net->m);
        assert_int_equal(qn_checkpoint_infer(net->path, &found, &vocab, &err),
                         QN_OK);
        assert_int_equal(found.model.dense, dense == 1);
    }
}

/* Settings that an LSTM has not go back to what they are by default. */
static void a_found_lstm_makes_settings_of_a_qrnn_void(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    int vocab;
    become(net, lstm());
    save(net, net->m);
    struct qn_spec found =
        QN_SPEC("model.batch_norm=true", "model.zoneout=0.1",
                "model.pooling=ifo", "model.window=7", "model.activation=elu",
                "model.alpha=2", "model.dropout=0.25");
    assert_int_equal(qn_checkpoint_infer(net->path, &found, &vocab, &err),
                     QN_OK);
    struct qn_spec expected = lstm();
    expected.model.dropout = 0.25;
    assert_memory_equal(&found.model, &expected.model, sizeof found.model);
}

/* Whatever the header says, it is refused or taken, and nothing is read that is
 * not there (to be run under a sanitizer, too). */
static void damaged_files_are_refused_or_taken(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    enum { HEADER = 900, TIMES = 60 };
    for (int kind = 0; kind < qn_test_n_kinds(); kind += 3) {
        struct qn_bytes file;
        become(net, qn_test_kind(kind));
        save(net, net->m);
        assert_int_equal(qn_file_read(net->path, &file, &err), QN_OK);
        for (uint64_t i = 0; i < TIMES; i++) {
            size_t at = (size_t)(qn_rng_uniform(8, i) * HEADER);
            char was = file.data[at];
            int vocab;
            struct qn_spec found = net->spec;
            file.data[at] = "0129,[]\"x"[(size_t)(qn_rng_uniform(9, i) * 9)];
            assert_int_equal(
                qn_file_write(net->path, file.data, file.len, &err), QN_OK);
            (void)qn_checkpoint_infer(net->path, &found, &vocab, &err);
            (void)qn_checkpoint_load(net->m, net->path, &err);
            file.data[at] = was;
        }
        qn_bytes_free(&file);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weights_come_back_equal),
        TEST(equal_weights_are_equal_bytes),
        TEST(files_have_the_taps_last),
        TEST(doubles_are_read_as_floats),
        TEST(every_tensor_that_does_not_fit_is_named),
        TEST(a_missing_file_is_said),
        TEST(sizes_are_inferred_from_the_shapes),
        TEST(inference_needs_the_right_activation),
        TEST(inference_needs_the_tensors),
        TEST(every_kind_goes_through_a_file),
        TEST(the_biases_of_an_lstm_are_added_up),
        TEST(both_biases_of_an_lstm_are_wanted),
        TEST(shapes_that_are_of_no_network_are_said),
        TEST(one_layer_keeps_dense_as_it_was),
        TEST(a_found_lstm_makes_settings_of_a_qrnn_void),
        TEST(damaged_files_are_refused_or_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
