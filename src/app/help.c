/* help.c - what --help says, from the tables of commands and settings. */
#include "app/commands.h"

#include "app/out.h"
#include "base/str.h"
#include "nn/settings.h"

#define BIT(option) (1u << (option))
#define EVERYWHERE                                                             \
    (BIT(QN_OPT_STORE) | BIT(QN_OPT_DATA) | BIT(QN_OPT_JSON) |                 \
     BIT(QN_OPT_HELP) | BIT(QN_OPT_VERSION))

/* "quern train [-p PRESET] [KEY=VALUE...]" */
static void add_usage(struct qn_str *s, const struct qn_app_command *c)
{
    const char *const parts[] = {c->lead, c->name, c->usage};
    qn_str_add(s, "quern");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i] != NULL && parts[i][0] != '\0') {
            qn_str_addf(s, " %s", parts[i]);
        }
    }
}

static void add_option(struct qn_str *s, const struct qn_option_info *o)
{
    struct qn_str name = {0};
    if (o->letter != '\0') {
        qn_str_addf(&name, "-%c, ", o->letter);
    }
    qn_str_add(&name, o->name);
    if (o->value != NULL) {
        qn_str_addf(&name, " %s", o->value);
    }
    qn_str_addf(s, "  %-24s %s\n", name.text, o->help);
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

static void add_settings(struct qn_str *s)
{
    qn_str_add(s, "Settings, KEY=VALUE (* may change while a run trains):\n");
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *k = qn_key_at(i);
        qn_str_addf(s, "%c %-20s %-10s %s", k->live ? '*' : ' ', k->key,
                    k->default_text, k->help);
        if (k->range_text[0] != '\0') {
            qn_str_addf(s, " (%s)", k->range_text);
        }
        qn_str_add(s, "\n");
    }
    qn_str_add(s, "Periods: \"50 steps\", \"1 epoch\", \"30 s\", \"5 evals\"; "
                  "a bare number means steps; none unsets.\n");
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
        qn_str_addf(&s, "\n        %s\n", c->help);
    }
    qn_str_add(&s, "\nEverywhere:\n");
    add_options(&s, EVERYWHERE);
    qn_str_add(&s, "\nRUN is a run's id, the beginning of one, or a name (the "
                   "newest of that name).\n"
                   "quern COMMAND --help says more; quern help settings lists "
                   "all settings.\n"
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
    qn_str_addf(&s, "\n\n%s\n\nOptions:\n", c->help);
    add_options(&s, c->options | EVERYWHERE);
    if (c->settings) {
        qn_str_add(&s, "\n");
        add_settings(&s);
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
        add_settings(&s);
        return print(&s);
    }
    const struct qn_app_command *c = qn_command_find(args->words[0]);
    if (c == NULL) {
        qn_str_addf(&s, "there is no help for '%s'", args->words[0]);
        qn_complain(s.text);
        qn_str_free(&s);
        return QN_EXIT_MISUSE;
    }
    return qn_help_command(c);
}
