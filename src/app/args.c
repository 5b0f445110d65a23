/* args.c - take a command line apart, with the nearest name for a wrong one. */
#include "app/args.h"

#include "app/commands.h"
#include "app/hint.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct qn_option_info options[QN_N_OPTIONS] = {
    [QN_OPT_STORE] = {0, "--store", "DIR", "folder of all runs", NULL},
    [QN_OPT_DATA] = {0, "--data", "DIR", "folder where texts are looked for",
                     NULL},
    [QN_OPT_JSON] = {0, "--json", NULL, "JSON on standard output", NULL},
    [QN_OPT_HELP] = {'h', "--help", NULL, "say how this is used", NULL},
    [QN_OPT_VERSION] = {0, "--version", NULL, "say which version this is",
                        NULL},
    [QN_OPT_PRESET] = {'p', "--preset", "PRESET",
                       "begin with the settings of a preset", NULL},
    [QN_OPT_CHECKPOINT] = {0, "--checkpoint", "WHICH",
                           "best (default), last, or a step", NULL},
    [QN_OPT_FROM] = {0, "--from", "WHICH",
                     "last (default), best, last_good, or a step", NULL},
    [QN_OPT_SPLIT] = {0, "--split", "SPLIT", "train, valid (default) or test",
                      NULL},
    [QN_OPT_TEXT] = {0, "--text", "FILE",
                     "texts to classify, one a line; - is standard input",
                     NULL},
    [QN_OPT_OF] = {0, "--of", "LIST", "which values, commas between",
                   "stats.of"},
    [QN_OPT_NEAR] = {0, "--near", "T[,T...]", "near zero is |x| < T",
                     "stats.near"},
    [QN_OPT_PROMPT] = {0, "--prompt", "TEXT", "what the text begins with",
                       "sample.prompt"},
    [QN_OPT_LENGTH] = {0, "--length", "N", "symbols to write", "sample.length"},
    [QN_OPT_TEMPERATURE] = {0, "--temperature", "T",
                            "0: always the likeliest symbol; 1: as learnt",
                            "sample.temperature"},
    [QN_OPT_TO] = {0, "--to", "DIR", "folder to write into, made when missing",
                   NULL},
    [QN_OPT_FORMATS] = {0, "--formats", "LIST",
                        "csv, jsonl, safetensors, tfevents, svg, png, commas "
                        "between; without it all",
                        NULL},
    [QN_OPT_ONLY] = {0, "--only", "WHAT",
                     "train (default), ops, steps, batch, layers, threads, "
                     "lstm or all",
                     NULL},
    [QN_OPT_INTERACTIVE] = {'i', "--interactive", NULL,
                            "open the workbench with the script", NULL},
    [QN_OPT_CHECK] = {0, "--check", NULL,
                      "check what the script would train, create nothing",
                      NULL},
    [QN_OPT_SET] = {0, "--set", "KEY=VALUE",
                    "for every run of the script; may be repeated", NULL},
};

const struct qn_option_info *qn_option_info(enum qn_option option)
{
    return &options[option];
}

/* What is left of the command line, and what it is read into. */
struct reader {
    struct qn_args *args;
    char **argv;
    int argc, next;
    bool only_words; /* after -- or a script's name */
    struct qn_err *err;
};

static enum qn_status no_option(const struct reader *r, const char *name)
{
    const char *names[QN_N_OPTIONS];
    for (int i = 0; i < QN_N_OPTIONS; i++) {
        names[i] = options[i].name;
    }
    int near = qn_nearest(name, names, QN_N_OPTIONS);
    if (near < 0) {
        return qn_fail(r->err, QN_EUSAGE, "there is no option %s", name);
    }
    return qn_fail(r->err, QN_EUSAGE,
                   "there is no option %s (did you mean %s?)", name,
                   names[near]);
}

/* The option that arg names: "--near", "--near=0.2" or "-p"; its value after
 * "=" or the letter in *value, NULL when there is none. */
static int find_option(const char *arg, const char **value)
{
    size_t len = strcspn(arg, "=");
    for (int i = 0; i < QN_N_OPTIONS; i++) {
        const struct qn_option_info *o = &options[i];
        if (strlen(o->name) == len && strncmp(o->name, arg, len) == 0) {
            *value = arg[len] == '=' ? arg + len + 1 : NULL;
            return i;
        }
        if (arg[1] == o->letter && o->letter != '\0' &&
            (arg[2] == '\0' || o->value != NULL)) {
            *value = arg[2] != '\0' ? arg + 2 : NULL;
            return i;
        }
    }
    return -1;
}

static enum qn_status read_option(struct reader *r, const char *arg)
{
    const char *value = NULL;
    int i = find_option(arg, &value);
    if (i < 0) {
        char *name = qn_xstrndup(arg, strcspn(arg, "="));
        enum qn_status status = no_option(r, name);
        free(name);
        return status;
    }
    const struct qn_option_info *o = &options[i];
    if (o->value == NULL && value != NULL) {
        return qn_fail(r->err, QN_EUSAGE, "%s takes no value", o->name);
    }
    if (o->value != NULL && value == NULL) {
        if (r->next == r->argc) {
            return qn_fail(r->err, QN_EUSAGE, "%s needs a value: %s %s",
                           o->name, o->name, o->value);
        }
        value = r->argv[r->next++];
    }
    if (i == QN_OPT_SET) {
        r->args->sets[r->args->n_sets++] = value;
    }
    r->args->option[i] = o->value != NULL ? value : "";
    return QN_OK;
}

/* KEY=VALUE: something like a dotted key before the first "=". */
static bool is_assignment(const char *arg)
{
    size_t len = strcspn(arg, "=");
    if (arg[len] != '=' || !isalpha((unsigned char)arg[0])) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)arg[i]) && strchr("._-", arg[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static enum qn_status no_command(const struct reader *r, const char *name)
{
    const char *names[64];
    int n = 0;
    for (int i = 2; i < qn_n_commands && n < 64; i++) {
        names[n++] = qn_commands[i].name;
    }
    int near = qn_nearest(name, names, n);
    if (near < 0) {
        return qn_fail(r->err, QN_EUSAGE,
                       "there is no command '%s'; quern --help lists them",
                       name);
    }
    return qn_fail(r->err, QN_EUSAGE,
                   "there is no command '%s' (did you mean '%s'?)", name,
                   names[near]);
}

/* Options that only a script has. */
static bool has_script_option(const struct qn_args *args)
{
    return args->option[QN_OPT_INTERACTIVE] != NULL ||
           args->option[QN_OPT_CHECK] != NULL || args->n_sets > 0;
}

/* Whether the file begins as a script's does; one that cannot be read may. */
static bool begins_as_script(const char *path)
{
    char start[2] = {'#', '!'};
    FILE *f = fopen(path, "r");
    if (f != NULL) {
        bool full = fread(start, 1, sizeof start, f) == sizeof start;
        start[0] = full || ferror(f) != 0 ? start[0] : '\0';
        (void)fclose(f);
    }
    return start[0] == '#' && start[1] == '!';
}

/* Whether documents lie in it by their labels. */
static bool has_labels(const char *folder)
{
    char *neg = qn_path_join(folder, "neg");
    char *pos = qn_path_join(folder, "pos");
    bool both = qn_path_is_dir(neg) && qn_path_is_dir(pos);
    free(neg);
    free(pos);
    return both;
}

/* A text, or a folder of documents, is what a newcomer has at hand, and Lua's
 * word on it would not help. */
static enum qn_status check_script(const struct reader *r, const char *path)
{
    bool labels = has_labels(path);
    if (qn_ends_with(path, ".lua") || !qn_path_exists(path) ||
        (!labels && (qn_path_is_dir(path) || begins_as_script(path)))) {
        return QN_OK;
    }
    struct qn_str setting = {0};
    qn_str_addf(&setting, "data.train=%s", path);
    struct qn_str word = {0};
    qn_hint_word(&word, setting.text);
    enum qn_status status = qn_fail(
        r->err, QN_EUSAGE, "'%s' is no Lua script; to train on it: quern%s%s",
        path, labels ? " task=classify" : "", word.text);
    qn_str_free(&word);
    qn_str_free(&setting);
    return status;
}

/* The first word decides what this line is about. */
static enum qn_status read_first_word(struct reader *r, const char *word)
{
    struct qn_args *args = r->args;
    args->command = qn_command_find(word);
    if (args->command != NULL) {
        return QN_OK;
    }
    bool is_path = qn_ends_with(word, ".lua") || strchr(word, '/') != NULL ||
                   qn_path_exists(word);
    if (!is_path && !has_script_option(args)) {
        return no_command(r, word);
    }
    enum qn_status status =
        has_script_option(args) ? QN_OK : check_script(r, word);
    if (status != QN_OK) {
        return status;
    }
    args->command = qn_command_script();
    args->words[args->n_words++] = word;
    r->only_words = true;
    return QN_OK;
}

static enum qn_status read_one(struct reader *r)
{
    struct qn_args *args = r->args;
    const char *arg = r->argv[r->next++];
    if (r->only_words) {
        args->words[args->n_words++] = arg;
        return QN_OK;
    }
    if (strcmp(arg, "--") == 0) {
        r->only_words = args->command != NULL;
        return QN_OK;
    }
    if (arg[0] == '-' && arg[1] != '\0') {
        return read_option(r, arg);
    }
    if (is_assignment(arg)) {
        args->assignments[args->n_assignments++] = arg;
        return QN_OK;
    }
    if (args->command == NULL) {
        return read_first_word(r, arg);
    }
    args->words[args->n_words++] = arg;
    return QN_OK;
}

/* What a sentence calls it; the program's name stands before the sentence. */
static const char *title(const struct qn_app_command *c)
{
    return c == qn_command_workbench() ? "the workbench"
           : c == qn_command_script()  ? "a script"
                                       : c->name;
}

static enum qn_status check_options(const struct qn_args *args,
                                    struct qn_err *err)
{
    const struct qn_app_command *c = args->command;
    const char *name = title(c);
    for (int i = QN_OPT_VERSION + 1; i < QN_N_OPTIONS; i++) {
        if (args->option[i] != NULL && !(c->options & (1u << i))) {
            return qn_fail(err, QN_EUSAGE, "%s takes no option %s", name,
                           options[i].name);
        }
    }
    if (args->n_assignments > 0 && !c->settings) {
        return qn_fail(err, QN_EUSAGE, "%s takes no settings such as '%s'",
                       name, args->assignments[0]);
    }
    return QN_OK;
}

static enum qn_status check(const struct qn_args *args, struct qn_err *err)
{
    const struct qn_app_command *c = args->command;
    if (args->option[QN_OPT_HELP] != NULL ||
        args->option[QN_OPT_VERSION] != NULL) {
        return QN_OK;
    }
    enum qn_status status = check_options(args, err);
    if (status != QN_OK) {
        return status;
    }
    const char *name = title(c);
    if (args->n_words < c->min_words) {
        return qn_fail(err, QN_EUSAGE, "%s needs %s: quern %s %s", name,
                       c->word, c->name, c->usage);
    }
    if (args->n_words > c->max_words) {
        return qn_fail(err, QN_EUSAGE, "'%s' is one word too many for %s%s",
                       args->words[c->max_words], name,
                       c->settings ? " (settings are written KEY=VALUE)" : "");
    }
    return QN_OK;
}

enum qn_status qn_args_parse(struct qn_args *args, int argc, char **argv,
                             struct qn_err *err)
{
    size_t room = (size_t)argc + 1;
    *args = (struct qn_args){0};
    args->assignments = qn_xcalloc(room, sizeof *args->assignments);
    args->sets = qn_xcalloc(room, sizeof *args->sets);
    args->words = qn_xcalloc(room, sizeof *args->words);

    struct reader r = {
        .args = args, .argv = argv, .argc = argc, .next = 1, .err = err};
    while (r.next < argc) {
        enum qn_status status = read_one(&r);
        if (status != QN_OK) {
            return status;
        }
    }
    if (args->command == NULL) {
        args->command = has_script_option(args) ? qn_command_script()
                                                : qn_command_workbench();
    }
    return check(args, err);
}

void qn_args_free(struct qn_args *args)
{
    free(args->assignments);
    free(args->sets);
    free(args->words);
    *args = (struct qn_args){0};
}
