/* spec_json.c - spec.json holds all of a spec, and only a right one is read. */
#include "base/rng.h"
#include "nn/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qn_spec finished(struct qn_settings *s)
{
    struct qn_spec spec;
    struct qn_err err;
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("refused: %s", err.text);
    }
    qn_settings_free(s);
    return spec;
}

static void comes_back(const struct qn_spec *spec)
{
    struct qn_json json = {{0}, false};
    struct qn_json again = {{0}, false};
    struct qn_spec back;
    struct qn_err err;
    qn_spec_json(spec, &json);
    if (qn_spec_parse(json.text.text, json.text.len, &back, &err) != QN_OK) {
        fail_msg("%s in %s", err.text, json.text.text);
    }
    for (int i = 0; i < qn_n_keys(); i++) {
        struct qn_str a = {0};
        struct qn_str b = {0};
        qn_spec_text(spec, qn_key_at(i)->key, &a);
        qn_spec_text(&back, qn_key_at(i)->key, &b);
        assert_string_equal(a.text, b.text);
        qn_str_free(&a);
        qn_str_free(&b);
    }
    assert_memory_equal(&back.model.window, &spec->model.window,
                        sizeof back.model.window);
    assert_int_equal(back.model.n_window, spec->model.n_window);
    qn_spec_json(&back, &again);
    assert_string_equal(again.text.text, json.text.text);
    qn_json_free(&json);
    qn_json_free(&again);
}

static void presets_come_back_equal(void **state)
{
    (void)state;
    struct qn_err err;
    for (int i = 0; i < qn_n_presets(); i++) {
        struct qn_settings *s = qn_settings_new();
        assert_int_equal(qn_settings_preset(s, qn_preset_at(i)->name, &err),
                         QN_OK);
        struct qn_spec spec = finished(s);
        comes_back(&spec);
    }
}

static bool one_word(const struct qn_key_info *k)
{
    return strcmp(k->key, "data.eos") == 0 || strcmp(k->key, "data.unk") == 0;
}

/* A right value of a key, by chance. */
static void random_value(const struct qn_key_info *k, uint64_t r, char *out,
                         size_t size)
{
    static const char *const periods[] = {"none", "7 steps",   "0.3 epochs",
                                          "90 s", "1.5 hours", "2 minutes"};
    static const char *const folds[] = {"none", "2 of 5", "3 of 10", "1 of 2"};
    static const char *const times[] = {"none", "77 s", "0.1 s", "2 hours"};
    double u = (double)(r >> 11) / 9007199254740992.0;
    int n = 0;
    switch (k->type) {
    case QN_KEY_TEXT:
    case QN_KEY_PATH:
        (void)snprintf(out, size, one_word(k) ? "%d\"\\" : "a \"%d\" \\ b",
                       (int)(u * 1e9));
        break;
    case QN_KEY_PATH_OR_FRACTION:
        (void)snprintf(out, size, r % 2 == 0 ? "%.17g" : "path %.3f", u / 3);
        break;
    case QN_KEY_INT:
        (void)snprintf(out, size, "%d", 1 + (int)(u * 60));
        break;
    case QN_KEY_DOUBLE: /* shares and rates, but for one that is a factor */
        (void)snprintf(out, size, "%.17g",
                       qn_str_eq(k->key, "stop.spike") ? 2 + u
                                                       : u * 0.99 + 1e-9);
        break;
    case QN_KEY_BOOL:
        (void)snprintf(out, size, "%s", r % 2 == 0 ? "true" : "false");
        break;
    case QN_KEY_ENUM:
        while (k->choices[n] != NULL) {
            n++;
        }
        (void)snprintf(out, size, "%s", k->choices[r % (uint64_t)n]);
        break;
    case QN_KEY_SET:
        (void)snprintf(out, size, "%s", r % 2 == 0 ? "o,c" : "h");
        break;
    case QN_KEY_INT_LIST:
        (void)snprintf(out, size, "%d", 1 + (int)(u * 60));
        break;
    case QN_KEY_PERIOD:
        (void)snprintf(out, size, "%s", periods[r % 6]);
        break;
    case QN_KEY_DURATION:
        (void)snprintf(out, size, "%s", times[r % 4]);
        break;
    case QN_KEY_FOLD:
        (void)snprintf(out, size, "%s", folds[r % 4]);
        break;
    }
}

static void random_specs_come_back_equal(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300; n++) {
        struct qn_settings *s = qn_settings_new();
        for (int i = 0; i < qn_n_keys(); i++) {
            char value[128];
            const struct qn_key_info *k = qn_key_at(i);
            random_value(k, qn_mix64(n * 1000 + (uint64_t)i + 1), value,
                         sizeof value);
            qn_settings_set(s, k->key, value, QN_FROM_PRESET);
        }
        struct qn_spec spec = finished(s);
        comes_back(&spec);
    }
}

static void unset_values_are_null_and_periods_are_strings(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_json json = {{0}, false};
    qn_settings_assign(s, "data.train=a\xc3\xa9", QN_FROM_USER);
    qn_settings_assign(s, "model.window=6,2", QN_FROM_USER);
    qn_settings_assign(s, "stop.after=90 minutes", QN_FROM_USER);
    qn_settings_assign(s, "stats.of=f,z", QN_FROM_USER);
    struct qn_spec spec = finished(s);
    qn_spec_json(&spec, &json);
    const char *text = json.text.text;
    assert_non_null(strstr(text, "\"tags\":null,"));
    assert_non_null(strstr(text, "\"epochs\":10,\"steps\":null,"));
    assert_non_null(strstr(text, "\"data\":{\"train\":\"a\xc3\xa9\","
                                 "\"valid\":0.05,"));
    assert_non_null(strstr(text, "\"window\":[6,2],\"pooling\":\"fo\","));
    assert_non_null(strstr(text, "\"init\":{\"kind\":\"orthogonal\","));
    assert_non_null(strstr(text, "\"stats\":{\"every\":\"20 steps\","
                                 "\"of\":[\"z\",\"f\"],"));
    assert_non_null(strstr(text, "\"keep\":{\"best\":1,\"last\":2},"
                                 "\"metric\":\"valid.loss\"},"
                                 "\"stop\":{\"after\":\"90 minutes\","));
    assert_non_null(strstr(text, "\"log\":{\"every\":\"10 steps\"}}"));
    qn_json_free(&json);
}

static void what_validates_documents_comes_back(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *json;
    } rows[] = {
        {"data.fold=3 of 10", "\"fold\":\"3 of 10\",\"max_words\":3000}"},
        {"data.valid=v.tsv", "\"fold\":null,\"max_words\":3000}"},
        {"data.fold=none", "\"fold\":null,"},
        {"data.vectors=v", "\"vectors\":\"v\",\"fold\":\"1 of 5\","},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qn_settings *s = qn_settings_new();
        struct qn_json json = {{0}, false};
        qn_settings_assign(s, "task=classify", QN_FROM_USER);
        qn_settings_assign(s, "data.train=a", QN_FROM_USER);
        qn_settings_assign(s, rows[i].setting, QN_FROM_USER);
        struct qn_spec spec = finished(s);
        qn_spec_json(&spec, &json);
        assert_non_null(strstr(json.text.text, "\"task\":\"classify\","));
        assert_non_null(strstr(json.text.text, rows[i].json));
        comes_back(&spec);
        qn_json_free(&json);
    }
}

/* The whole of a spec.json as the program before words, batch norm and LSTM
 * layers wrote it. */
static void files_of_older_programs_are_read(void **state)
{
    (void)state;
    static const char older[] =
        "{\"name\":\"old-1\",\"tags\":null,\"notes\":null,\"seed\":1,"
        "\"threads\":2,\"batch\":32,\"seq\":64,\"epochs\":null,"
        "\"steps\":7000,\"task\":\"lm\",\"data\":{\"train\":\"a.txt\","
        "\"valid\":0.05,\"test\":0.05,\"level\":\"byte\",\"lower\":false,"
        "\"vocab_size\":null},\"model\":{\"cell\":\"qrnn\",\"layers\":2,"
        "\"hidden\":250,\"embed\":50,\"window\":[6,2],\"pooling\":\"fo\","
        "\"activation\":\"drelu\",\"alpha\":0.1,\"dropout\":0.05,"
        "\"embed_dropout\":0,\"init\":{\"kind\":\"orthogonal\",\"std\":0.1,"
        "\"range\":0.05,\"gain\":0.5}},\"optim\":{\"kind\":\"adam\","
        "\"lr\":0.0003,\"clip_norm\":5,\"eps\":1e-08,\"beta1\":0.9,"
        "\"beta2\":0.999},\"eval\":{\"every\":\"500 steps\",\"batch\":null,"
        "\"limit\":100000},\"stats\":{\"every\":\"20 steps\",\"near\":0.1},"
        "\"checkpoint\":{\"every\":\"500 steps\",\"keep\":{\"best\":1,"
        "\"last\":2}},\"stop\":{\"after\":null,\"restore\":\"best\","
        "\"nan\":\"pause\"},\"sample\":{\"every\":\"1 eval\",\"prompt\":\"In"
        "\",\"length\":200,\"temperature\":0.8,\"seed\":1},\"log\":{\"every\":"
        "\"10 steps\"}}";
    struct qn_spec spec;
    struct qn_err err;
    if (qn_spec_parse(older, sizeof older - 1, &spec, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_true(spec.steps == 7000 && spec.model.window[1] == 2);
    assert_int_equal(spec.data.stream, QN_STREAM_PLAIN);
    assert_string_equal(spec.data.eos, "<eos>");
    assert_false(spec.model.batch_norm || spec.model.dense);
    assert_int_equal(spec.model.bias, QN_BIAS_LAYER);
    assert_int_equal(spec.loss.time, QN_TIME_MEAN);
    assert_true(spec.model.zoneout == 0 && spec.optim.l2 == 0);
    assert_true(spec.optim.decay == 1 && spec.optim.decay_after == 0);
    assert_true(spec.optim.momentum == 0 && spec.eval.floor == 0);
    assert_true(spec.stats.of == 1u << QN_CELL);
    assert_int_equal(spec.task, QN_TASK_LM);
    assert_int_equal(spec.checkpoint.metric, QN_VALID_LOSS);
    comes_back(&spec);
}

static void refuses(const char *json, enum qn_status status,
                    const char *sentence)
{
    struct qn_spec spec;
    struct qn_err err;
    assert_int_equal(qn_spec_parse(json, strlen(json), &spec, &err), status);
    if (strncmp(err.text, sentence, strlen(sentence)) != 0) {
        fail_msg("\"%s\" instead of \"%s\"", err.text, sentence);
    }
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    refuses("{\"data\":{\"train\":\"x\"},\"model\":{\"hiden\":3}}", QN_EUSAGE,
            "unknown setting 'model.hiden' (did you mean 'model.hidden'?)");
    refuses("{\"data\":{\"train\":\"x\"},\"model\":{\"hidden\":{\"a\":3}}}",
            QN_EUSAGE, "unknown setting 'model.hidden.a'");
    refuses("{\"data\":{\"train\":\"x\"},\"model\":3}", QN_EUSAGE,
            "unknown setting 'model'");
    refuses("{\"data\":{\"train\":\"x\"},\"model\":{\"window\":[[2]]}}",
            QN_EUSAGE, "model.window holds a list of lists or objects");
    refuses("{\"data\":{\"train\":\"x\"},\"model\":{\"window\":[]}}", QN_EUSAGE,
            "model.window is ''");
    refuses("{\"data\":{\"train\":\"x\"},\"model\":{\"hidden\":null}}",
            QN_EUSAGE, "model.hidden is 'none'");
    refuses("{\"data\":{\"train\":\"x\"},\"stats\":{\"of\":[]}}", QN_EUSAGE,
            "stats.of: '' is none of");
    refuses("{}", QN_EUSAGE, "data.train is not set");
    refuses("[]", QN_EFORMAT, "the settings are no JSON object");
    refuses("{\"seed\":1,\"seed\":2}", QN_EFORMAT, "not valid JSON: line 1");
    refuses("{\"seed\":1,\n", QN_EFORMAT, "not valid JSON: line 2");
    refuses("", QN_EFORMAT, "not valid JSON");
}

static void deep_files_are_refused(void **state)
{
    (void)state;
    struct qn_str json = {0};
    for (int i = 0; i < 300; i++) {
        qn_str_add(&json, "{\"model\":");
    }
    qn_str_add(&json, "1");
    for (int i = 0; i < 300; i++) {
        qn_str_add(&json, "}");
    }
    refuses(json.text, QN_EUSAGE, "unknown setting 'model.model.model");
    qn_str_free(&json);
}

/* Damaged files end with a status, never otherwise. */
static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    struct qn_settings *s = qn_settings_new();
    struct qn_json json = {{0}, false};
    qn_settings_assign(s, "data.train=x", QN_FROM_USER);
    struct qn_spec spec = finished(s);
    qn_spec_json(&spec, &json);
    for (uint64_t i = 0; i < 3000; i++) {
        struct qn_spec out;
        struct qn_err err;
        uint64_t r = qn_mix64(i + 1);
        char *at = &json.text.text[r % json.text.len];
        char before = *at;
        *at = (char)(r >> 32);
        enum qn_status status =
            qn_spec_parse(json.text.text, json.text.len, &out, &err);
        assert_true(status == QN_OK || status == QN_EUSAGE ||
                    status == QN_EFORMAT);
        *at = before;
    }
    qn_json_free(&json);
}

static void a_spec_taken_as_settings_comes_out_the_same(void **state)
{
    (void)state;
    static const char *const lengths[] = {"steps=30", "epochs=2"};
    for (int i = 0; i < 2; i++) {
        struct qn_settings *s = qn_settings_new();
        qn_settings_assign(s, "data.train=a", QN_FROM_USER);
        qn_settings_assign(s, "model.window=6,2", QN_FROM_USER);
        qn_settings_assign(s, lengths[i], QN_FROM_USER);
        struct qn_spec spec = finished(s);
        s = qn_settings_new();
        qn_settings_take(s, &spec);
        struct qn_spec again = finished(s);
        struct qn_json was = {.comma = false}, is = {.comma = false};
        qn_spec_json(&spec, &was);
        qn_spec_json(&again, &is);
        assert_string_equal(is.text.text, was.text.text);
        qn_json_free(&was);
        qn_json_free(&is);
        /* What the spec says can be changed, and is no mistake of a person's:
         * a window that is too long now is cut. */
        s = qn_settings_new();
        qn_settings_take(s, &spec);
        qn_settings_assign(s, "model.layers=1", QN_FROM_USER);
        assert_int_equal(finished(s).model.layers, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spec_taken_as_settings_comes_out_the_same),
        cmocka_unit_test(presets_come_back_equal),
        cmocka_unit_test(random_specs_come_back_equal),
        cmocka_unit_test(unset_values_are_null_and_periods_are_strings),
        cmocka_unit_test(what_validates_documents_comes_back),
        cmocka_unit_test(files_of_older_programs_are_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(deep_files_are_refused),
        cmocka_unit_test(damaged_files_are_refused_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
