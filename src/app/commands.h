/* commands.h - every command of the program, in one table. */
#ifndef QN_APP_COMMANDS_H
#define QN_APP_COMMANDS_H

#include "app/args.h"
#include "nn/settings.h"

#define QN_NO_LIMIT 1000000

struct qn_app_command {
    const char *name;  /* "" of the workbench, "SCRIPT.lua" of a script */
    const char *lead;  /* what may stand before the name, NULL = nothing */
    const char *usage; /* what follows the name */
    const char *help;  /* one line */
    const char *more;  /* lines below it in --help, NULL = none */
    int (*run)(const struct qn_args *args); /* the exit status */
    unsigned options; /* bits 1u << enum qn_option, the global ones apart */
    bool settings;    /* takes KEY=VALUE */
    /* Beginnings of the keys that make a difference, NULL at the end; without
     * them all keys do. */
    const char *const *keys;
    bool only_live; /* of these, the ones that may change in a live run */
    int min_words, max_words;
    const char *word; /* what the first word is, for its absence */
};

extern const struct qn_app_command qn_commands[];
extern const int qn_n_commands;

const struct qn_app_command *qn_command_find(const char *name); /* or NULL */
/* Whether the key makes a difference to the command; NULL takes all. */
bool qn_command_takes(const struct qn_app_command *c,
                      const struct qn_key_info *key);
const struct qn_app_command *qn_command_workbench(void);
const struct qn_app_command *qn_command_script(void);

int qn_cmd_train(const struct qn_args *args);
int qn_cmd_resume(const struct qn_args *args);
int qn_cmd_fork(const struct qn_args *args);
int qn_cmd_rerun(const struct qn_args *args);
int qn_cmd_compare(const struct qn_args *args);
int qn_cmd_eval(const struct qn_args *args);
int qn_cmd_stats(const struct qn_args *args);
int qn_cmd_sample(const struct qn_args *args);
int qn_cmd_import(const struct qn_args *args);
int qn_cmd_export(const struct qn_args *args);
int qn_cmd_params(const struct qn_args *args);
int qn_cmd_presets(const struct qn_args *args);
int qn_cmd_runs(const struct qn_args *args);
int qn_cmd_doctor(const struct qn_args *args);
int qn_cmd_bench(const struct qn_args *args);
int qn_cmd_help(const struct qn_args *args);

/* Text for --help; the exit status. */
int qn_help_program(void);
int qn_help_command(const struct qn_app_command *command);

#endif
