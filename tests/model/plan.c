/* plan.c - parameters are counted, memory is foreseen, and an allocation that
 * fails is said. */
#include "backend/cpu/cpu.h"
#include "base/mem.h"
#include "model/sample.h"
#include "model/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- parameters --------------------------------------------------------- */

static void check_counts(struct qn_spec spec, int vocab, size_t all,
                         size_t trainable)
{
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, vocab);
    size_t sum = 0;
    size_t trained = 0;
    for (int i = 0; i < list.n; i++) {
        sum += list.items[i].count;
        trained += list.items[i].fixed ? 0 : list.items[i].count;
    }
    assert_int_equal(sum, all);
    assert_int_equal(list.all, all);
    assert_int_equal(trained, trainable);
    assert_int_equal(list.trainable, trainable);
    assert_true(list.trained >= trained && list.count >= sum);
    qn_param_list_fini(&list);
}

/* The paper prints 0.82M, 6.66M, 6.66M and 14.69M for these networks over 49
 * characters, 20M, 18M and 20M for those over 10,000 words. It counts running
 * statistics, which are not trained: 2 G H a layer. */
static void networks_have_the_parameters_of_the_paper(void **state)
{
    (void)state;
    struct qn_spec spec = QN_SPEC(
        "model.layers=2", "model.hidden=250", "model.embed=50",
        "model.window=6,2", "model.activation=drelu", "model.batch_norm=true");
    check_counts(spec, 49, 822749, 822749 - 2 * 4 * 250 * 2);
    spec = QN_SPEC("model.layers=4", "model.hidden=500", "model.embed=50",
                   "model.window=6,2", "model.activation=delu",
                   "model.batch_norm=true");
    check_counts(spec, 49, 6658999, 6658999 - 2 * 4 * 500 * 4);
    spec = QN_SPEC("model.layers=4", "model.hidden=581", "model.embed=50",
                   "model.window=6,2", "model.activation=tanh",
                   "model.batch_norm=true");
    check_counts(spec, 49, 6657854, 6657854 - 2 * 3 * 581 * 4);
    spec = QN_SPEC("model.cell=lstm", "model.layers=2", "model.hidden=650",
                   "model.embed=650");
    check_counts(spec, 10000, 19775200, 19775200);
    spec = QN_SPEC("model.layers=2", "model.hidden=640", "model.embed=640",
                   "model.activation=tanh", "model.bias=step", "seq=105");
    check_counts(spec, 10000, 18128400, 18128400);
    spec = QN_SPEC("model.layers=2", "model.hidden=640", "model.embed=640",
                   "model.activation=drelu", "model.bias=step", "seq=105");
    check_counts(spec, 10000, 19901200, 19901200);
}

/* In the order of files, but for those that are not trained: they follow. */
static size_t check_places(const struct qn_param_list *list, bool fixed,
                           size_t end)
{
    for (int i = 0; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        if (p->fixed == fixed) {
            assert_true(p->offset >= end);
            assert_int_equal(p->offset % 16, 0);
            end = p->offset + p->count;
            assert_ptr_equal(qn_param_find(list, p->name), p);
        }
    }
    return end;
}

static void tensors_do_not_overlap_and_begin_aligned(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=7", "model.embed=3", "model.batch_norm=true");
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, 5);
    assert_true(check_places(&list, false, 0) <= list.trained);
    assert_true(check_places(&list, true, list.trained) <= list.count);
    assert_true(list.trained < list.count);
    assert_null(qn_param_find(&list, "layers.2.conv.bias"));
    qn_param_list_fini(&list);
}

static void check_beginning(struct qn_spec spec)
{
    struct qn_backend *be = qn_test_backend("ref");
    struct qn_model *m = NULL;
    struct qn_err err;
    struct qn_param_list list;
    assert_int_equal(qn_model_new(be, &spec, 5, &m, &err), QN_OK);
    qn_model_init(m, 7);
    qn_param_list_init(&list, &spec, 5);
    float *w = qn_test_read(m, qn_model_weights(m));
    for (int i = 0; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        const float *values = w + p->offset;
        size_t n_blocks = p->blocks > 0 ? (size_t)p->blocks : 1;
        size_t block = p->count / n_blocks;
        for (size_t j = 0; j < p->count; j++) {
            bool constant = values[j] == p->value[j / block];
            assert_int_equal(constant, !p->drawn);
        }
        for (size_t g = 1; g < n_blocks && p->drawn; g++) {
            assert_memory_not_equal(values, values + g * block,
                                    block * sizeof *w);
        }
    }
    free(w);
    qn_param_list_fini(&list);
    qn_model_free(m);
    qn_backend_free(be);
}

static void blocks_begin_apart_or_at_their_constants(void **state)
{
    (void)state;
    check_beginning(
        QN_SPEC("model.hidden=6", "model.embed=6", "model.init.kind=normal"));
    check_beginning(
        QN_SPEC("model.hidden=6", "model.init.kind=normal", "model.cell=lstm"));
    check_beginning(QN_SPEC("model.hidden=6", "model.init.kind=normal",
                            "model.batch_norm=true"));
}

/* Gains of 0.5 for both blocks of a dual candidate, else 0.1; shifts and means
 * of 0, variances of 1. */
static void norms_begin_as_in_the_paper(void **state)
{
    (void)state;
    struct qn_param_list list;
    struct qn_spec spec = QN_SPEC("model.batch_norm=true", "model.pooling=ifo");
    qn_param_list_init(&list, &spec, 5);
    const struct qn_param *gain = qn_param_find(&list, "layers.1.norm.weight");
    static const float dual[] = {0.5f, 0.5f, 0.1f, 0.1f, 0.1f};
    assert_int_equal(gain->blocks, 5);
    assert_memory_equal(gain->value, dual, sizeof dual);
    assert_true(!gain->fixed && !gain->drawn);
    for (int g = 0; g < 5; g++) {
        assert_true((gain + 1)->value[g] == 0);
        assert_true((gain + 2)->value[g] == 0);
        assert_true((gain + 3)->value[g] == 1);
    }
    assert_string_equal((gain + 1)->name, "layers.1.norm.bias");
    assert_string_equal((gain + 2)->name, "layers.1.norm.running_mean");
    assert_string_equal((gain + 3)->name, "layers.1.norm.running_var");
    assert_true((gain + 2)->fixed && (gain + 3)->fixed);
    qn_param_list_fini(&list);
    spec = QN_SPEC("model.batch_norm=true", "model.activation=tanh");
    qn_param_list_init(&list, &spec, 5);
    gain = qn_param_find(&list, "layers.0.norm.weight");
    static const float single[] = {0.1f, 0.1f, 0.1f};
    assert_int_equal(gain->blocks, 3);
    assert_memory_equal(gain->value, single, sizeof single);
    qn_param_list_fini(&list);
}

/* --- memory that runs out ----------------------------------------------- */

/* An allocator that counts and that fails at one call. The table of operations
 * of a backend knows nothing of a test, hence the file's only variable. */
static struct {
    struct qn_buffer *(*alloc)(struct qn_backend *be, size_t count);
    size_t n_floats;
    int calls, fail_at;
} meter;

static struct qn_buffer *metered_alloc(struct qn_backend *be, size_t count)
{
    meter.calls++;
    if (meter.calls == meter.fail_at) {
        return NULL;
    }
    meter.n_floats += count;
    return meter.alloc(be, count);
}

static void meter_backend(struct qn_backend *be, struct qn_backend_ops *ops)
{
    *ops = *be->ops;
    meter.alloc = ops->alloc;
    meter.n_floats = 0;
    meter.calls = 0;
    meter.fail_at = 0;
    ops->alloc = metered_alloc;
    be->ops = ops;
}

static struct qn_spec middling(void)
{
    return QN_SPEC("model.hidden=12", "model.embed=20", "model.layers=3",
                   "model.window=5,2", "batch=6", "seq=9");
}

static struct qn_spec classifying(void)
{
    return QN_SPEC("task=classify", "data.vectors=there", "model.hidden=12",
                   "model.embed=20", "model.layers=3", "model.window=5,2",
                   "batch=6");
}

static struct qn_plan_shapes shapes_of(const struct qn_spec *spec, int vocab,
                                       int eval_batch)
{
    return (struct qn_plan_shapes){.vocab = vocab,
                                   .steps = spec->seq,
                                   .eval_batch = eval_batch,
                                   .eval_steps = spec->seq};
}

/* Copies on the host: the weights, those with a window of several steps twice,
 * moments and carried state. */
static size_t saved_bytes(struct qn_model *m, struct qn_pass *train,
                          size_t moments)
{
    struct qn_param_list list;
    qn_param_list_init(&list, qn_model_spec(m), qn_model_vocab(m));
    size_t n = qn_model_weights(m).count + qn_pass_state_len(train);
    for (int i = 0; i < list.n; i++) {
        const struct qn_param *p = &list.items[i];
        n += p->n_dims == 3 && p->dim[2] > 1 ? p->count : 0;
    }
    qn_param_list_fini(&list);
    return n * sizeof(float) + moments;
}

/* Activations, parameters and gradients to the byte. */
static void check_plan(const struct qn_spec *spec)
{
    struct qn_memory_plan plan;
    struct qn_backend_ops ops;
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_plan_shapes shapes = shapes_of(spec, 17, 4);
    qn_model_plan(spec, &shapes, be, &plan);
    meter_backend(be, &ops);
    struct qn_model *m = qn_test_model(be, spec, 17);
    assert_int_equal(plan.parameters + plan.gradients, meter.n_floats * 4);
    assert_int_equal(plan.parameters, 4 * (qn_model_weights(m).count +
                                           qn_model_vectors(m).count));
    assert_int_equal(plan.gradients, 4 * qn_model_grads(m).count);
    assert_int_equal(plan.moments, 2 * plan.gradients);
    meter.n_floats = 0;
    struct qn_pass *train = qn_test_pass(m, spec->batch, spec->seq, true);
    assert_int_equal(plan.activations, meter.n_floats * 4);
    meter.n_floats = 0;
    struct qn_pass *eval = qn_test_pass(m, 4, spec->seq, false);
    assert_int_equal(plan.evaluation, meter.n_floats * 4);
    assert_int_equal(plan.total, plan.parameters + plan.gradients +
                                     plan.moments + plan.activations +
                                     plan.evaluation + plan.workspace +
                                     plan.saving);
    assert_int_equal(plan.saving, saved_bytes(m, train, plan.moments));
    qn_pass_free(eval);
    qn_pass_free(train);
    qn_model_free(m);
    qn_backend_free(be);
}

static void the_plan_is_what_is_allocated(void **state)
{
    (void)state;
    struct qn_spec spec = middling();
    check_plan(&spec);
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        spec = qn_test_kind(kind);
        check_plan(&spec);
    }
    spec = classifying();
    check_plan(&spec);
    spec.model.dense = true;
    check_plan(&spec);
}

static size_t workspace(const struct qn_backend *be)
{
    return ((const struct qn_cpu *)be)->work_count * sizeof(float);
}

/* A step in training with every length of segment that is told; dropout off. */
static void train_lengths(struct qn_backend *be, const struct qn_spec *spec,
                          int vocab, const int *steps, int n_steps)
{
    struct qn_model *m = qn_test_model(be, spec, vocab);
    struct qn_pass *p = qn_test_pass(m, spec->batch, spec->seq, true);
    size_t n = (size_t)spec->batch * (size_t)spec->seq;
    int32_t *ids = qn_test_ids(n, vocab, 1);
    int32_t *labels = qn_test_ids((size_t)spec->batch, 2, 1);
    bool classifies = spec->task == QN_TASK_CLASSIFY;
    for (int i = 0; i < n_steps; i++) {
        struct qn_segment seg = {.ids = ids,
                                 .targets = classifies ? labels : ids,
                                 .steps = steps[i]};
        (void)qn_test_forward(m, p, &seg);
        qn_pass_backward(p);
    }
    free(labels);
    free(ids);
    qn_pass_free(p);
    qn_model_free(m);
}

/* The layers want most of it with few symbols, the decoder with many. */
static void the_plan_covers_the_workspace_of_layers_and_decoder(void **state)
{
    (void)state;
    size_t planned[2];
    for (int many = 0; many < 2; many++) {
        int vocab = many ? 10000 : 17;
        struct qn_spec spec = middling();
        struct qn_memory_plan plan;
        struct qn_backend *be = qn_test_backend("cpu");
        struct qn_plan_shapes shapes = shapes_of(&spec, vocab, spec.batch);
        qn_model_plan(&spec, &shapes, be, &plan);
        train_lengths(be, &spec, vocab, &spec.seq, 1);
        assert_int_equal(workspace(be), plan.workspace);
        planned[many] = plan.workspace;
        qn_backend_free(be);
    }
    assert_true(planned[0] < planned[1]);
}

/* Documents of 810 words make blocks of fewer rows than those of 800. */
static void shorter_documents_find_their_workspace_planned(void **state)
{
    (void)state;
    static const int lengths[] = {810, 800, 533, 400, 200, 100, 1};
    enum { N = sizeof lengths / sizeof lengths[0] };
    static const char *const cells[] = {"model.cell=qrnn", "model.cell=lstm"};
    for (int i = 0; i < 2; i++) {
        struct qn_spec spec =
            QN_SPEC("task=classify", "data.vectors=there", "model.hidden=12",
                    "model.embed=20", "model.layers=2", "batch=6", cells[i]);
        struct qn_backend *be = qn_test_backend("cpu");
        struct qn_memory_plan plan;
        spec.seq = lengths[0];
        struct qn_plan_shapes shapes = shapes_of(&spec, 17, 4);
        qn_model_plan(&spec, &shapes, be, &plan);
        train_lengths(be, &spec, 17, lengths, 1);
        assert_true(workspace(be) < plan.workspace);
        train_lengths(be, &spec, 17, lengths, N);
        assert_int_equal(workspace(be), plan.workspace);
        qn_backend_free(be);
    }
}

static size_t metered_workspace(struct qn_backend *be, const struct qn_qrnn *l)
{
    (void)be;
    (void)l;
    assert_in_range(++meter.calls, 1, 100000);
    return 0;
}

/* A hundred thousand lengths of 64 layers of different widths, with 256 slices
 * to look at each time, are not asked for one by one. */
static void long_segments_of_many_layers_are_planned_soon(void **state)
{
    (void)state;
    struct qn_spec spec = QN_SPEC("model.layers=64", "model.dense=true",
                                  "threads=256", "batch=1", "seq=100000");
    struct qn_memory_plan plan;
    struct qn_backend_ops ops;
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_plan_shapes shapes = shapes_of(&spec, 17, 1);
    meter_backend(be, &ops);
    ops.qrnn_workspace = metered_workspace;
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_in_range(meter.calls, 64 * 100, 100000);
    qn_backend_free(be);
}

static void a_reserved_workspace_does_not_grow(void **state)
{
    (void)state;
    struct qn_spec spec = middling();
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_memory_plan plan;
    struct qn_plan_shapes shapes = shapes_of(&spec, 17, 4);
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_true(be->ops->reserve(be, plan.workspace));
    const void *work = ((struct qn_cpu *)be)->work;
    train_lengths(be, &spec, 17, &spec.seq, 1);
    assert_ptr_equal(((struct qn_cpu *)be)->work, work);
    assert_int_equal(workspace(be), plan.workspace);
    /* What cannot be had is said at once, and is no failure of a later step. */
    assert_false(be->ops->reserve(be, SIZE_MAX / 2));
    train_lengths(be, &spec, 17, &spec.seq, 1);
    qn_backend_free(be);
}

static void moments_are_those_of_the_optimiser(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *momentum;
        size_t n;
    } cases[] = {{"optim.kind=sgd", NULL, 0},
                 {"optim.kind=sgd", "optim.momentum=0.9", 1},
                 {"optim.kind=rmsprop", NULL, 1},
                 {"optim.kind=adam", NULL, 2}};
    struct qn_backend *be = qn_test_backend("cpu");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct qn_memory_plan plan;
        struct qn_spec spec =
            QN_SPEC("model.batch_norm=true", cases[i].kind, cases[i].momentum);
        struct qn_plan_shapes shapes = shapes_of(&spec, 17, 4);
        qn_model_plan(&spec, &shapes, be, &plan);
        assert_int_equal(plan.moments, cases[i].n * plan.gradients);
        assert_true(plan.gradients < plan.parameters);
    }
    qn_backend_free(be);
}

/* What is drawn comes from a pass of its own. */
static void sampling_is_planned_as_it_is_allocated(void **state)
{
    (void)state;
    struct qn_spec spec = middling();
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_plan_shapes shapes = shapes_of(&spec, 17, 4);
    struct qn_memory_plan plan, without;
    struct qn_backend_ops ops;
    struct qn_err err;
    int32_t prompt[80] = {0}, drawn[2];
    qn_model_plan(&spec, &shapes, be, &without);
    assert_int_equal(without.sampling, 0);
    meter_backend(be, &ops);
    struct qn_model *m = qn_test_model(be, &spec, 17);
    for (size_t n = 0; n <= 80; n += 40) { /* beyond a segment's 64 */
        struct qn_sample_options options = {
            .prompt = prompt, .n_prompt = n, .length = 2};
        shapes.sample_steps = qn_sample_steps(n);
        qn_model_plan(&spec, &shapes, be, &plan);
        meter.n_floats = 0;
        assert_int_equal(qn_sample(m, &options, drawn, &err), QN_OK);
        size_t logits = 4 * 17 * (size_t)shapes.sample_steps;
        assert_int_equal(plan.sampling,
                         meter.n_floats * 4 + logits + 17 * sizeof(double));
        assert_int_equal(plan.total - plan.workspace,
                         without.total - without.workspace + plan.sampling);
    }
    qn_model_free(m);
    qn_backend_free(be);
}

/* A checkpoint is loaded where evaluation and sampling have given their room
 * back. */
static void loading_is_planned_where_it_is_more(void **state)
{
    (void)state;
    struct qn_spec spec = middling();
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_plan_shapes shapes = shapes_of(&spec, 17, 1);
    struct qn_memory_plan plan, small;
    shapes.eval_steps = 0;
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_int_equal(plan.evaluation, 0);
    assert_int_equal(plan.loading, 0);
    shapes.loads_weights = true;
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_int_equal(plan.loading, plan.parameters);
    shapes.loads_state = true;
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_true(plan.loading > plan.moments);
    shapes.eval_steps = 1;
    qn_model_plan(&spec, &shapes, be, &small);
    assert_int_equal(small.evaluation + small.loading, plan.loading);
    shapes.eval_batch = 4000;
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_int_equal(plan.loading, 0);
    qn_backend_free(be);
}

static void every_failed_allocation_is_said(struct qn_spec spec, int n_model,
                                            int n_pass, const char *sentence)
{
    struct qn_backend_ops ops;
    struct qn_backend *be = qn_test_backend("cpu");
    struct qn_err err;
    struct qn_model *m = NULL;
    struct qn_pass *p = NULL;
    meter_backend(be, &ops);
    for (meter.fail_at = 1; meter.fail_at <= n_model; meter.fail_at++) {
        meter.calls = 0;
        assert_int_equal(qn_model_new(be, &spec, 17, &m, &err), QN_ENOMEM);
        assert_null(m);
        assert_string_equal(err.text, sentence);
    }
    meter.fail_at = 0;
    m = qn_test_model(be, &spec, 17);
    int n = 0;
    for (meter.fail_at = 1;; meter.fail_at++, n++) {
        meter.calls = 0;
        if (qn_pass_new(m, 6, 9, true, &p, &err) == QN_OK) {
            break;
        }
        assert_null(p);
        assert_non_null(strstr(err.text, "6 streams of 9 symbols need "));
    }
    assert_int_equal(n, n_pass);
    qn_pass_free(p);
    qn_model_free(m);
    qn_backend_free(be);
}

/* A pass: of three layers input, state, cells and saved; the decoder's input,
 * two gradients, logits, ids and targets. */
static void every_failed_allocation_is_said_and_leaves_nothing(void **state)
{
    (void)state;
    every_failed_allocation_is_said(
        middling(), 2, 3 * 4 + 2 + 4,
        "7809 parameters and their gradients need 63 kB of memory, which "
        "cannot be had");
    every_failed_allocation_is_said(
        classifying(), 3, 3 * 4 + 2 + 4 + 2,
        "7261 parameters, their gradients and the word vectors need 60 kB of "
        "memory, which cannot be had");
}

static void sizes_beyond_all_memory_do_not_wrap_round(void **state)
{
    (void)state;
    struct qn_spec spec =
        QN_SPEC("model.hidden=8192", "model.layers=64", "model.embed=8192",
                "model.window=64", "batch=100000", "seq=21474");
    struct qn_memory_plan plan;
    struct qn_err err;
    struct qn_backend *be = qn_test_backend("ref");
    struct qn_plan_shapes shapes = shapes_of(&spec, 10000000, 100000);
    qn_model_plan(&spec, &shapes, be, &plan);
    /* G H n D floats of 64 layers, and c of every symbol. */
    assert_true((double)plan.parameters > 4.0 * 64 * 4 * 8192.0 * 64 * 8192);
    assert_true((double)plan.activations > 4.0 * 64 * 8192 * 100000.0 * 21474);
    assert_true(plan.total >= plan.activations + plan.parameters);
    assert_int_equal(qn_memory_plan_check(&plan, (size_t)1 << 50, &err),
                     QN_ENOMEM);
    spec.batch = 2147483647;
    spec.seq = 2147483647;
    shapes = shapes_of(&spec, 2147483647, 1);
    qn_model_plan(&spec, &shapes, be, &plan);
    assert_true(plan.activations == SIZE_MAX && plan.total == SIZE_MAX);
    spec = middling();
    struct qn_model *m = qn_test_model(be, &spec, 17);
    struct qn_pass *p = NULL;
    assert_int_equal(qn_pass_new(m, 2147483647, 2147483647, false, &p, &err),
                     QN_ENOMEM);
    assert_null(p);
    qn_model_free(m);
    qn_backend_free(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_have_the_parameters_of_the_paper),
        cmocka_unit_test(tensors_do_not_overlap_and_begin_aligned),
        cmocka_unit_test(blocks_begin_apart_or_at_their_constants),
        cmocka_unit_test(norms_begin_as_in_the_paper),
        cmocka_unit_test(the_plan_is_what_is_allocated),
        cmocka_unit_test(the_plan_covers_the_workspace_of_layers_and_decoder),
        cmocka_unit_test(shorter_documents_find_their_workspace_planned),
        cmocka_unit_test(long_segments_of_many_layers_are_planned_soon),
        cmocka_unit_test(a_reserved_workspace_does_not_grow),
        cmocka_unit_test(moments_are_those_of_the_optimiser),
        cmocka_unit_test(sampling_is_planned_as_it_is_allocated),
        cmocka_unit_test(loading_is_planned_where_it_is_more),
        cmocka_unit_test(every_failed_allocation_is_said_and_leaves_nothing),
        cmocka_unit_test(sizes_beyond_all_memory_do_not_wrap_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
