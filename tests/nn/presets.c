/* presets.c - what presets set, and how they take a person's changes. */
#include "nn/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void presets_are_whole_and_can_be_changed(void **state)
{
    (void)state;
    struct qn_spec spec;
    struct qn_err err;
    for (int i = 0; i < qn_n_presets(); i++) {
        struct qn_settings *s = qn_settings_new();
        const char *name = qn_preset_at(i)->name;
        assert_int_equal(qn_settings_preset(s, name, &err), QN_OK);
        qn_settings_assign(s, "model.hidden=11", QN_FROM_USER);
        if (qn_settings_finish(s, &spec, &err) != QN_OK) {
            fail_msg("%s: %s", name, err.text);
        }
        assert_int_equal(spec.model.hidden, 11);
        qn_settings_free(s);
    }
}

/* Keys of a preset that do not apply are dropped silently; it has none. */
static void no_key_of_a_preset_is_void(void **state)
{
    (void)state;
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        struct qn_settings *s = qn_settings_new();
        struct qn_spec spec;
        struct qn_err err;
        for (int a = 0; p->assignments[a] != NULL; a++) {
            qn_settings_assign(s, p->assignments[a], QN_FROM_USER);
        }
        if (qn_settings_finish(s, &spec, &err) != QN_OK) {
            fail_msg("%s: %s", p->name, err.text);
        }
        qn_settings_free(s);
    }
}

static void help_of_a_preset_fits_a_line(void **state)
{
    (void)state;
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        assert_in_range(strlen(p->name), 1, 27);
        assert_in_range(strlen(p->help), 1, 52);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(p->name, qn_preset_at(j)->name);
        }
    }
}

static struct qn_spec preset(const char *name)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(qn_settings_preset(s, name, &err), QN_OK);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_OK);
    qn_settings_free(s);
    return spec;
}

/* Which keys two specs differ in, the name aside. */
static void assert_differ_in(const struct qn_spec *a, const struct qn_spec *b,
                             const char *wanted)
{
    struct qn_str keys = {0};
    qn_str_add(&keys, "");
    for (int i = 0; i < qn_n_keys(); i++) {
        struct qn_str x = {0}, y = {0};
        const char *key = qn_key_at(i)->key;
        qn_spec_text(a, key, &x);
        qn_spec_text(b, key, &y);
        if (strcmp(key, "name") != 0 && strcmp(x.text, y.text) != 0) {
            qn_str_addf(&keys, "%s%s", keys.len > 0 ? " " : "", key);
        }
        qn_str_free(&x);
        qn_str_free(&y);
    }
    assert_string_equal(keys.text, wanted);
    qn_str_free(&keys);
}

/* docs/presets.md says in what they differ. */
static void a_code_preset_differs_from_its_twin_where_told(void **state)
{
    (void)state;
    int n_twins = 0;
    for (int i = 0; i < qn_n_presets(); i++) {
        const char *name = qn_preset_at(i)->name;
        size_t len = strlen(name);
        if (len < 5 || strcmp(name + len - 5, "-code") != 0) {
            continue;
        }
        char twin[64];
        (void)snprintf(twin, sizeof twin, "%.*s", (int)len - 5, name);
        struct qn_spec code = preset(name);
        struct qn_spec paper = preset(twin);
        const char *keys = "optim.clip_norm eval.floor";
        if (strncmp(name, "ptb-word/", 9) == 0) {
            keys = code.model.cell == QN_CELL_LSTM
                       ? "epochs optim.clip_norm optim.decay eval.floor"
                       : "epochs optim.l2 eval.floor";
        } else if (code.task == QN_TASK_CLASSIFY) {
            keys = "optim.l2 optim.l2_on optim.eps optim.eps_inside";
        }
        assert_differ_in(&paper, &code, keys);
        n_twins++;
    }
    assert_int_equal(n_twins, 24);
}

static void a_word_preset_is_the_papers(void **state)
{
    (void)state;
    struct qn_spec s = preset("ptb-word/drelu-640");
    assert_int_equal(s.data.level, QN_LEVEL_WORD);
    assert_true(s.batch == 20 && s.seq == 105 && s.epochs == 72);
    assert_true(s.model.layers == 2 && s.model.hidden == 640 &&
                s.model.embed == 640 && s.model.window[1] == 2);
    assert_true(s.model.dropout == 0.5 && s.model.embed_dropout == 0.5);
    assert_true(s.model.bias == QN_BIAS_STEP && !s.model.batch_norm);
    assert_true(s.model.zoneout == 0);
    assert_true(s.model.init.kind == QN_INIT_NORMAL && s.model.init.std == 0.1);
    assert_true(s.loss.time == QN_TIME_SUM && s.optim.kind == QN_SGD);
    assert_true(s.optim.lr == 1 && s.optim.clip_norm == 10);
    assert_true(s.optim.decay == 0.95 && s.optim.decay_after == 6);
    assert_true(s.optim.l2 == 2e-4 && s.optim.l2_on == QN_L2_ALL);
    s = preset("ptb-word/lstm-650");
    assert_true(s.model.cell == QN_CELL_LSTM && s.model.hidden == 650);
    assert_true(s.seq == 35 && s.epochs == 39 && s.optim.clip_norm == 5);
    assert_true(s.optim.decay == 1 / 1.2 && s.optim.l2 == 0);
    assert_true(s.model.init.kind == QN_INIT_UNIFORM &&
                s.model.init.range == 0.05);
}

static void a_char_preset_is_the_papers(void **state)
{
    (void)state;
    struct qn_spec s = preset("ptb-char/delu-8x500");
    assert_int_equal(s.data.stream, QN_STREAM_PTB49);
    assert_true(s.batch == 128 && s.seq == 100 && s.epochs == 300);
    assert_true(s.model.layers == 8 && s.model.hidden == 500 &&
                s.model.embed == 50);
    assert_true(s.model.window[0] == 6 && s.model.window[7] == 2);
    assert_true(s.model.dropout == 0.3 && s.model.embed_dropout == 0);
    assert_true(s.model.batch_norm && s.model.alpha == 0.1);
    assert_true(s.model.init.kind == QN_INIT_ORTHOGONAL &&
                s.model.init.gain == 0.5);
    assert_true(s.optim.kind == QN_ADAM && s.optim.lr == 3e-4);
    assert_true(s.optim.clip_norm == 5 && s.loss.time == QN_TIME_MEAN);
    assert_true(preset("ptb-char/drelu-8x250").model.dropout == 0.15);
    s = preset("enwik8/drelu-4x1000");
    assert_true(s.data.level == QN_LEVEL_BYTE && s.seq == 200);
    assert_true(s.model.hidden == 1000 && s.model.embed == 64);
    assert_true(s.data.valid_fraction == 0.05 && s.data.test_fraction == 0.05);
}

static void a_sentiment_preset_is_the_papers(void **state)
{
    (void)state;
    struct qn_spec s = preset("sentiment/drelu-256");
    assert_int_equal(s.task, QN_TASK_CLASSIFY);
    assert_true(s.data.fold.k == 1 && s.data.fold.n == 5);
    assert_true(s.data.valid[0] == '\0' && s.data.valid_fraction == 0);
    assert_string_equal(s.data.test, "imdb/imdb.test.tsv");
    assert_string_equal(s.data.vectors, "glove/glove.840B.300d.txt");
    assert_true(!s.data.lower && s.data.max_words == 3000);
    assert_true(s.batch == 24 && s.epochs == 60);
    assert_true(s.model.layers == 4 && s.model.hidden == 256 &&
                s.model.embed == 300 && s.model.window[3] == 2);
    assert_true(s.model.dropout == 0.3 && s.model.embed_dropout == 0.3);
    assert_true(s.model.pooling == QN_POOL_FO && !s.model.dense);
    assert_true(s.model.bias == QN_BIAS_LAYER && !s.model.batch_norm);
    assert_int_equal(s.model.init.kind, QN_INIT_GLOROT);
    assert_true(s.optim.kind == QN_RMSPROP && s.optim.lr == 0.001);
    assert_true(s.optim.rho == 0.9 && s.optim.eps == 1e-8);
    assert_false(s.optim.eps_inside);
    assert_true(s.optim.clip_norm == 0 && s.optim.decay == 1);
    assert_true(s.optim.l2 == 4e-6 && s.optim.l2_on == QN_L2_ALL);
    assert_int_equal(s.checkpoint.metric, QN_VALID_ACCURACY);
    s = preset("sentiment/dc-delu-200-code");
    assert_true(s.model.dense && s.model.hidden == 200);
    assert_true(s.model.activation == QN_DELU && s.model.alpha == 0.1);
    assert_true(s.optim.eps == 1e-6 && s.optim.eps_inside);
    assert_true(s.optim.l2 == 8e-6 && s.optim.l2_on == QN_L2_LAST);
    assert_int_equal(preset("sentiment/dc-lstm-256").model.cell, QN_CELL_LSTM);
    assert_int_equal(preset("sentiment/tanh-300").model.hidden, 300);
    assert_int_equal(preset("sentiment/dc-tanh-242").model.hidden, 242);
}

static void a_preset_after_another_wins(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(qn_settings_preset(s, "demo", &err), QN_OK);
    assert_int_equal(qn_settings_preset(s, "ptb-char/drelu-4x500", &err),
                     QN_OK);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_OK);
    assert_string_equal(spec.data.train, "ptb/ptb.train.txt");
    assert_true(spec.steps == 0 && spec.epochs == 300);
    assert_int_equal(spec.model.hidden, 500);
    assert_true(spec.model.dropout == 0.3 && spec.model.init.gain == 0.5);
    assert_true(spec.eval.limit == 100000); /* the first one's, still */
    qn_settings_free(s);
}

static void a_wrong_preset_suggests_the_nearest(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_err err;
    assert_int_equal(qn_settings_preset(s, "demmo", &err), QN_ENOTFOUND);
    assert_string_equal(err.text, "no preset is called 'demmo' (did you mean "
                                  "'demo'?)");
    assert_int_equal(qn_settings_preset(s, "zzzzzzzzzz", &err), QN_ENOTFOUND);
    assert_string_equal(err.text, "no preset is called 'zzzzzzzzzz'; quern "
                                  "presets lists them");
    qn_settings_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_whole_and_can_be_changed),
        cmocka_unit_test(no_key_of_a_preset_is_void),
        cmocka_unit_test(help_of_a_preset_fits_a_line),
        cmocka_unit_test(a_code_preset_differs_from_its_twin_where_told),
        cmocka_unit_test(a_word_preset_is_the_papers),
        cmocka_unit_test(a_char_preset_is_the_papers),
        cmocka_unit_test(a_sentiment_preset_is_the_papers),
        cmocka_unit_test(a_preset_after_another_wins),
        cmocka_unit_test(a_wrong_preset_suggests_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
