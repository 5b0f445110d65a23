/* commands.c - the table of commands: name, usage, options, function. */
#include "app/commands.h"

#include "app/workbench.h"
#include "base/str.h"

#include <stddef.h>

#define BIT(option) (1u << (option))
#define WHICH (BIT(QN_OPT_CHECKPOINT))

static const char *const eval_keys[] = {
    "threads", "data.", "eval.batch", "eval.limit", "eval.floor", NULL};
static const char *const fork_keys[] = {
    "name",       "tags",  "notes",  "seed",  "threads", "epochs",
    "steps",      "model", "loss",   "optim", "eval",    "stats",
    "checkpoint", "stop",  "sample", "log",   NULL};
static const char *const stats_keys[] = {"threads",    "data.",    "eval.batch",
                                         "eval.limit", "stats.of", "stats.near",
                                         NULL};
static const char *const sample_keys[] = {"threads",       "sample.prompt",
                                          "sample.length", "sample.temperature",
                                          "sample.seed",   NULL};
static const char *const bench_keys[] = {
    "threads",      "batch",  "seq",   "task",  "data.vocab_size",
    "data.vectors", "model.", "loss.", "optim", NULL};

static const char bench_more[] =
    "--only takes one of these, of ptb-char/drelu-4x250 or what -p names:\n"
    "  train    that; without -p ptb-char/drelu-2x250, -4x250 and -4x500\n"
    "  ops      every operation of a step, beside product and memory\n"
    "  steps    16,384 symbols a step, as 512 x 32 to 4 x 4,096\n"
    "  batch    1, 2, 4 to 512 streams, and one symbol of one stream\n"
    "  layers   1 to 8 layers\n"
    "  threads  1 to all cores\n"
    "  lstm     QRNNs beside LSTMs of equal size\n"
    "  all      all of these, some minutes\n"
    "STEPS of each network are measured, 5 of them; by steps, batch, layers\n"
    "and threads 6, half of them in a second round through all networks.\n"
    "Ctrl-C ends it, after a step or two, with what was measured until then;\n"
    "a second one at once.\n";

const struct qn_app_command qn_commands[] = {
    {.name = "",
     .usage = "[-p PRESET] [KEY=VALUE...]",
     .help = "the workbench; with -p or keys it starts that run",
     .run = qn_workbench,
     .options = BIT(QN_OPT_PRESET),
     .settings = true},
    {.name = "SCRIPT.lua",
     .lead = "[-i] [--check] [--set KEY=VALUE]...",
     .usage = "[ARG...]",
     .help = "run a script without a screen; -i opens the workbench with it",
     .run = qn_run_script,
     .options = BIT(QN_OPT_INTERACTIVE) | BIT(QN_OPT_CHECK) | BIT(QN_OPT_SET),
     .min_words = 1,
     .max_words = QN_NO_LIMIT,
     .word = "a script"},
    {.name = "train",
     .usage = "[-p PRESET] [KEY=VALUE...]",
     .help = "train without a screen: a line per log.every, or JSON Lines",
     .run = qn_cmd_train,
     .options = BIT(QN_OPT_PRESET),
     .settings = true},
    {.name = "resume",
     .usage = "RUN [KEY=VALUE...]",
     .help = "go on with a run from its last checkpoint",
     .run = qn_cmd_resume,
     .only_live = true,
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "fork",
     .usage = "RUN [--from WHICH] [KEY=VALUE...]",
     .help = "train a new run from a checkpoint of another one",
     .run = qn_cmd_fork,
     .keys = fork_keys,
     .options = BIT(QN_OPT_FROM),
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "rerun",
     .usage = "RUN [KEY=VALUE...]",
     .help = "do again what a run did, and say whether it came out the same",
     .run = qn_cmd_rerun,
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "compare",
     .usage = "RUN RUN",
     .help = "say whether two runs came out the same and what differs",
     .run = qn_cmd_compare,
     .min_words = 2,
     .max_words = 2,
     .word = "two runs"},
    {.name = "eval",
     .usage = "RUN [--checkpoint WHICH] [--split SPLIT | --text FILE] "
              "[KEY=VALUE...]",
     .help = "the loss of a run's weights on a split, or labels for texts",
     .run = qn_cmd_eval,
     .keys = eval_keys,
     .options = WHICH | BIT(QN_OPT_SPLIT) | BIT(QN_OPT_TEXT),
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "stats",
     .usage = "RUN [--checkpoint WHICH] [--split SPLIT] [--of LIST] "
              "[--near T[,T...]] [KEY=VALUE...]",
     .help = "shares of negative, near-zero and positive values",
     .run = qn_cmd_stats,
     .keys = stats_keys,
     .options = WHICH | BIT(QN_OPT_SPLIT) | BIT(QN_OPT_OF) | BIT(QN_OPT_NEAR),
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "sample",
     .usage = "RUN [--checkpoint WHICH] [--prompt TEXT] [--length N] "
              "[--temperature T] [KEY=VALUE...]",
     .help = "let a run's weights write",
     .run = qn_cmd_sample,
     .keys = sample_keys,
     .options = WHICH | BIT(QN_OPT_PROMPT) | BIT(QN_OPT_LENGTH) |
                BIT(QN_OPT_TEMPERATURE),
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "import",
     .usage = "WEIGHTS.safetensors [-p PRESET] [KEY=VALUE...]",
     .help = "make a run from weights trained elsewhere",
     .run = qn_cmd_import,
     .options = BIT(QN_OPT_PRESET),
     .settings = true,
     .min_words = 1,
     .max_words = 1,
     .word = "a file of weights"},
    {.name = "export",
     .usage = "RUN --to DIR [--formats LIST]",
     .help = "write a run's numbers and best weights for other programs",
     .run = qn_cmd_export,
     .options = BIT(QN_OPT_TO) | BIT(QN_OPT_FORMATS),
     .min_words = 1,
     .max_words = 1,
     .word = "a run"},
    {.name = "runs",
     .usage = "",
     .help = "list the runs of the store",
     .run = qn_cmd_runs},
    {.name = "params",
     .usage = "[RUN | -p PRESET] [KEY=VALUE...]",
     .help = "count the parameters and list the tensors",
     .run = qn_cmd_params,
     .options = BIT(QN_OPT_PRESET),
     .settings = true,
     .max_words = 1},
    {.name = "presets",
     .usage = "",
     .help = "list the presets",
     .run = qn_cmd_presets},
    {.name = "bench",
     .usage = "[--only WHAT] [-p PRESET] [KEY=VALUE...] [STEPS]",
     .help = "measure training speed against the machine's own product",
     .more = bench_more,
     .run = qn_cmd_bench,
     .keys = bench_keys,
     .options = BIT(QN_OPT_ONLY) | BIT(QN_OPT_PRESET),
     .settings = true,
     .max_words = 1},
    {.name = "doctor",
     .usage = "",
     .help = "check terminal, libraries, memory, store and data",
     .run = qn_cmd_doctor},
    {.name = "help",
     .usage = "[COMMAND | settings | KEY]",
     .help = "this text, a command's, all settings, or one",
     .run = qn_cmd_help,
     .max_words = 1},
};
const int qn_n_commands = (int)(sizeof qn_commands / sizeof qn_commands[0]);

const struct qn_app_command *qn_command_workbench(void)
{
    return &qn_commands[0];
}

const struct qn_app_command *qn_command_script(void)
{
    return &qn_commands[1];
}

const struct qn_app_command *qn_command_find(const char *name)
{
    for (int i = 2; i < qn_n_commands; i++) {
        if (qn_str_eq(qn_commands[i].name, name)) {
            return &qn_commands[i];
        }
    }
    return NULL;
}

bool qn_command_takes(const struct qn_app_command *c,
                      const struct qn_key_info *key)
{
    if (c == NULL || (c->only_live && key->live)) {
        return true;
    }
    for (int i = 0; c->keys != NULL && c->keys[i] != NULL; i++) {
        if (qn_starts_with(key->key, c->keys[i])) {
            return true;
        }
    }
    return c->keys == NULL && !c->only_live;
}
