/* counts.c - the networks of the presets have the parameters of the paper. */
#include "base/str.h"
#include "model/params.h"
#include "nn/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct qn_spec spec_of(const char *preset, const char *change)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(qn_settings_preset(s, preset, &err), QN_OK);
    if (change != NULL) {
        qn_settings_assign(s, change, QN_FROM_USER);
    }
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("%s: %s", preset, err.text);
    }
    qn_settings_free(s);
    return spec;
}

/* Word vectors are no parameters, however many there are. */
static int vocab_of(const struct qn_spec *spec)
{
    return spec->data.vectors[0] != '\0' ? 83000 : spec->data.vocab_size;
}

static void assert_counts(const char *preset, const char *change, size_t all,
                          size_t trainable)
{
    struct qn_spec spec = spec_of(preset, change);
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, vocab_of(&spec));
    if (list.all != all || list.trainable != trainable) {
        fail_msg("%s: all %zu, trainable %zu; not %zu, %zu", preset, list.all,
                 list.trainable, all, trainable);
    }
    qn_param_list_fini(&list);
}

/* What tables 1, 2 and 4 and the text beside table 5 print, rounded there to
 * 1e6 (words) or 1e4. The paper counts every array that is stored: with batch
 * norm the running statistics, too, and in table 1 the initial states of zeros,
 * but not the embedding. */
static const struct row {
    const char *preset, *printed;
    size_t all, trainable;
} rows[] = {
    {"sentiment/lstm-256", "2.15M", 2148609, 2146561},
    {"sentiment/tanh-300", "2.17M", 2165101, 2163901},
    {"sentiment/drelu-256", "2.19M", 2192641, 2191617},
    {"sentiment/delu-256", "2.19M", 2192641, 2191617},
    {"sentiment/dc-lstm-256", "3.86M", 3856641, 3854593},
    {"sentiment/dc-tanh-242", "3.85M", 3854819, 3853851},
    {"sentiment/dc-drelu-200", "3.84M", 3844201, 3843401},
    {"sentiment/dc-delu-200", "3.84M", 3844201, 3843401},
    {"ptb-word/lstm-650", "20M", 19775200, 19775200},
    {"ptb-word/tanh-640", "18M", 18128400, 18128400},
    {"ptb-word/relu-640", "18M", 18128400, 18128400},
    {"ptb-word/drelu-640", "20M", 19901200, 19901200},
    {"ptb-word/delu-640", "20M", 19901200, 19901200},
    {"ptb-char/tanh-4x581", "6.66M", 6657854, 6643910},
    {"ptb-char/tanh-8x579", "14.69M", 14687676, 14659884},
    {"ptb-char/delu-4x500", "6.66M", 6658999, 6642999},
    {"ptb-char/delu-8x500", "14.69M", 14690999, 14658999},
    {"ptb-char/drelu-2x250", "0.82M", 822749, 818749},
    {"ptb-char/drelu-4x250", "1.83M", 1830749, 1822749},
    {"ptb-char/drelu-4x500", "6.66M", 6658999, 6642999},
    {"ptb-char/drelu-8x250", "3.85M", 3846749, 3830749},
    {"ptb-char/drelu-8x500", "14.69M", 14690999, 14658999},
    {"enwik8/drelu-4x1000", "25.82M", 25818325, 25786325},
    /* The paper does not print this one's. */
    {"enwik8/drelu-8x1000", NULL, 57882325, 57818325},
};

static void presets_have_the_parameters_of_the_paper(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        char code[64], printed[32];
        (void)snprintf(code, sizeof code, "%s-code", r->preset);
        assert_counts(r->preset, NULL, r->all, r->trainable);
        assert_counts(code, NULL, r->all, r->trainable);
        if (r->printed != NULL) {
            int decimals = strchr(r->printed, '.') == NULL ? 0 : 2;
            (void)snprintf(printed, sizeof printed, "%.*fM", decimals,
                           (double)r->all / 1e6);
            assert_string_equal(printed, r->printed);
        }
    }
}

/* The rows of table 2 that others trained: the same LSTM, and a QRNN with one
 * bias for all steps. */
static void bradburys_network_has_one_bias_a_layer(void **state)
{
    (void)state;
    assert_counts("ptb-word/tanh-640", "model.bias=layer", 17729040, 17729040);
    assert_counts("ptb-word/drelu-640", "model.bias=layer", 19368720, 19368720);
}

/* Table 1 prints 4.21M for the dense network of Bradbury et al. */
static void bradburys_classifier_is_dense_and_of_256_units(void **state)
{
    (void)state;
    assert_counts("sentiment/dc-tanh-242", "model.hidden=256", 4206849,
                  4205825);
}

/* An embedding that is learnt is a parameter as any: 1000 words of 300. */
static void a_learnt_embedding_of_a_classifier_counts(void **state)
{
    (void)state;
    struct qn_spec spec = spec_of("sentiment/lstm-256", "data.vectors=none");
    struct qn_param_list list;
    qn_param_list_init(&list, &spec, 1000);
    assert_int_equal(list.first_layer, 1);
    assert_int_equal(list.all, 2148609 + 300000);
    assert_int_equal(list.trainable, 2146561 + 300000);
    qn_param_list_fini(&list);
}

/* The paper writes an embedding of 50, which would be 25.48M, not 25.82M. */
static void enwik8_needs_an_embedding_of_64(void **state)
{
    (void)state;
    assert_counts("enwik8/drelu-4x1000", "model.embed=50", 25479455, 25447455);
}

/* 200 of 200: V E + 2 layers of G (2 H H + T H) + H V + V. */
static void small_word_presets_have_the_parameters_of_their_shape(void **state)
{
    (void)state;
    size_t outside = 10000 * 200 + 200 * 10000 + 10000;
    size_t gate = 2 * (2 * 200 * 200 + 35 * 200);
    assert_counts("ptb-word/tanh-200", NULL, outside + 3 * gate,
                  outside + 3 * gate);
    assert_counts("ptb-word/relu-200", NULL, outside + 3 * gate,
                  outside + 3 * gate);
    assert_counts("ptb-word/drelu-200", NULL, outside + 4 * gate,
                  outside + 4 * gate);
}

/* Every preset but the demo says how many symbols there are, or does not learn
 * an embedding for them. */
static void presets_of_the_paper_need_no_text_to_be_counted(void **state)
{
    (void)state;
    for (int i = 0; i < qn_n_presets(); i++) {
        const char *name = qn_preset_at(i)->name;
        struct qn_spec spec = spec_of(name, NULL);
        assert_true(vocab_of(&spec) > 0 || qn_str_eq(name, "demo"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_have_the_parameters_of_the_paper),
        cmocka_unit_test(bradburys_network_has_one_bias_a_layer),
        cmocka_unit_test(bradburys_classifier_is_dense_and_of_256_units),
        cmocka_unit_test(a_learnt_embedding_of_a_classifier_counts),
        cmocka_unit_test(enwik8_needs_an_embedding_of_64),
        cmocka_unit_test(small_word_presets_have_the_parameters_of_their_shape),
        cmocka_unit_test(presets_of_the_paper_need_no_text_to_be_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
