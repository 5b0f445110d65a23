/* args.h - a command line, taken apart.
 *
 *     quern [OPTION...] [COMMAND] [OPTION...] [KEY=VALUE...] [WORD...]
 *
 * Options may stand anywhere before a script's name; what follows that name
 * belongs to the script. All strings point into argv.
 */
#ifndef QN_APP_ARGS_H
#define QN_APP_ARGS_H

#include "base/status.h"

#include <stdbool.h>

enum qn_option {
    QN_OPT_STORE,
    QN_OPT_DATA,
    QN_OPT_JSON,
    QN_OPT_HELP,
    QN_OPT_VERSION,
    QN_OPT_PRESET,
    QN_OPT_CHECKPOINT,
    QN_OPT_FROM,
    QN_OPT_SPLIT,
    QN_OPT_TEXT,
    QN_OPT_OF,
    QN_OPT_NEAR,
    QN_OPT_PROMPT,
    QN_OPT_LENGTH,
    QN_OPT_TEMPERATURE,
    QN_OPT_TO,
    QN_OPT_FORMATS,
    QN_OPT_ONLY,
    QN_OPT_INTERACTIVE,
    QN_OPT_CHECK,
    QN_OPT_SET,
    QN_N_OPTIONS
};

struct qn_option_info {
    char letter;       /* 'p' of -p, 0 = none */
    const char *name;  /* "--preset" */
    const char *value; /* "PRESET", NULL when it takes none */
    const char *help;
    const char *key; /* the setting it stands for, NULL = none */
};
const struct qn_option_info *qn_option_info(enum qn_option option);

struct qn_app_command;

struct qn_args {
    const struct qn_app_command *command; /* never NULL after parsing */
    /* By enum qn_option: the last value given, "" for one without a value,
     * NULL when absent. --set is in 'sets' instead. */
    const char *option[QN_N_OPTIONS];
    const char **assignments; /* KEY=VALUE, in order */
    int n_assignments;
    const char **sets; /* values of --set, in order */
    int n_sets;
    const char **words; /* RUN, file, or SCRIPT and its ARGs */
    int n_words;
};

/* QN_EUSAGE with a sentence for what cannot be understood; args is to be freed
 * in any case. */
enum qn_status qn_args_parse(struct qn_args *args, int argc, char **argv,
                             struct qn_err *err);
void qn_args_free(struct qn_args *args);

#endif
