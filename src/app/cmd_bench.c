/* cmd_bench.c - quern bench: what to measure, from the command line; measuring
 * is src/bench's, and what is said of it bench_report.h's. */
#include "app/commands.h"

#include "app/bench_report.h"
#include "app/context.h"
#include "app/interrupt.h"
#include "app/out.h"
#include "base/str.h"
#include "bench/versus_lstm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of which all but train are, unless -p names another. */
#define USUAL_PRESET "ptb-char/drelu-4x250"
#define STEPS 5
#define MOST_STEPS 1000000
/* Of each shape of a list that is gone through twice, since the neighbours on
 * the machine come and go. */
#define SWEEP_ROUNDS 2
#define SWEEP_STEPS 6

#define SCREEN_WIDTH 80

/* What a person wants, understood. */
struct wish {
    const struct qn_args *args;
    bool json;
    bool parts[QN_N_BENCH_PARTS];
    int64_t steps; /* 0 = the usual */
};

static int64_t steps_or(const struct wish *w, int64_t usual)
{
    return w->steps > 0 ? w->steps : usual;
}

static struct qn_bench_source source_of(const struct wish *w,
                                        const char *usual_preset)
{
    const char *preset = w->args->option[QN_OPT_PRESET];
    return (struct qn_bench_source){.preset =
                                        preset != NULL ? preset : usual_preset,
                                    .assignments = w->args->assignments,
                                    .n_assignments = w->args->n_assignments};
}

/* --- understanding ------------------------------------------------------ */

#define ALL QN_N_BENCH_PARTS /* its place among the names */

static void name_parts(const char *names[ALL + 1])
{
    for (int i = 0; i < ALL; i++) {
        names[i] = qn_bench_part_name((enum qn_bench_part)i);
    }
    names[ALL] = "all";
}

static enum qn_status no_part(const char *only, const char *const *names,
                              struct qn_err *err)
{
    struct qn_str list = {0};
    for (int i = 0; i < ALL; i++) {
        qn_str_addf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    int near = qn_nearest(only, names, ALL + 1);
    enum qn_status status =
        qn_fail(err, QN_EUSAGE, "--only is '%s', must be %s or all%s%s%s", only,
                list.text, near < 0 ? "" : " (did you mean '",
                near < 0 ? "" : names[near], near < 0 ? "" : "'?)");
    qn_str_free(&list);
    return status;
}

static enum qn_status read_only(struct wish *w, struct qn_err *err)
{
    const char *names[ALL + 1];
    name_parts(names);
    const char *only = w->args->option[QN_OPT_ONLY];
    only = only != NULL ? only : names[QN_BENCH_TRAIN];
    bool known = false;
    for (int i = 0; i < ALL; i++) {
        w->parts[i] = qn_str_eq(only, names[i]) || qn_str_eq(only, names[ALL]);
        known = known || w->parts[i];
    }
    return known ? QN_OK : no_part(only, names, err);
}

static bool part_sets(enum qn_bench_part part, const char *key)
{
    switch (part) {
    case QN_BENCH_STEPS:
        return qn_sweep_sets(QN_SWEEP_STEPS, key);
    case QN_BENCH_BATCH:
        return qn_sweep_sets(QN_SWEEP_BATCH, key);
    case QN_BENCH_LAYERS:
        return qn_sweep_sets(QN_SWEEP_LAYERS, key);
    case QN_BENCH_THREADS:
        return qn_sweep_sets(QN_SWEEP_THREADS, key);
    case QN_BENCH_LSTM:
        return qn_versus_sets(key);
    default:
        return false;
    }
}

/* Does every part that is wanted set this key itself? */
static bool is_varied(const struct wish *w, const char *key)
{
    for (int i = 0; i < QN_N_BENCH_PARTS; i++) {
        if (w->parts[i] && !part_sets((enum qn_bench_part)i, key)) {
            return false;
        }
    }
    return true;
}

/* A setting without effect would stand above the table as if it had one. A
 * misspelt key is the settings' to refuse. */
static enum qn_status check_settings(const struct wish *w, struct qn_err *err)
{
    for (int i = 0; i < w->args->n_assignments; i++) {
        const char *text = w->args->assignments[i];
        struct qn_str key = {0};
        qn_str_addf(&key, "%.*s", (int)strcspn(text, "="), text);
        const struct qn_key_info *info = qn_key_find(key.text);
        qn_str_free(&key);
        if (info != NULL && !qn_command_takes(w->args->command, info)) {
            return qn_fail(err, QN_EUSAGE,
                           "%s makes no difference to bench (quern bench "
                           "--help lists what does)",
                           info->key);
        }
        if (info != NULL && is_varied(w, info->key)) {
            return qn_fail(err, QN_EUSAGE,
                           "%s makes no difference to bench --only %s, which "
                           "sets it itself",
                           info->key, w->args->option[QN_OPT_ONLY]);
        }
    }
    return QN_OK;
}

/* What was meant for an option, and has no other place. */
static const char *option_for(const char *word)
{
    const char *names[ALL + 1];
    name_parts(names);
    for (int i = 0; i <= ALL; i++) {
        if (qn_str_eq(word, names[i])) {
            return "; --only takes what to measure";
        }
    }
    for (int i = 0; i < qn_n_presets(); i++) {
        if (qn_str_eq(word, qn_preset_at(i)->name)) {
            return "; -p takes a preset";
        }
    }
    return "";
}

static enum qn_status read_steps(struct wish *w, const char *text,
                                 struct qn_err *err)
{
    if (qn_parse_int(text, &w->steps) && w->steps >= 1 &&
        w->steps <= MOST_STEPS) {
        return QN_OK;
    }
    return qn_fail(err, QN_EUSAGE,
                   "STEPS is '%s', must be a whole number from 1 to %d%s", text,
                   MOST_STEPS, option_for(text));
}

static enum qn_status understand(struct wish *w, const struct qn_args *args,
                                 struct qn_err *err)
{
    *w = (struct wish){.args = args, .json = args->option[QN_OPT_JSON] != NULL};
    enum qn_status status = read_only(w, err);
    if (status == QN_OK) {
        status = check_settings(w, err);
    }
    if (status == QN_OK && args->n_words > 0) {
        status = read_steps(w, args->words[0], err);
    }
    return status;
}

/* --- measuring ---------------------------------------------------------- */

/* The preset of -p, or three of different size, to be measured in turns. */
static enum qn_status make_train(const struct wish *w, struct qn_shapes *out,
                                 struct qn_err *err)
{
    const char *const presets[] = {
        "ptb-char/drelu-2x250", "ptb-char/drelu-4x250", "ptb-char/drelu-4x500"};
    int n = w->args->option[QN_OPT_PRESET] != NULL ? 1 : 3;
    enum qn_status status = QN_OK;
    for (int i = 0; i < n && status == QN_OK; i++) {
        struct qn_bench_source source = source_of(w, presets[i]);
        status = qn_bench_shape(&source, NULL, qn_shapes_add(out), err);
    }
    return status;
}

static enum qn_status make_shapes(const struct wish *w,
                                  const struct qn_bench_env *env,
                                  enum qn_bench_part part,
                                  struct qn_shapes *out, struct qn_err *err)
{
    struct qn_bench_source source = source_of(w, USUAL_PRESET);
    switch (part) {
    case QN_BENCH_STEPS:
        return qn_sweep_shapes(QN_SWEEP_STEPS, env, &source, out, err);
    case QN_BENCH_BATCH:
        return qn_sweep_shapes(QN_SWEEP_BATCH, env, &source, out, err);
    case QN_BENCH_LAYERS:
        return qn_sweep_shapes(QN_SWEEP_LAYERS, env, &source, out, err);
    case QN_BENCH_THREADS:
        return qn_sweep_shapes(QN_SWEEP_THREADS, env, &source, out, err);
    case QN_BENCH_LSTM:
        return qn_versus_shapes(&source, out, err);
    case QN_BENCH_OPS:
        return qn_bench_shape(&source, NULL, qn_shapes_add(out), err);
    default:
        return make_train(w, out, err);
    }
}

/* Of all parts before any is measured, which takes minutes: a mistake is said
 * at once. */
static enum qn_status make_all(const struct wish *w,
                               const struct qn_bench_env *env,
                               struct qn_bench_results *r, struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (int i = 0; i < QN_N_BENCH_PARTS && status == QN_OK; i++) {
        enum qn_bench_part part = (enum qn_bench_part)i;
        if (w->parts[part]) {
            status = make_shapes(w, env, part, &r->shapes[part], err);
        }
    }
    return status;
}

static enum qn_status measure_part(const struct wish *w,
                                   const struct qn_bench_env *env,
                                   enum qn_bench_part part,
                                   struct qn_bench_results *r,
                                   struct qn_err *err)
{
    struct qn_shapes *shapes = &r->shapes[part];
    if (part == QN_BENCH_OPS) {
        return qn_measure_ops(env, &shapes->list[0], steps_or(w, STEPS),
                              &r->ops, err);
    }
    bool together = part == QN_BENCH_TRAIN || part == QN_BENCH_LSTM;
    struct qn_turns turns = {.steps =
                                 steps_or(w, together ? STEPS : SWEEP_STEPS),
                             .rounds = together ? 1 : SWEEP_ROUNDS,
                             .together = together};
    return qn_measure_shapes(env, shapes->list, shapes->n, &turns, err);
}

/* A terminal shows nothing else for minutes: there, where it is, on a line that
 * the next one replaces. */
static bool go_on(void *part, int64_t done, int64_t all)
{
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r%s: %lld of %lld",
                      qn_bench_part_name(*(enum qn_bench_part *)part),
                      (long long)done + 1, (long long)all);
    }
    return !qn_interrupted();
}

static bool has_figures(const struct qn_bench_results *r,
                        enum qn_bench_part part)
{
    const struct qn_shapes *shapes = &r->shapes[part];
    return part == QN_BENCH_OPS
               ? r->ops.n_rows > 0
               : qn_shapes_measured(shapes->list, shapes->n) > 0;
}

static enum qn_status measure(const struct wish *w,
                              const struct qn_bench_env *env,
                              enum qn_bench_part part,
                              struct qn_bench_results *r, struct qn_err *err)
{
    struct qn_bench_env asked = *env;
    asked.go_on = go_on;
    asked.go_on_arg = &part;
    enum qn_status status = measure_part(w, &asked, part, r, err);
    bool known = status == QN_OK || status == QN_ESTOPPED;
    r->done[part] = known && has_figures(r, part);
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r%*s\r", SCREEN_WIDTH / 2, "");
    }
    return status;
}

/* The tables name presets: what a person changed in them stands above. */
static void say_settings(const struct wish *w, struct qn_out *out)
{
    struct qn_str line = {0};
    qn_str_add(&line, "with");
    for (int i = 0; i < w->args->n_assignments; i++) {
        const char *setting = w->args->assignments[i];
        if (line.len + 1 + strlen(setting) > SCREEN_WIDTH) {
            (void)qn_out_line(out, line.text);
            qn_str_clear(&line);
            qn_str_add(&line, "    ");
        }
        qn_str_addf(&line, " %s", setting);
    }
    if (w->args->n_assignments > 0) {
        (void)qn_out_line(out, line.text);
    }
    qn_str_free(&line);
}

/* One of several is told from the others by its name. */
static void begin_table(const struct wish *w, enum qn_bench_part part,
                        bool first, struct qn_out *out)
{
    int n = 0;
    for (int i = 0; i < QN_N_BENCH_PARTS; i++) {
        n += w->parts[i];
    }
    if (n > 1) {
        (void)qn_out_linef(out, "%s%s:", first ? "" : "\n",
                           qn_bench_part_name(part));
    }
}

/* Each table when it is there: some take a minute. */
static enum qn_status bench(const struct wish *w,
                            const struct qn_bench_env *env,
                            struct qn_bench_results *r, struct qn_out *out,
                            struct qn_err *err)
{
    bool first = true;
    enum qn_status status = make_all(w, env, r, err);
    if (status == QN_OK && !w->json) {
        say_settings(w, out);
    }
    /* Nothing more is measured when nobody reads any more. */
    for (int i = 0; i < QN_N_BENCH_PARTS && status == QN_OK && !out->failed;
         i++) {
        enum qn_bench_part part = (enum qn_bench_part)i;
        if (!w->parts[part]) {
            continue;
        }
        status = measure(w, env, part, r, err);
        if (r->done[part] && !w->json) {
            begin_table(w, part, first, out);
            qn_bench_text(out, r, part);
        }
        first = false;
    }
    r->stopped = status == QN_ESTOPPED;
    if ((status == QN_OK || r->stopped) && w->json) {
        qn_bench_json(out, r);
    }
    return status;
}

int qn_cmd_bench(const struct qn_args *args)
{
    struct wish wish;
    struct qn_err err;
    enum qn_status status = understand(&wish, args, &err);
    if (status != QN_OK) {
        return qn_give_up(status, &err);
    }
    struct qn_context c;
    struct qn_out out = {.failed = false};
    qn_context_init(&c, args);
    qn_interrupt_catch();
    struct qn_bench_env env = {.pool = c.env.pool, .backend = c.env.backend};
    struct qn_bench_results results = {.threads = qn_pool_size(env.pool)};
    status = bench(&wish, &env, &results, &out, &err);
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    qn_bench_results_free(&results);
    qn_context_fini(&c);
    return qn_out_close(&out, result);
}
