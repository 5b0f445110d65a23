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
    refused(LIST("task=classfy"), "task: 'classfy' is none of lm, classify "
                                  "(did you mean 'classify'?)");
    refused(LIST("data.vector=x", "max_words=3", "data.folds=2"),
            "unknown setting 'data.vector' (did you mean 'data.vectors'?)\n"
            "unknown setting 'max_words' (did you mean 'data.max_words'?)\n"
            "unknown setting 'data.folds' (did you mean 'data.fold'?)");
    refused(LIST("checkpoint.metric=accuracy"),
            "checkpoint.metric: 'accuracy' is none of valid.loss, "
            "valid.accuracy (did you mean 'valid.accuracy'?)");
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

static void keys_of_documents_are_not_of_texts(void **state)
{
    (void)state;
    refused(LIST("data.vectors=v", "data.fold=1 of 5", "data.max_words=9"),
            "data.vectors applies to task classify, not lm\n"
            "data.fold applies to task classify, not lm\n"
            "data.max_words applies to task classify, not lm");
    refused(LIST("task=classify", "seq=9", "data.level=word", "data.eos=x",
                 "loss.time=sum", "sample.every=1 epoch", "eval.floor=1e-6"),
            "seq applies to task lm, not classify\n"
            "data.level applies to task lm, not classify\n"
            "data.eos applies to task lm, not classify\n"
            "loss.time applies to task lm, not classify\n"
            "eval.floor applies to task lm, not classify\n"
            "sample.every applies to task lm, not classify");
    refused(LIST("checkpoint.metric=valid.accuracy"),
            "checkpoint.metric = valid.accuracy has no meaning with task = lm");
    refused(LIST("task=classify", "model.bias=step"),
            "model.bias = step has no meaning with task = classify: documents "
            "have no common length");
    struct qn_spec spec =
        accepted(LIST("task=classify", "checkpoint.metric=valid.accuracy",
                      "model.batch_norm=true", "batch=1"));
    assert_int_equal(spec.checkpoint.metric, QN_VALID_ACCURACY);
    assert_int_equal(qn_spec_reading(&spec), QN_READ_ACCURACY);
}

/* Finish 'before' as a preset's keys and 'after' as a person's. */
static struct qn_spec finished(const char *const *before,
                               const char *const *after)
{
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_assign(s, "data.train=docs", QN_FROM_PRESET);
    for (; *before != NULL; before++) {
        qn_settings_assign(s, *before, QN_FROM_PRESET);
    }
    for (; *after != NULL; after++) {
        qn_settings_assign(s, *after, QN_FROM_USER);
    }
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("refused: %s", err.text);
    }
    qn_settings_free(s);
    return spec;
}

static void another_task_drops_what_a_preset_brought(void **state)
{
    (void)state;
    struct qn_spec spec =
        finished(LIST("data.level=word", "model.bias=step", "loss.time=sum",
                      "sample.prompt=the", "data.valid=0.1"),
                 LIST("task=classify"));
    assert_int_equal(spec.model.bias, QN_BIAS_LAYER);
    assert_int_equal(spec.loss.time, QN_TIME_MEAN);
    assert_string_equal(spec.sample.prompt, "");
    assert_true(spec.data.valid_fraction == 0 && spec.data.fold.n == 5);
    spec = finished(LIST("task=classify", "data.fold=2 of 3", "data.vectors=v",
                         "checkpoint.metric=valid.accuracy"),
                    LIST("task=lm"));
    assert_int_equal(spec.checkpoint.metric, QN_VALID_LOSS);
    assert_string_equal(spec.data.vectors, "");
    assert_text(&spec, "data.fold", "1 of 5");
}

static void a_file_or_a_fold_validates_documents(void **state)
{
    (void)state;
    struct qn_spec spec = accepted(LIST("task=classify"));
    assert_text(&spec, "data.fold", "1 of 5");
    assert_true(spec.data.valid_fraction == 0);
    spec = accepted(LIST("task=classify", "data.valid=v.tsv"));
    assert_text(&spec, "data.fold", "none");
    assert_text(&spec, "data.valid", "v.tsv");
    spec =
        accepted(LIST("task=classify", "data.valid=v.tsv", "data.fold=none"));
    assert_text(&spec, "data.fold", "none");
    spec = accepted(LIST("task=classify", "data.valid=none", "data.fold=2"));
    assert_text(&spec, "data.fold", "2 of 5");
    refused(LIST("task=classify", "data.valid=0.1"),
            "data.valid must be a path with task = classify, where data.fold "
            "says which part of data.train validates");
    refused(LIST("task=classify", "data.valid=v.tsv", "data.fold=1 of 5"),
            "data.valid and data.fold are both set: one of them says what "
            "validates");
}

static void a_persons_fold_or_file_wins_over_a_presets(void **state)
{
    (void)state;
    struct qn_spec spec = finished(LIST("task=classify", "data.fold=3 of 4"),
                                   LIST("data.valid=v.tsv"));
    assert_text(&spec, "data.fold", "none");
    assert_text(&spec, "data.valid", "v.tsv");
    spec = finished(LIST("task=classify", "data.valid=v.tsv"),
                    LIST("data.fold=3 of 4"));
    assert_text(&spec, "data.fold", "3 of 4");
    assert_text(&spec, "data.valid", "0");
    spec = finished(LIST("task=classify", "data.valid=v.tsv"),
                    LIST("data.fold=none"));
    assert_text(&spec, "data.valid", "v.tsv");
}

static void what_trains_a_classifier_has_labels(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_spec spec;
    struct qn_err err;
    qn_settings_assign(s, "task=classify", QN_FROM_USER);
    assert_int_equal(qn_settings_finish(s, &spec, &err), QN_EUSAGE);
    assert_string_equal(err.text,
                        "data.train is not set: give the path of a folder of "
                        "pos and neg, or of a file of labelled lines");
    qn_settings_free(s);
    refused(LIST("task=classify", "data.train=builtin:kjv"),
            "data.train is 'builtin:kjv', a text without labels; task = "
            "classify wants a folder of pos and neg, or a file of labelled "
            "lines");
}

static void words_of_a_batch_of_documents_fit_an_int(void **state)
{
    (void)state;
    refused(LIST("task=classify", "batch=100000", "data.max_words=100000"),
            "batch 100000 times data.max_words 100000 is more than 2147483647 "
            "symbols in one step");
    (void)accepted(LIST("task=classify", "batch=100000"));
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
    spec = accepted(LIST("task=classify"));
    assert_int_equal(qn_settings_change(&spec, "optim.lr", "0.5", &err), QN_OK);
    not_changed(&spec, "data.fold", "2 of 5",
                "data.fold is fixed once a run exists");
    not_changed(&spec, "checkpoint.metric", "valid.accuracy",
                "checkpoint.metric is fixed once a run exists");
    not_changed(&spec, "sample.every", "1 epoch",
                "sample.every applies to task lm, not classify");
    not_changed(&spec, "eval.floor", "1e-6",
                "eval.floor applies to task lm, not classify");
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
        cmocka_unit_test(keys_of_documents_are_not_of_texts),
        cmocka_unit_test(another_task_drops_what_a_preset_brought),
        cmocka_unit_test(a_file_or_a_fold_validates_documents),
        cmocka_unit_test(a_persons_fold_or_file_wins_over_a_presets),
        cmocka_unit_test(what_trains_a_classifier_has_labels),
        cmocka_unit_test(words_of_a_batch_of_documents_fit_an_int),
        cmocka_unit_test(a_live_run_takes_live_keys_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
