/* settings.c - precedence, mistakes, combinations and changes of settings. */
#include "nn/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Finish what a NULL-terminated list of assignments asks for. */
static enum qn_status finish(const char *const *assignments,
                             struct qn_spec *spec, struct qn_err *err)
{
    struct qn_settings *s = qn_settings_new();
    qn_settings_assign(s, "data.train=text", QN_FROM_USER);
    for (; *assignments != NULL; assignments++) {
        qn_settings_assign(s, *assignments, QN_FROM_USER);
    }
    enum qn_status status = qn_settings_finish(s, spec, err);
    qn_settings_free(s);
    return status;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct qn_spec accepted(const char *const *assignments)
{
    struct qn_spec spec;
    struct qn_err err;
    if (finish(assignments, &spec, &err) != QN_OK) {
        fail_msg("refused: %s", err.text);
    }
    return spec;
}

static void refused(const char *const *assignments, const char *sentence)
{
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(finish(assignments, &spec, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
}

static void assert_text(const struct qn_spec *spec, const char *key,
                        const char *text)
{
    struct qn_str out = {0};
    qn_spec_text(spec, key, &out);
    assert_string_equal(out.text, text);
    qn_str_free(&out);
}

static void every_key_has_its_default_and_a_help_line(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("threads=3"));
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        assert_ptr_equal(qn_key_find(k->key), k);
        assert_non_null(k->default_text);
        assert_non_null(k->range_text);
        assert_non_null(k->help);
        assert_true(strlen(k->help) > 0 && strlen(k->help) < 80);
        bool chosen = k->type == QN_KEY_ENUM || k->type == QN_KEY_SET;
        assert_true(chosen == (k->choices != NULL));
        if (strcmp(k->key, "data.train") != 0 &&
            strcmp(k->key, "threads") != 0) {
            assert_text(&spec, k->key, k->default_text);
        }
    }
}

static void a_range_text_of_choices_lists_the_choices(void **state)
{
    (void)state;
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        struct qn_str list = {0};
        for (int c = 0; k->choices != NULL && k->choices[c] != NULL; c++) {
            qn_str_addf(&list, "%s%s", c == 0 ? "" : ", ", k->choices[c]);
        }
        if (k->choices != NULL) {
            assert_string_equal(k->range_text, list.text);
        }
        qn_str_free(&list);
    }
}

static void the_group_of_a_key_is_one_run_of_the_table(void **state)
{
    (void)state;
    for (int i = 1; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        size_t len = strcspn(key, ".");
        bool began = false;
        bool ended = false;
        for (int j = 0; j < i; j++) {
            const char *other = qn_key_at(j)->key;
            bool same = key[len] == '.' && strncmp(key, other, len + 1) == 0;
            ended = ended || (began && !same);
            began = began || same;
            assert_false(same && ended);
        }
        assert_false(began && ended);
    }
}

static void defaults_are_those_of_the_design(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("seed=1"));
    assert_int_equal(spec.batch, 32);
    assert_int_equal(spec.seq, 64);
    assert_true(spec.epochs == 10 && spec.steps == 0);
    assert_int_equal(spec.model.layers, 2);
    assert_int_equal(spec.model.hidden, 256);
    assert_int_equal(spec.model.embed, 64);
    assert_int_equal(spec.model.pooling, QN_POOL_FO);
    assert_int_equal(spec.model.activation, QN_DRELU);
    assert_int_equal(spec.model.init.kind, QN_INIT_ORTHOGONAL);
    assert_true(spec.data.valid_fraction == 0.05);
    assert_true(spec.data.test_fraction == 0.05);
    assert_int_equal(spec.optim.kind, QN_ADAM);
    assert_true(spec.optim.eps == 1e-8);
    assert_true(spec.threads >= 1);
    assert_int_equal(spec.eval.every.unit, QN_UNIT_EPOCHS);
    assert_true(spec.stop.after == 0);
}

static void later_calls_win_over_earlier_ones(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("model.hidden=8", "model.hidden=9"));
    assert_int_equal(spec.model.hidden, 9);
}

static void steps_and_epochs_unset_each_other(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("epochs=3", "steps=50"));
    assert_true(spec.epochs == 0 && spec.steps == 50);
    spec = accepted(LIST("steps=50", "epochs=2.5"));
    assert_true(spec.epochs == 2.5 && spec.steps == 0);
    spec = accepted(LIST("steps=none"));
    assert_true(spec.epochs == 10 && spec.steps == 0);
    refused(LIST("epochs=none"), "epochs and steps are both none: set one, so "
                                 "that the run has an end");
}

static void a_wrong_name_suggests_the_nearest(void **state)
{
    (void)state;
    refused(LIST("model.hiden=3"),
            "unknown setting 'model.hiden' (did you mean 'model.hidden'?)");
    refused(LIST("lr=3"), "unknown setting 'lr' (did you mean 'optim.lr'?)");
    refused(LIST("qqqqqqqqqqqqqqqqqq=1"),
            "unknown setting 'qqqqqqqqqqqqqqqqqq'");
    refused(LIST("model.activation=dreLU"),
            "model.activation: 'dreLU' is none of tanh, relu, elu, drelu, "
            "delu (did you mean 'drelu'?)");
    refused(LIST("task=classify"), "task: 'classify' is not lm");
    refused(LIST("model.hidden"), "'model.hidden' is not of the form "
                                  "KEY=VALUE");
    refused(LIST("=3"), "'=3' is not of the form KEY=VALUE");
}

static void all_problems_are_said_at_once(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_assign(s, "model.layers=0", QN_FROM_USER);
    qn_settings_assign(s, "optim.lr=0", QN_FROM_USER);
    qn_settings_complain(s, "model.%s is a table", "embed");
    qn_settings_assign(s, "model.alpha=0.2", QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_EUSAGE);
    assert_string_equal(
        err.text,
        "model.layers is 0, must be 1..64\n"
        "optim.lr is 0, must be above 0\n"
        "model.embed is a table\n"
        "model.alpha applies to activation elu or delu, not drelu\n"
        "data.train is not set: give the path of a text, or builtin:kjv");
    qn_settings_free(s);
}

static void a_key_without_meaning_is_a_mistake_of_the_person(void **state)
{
    (void)state;
    refused(LIST("model.init.std=0.2"),
            "model.init.std applies to kind normal, not orthogonal");
    refused(LIST("model.init.kind=normal", "model.init.gain=2"),
            "model.init.gain applies to kind orthogonal, not normal");
    refused(LIST("optim.kind=sgd", "optim.beta1=0.5"),
            "optim.beta1 applies to kind adam, not sgd");
    struct qn_spec spec =
        accepted(LIST("model.alpha=0.3", "model.activation=elu"));
    assert_true(spec.model.alpha == 0.3);
}

static void a_key_has_no_meaning_when_its_decider_has_none(void **state)
{
    (void)state;
    refused(LIST("model.cell=lstm", "model.alpha=0.2"),
            "model.alpha applies to cell qrnn, not lstm");
    refused(LIST("model.cell=lstm", "model.bias=step"),
            "model.bias applies to cell qrnn, not lstm");
    refused(LIST("model.cell=lstm", "model.window=3", "model.pooling=f",
                 "model.zoneout=0.1"),
            "model.window applies to cell qrnn, not lstm\n"
            "model.pooling applies to cell qrnn, not lstm\n"
            "model.zoneout applies to cell qrnn, not lstm");
    refused(LIST("data.level=word", "data.stream=ptb49"),
            "data.stream applies to level char, not word");
    refused(LIST("data.eos=x"), "data.eos applies to level word, not char");
}

static void a_switch_decides_like_a_choice(void **state)
{
    (void)state;
    refused(LIST("model.batch_norm=true", "model.bias=step"),
            "model.bias applies when model.batch_norm is false");
    assert_int_equal(accepted(LIST("model.bias=step")).model.bias,
                     QN_BIAS_STEP);
}

/* A chain of deciders that a preset brought goes with its first. */
static void void_keys_of_a_preset_go_with_their_deciders(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(qn_settings_preset(s, "ptb-word/delu-640", &err), QN_OK);
    qn_settings_assign(s, "model.alpha=0.3", QN_FROM_PRESET);
    qn_settings_assign(s, "model.cell=lstm", QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_OK);
    assert_int_equal(spec.model.bias, QN_BIAS_LAYER);
    assert_true(spec.model.alpha == 0.1);
    qn_settings_free(s);
    s = qn_settings_new();
    assert_int_equal(qn_settings_preset(s, "ptb-char/drelu-2x250", &err),
                     QN_OK);
    qn_settings_assign(s, "data.level=word", QN_FROM_USER);
    qn_settings_assign(s, "model.cell=lstm", QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_OK);
    assert_int_equal(spec.data.stream, QN_STREAM_PLAIN);
    assert_false(spec.model.batch_norm);
    qn_settings_free(s);
}

static void the_end_of_a_line_is_no_unknown_word(void **state)
{
    (void)state;
    refused(LIST("data.level=word", "data.eos=<unk>"),
            "data.eos and data.unk are both '<unk>'");
    assert_int_equal(accepted(LIST("data.level=word")).data.level,
                     QN_LEVEL_WORD);
}

static void a_key_without_meaning_from_a_preset_is_dropped(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_assign(s, "data.train=x", QN_FROM_PRESET);
    qn_settings_assign(s, "model.init.gain=0.5", QN_FROM_PRESET);
    qn_settings_assign(s, "model.window=6,3,2", QN_FROM_PRESET);
    qn_settings_assign(s, "model.init.kind=glorot", QN_FROM_USER);
    qn_settings_assign(s, "model.layers=2", QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_OK);
    assert_true(spec.model.init.gain == 1);
    assert_int_equal(spec.model.n_window, 2);
    assert_int_equal(spec.model.window[1], 3);
    qn_settings_free(s);
}

static void a_short_window_list_repeats_its_last_value(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("model.layers=4", "model.window=6, 2"));
    assert_int_equal(spec.model.window[0], 6);
    for (int k = 1; k < 4; k++) {
        assert_int_equal(spec.model.window[k], 2);
    }
    assert_int_equal(spec.model.window[4], 0);
    refused(LIST("model.window=1,2,3"),
            "model.window has 3 entries for 2 layers");
    refused(LIST("model.layers=1", "model.window=1,2"),
            "model.window has 2 entries for 1 layer");
}

static void fractions_leave_something_to_train_on(void **state)
{
    (void)state;
    refused(LIST("data.valid=0.5", "data.test=0.5"),
            "data.valid and data.test leave nothing of data.train to train "
            "on");
    struct qn_spec spec = accepted(LIST("data.valid=v.txt", "data.test=none"));
    assert_string_equal(spec.data.valid, "v.txt");
    assert_true(spec.data.valid_fraction == 0);
    assert_string_equal(spec.data.test, "");
    assert_true(spec.data.test_fraction == 0);
}

static void symbols_of_a_step_fit_an_int(void **state)
{
    (void)state;
    refused(LIST("batch=100000", "seq=100000"),
            "batch 100000 times seq 100000 is more than 2147483647 symbols in "
            "one step");
    refused(LIST("eval.batch=100000", "seq=100000"),
            "eval.batch 100000 times seq 100000 is more than 2147483647 "
            "symbols in one step");
}

static void batch_norm_needs_two_values_of_a_channel(void **state)
{
    (void)state;
    refused(LIST("model.batch_norm=true", "batch=1", "seq=1"),
            "model.batch_norm has nothing to normalise with batch 1 and seq 1: "
            "every channel is its own mean");
    (void)accepted(LIST("model.batch_norm=true", "batch=1", "seq=2"));
    (void)accepted(LIST("model.batch_norm=true", "batch=2", "seq=1"));
    (void)accepted(
        LIST("model.batch_norm=true", "model.cell=qrnn", "eval.batch=1"));
    (void)accepted(LIST("batch=1", "seq=1"));
}

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
        assert_in_range(strlen(p->name), 1, 25);
        assert_in_range(strlen(p->help), 1, 54);
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
        }
        assert_differ_in(&paper, &code, keys);
        n_twins++;
    }
    assert_int_equal(n_twins, 16);
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

static void not_changed(const struct qn_spec *spec, const char *key,
                        const char *value, const char *sentence)
{
    struct qn_spec copy = *spec;
    struct qn_err err;
    assert_int_equal(qn_settings_change(&copy, key, value, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
    assert_memory_equal(&copy, spec, sizeof copy);
}

static void a_live_run_takes_live_keys_only(void **state)
{
    (void)state;
    struct qn_err err;
    struct qn_spec spec = accepted(LIST("seed=1"));
    assert_int_equal(qn_settings_change(&spec, "optim.lr", "0.5", &err), QN_OK);
    assert_true(spec.optim.lr == 0.5);
    assert_int_equal(qn_settings_change(&spec, "steps", "7", &err), QN_OK);
    assert_true(spec.steps == 7 && spec.epochs == 0);
    not_changed(&spec, "model.hidden", "3",
                "model.hidden is fixed once a run exists");
    not_changed(&spec, "optim.lr", "-1", "optim.lr is -1, must be above 0");
    not_changed(&spec, "optim.rl", "1",
                "unknown setting 'optim.rl' (did you mean 'optim.lr'?)");
    not_changed(&spec, "steps", "none",
                "epochs and steps are both none: set one, so that the run has "
                "an end");
    spec = accepted(LIST("optim.kind=sgd"));
    not_changed(&spec, "optim.beta1", "0.5",
                "optim.beta1 applies to kind adam, not sgd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_its_default_and_a_help_line),
        cmocka_unit_test(a_range_text_of_choices_lists_the_choices),
        cmocka_unit_test(the_group_of_a_key_is_one_run_of_the_table),
        cmocka_unit_test(defaults_are_those_of_the_design),
        cmocka_unit_test(later_calls_win_over_earlier_ones),
        cmocka_unit_test(steps_and_epochs_unset_each_other),
        cmocka_unit_test(a_wrong_name_suggests_the_nearest),
        cmocka_unit_test(all_problems_are_said_at_once),
        cmocka_unit_test(a_key_without_meaning_is_a_mistake_of_the_person),
        cmocka_unit_test(a_key_has_no_meaning_when_its_decider_has_none),
        cmocka_unit_test(a_switch_decides_like_a_choice),
        cmocka_unit_test(void_keys_of_a_preset_go_with_their_deciders),
        cmocka_unit_test(the_end_of_a_line_is_no_unknown_word),
        cmocka_unit_test(a_key_without_meaning_from_a_preset_is_dropped),
        cmocka_unit_test(a_short_window_list_repeats_its_last_value),
        cmocka_unit_test(fractions_leave_something_to_train_on),
        cmocka_unit_test(symbols_of_a_step_fit_an_int),
        cmocka_unit_test(batch_norm_needs_two_values_of_a_channel),
        cmocka_unit_test(presets_are_whole_and_can_be_changed),
        cmocka_unit_test(no_key_of_a_preset_is_void),
        cmocka_unit_test(help_of_a_preset_fits_a_line),
        cmocka_unit_test(a_code_preset_differs_from_its_twin_where_told),
        cmocka_unit_test(a_word_preset_is_the_papers),
        cmocka_unit_test(a_char_preset_is_the_papers),
        cmocka_unit_test(a_preset_after_another_wins),
        cmocka_unit_test(a_wrong_preset_suggests_the_nearest),
        cmocka_unit_test(a_live_run_takes_live_keys_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
