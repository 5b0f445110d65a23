/* vectors.c - word vectors that are not trained, and the files of classifiers.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "model/checkpoint.h"
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { VOCAB = 9, HIDDEN = 6, EMBED = 5, BATCH = 3, STEPS = 6 };
static const int N_REAL[BATCH] = {4, 6, 1};
static const int32_t LABELS[BATCH] = {1, 0, 1};

/* With vectors, and learning its embedding. */
enum { GIVEN, LEARNT };

struct net {
    struct qn_backend *be;
    struct qn_model *m[2];
    struct qn_spec spec[2];
    int32_t *ids; /* [BATCH, STEPS] */
    char dir[64], path[128];
};

static int set_up_stack(void **state, const char *dense)
{
    struct net *net = qn_xcalloc(1, sizeof *net);
    net->spec[GIVEN] =
        QN_SPEC("task=classify", "data.vectors=there", "model.hidden=6",
                "model.embed=5", "model.window=3,2", dense);
    net->spec[LEARNT] = QN_SPEC("task=classify", "model.hidden=6",
                                "model.embed=5", "model.window=3,2", dense);
    net->be = qn_test_backend("cpu");
    for (int i = 0; i < 2; i++) {
        net->m[i] = qn_test_model(net->be, &net->spec[i], VOCAB);
    }
    net->ids = qn_test_ids((size_t)BATCH * STEPS, VOCAB, 3);
    (void)snprintf(net->dir, sizeof net->dir, "/tmp/qn-vectors-XXXXXX");
    if (mkdtemp(net->dir) == NULL) {
        return 1;
    }
    (void)snprintf(net->path, sizeof net->path, "%s/some.safetensors",
                   net->dir);
    *state = net;
    return 0;
}

static int set_up(void **state)
{
    return set_up_stack(state, "model.dense=false");
}

static int set_up_dense(void **state)
{
    return set_up_stack(state, "model.dense=true");
}

static int tear_down(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    (void)qn_remove_tree(net->dir, &err);
    for (int i = 0; i < 2; i++) {
        qn_model_free(net->m[i]);
    }
    qn_backend_free(net->be);
    free(net->ids);
    free(net);
    return 0;
}

static struct qn_segment documents(const struct net *net)
{
    return (struct qn_segment){net->ids, LABELS, STEPS, N_REAL, 1, 2, 0};
}

static double loss_of(struct net *net, struct qn_model *m)
{
    struct qn_pass *p = qn_test_pass(m, BATCH, STEPS, false);
    struct qn_segment seg = documents(net);
    double loss = qn_test_forward(m, p, &seg).loss_sum;
    qn_pass_free(p);
    return loss;
}

/* --- not trained -------------------------------------------------------- */

static void given_vectors_are_no_parameters(void **state)
{
    struct net *net = *state;
    struct qn_param_list list;
    qn_param_list_init(&list, &net->spec[GIVEN], VOCAB);
    assert_null(qn_param_find(&list, "embedding.weight"));
    assert_int_equal(list.first_layer, 0);
    assert_string_equal(list.items[0].name, "layers.0.conv.weight");
    qn_param_list_fini(&list);
    assert_int_equal(qn_model_vectors(net->m[GIVEN]).count, VOCAB * EMBED);
    assert_null(qn_model_vectors(net->m[LEARNT]).buffer);
}

static void update(struct net *net, struct qn_model *m)
{
    struct qn_pass *p = qn_test_pass(m, BATCH, STEPS, true);
    struct qn_segment seg = documents(net);
    const struct qn_update by = {.kind = QN_SGD, .lr = 0.1, .t = 1};
    struct qn_tensor none = {0};
    (void)qn_test_forward(m, p, &seg);
    qn_pass_backward(p);
    qn_model_add_l2(m, 0.1, QN_L2_ALL);
    net->be->ops->grad_norm(net->be, qn_model_grads(m));
    net->be->ops->update(net->be, &by, qn_model_trained(m), qn_model_grads(m),
                         none, none);
    qn_pass_free(p);
}

static void training_leaves_given_vectors_as_they_are(void **state)
{
    struct net *net = *state;
    struct qn_model *m = net->m[GIVEN];
    float *before = qn_test_read(m, qn_model_vectors(m));
    double loss = loss_of(net, m);
    for (int i = 0; i < 3; i++) {
        update(net, m);
    }
    float *after = qn_test_read(m, qn_model_vectors(m));
    assert_true(loss_of(net, m) < loss);
    assert_memory_equal(after, before, VOCAB * EMBED * sizeof *after);
    free(after);
    free(before);
}

static void a_network_begins_without_touching_its_vectors(void **state)
{
    struct net *net = *state;
    struct qn_model *m = net->m[GIVEN];
    float *before = qn_test_read(m, qn_model_vectors(m));
    qn_model_init(m, 5);
    float *after = qn_test_read(m, qn_model_vectors(m));
    assert_memory_equal(after, before, VOCAB * EMBED * sizeof *after);
    free(after);
    free(before);
}

/* Give the one net the other's weights, and its embedding as vectors. All
 * weights of the other are returned; behind its embedding, at *rest, lie those
 * that both have. */
static float *share_weights(struct net *net, size_t *rest)
{
    struct qn_param_list list;
    qn_param_list_init(&list, &net->spec[LEARNT], VOCAB);
    struct qn_tensor from = qn_model_weights(net->m[LEARNT]);
    struct qn_tensor to = qn_model_weights(net->m[GIVEN]);
    assert_int_equal(list.items[0].offset, 0);
    *rest = list.items[1].offset;
    assert_int_equal(from.count - *rest, to.count);
    net->be->ops->copy(net->be, to, qn_tensor_part(from, *rest, to.count));
    float *w = qn_test_read(net->m[LEARNT], from);
    qn_model_set_vectors(net->m[GIVEN], w);
    qn_param_list_fini(&list);
    return w;
}

/* The same numbers as a learnt embedding and as given vectors. */
static void given_vectors_are_read_as_an_embedding_is(void **state)
{
    struct net *net = *state;
    size_t rest = 0;
    float *w = share_weights(net, &rest);
    assert_true(loss_of(net, net->m[GIVEN]) == loss_of(net, net->m[LEARNT]));
    w[(size_t)net->ids[0] * EMBED] += 1;
    qn_model_set_vectors(net->m[GIVEN], w);
    assert_true(loss_of(net, net->m[GIVEN]) != loss_of(net, net->m[LEARNT]));
    free(w);
}

static float *gradients(struct net *net, struct qn_model *m)
{
    struct qn_pass *p = qn_test_pass(m, BATCH, STEPS, true);
    struct qn_segment seg = documents(net);
    (void)qn_test_forward(m, p, &seg);
    qn_pass_backward(p);
    qn_pass_free(p);
    return qn_test_read(m, qn_model_grads(m));
}

/* All but the embedding's: of numbers below 1, some roundings apart. */
static void layers_learn_alike_above_given_vectors(void **state)
{
    struct net *net = *state;
    size_t rest = 0;
    free(share_weights(net, &rest));
    float *given = gradients(net, net->m[GIVEN]);
    float *learnt = gradients(net, net->m[LEARNT]);
    size_t n = qn_model_grads(net->m[GIVEN]).count;
    assert_true(qn_test_distance(given, learnt + rest, n) < 1e-6);
    free(learnt);
    free(given);
}

/* What the ways back of layers and embedding were asked for. The table of
 * operations of a backend knows nothing of a test, hence the file's only
 * variable. */
static struct {
    struct qn_backend_ops real;
    int n_wanted, n_unwanted, n_tables, width;
} seen;

static void seen_qrnn_grad(struct qn_backend *be, const struct qn_qrnn *layer,
                           const struct qn_qrnn_grad *grad)
{
    seen.n_wanted += grad->d_x.buffer != NULL;
    seen.n_unwanted += grad->d_x.buffer == NULL;
    seen.n_tables += grad->d_table.buffer != NULL; /* the layer's own */
    seen.width += grad->d_x.width;
    seen.real.qrnn_grad(be, layer, grad);
}

static void seen_embed_grad(struct qn_backend *be, struct qn_tensor d_table,
                            struct qn_seq d_out, struct qn_tensor ids,
                            const struct qn_dropout *dropout)
{
    seen.n_tables++;
    seen.real.embed_grad(be, d_table, d_out, ids, dropout);
}

static void below_given_vectors_no_gradient_is_computed(void **state)
{
    struct net *net = *state;
    const struct qn_backend_ops *ops = net->be->ops;
    struct qn_backend_ops watched = *ops;
    watched.qrnn_grad = seen_qrnn_grad;
    watched.embed_grad = seen_embed_grad;
    net->be->ops = &watched;
    memset(&seen, 0, sizeof seen);
    seen.real = *ops;
    update(net, net->m[GIVEN]);
    int wanted = seen.n_wanted;
    int unwanted = seen.n_unwanted;
    int tables = seen.n_tables;
    update(net, net->m[LEARNT]);
    net->be->ops = ops;
    assert_int_equal(wanted, 1);
    assert_int_equal(unwanted, 1);
    assert_int_equal(tables, 0);
    assert_int_equal(seen.n_wanted - wanted, 2);
    assert_int_equal(seen.n_unwanted, 1);
    assert_int_equal(seen.n_tables, 1);
}

/* Nor are those of their columns that a dense stack hands to every layer. */
static void in_a_dense_stack_given_vectors_get_none(void **state)
{
    struct net *net = *state;
    const struct qn_backend_ops *ops = net->be->ops;
    struct qn_backend_ops watched = *ops;
    watched.qrnn_grad = seen_qrnn_grad;
    net->be->ops = &watched;
    memset(&seen, 0, sizeof seen);
    seen.real = *ops;
    update(net, net->m[GIVEN]);
    int width = seen.width;
    update(net, net->m[LEARNT]);
    net->be->ops = ops;
    assert_int_equal(width, HIDDEN);
    assert_int_equal(seen.width - width, EMBED + EMBED + HIDDEN);
}

/* --- files -------------------------------------------------------------- */

static void save(struct net *net, struct qn_model *m)
{
    struct qn_err err;
    if (qn_checkpoint_save(m, net->path, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
}

static void check_file(const struct net *net, bool has_table)
{
    struct qn_st_file *file = NULL;
    struct qn_err err;
    assert_int_equal(qn_st_open(net->path, &file, &err), QN_OK);
    const struct qn_st_tensor *decoder = qn_st_find(file, "decoder.weight");
    assert_int_equal(qn_st_find(file, "embedding.weight") != NULL, has_table);
    assert_int_equal(decoder->n_dims, 2);
    assert_int_equal(decoder->dim[0], 1);
    assert_int_equal(decoder->dim[1], HIDDEN);
    assert_int_equal(qn_st_find(file, "decoder.bias")->dim[0], 1);
    qn_st_close(file);
}

static void weights_of_classifiers_come_back_equal(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    for (int i = 0; i < 2; i++) {
        struct qn_model *other = NULL;
        save(net, net->m[i]);
        check_file(net, i == LEARNT);
        assert_int_equal(
            qn_model_new(net->be, &net->spec[i], VOCAB, &other, &err), QN_OK);
        assert_int_equal(qn_checkpoint_load(other, net->path, &err), QN_OK);
        float *a = qn_test_read(net->m[i], qn_model_weights(net->m[i]));
        float *b = qn_test_read(other, qn_model_weights(other));
        assert_memory_equal(a, b, qn_model_n_params(other) * sizeof *a);
        free(a);
        free(b);
        qn_model_free(other);
    }
}

static void an_embedding_in_the_file_is_one_too_many(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    char expected[320];
    save(net, net->m[LEARNT]);
    assert_int_equal(qn_checkpoint_load(net->m[GIVEN], net->path, &err),
                     QN_EFORMAT);
    (void)snprintf(expected, sizeof expected,
                   "%s does not hold this network's weights:\n"
                   "embedding.weight [9, 5] is in the file and not in the "
                   "network, whose word vectors vectors.safetensors holds",
                   net->path);
    assert_string_equal(err.text, expected);
    save(net, net->m[GIVEN]);
    assert_int_equal(qn_checkpoint_load(net->m[LEARNT], net->path, &err),
                     QN_EFORMAT);
    assert_non_null(strstr(err.text, "\nembedding.weight [9, 5] is missing"));
}

static void vectors_come_back_equal(void **state)
{
    struct net *net = *state;
    struct qn_model *m = net->m[GIVEN];
    struct qn_err err;
    struct qn_model *other = NULL;
    float *table = qn_test_read(m, qn_model_vectors(m));
    assert_int_equal(qn_vectors_save(net->path, table, VOCAB, EMBED, &err),
                     QN_OK);
    assert_int_equal(
        qn_model_new(net->be, &net->spec[GIVEN], VOCAB, &other, &err), QN_OK);
    assert_int_equal(qn_vectors_load(other, net->path, &err), QN_OK);
    float *got = qn_test_read(other, qn_model_vectors(other));
    assert_memory_equal(got, table, VOCAB * EMBED * sizeof *got);
    free(got);
    free(table);
    qn_model_free(other);
}

static void vectors_that_do_not_fit_are_said(void **state)
{
    struct net *net = *state;
    struct qn_model *m = net->m[GIVEN];
    struct qn_err err;
    char expected[320];
    float table[(VOCAB + 1) * EMBED] = {0};
    float *before = qn_test_read(m, qn_model_vectors(m));
    assert_int_equal(qn_vectors_save(net->path, table, VOCAB + 1, EMBED, &err),
                     QN_OK);
    assert_int_equal(qn_vectors_load(m, net->path, &err), QN_EFORMAT);
    (void)snprintf(expected, sizeof expected,
                   "%s does not hold this network's word vectors:\n"
                   "embedding.weight is [10, 5] in the file and [9, 5] in the "
                   "network",
                   net->path);
    assert_string_equal(err.text, expected);
    save(net, m);
    assert_int_equal(qn_vectors_load(m, net->path, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "embedding.weight [9, 5] is missing"));
    assert_int_not_equal(qn_vectors_load(m, "/none/such", &err), QN_OK);
    assert_non_null(strstr(err.text, "/none/such"));
    float *after = qn_test_read(m, qn_model_vectors(m));
    assert_memory_equal(after, before, VOCAB * EMBED * sizeof *after);
    free(after);
    free(before);
}

/* --- sizes from a file -------------------------------------------------- */

static void sizes_of_classifiers_are_inferred(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    for (int i = 0; i < 2; i++) {
        struct qn_spec spec =
            QN_SPEC("task=classify", "model.layers=7", "model.hidden=100",
                    i == GIVEN ? "data.vectors=there" : "data.vectors=none");
        int vocab = -1;
        save(net, net->m[i]);
        assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                         QN_OK);
        assert_int_equal(vocab, i == GIVEN ? 0 : VOCAB);
        assert_int_equal(spec.task, QN_TASK_CLASSIFY);
        assert_int_equal(spec.model.layers, 2);
        assert_int_equal(spec.model.hidden, HIDDEN);
        assert_int_equal(spec.model.embed, EMBED);
        assert_memory_equal(spec.model.window, net->spec[i].model.window,
                            sizeof spec.model.window);
    }
}

static void check_lstm(struct net *net, const char *dense, bool expected)
{
    struct qn_err err;
    int vocab = -1;
    struct qn_spec spec =
        QN_SPEC("task=classify", "data.vectors=there", "model.cell=lstm",
                "model.hidden=6", "model.embed=5", dense);
    struct qn_model *m = qn_test_model(net->be, &spec, VOCAB);
    save(net, m);
    spec = QN_SPEC("task=classify", "data.vectors=there");
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_OK);
    assert_int_equal(spec.model.cell, QN_CELL_LSTM);
    assert_int_equal(spec.model.embed, EMBED);
    assert_int_equal(spec.model.hidden, HIDDEN);
    assert_int_equal(spec.model.dense, expected);
    qn_model_free(m);
}

static void sizes_of_lstms_with_vectors_are_inferred(void **state)
{
    check_lstm(*state, "model.dense=false", false);
    check_lstm(*state, "model.dense=true", true);
}

static void assert_infers_not(const struct net *net, struct qn_spec spec,
                              const char *why)
{
    struct qn_err err;
    int vocab = -1;
    char expected[320];
    assert_int_equal(qn_checkpoint_infer(net->path, &spec, &vocab, &err),
                     QN_EFORMAT);
    (void)snprintf(expected, sizeof expected, "%s: %s", net->path, why);
    assert_string_equal(err.text, expected);
    assert_int_equal(vocab, -1);
}

static void files_of_another_task_are_said(void **state)
{
    struct net *net = *state;
    struct qn_spec lm = QN_SPEC("model.hidden=6", "model.embed=5");
    struct qn_model *m = qn_test_model(net->be, &lm, VOCAB);
    save(net, m);
    assert_infers_not(net, net->spec[LEARNT],
                      "decoder.weight has 9 rows, not the one of a network "
                      "that classifies");
    save(net, net->m[GIVEN]);
    assert_infers_not(net, net->spec[LEARNT],
                      "embedding.weight is missing, and data.vectors does not "
                      "say where word vectors are");
    assert_infers_not(net, lm,
                      "decoder.weight has one row: this network classifies, "
                      "which is task=classify");
    qn_model_free(m);
}

static void flat_weights_do_not_say_how_wide_vectors_are(void **state)
{
    struct net *net = *state;
    struct qn_err err;
    const float data[HIDDEN] = {0};
    const struct qn_st_tensor tensors[] = {
        {.name = "decoder.weight", .n_dims = 2, .dim = {1, 6}, .data = data},
        {.name = "layers.0.conv.weight", .n_dims = 1, .dim = {6}, .data = data},
    };
    assert_int_equal(qn_st_write(net->path, tensors, 2, NULL, 0, &err), QN_OK);
    assert_infers_not(net, net->spec[GIVEN],
                      "layers.0.conv.weight does not say how wide word vectors "
                      "are");
}

/* --- initial weights ---------------------------------------------------- */

/* Root of the mean square of n numbers whose mean is 0. */
static double spread(const float *w, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        squares += (double)w[i] * (double)w[i];
    }
    return sqrt(squares / (double)n);
}

static void check_spread(const float *flat, const struct qn_param_list *list,
                         const char *name, int blocks, double expected)
{
    const struct qn_param *p = qn_param_find(list, name);
    size_t block = p->count / (size_t)blocks;
    assert_int_equal(p->blocks, blocks);
    assert_true(block >= 4000);
    for (int g = 0; g < blocks; g++) {
        double got = spread(flat + p->offset + (size_t)g * block, block);
        /* Of 4000 draws the spread is known to 1.1 %; four times that. */
        if (!(fabs(got / expected - 1) < 0.045)) {
            fail_msg("%s, block %d: %g, not %g", name, g, got, expected);
        }
    }
}

static void check_glorot(struct net *net, const char *cell)
{
    struct qn_spec spec =
        QN_SPEC("task=classify", "data.vectors=there", cell, "model.hidden=64",
                "model.embed=100", "model.init.kind=glorot");
    bool lstm = spec.model.cell == QN_CELL_LSTM;
    struct qn_model *m = qn_test_model(net->be, &spec, VOCAB);
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, VOCAB);
    float *flat = qn_test_read(m, qn_model_weights(m));
    if (lstm) {
        check_spread(flat, &list, "layers.0.lstm.weight_ih", 4,
                     sqrt(2.0 / (100 + 64)));
        check_spread(flat, &list, "layers.1.lstm.weight_hh", 4,
                     sqrt(2.0 / (64 + 64)));
    } else {
        int window = spec.model.window[0];
        assert_int_equal(window, 2);
        check_spread(flat, &list, "layers.0.conv.weight", 4,
                     sqrt(2.0 / (window * 100 + 64)));
        check_spread(flat, &list, "layers.1.conv.weight", 4,
                     sqrt(2.0 / (window * 64 + 64)));
    }
    free(flat);
    qn_param_list_fini(&list);
    qn_model_free(m);
}

static void glorot_takes_every_gate_by_itself(void **state)
{
    check_glorot(*state, "model.window=2");
    check_glorot(*state, "model.cell=lstm");
}

static void the_sigmoid_unit_begins_by_its_fan_in_and_out(void **state)
{
    struct net *net = *state;
    struct qn_spec spec =
        QN_SPEC("task=classify", "data.vectors=there", "model.hidden=4096",
                "model.embed=1", "model.layers=1", "model.window=1",
                "model.init.kind=glorot");
    struct qn_model *m = qn_test_model(net->be, &spec, 1);
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, 1);
    float *flat = qn_test_read(m, qn_model_weights(m));
    check_spread(flat, &list, "decoder.weight", 1, sqrt(2.0 / (4096 + 1)));
    free(flat);
    qn_param_list_fini(&list);
    qn_model_free(m);
}

int main(void)
{
#define WITH_NET(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define WITH_DENSE(test)                                                       \
    cmocka_unit_test_setup_teardown(test, set_up_dense, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_NET(given_vectors_are_no_parameters),
        WITH_NET(training_leaves_given_vectors_as_they_are),
        WITH_NET(a_network_begins_without_touching_its_vectors),
        WITH_NET(given_vectors_are_read_as_an_embedding_is),
        WITH_NET(layers_learn_alike_above_given_vectors),
        WITH_DENSE(layers_learn_alike_above_given_vectors),
        WITH_NET(below_given_vectors_no_gradient_is_computed),
        WITH_DENSE(in_a_dense_stack_given_vectors_get_none),
        WITH_NET(weights_of_classifiers_come_back_equal),
        WITH_NET(an_embedding_in_the_file_is_one_too_many),
        WITH_NET(vectors_come_back_equal),
        WITH_NET(vectors_that_do_not_fit_are_said),
        WITH_NET(sizes_of_classifiers_are_inferred),
        WITH_NET(sizes_of_lstms_with_vectors_are_inferred),
        WITH_NET(files_of_another_task_are_said),
        WITH_NET(flat_weights_do_not_say_how_wide_vectors_are),
        WITH_NET(glorot_takes_every_gate_by_itself),
        WITH_NET(the_sigmoid_unit_begins_by_its_fan_in_and_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
