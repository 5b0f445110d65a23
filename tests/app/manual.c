/* manual.c - what is written about the program is about this program. */
#include "shell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "nn/settings.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *read_doc(const char *name)
{
    struct qn_bytes bytes = {0};
    struct qn_err err;
    char *path = qn_path_join(QN_DOCS_DIR, name);
    if (qn_file_read(path, &bytes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(path);
    return bytes.data;
}

static void the_settings_table_is_the_schema(void **state)
{
    (void)state;
    char *cli = read_doc("cli.md");
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        char *row = qn_xasprintf("\n| %s%s | %s |", k->key, k->live ? " *" : "",
                                 k->default_text);
        if (strstr(cli, row) == NULL) {
            fail_msg("docs/cli.md has no row '%s'", row + 1);
        }
        if (strstr(cli, k->help) == NULL) {
            fail_msg("docs/cli.md does not say of %s: %s", k->key, k->help);
        }
        free(row);
    }
    free(cli);
}

/* A preset's row has the figure that its line of help promises. */
static void every_preset_is_in_its_table(void **state)
{
    (void)state;
    char *doc = read_doc("presets.md");
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        char *name = qn_xstrdup(p->name);
        size_t len = strlen(name);
        if (qn_ends_with(name, "-code")) {
            name[len - strlen("-code")] = '\0';
        }
        char *start = qn_xasprintf("\n| %s | ", name);
        char *row = strstr(doc, start);
        const char *figure = strstr(p->help, "paper: ");
        if (row == NULL && !qn_str_eq(name, "demo")) {
            fail_msg("docs/presets.md has no row of %s", name);
        }
        if (row != NULL && figure != NULL) {
            figure += strcspn(figure, "0123456789");
            char *cell =
                qn_xasprintf("| %.*s |", (int)strcspn(figure, " "), figure);
            char *found = strstr(row, cell);
            if (found == NULL || found > strchr(row + 1, '\n')) {
                fail_msg("%s: '%s' is not in its row", p->name, cell);
            }
            free(cell);
        }
        free(start);
        free(name);
    }
    free(doc);
}

/* Words of a help text that look like options stand in the manual. */
static void every_command_and_option_is_in_the_manual(void **state)
{
    (void)state;
    char *cli = read_doc("cli.md");
    char *help = quern_out("--help");
    /* A usage that goes on in the next line. */
    for (char *at; (at = strstr(help, "\n            [")) != NULL;) {
        memmove(at + 1, at + 13, strlen(at + 13) + 1);
        *at = ' ';
    }
    char *rest = NULL;
    for (char *line = strtok_r(help, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "quern ", 6) == 0 && line[6] >= 'a' &&
            strstr(line, " - ") == NULL && strstr(line, "--help") == NULL &&
            strstr(cli, line) == NULL) {
            fail_msg("docs/cli.md has no '%s'", line);
        }
    }
    free(help);
    free(cli);
}

static void help_of_a_setting_is_its_row(void **state)
{
    (void)state;
    char *one = quern_out("help optim.lr");
    char *group = quern_out("help optim");
    assert_non_null(strstr(one, "* optim.lr "));
    assert_non_null(strstr(one, qn_key_find("optim.lr")->help));
    assert_null(strstr(one, "optim.kind"));
    assert_non_null(strstr(group, one));
    assert_non_null(strstr(group, "optim.kind"));
    assert_null(strstr(group, "model."));
    free(group);
    free(one);
}

static void help_of_a_command_lists_its_options_and_all_settings(void **state)
{
    (void)state;
    char *help = quern_out("train --help");
    assert_non_null(strstr(help, "--preset PRESET"));
    assert_non_null(strstr(help, "--json"));
    assert_null(strstr(help, "--prompt"));
    for (int i = 0; i < qn_n_keys(); i++) {
        if (strstr(help, qn_key_at(i)->key) == NULL) {
            fail_msg("quern train --help does not name %s", qn_key_at(i)->key);
        }
    }
    char *same = quern_out("help train");
    assert_string_equal(help, same);
    free(same);
    free(help);
}

/* Whether a row of the table of settings is the key's. */
static bool names(const char *help, const char *key)
{
    char *row =
        qn_xasprintf("\n%c %s ", qn_key_find(key)->live ? '*' : ' ', key);
    bool found = strstr(help, row) != NULL;
    free(row);
    return found;
}

static void help_lists_only_settings_that_the_command_takes(void **state)
{
    (void)state;
    char *resume = quern_out("resume --help");
    char *runs = quern_out("runs --help");
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        if (names(resume, k->key) != k->live || names(runs, k->key)) {
            fail_msg("help of resume or runs is wrong about %s", k->key);
        }
    }
    free(resume);
    free(runs);
    char *eval = quern_out("eval --help");
    char *sample = quern_out("sample --help");
    assert_true(names(eval, "eval.limit") && names(eval, "data.valid"));
    assert_false(names(eval, "sample.length") || names(eval, "batch"));
    assert_true(names(sample, "sample.length") && names(sample, "threads"));
    assert_false(names(sample, "model.hidden") || names(sample, "eval.every"));
    free(eval);
    free(sample);
}

static void no_line_of_help_is_wider_than_a_screen(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "--help",        "help settings", "train --help", "stats --help",
        "sample --help", "export --help", "--help x.lua"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char *help = quern_out("%s", commands[i]);
        for (char *l = help; *l != '\0'; l += strcspn(l, "\n") + 1) {
            if (strcspn(l, "\n") > 80) {
                fail_msg("quern %s: %.100s", commands[i], l);
            }
        }
        free(help);
    }
}

/* Help, check and setting have the same range. */
static void an_options_range_is_its_settings(void **state)
{
    (void)state;
    static const struct {
        const char *command, *option, *key, *good, *bad;
    } options[] = {
        {"sample", "--length", "sample.length", "1", "1000001"},
        {"sample", "--temperature", "sample.temperature", "0", "100.5"},
        {"stats", "--near", "stats.near", "1e-5", "1e-6"},
    };
    free(quern_out("train " TINY "steps=2 name=a"));
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char *help = quern_out("%s --help", options[i].command);
        char *line = strstr(strstr(help, "Options:"), options[i].option);
        assert_non_null(line);
        line[strcspn(line, "\n")] = '\0';
        const char *range = qn_key_find(options[i].key)->range_text;
        if (strstr(line, range) == NULL) {
            fail_msg("'%s' does not say %s", line, range);
        }
        free(help);
        free(quern_out("%s a %s %s", options[i].command, options[i].option,
                       options[i].good));
        struct outcome o = quern("%s a %s %s", options[i].command,
                                 options[i].option, options[i].bad);
        assert_int_equal(o.status, 2);
        assert_non_null(strstr(o.err, options[i].option));
        assert_non_null(strstr(o.err, range));
        outcome_free(&o);
    }
}

static void the_version_is_one_line(void **state)
{
    (void)state;
    char *out = quern_out("--version");
    assert_string_equal(out, "quern " QN_VERSION "\n");
    free(out);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_settings_table_is_the_schema),
        cmocka_unit_test(every_preset_is_in_its_table),
        WITH_SHELL(every_command_and_option_is_in_the_manual),
        WITH_SHELL(help_of_a_setting_is_its_row),
        WITH_SHELL(help_of_a_command_lists_its_options_and_all_settings),
        WITH_SHELL(help_lists_only_settings_that_the_command_takes),
        WITH_SHELL(no_line_of_help_is_wider_than_a_screen),
        WITH_SHELL(an_options_range_is_its_settings),
        WITH_SHELL(the_version_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
