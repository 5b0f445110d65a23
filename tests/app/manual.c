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

/* Words of a help text that look like options stand in the manual. */
static void every_command_and_option_is_in_the_manual(void **state)
{
    (void)state;
    char *cli = read_doc("cli.md");
    char *help = quern_out("--help");
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
        WITH_SHELL(every_command_and_option_is_in_the_manual),
        WITH_SHELL(help_of_a_command_lists_its_options_and_all_settings),
        WITH_SHELL(the_version_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
