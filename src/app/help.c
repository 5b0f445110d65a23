/* help.c - what --help says, from the tables of commands and settings. */
#include "app/commands.h"

#include "app/out.h"
#include "base/mem.h"
#include "base/str.h"
#include "nn/settings.h"

#include <stdlib.h>
#include <string.h>

#define BIT(option) (1u << (option))
#define EVERYWHERE                                                             \
    (BIT(QN_OPT_STORE) | BIT(QN_OPT_DATA) | BIT(QN_OPT_JSON) |                 \
     BIT(QN_OPT_HELP) | BIT(QN_OPT_VERSION))

#define WIDTH 80

/* To the next space that is not in brackets. */
static size_t word_length(const char *text)
{
    size_t len = 0;
    int depth = 0;
    while (text[len] != '\0' && (text[len] != ' ' || depth > 0)) {
        depth += text[len] == '[' ? 1 : text[len] == ']' ? -1 : 0;
        len++;
    }
    return len;
}

/* Text from the given column on, broken at spaces before the screen's edge;
 * later lines are indented. */
static void add_wrapped(struct qn_str *s, const char *text, size_t column,
                        size_t indent)
{
    for (bool first = true; *text != '\0'; first = false) {
        size_t len = word_length(text);
        if (!first && column + 1 + len > WIDTH) {
            qn_str_addf(s, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            qn_str_add(s, " ");
            column++;
        }
        qn_str_add_bytes(s, text, len);
        column += len;
        text += len + (text[len] == ' ');
    }
    qn_str_add(s, "\n");
}

/* "quern train [-p PRESET] [KEY=VALUE...]" */
static void add_usage(struct qn_str *s, const struct qn_app_command *c)
{
    const char *const parts[] = {c->lead, c->name, c->usage};
    struct qn_str line = {0};
    qn_str_add(&line, "quern");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL && parts[i][0] != '\0') {
            qn_str_addf(&line, " %s", parts[i]);
        }
    }
    add_wrapped(s, line.text, 0, 12);
    qn_str_free(&line);
}

/* The help in a column of its own; range "" = none. */
static void add_row(struct qn_str *s, const char *name, const char *help,
                    const char *range)
{
    struct qn_str text = {0};
    qn_str_add(&text, help);
    if (range[0] != '\0') {
        qn_str_addf(&text, " (%s)", range);
    }
    qn_str_add(s, name);
    add_wrapped(s, text.text, strlen(name), strlen(name));
    qn_str_free(&text);
}

static void add_option(struct qn_str *s, const struct qn_option_info *o)
{
    struct qn_str name = {0};
    struct qn_str column = {0};
    if (o->letter != '\0') {
        qn_str_addf(&name, "-%c, ", o->letter);
    }
    qn_str_add(&name, o->name);
    if (o->value != NULL) {
        qn_str_addf(&name, " %s", o->value);
    }
    qn_str_addf(&column, "  %-24s ", name.text);
    add_row(s, column.text, o->help,
            o->key != NULL ? qn_key_find(o->key)->range_text : "");
    qn_str_free(&column);
    qn_str_free(&name);
}

static void add_options(struct qn_str *s, unsigned options)
{
    for (int i = 0; i < QN_N_OPTIONS; i++) {
        if (options & BIT(i)) {
            add_option(s, qn_option_info((enum qn_option)i));
        }
    }
}

static void add_setting(struct qn_str *s, const struct qn_key_info *k)
{
    struct qn_str column = {0};
    qn_str_addf(&column, "%c %-20s %-10s ", k->live ? '*' : ' ', k->key,
                k->default_text);
    add_row(s, column.text, k->help, k->range_text);
    qn_str_free(&column);
}

static void add_settings(struct qn_str *s, const struct qn_app_command *c)
{
    qn_str_add(s, "Settings, KEY=VALUE (* may change while a run trains):\n");
    for (int i = 0; i < qn_n_keys(); i++) {
        if (qn_command_takes(c, qn_key_at(i))) {
            add_setting(s, qn_key_at(i));
        }
    }
    add_wrapped(s,
                "Periods: \"50 steps\", \"1 epoch\", \"30 s\", \"5 evals\"; "
                "a bare number means steps; none unsets.",
                0, 0);
}

/* A setting, or all of a group ("model"); false: there is none. */
static bool add_settings_named(struct qn_str *s, const char *word)
{
    size_t len = strlen(word);
    bool found = false;
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        bool in_group = qn_starts_with(k->key, word) && k->key[len] == '.';
        if (in_group || qn_str_eq(k->key, word)) {
            add_setting(s, k);
            found = true;
        }
    }
    return found;
}

/* The command or setting that is spelt about so, or NULL. */
static const char *nearest_topic(const char *word)
{
    int n = qn_n_commands + qn_n_keys();
    const char **names = qn_xcalloc((size_t)n, sizeof *names);
    for (int i = 0; i < n; i++) {
        names[i] = i < qn_n_commands ? qn_commands[i].name
                                     : qn_key_at(i - qn_n_commands)->key;
    }
    int at = qn_nearest(word, names, n);
    const char *name = at < 0 ? NULL : names[at];
    free(names);
    return name;
}

static int no_help(const char *word)
{
    struct qn_str s = {0};
    const char *near = nearest_topic(word);
    qn_str_addf(&s, "there is no help for '%s'", word);
    if (near != NULL) {
        qn_str_addf(&s, " (did you mean '%s'?)", near);
    }
    qn_complain(s.text);
    qn_str_free(&s);
    return QN_EXIT_MISUSE;
}

static int print(struct qn_str *s)
{
    struct qn_out out = {.failed = false};
    (void)qn_out_text(&out, s->text, s->len);
    qn_str_free(s);
    return qn_out_close(&out, QN_EXIT_OK);
}

int qn_help_program(void)
{
    struct qn_str s = {0};
    qn_str_add(&s, "quern " QN_VERSION " - a terminal workbench for "
                   "quasi-recurrent networks\n\n");
    for (int i = 0; i < qn_n_commands; i++) {
        const struct qn_app_command *c = &qn_commands[i];
        add_usage(&s, c);
        qn_str_addf(&s, "        %s\n", c->help);
    }
    qn_str_add(&s, "\nEverywhere:\n");
    add_options(&s, EVERYWHERE);
    qn_str_add(&s, "\nRUN is a run's id, the beginning of one, or a name (the "
                   "newest of that\nname).\n"
                   "quern COMMAND --help says more; quern help settings lists "
                   "all settings,\nand quern help optim those of a group.\n"
                   "Exit status: 0 good, 1 failure, 2 misuse.\n");
    return print(&s);
}

int qn_help_command(const struct qn_app_command *c)
{
    struct qn_str s = {0};
    if (c->name[0] == '\0') {
        return qn_help_program();
    }
    add_usage(&s, c);
    qn_str_addf(&s, "\n%s\n", c->help);
    if (c->more != NULL) {
        qn_str_addf(&s, "\n%s", c->more);
    }
    qn_str_add(&s, "\nOptions:\n");
    add_options(&s, c->options | EVERYWHERE);
    if (c->settings) {
        qn_str_add(&s, "\n");
        add_settings(&s, c);
    }
    return print(&s);
}

int qn_cmd_help(const struct qn_args *args)
{
    struct qn_str s = {0};
    if (args->n_words == 0) {
        return qn_help_program();
    }
    if (qn_str_eq(args->words[0], "settings")) {
        add_settings(&s, NULL);
        return print(&s);
    }
    const struct qn_app_command *c = qn_command_find(args->words[0]);
    if (c != NULL) {
        return qn_help_command(c);
    }
    return add_settings_named(&s, args->words[0]) ? print(&s)
                                                  : no_help(args->words[0]);
}
