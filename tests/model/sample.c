/* sample.c - drawing is a function of seed, prompt and temperature. */
#include "model/sample.h"
#include "base/mem.h"
#include "model/support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VOCAB = 11, LENGTH = 60 };

struct net {
    struct qn_backend *be;
    struct qn_model *m;
};

static int set_up(void **state)
{
    struct net *net = qn_xcalloc(1, sizeof *net);
    struct qn_spec spec =
        QN_SPEC("model.hidden=16", "model.embed=8", "model.window=3,2");
    spec.model.init.gain = 3; /* far from uniform */
    net->be = qn_test_backend("cpu");
    net->m = qn_test_model(net->be, &spec, VOCAB);
    *state = net;
    return 0;
}

static int tear_down(void **state)
{
    struct net *net = *state;
    qn_model_free(net->m);
    qn_backend_free(net->be);
    free(net);
    return 0;
}

static void sample(struct net *net, struct qn_sample_options options,
                   int32_t *out)
{
    struct qn_err err;
    options.length = LENGTH;
    if (qn_sample(net->m, &options, out, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    for (int i = 0; i < LENGTH; i++) {
        assert_in_range(out[i], 0, VOCAB - 1);
    }
}

static void equal_seeds_draw_equal_texts(void **state)
{
    int32_t a[LENGTH];
    int32_t b[LENGTH];
    int32_t c[LENGTH];
    sample(*state, (struct qn_sample_options){.temperature = 1, .seed = 5}, a);
    sample(*state, (struct qn_sample_options){.temperature = 1, .seed = 5}, b);
    sample(*state, (struct qn_sample_options){.temperature = 1, .seed = 6}, c);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
}

static void check_likeliest(struct net *net)
{
    int32_t ids[1 + LENGTH] = {0};
    float logits[LENGTH * VOCAB];
    struct qn_err err;
    sample(net, (struct qn_sample_options){.temperature = 0}, ids + 1);
    struct qn_pass *p = qn_test_pass(net->m, 1, LENGTH, false);
    struct qn_segment seg = {.ids = ids, .steps = LENGTH};
    qn_pass_forward(p, &seg);
    assert_int_equal(qn_pass_logits(p, logits, &err), QN_OK);
    for (int t = 0; t < LENGTH; t++) {
        for (int v = 0; v < VOCAB; v++) {
            /* Segments of one step round otherwise than one of all. */
            assert_true(logits[t * VOCAB + v] <=
                        logits[t * VOCAB + ids[t + 1]] + 1e-5f);
        }
    }
    qn_pass_free(p);
}

static void temperature_0_takes_the_likeliest(void **state)
{
    check_likeliest(*state);
}

/* Symbol by symbol, past the end of the training segments, as all at once. */
static void every_kind_writes_the_likeliest(void **state)
{
    struct net *net = *state;
    for (int kind = 0; kind < qn_test_n_kinds(); kind++) {
        struct qn_spec spec = qn_test_kind(kind);
        qn_model_free(net->m);
        net->m = qn_test_model(net->be, &spec, VOCAB);
        check_likeliest(net);
    }
}

static void a_tiny_temperature_draws_as_temperature_0(void **state)
{
    int32_t a[LENGTH];
    int32_t b[LENGTH];
    sample(*state, (struct qn_sample_options){.temperature = 0}, a);
    sample(*state, (struct qn_sample_options){.temperature = 1e-9}, b);
    assert_memory_equal(a, b, sizeof a);
}

/* A prompt longer than a segment and one that is none. */
static void the_prompt_decides_the_text(void **state)
{
    int32_t a[LENGTH];
    int32_t b[LENGTH];
    int32_t *prompt = qn_test_ids(200, VOCAB, 3);
    struct qn_sample_options options = {.prompt = prompt, .n_prompt = 200};
    sample(*state, options, a);
    options.prompt = prompt + 130; /* what a window and a gate still see */
    options.n_prompt = 70;
    sample(*state, options, b);
    assert_memory_equal(a, b, sizeof a);
    const int32_t zero = 0;
    sample(*state, (struct qn_sample_options){.prompt = &zero, .n_prompt = 1},
           a);
    sample(*state, (struct qn_sample_options){.n_prompt = 0}, b);
    assert_memory_equal(a, b, sizeof a);
    free(prompt);
}

/* First symbols over many seeds are spread as the softmax says. */
static void symbols_are_drawn_by_their_probabilities(void **state)
{
    struct net *net = *state;
    enum { N = 500 };
    const double temperature = 1.5;
    int count[VOCAB] = {0};
    double share[VOCAB];
    double sum = 0;
    float logits[VOCAB];
    struct qn_err err;
    const int32_t zero = 0;
    struct qn_pass *p = qn_test_pass(net->m, 1, 1, false);
    struct qn_segment seg = {.ids = &zero, .steps = 1};
    qn_pass_forward(p, &seg);
    assert_int_equal(qn_pass_logits(p, logits, &err), QN_OK);
    for (int i = 0; i < N; i++) {
        int32_t first;
        struct qn_sample_options options = {
            .length = 1, .temperature = temperature, .seed = (uint64_t)i};
        assert_int_equal(qn_sample(net->m, &options, &first, &err), QN_OK);
        count[first]++;
    }
    for (int v = 0; v < VOCAB; v++) {
        share[v] = exp((double)logits[v] / temperature);
        sum += share[v];
    }
    for (int v = 0; v < VOCAB; v++) {
        double expected = share[v] / sum;
        double sigma = sqrt(expected * (1 - expected) / N);
        /* Four standard deviations of a binomial share. */
        assert_true(fabs((double)count[v] / N - expected) < 4 * sigma + 1e-9);
    }
    qn_pass_free(p);
}

static void a_network_of_nan_draws_nothing(void **state)
{
    struct net *net = *state;
    int32_t out[3];
    struct qn_err err;
    struct qn_sample_options options = {.length = 3, .temperature = 1};
    net->be->ops->fill(net->be, qn_model_weights(net->m), NAN);
    assert_int_equal(qn_sample(net->m, &options, out, &err), QN_ESTATE);
    assert_string_equal(err.text, "the network's output is not a number, so "
                                  "nothing can be drawn from it");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_seeds_draw_equal_texts),
        TEST(temperature_0_takes_the_likeliest),
        TEST(every_kind_writes_the_likeliest),
        TEST(a_tiny_temperature_draws_as_temperature_0),
        TEST(the_prompt_decides_the_text),
        TEST(symbols_are_drawn_by_their_probabilities),
        TEST(a_network_of_nan_draws_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
