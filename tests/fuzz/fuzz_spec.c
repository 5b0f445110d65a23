/* fuzz_spec.c - no spec.json and no KEY=VALUE may crash the settings, and what
 * they accept is a spec that its own JSON gives back. Bytes that begin with '{'
 * are a spec.json, others assignments, one a line, of which a few are made:
 * looking for what a wrong key may have meant takes long. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "nn/settings.h"

#include <stdlib.h>
#include <string.h>

static void check_spec(const struct qn_spec *spec)
{
    struct qn_json first = {.comma = false}, again = {.comma = false};
    struct qn_spec read;
    struct qn_err err = {{0}};
    qn_spec_json(spec, &first);
    QN_ASSERT(qn_spec_parse(first.text.text, first.text.len, &read, &err) ==
              QN_OK);
    qn_spec_json(&read, &again);
    QN_ASSERT(strcmp(first.text.text, again.text.text) == 0);
    qn_json_free(&first);
    qn_json_free(&again);
}

static void check_json(const uint8_t *bytes, size_t len)
{
    struct qn_spec spec;
    struct qn_err err = {{0}};
    if (qn_spec_parse((const char *)bytes, len, &spec, &err) == QN_OK) {
        check_spec(&spec);
    } else {
        QN_ASSERT(err.text[0] != '\0');
    }
}

/* As a change of a run that trains: a wrong one leaves no trace. true: made. */
static bool check_change(struct qn_spec *spec, char *line)
{
    struct qn_err err = {{0}};
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        return false;
    }
    *equals = '\0';
    struct qn_spec before = *spec;
    bool made = qn_settings_change(spec, line, equals + 1, &err) == QN_OK;
    if (!made) {
        QN_ASSERT(err.text[0] != '\0');
        QN_ASSERT(memcmp(&before, spec, sizeof before) == 0);
    }
    *equals = '=';
    return made;
}

#define MOST_LINES 3

static void check_lines(char *text)
{
    struct qn_settings *live = qn_settings_new();
    struct qn_settings *fresh = qn_settings_new();
    struct qn_spec spec, made;
    struct qn_err err = {{0}};
    qn_settings_set(live, "data.train", "x", QN_FROM_PRESET);
    qn_settings_set(fresh, "data.train", "x", QN_FROM_PRESET);
    QN_ASSERT(qn_settings_finish(live, &spec, &err) == QN_OK);
    bool changed = false;
    char *rest = text;
    char *line = strtok_r(text, "\n", &rest);
    for (int i = 0; i < MOST_LINES && line != NULL; i++) {
        changed |= check_change(&spec, line);
        qn_settings_assign(fresh, line, QN_FROM_USER);
        line = strtok_r(NULL, "\n", &rest);
    }
    if (changed) {
        check_spec(&spec);
    }
    if (qn_settings_finish(fresh, &made, &err) == QN_OK) {
        check_spec(&made);
    } else {
        QN_ASSERT(err.text[0] != '\0');
    }
    qn_settings_free(live);
    qn_settings_free(fresh);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > 0 && bytes[0] == '{') {
        check_json(bytes, len);
        return 0;
    }
    char *text = len > 0 ? qn_xstrndup((const char *)bytes, len) : NULL;
    if (text != NULL) {
        check_lines(text);
    }
    free(text);
    return 0;
}
