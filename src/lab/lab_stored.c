/* lab_stored.c - a run's folder, back into series and statistics. */
#include "lab/tables.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/store.h"
#include "train/schedule.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NaN where the line has no number: what was not finite is null in it. */
static double number_of(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static int64_t int_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static void read_step(struct lab_run *run, const json_t *line)
{
    struct qn_step_record r = {
        .step = int_of(line, "step"),
        .epoch = number_of(line, "epoch"),
        .loss = number_of(line, "loss"),
        .accuracy = number_of(line, "accuracy"),
        .lr = number_of(line, "lr"),
        .grad_norm = number_of(line, "grad_norm"),
        .tokens_per_s = number_of(line, "tokens_per_s"),
        .seconds = number_of(line, "seconds"),
    };
    if (!isfinite(r.seconds)) {
        r.seconds = run->train_seconds;
    }
    qn_lab_intake_step(run, &r);
}

static bool read_metric(void *user, const json_t *line)
{
    struct lab_run *run = user;
    const char *event = text_of(line, "event");
    struct qn_evaluation e = {.loss = number_of(line, "loss"),
                              .accuracy = number_of(line, "accuracy")};
    if (qn_str_eq(event, "step")) {
        read_step(run, line);
    } else if (qn_str_eq(event, "eval") &&
               qn_split_parse(text_of(line, "split"), &e.split)) {
        qn_lab_intake_eval(run, int_of(line, "step"), &e);
    }
    return true;
}

static bool refill_step(void *user, const json_t *line)
{
    struct lab_run *run = user;
    if (qn_str_eq(text_of(line, "event"), "step") &&
        int_of(line, "step") > run->newest.step) {
        read_step(run, line);
    }
    return true;
}

/* Some thousand steps: read and parsed while a person does not notice. */
#define REFILL_BYTES ((size_t)2 << 20)

void qn_lab_refill(struct lab_run *run)
{
    /* What is older than that, or an unreadable file, leaves a gap in the
     * curve: the screen must not wait for a file that only grows. */
    (void)qn_run_dir_tail(run->dir, QN_METRICS, REFILL_BYTES, refill_step, run,
                          NULL);
}

/* Pairs [bin, count] into one side of a histogram. */
static void read_bins(uint64_t *bin, const json_t *pairs)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(pairs, i, pair)
    {
        json_int_t at = json_integer_value(json_array_get(pair, 0));
        json_int_t count = json_integer_value(json_array_get(pair, 1));
        if (at >= 0 && at < QN_HIST_BINS && count > 0) {
            bin[at] = (uint64_t)count;
        }
    }
}

/* A damaged file may hold a number below 0. */
static uint64_t count_of(const json_t *object, const char *key)
{
    int64_t n = int_of(object, key);
    return n > 0 ? (uint64_t)n : 0;
}

static void read_hist(struct qn_hist *h, const json_t *shares,
                      const json_t *bins)
{
    h->n_negative = count_of(shares, "n_negative");
    h->n_near = count_of(shares, "n_near");
    h->n_positive = count_of(shares, "n_positive");
    h->n_zero = count_of(shares, "n_zero");
    h->n_nan = count_of(shares, "n_nan");
    read_bins(h->bin[QN_HIST_NEGATIVE], json_object_get(bins, "negative"));
    read_bins(h->bin[QN_HIST_POSITIVE], json_object_get(bins, "positive"));
}

/* Which histogram an entry is: its layer from 0 and its quantity. */
static bool read_place(const json_t *entry, int *layer, enum qn_quantity *of)
{
    int64_t number = int_of(entry, "layer");
    if (number < 1 || number > QN_MAX_LAYERS ||
        !qn_quantity_parse(text_of(entry, "of"), of)) {
        return false;
    }
    *layer = (int)number - 1;
    return true;
}

/* What was counted of how many layers. */
static void read_extent(struct qn_stats_record *stats, const json_t *layers)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(layers, i, entry)
    {
        int layer;
        enum qn_quantity of;
        if (read_place(entry, &layer, &of)) {
            stats->of |= 1u << of;
            stats->n_layers =
                layer >= stats->n_layers ? layer + 1 : stats->n_layers;
        }
    }
}

/* Every histogram that is there has the threshold, so that they can be merged
 * whatever the line left out. */
static void init_hists(struct qn_stats_record *stats, double threshold)
{
    for (int i = 0; i < stats->n_layers; i++) {
        for (int of = 0; of < QN_N_QUANTITIES; of++) {
            if ((stats->of & 1u << of) != 0) {
                qn_hist_init(&stats->layer[i][of], (float)threshold);
            }
        }
    }
}

/* Every line replaces the one before: the newest stays. An entry says by itself
 * which layer and quantity it is about; its bins stand at the same place of
 * their own array. */
static bool read_stats(void *user, const json_t *line)
{
    struct lab_run *run = user;
    const json_t *layers = json_object_get(line, "layers");
    const json_t *bins = json_object_get(line, "bins");
    double threshold = number_of(line, "threshold");
    if (!qn_str_eq(text_of(line, "event"), "stats")) {
        return true;
    }
    if (run->stats == NULL) {
        run->stats = qn_xmalloc(sizeof *run->stats);
    }
    memset(run->stats, 0, sizeof *run->stats);
    run->stats->step = int_of(line, "step");
    read_extent(run->stats, layers);
    /* A histogram keeps it as a float, which must be above 0, too. */
    bool sane = threshold >= (double)FLT_MIN && threshold <= (double)FLT_MAX;
    init_hists(run->stats, sane ? threshold : run->spec.stats.near);
    size_t i;
    const json_t *entry;
    json_array_foreach(layers, i, entry)
    {
        int layer;
        enum qn_quantity of;
        if (read_place(entry, &layer, &of)) {
            read_hist(&run->stats->layer[layer][of], entry,
                      json_array_get(bins, i));
        }
    }
    return true;
}

static bool read_event(void *user, const json_t *line)
{
    struct lab_run *run = user;
    const char *event = text_of(line, "event");
    if (qn_str_eq(event, "sample")) {
        qn_lab_set_sample(run, text_of(line, "text"));
    } else if (qn_str_eq(event, "set")) {
        /* A value that this version refuses stays as spec.json has it. */
        (void)qn_settings_change(&run->spec, text_of(line, "key"),
                                 text_of(line, "value"), NULL);
    } else if (qn_str_eq(event, "done")) {
        /* With what came after the last step; fmax: NaN is none, and a run that
         * was resumed then is further. */
        run->train_seconds =
            fmax(run->train_seconds, number_of(line, "seconds"));
    } else if (qn_str_eq(event, "failed")) {
        (void)snprintf(run->error, sizeof run->error, "%s",
                       text_of(line, "error"));
    }
    return true;
}

static void forget_history(struct lab_run *run)
{
    for (int i = 0; i < LAB_N_METRICS; i++) {
        qn_series_clear(run->series[i]);
    }
    free(run->stats);
    run->stats = NULL;
    qn_lab_reset_progress(run);
    run->error[0] = '\0';
}

enum qn_status qn_lab_read_history(struct lab_run *run, struct qn_err *err)
{
    static const qn_line_fn reader[QN_N_RUN_FILES] = {
        [QN_METRICS] = read_metric,
        [QN_EVENTS] = read_event,
        [QN_STATS] = read_stats,
    };
    forget_history(run);
    for (int f = 0; f < QN_N_RUN_FILES; f++) {
        enum qn_status status = qn_run_dir_lines(run->dir, (enum qn_run_file)f,
                                                 reader[f], run, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (run->newest.epoch > 0) {
        run->steps_per_epoch =
            llround((double)run->newest.step / run->newest.epoch);
        run->steps_total = qn_total_steps(&run->spec, run->steps_per_epoch);
    }
    return QN_OK;
}

/* A stored run never counts as active here, whoever else may be training it. */
static void set_stored_state(struct lab_run *run, const char *state)
{
    if (qn_str_eq(state, "done")) {
        run->state = QN_LAB_DONE;
    } else if (qn_str_eq(state, "failed")) {
        run->state = QN_LAB_FAILED;
    } else {
        run->state = QN_LAB_STOPPED;
    }
    if (qn_str_eq(state, "running") || qn_str_eq(state, "paused")) {
        (void)snprintf(run->error, sizeof run->error,
                       "another process trains it");
    } else if (qn_str_eq(state, "interrupted")) {
        (void)snprintf(run->error, sizeof run->error,
                       "it was interrupted and can be resumed");
    }
}

static enum qn_status read_state(struct lab_run *run, struct qn_err *err)
{
    char *store = qn_xstrndup(run->dir, (size_t)(run->folder - run->dir));
    struct qn_run_summary *all = NULL;
    int n = 0;
    enum qn_status status =
        qn_store_list(store[0] != '\0' ? store : ".", &all, &n, NULL, err);
    for (int i = 0; status == QN_OK && i < n; i++) {
        if (qn_str_eq(all[i].id, run->folder)) {
            set_stored_state(run, all[i].state);
        }
    }
    free(all);
    free(store);
    return status;
}

static enum qn_status read_spec(const char *dir, struct qn_spec *spec,
                                struct qn_err *err)
{
    struct qn_bytes json = {0};
    enum qn_status status = qn_run_dir_read(dir, "spec.json", &json, err);
    if (status == QN_OK) {
        status = qn_spec_parse(json.data, json.len, spec, err);
        if (status != QN_OK) {
            char where[QN_PATH_LEN];
            (void)snprintf(where, sizeof where, "%s/spec.json", dir);
            (void)qn_fail_in(err, status, where);
        }
    }
    qn_bytes_free(&json);
    return status;
}

static enum qn_status open_dir(struct qn_lab *lab, const char *dir,
                               qn_run_id *out, struct qn_err *err)
{
    struct lab_run *run = qn_lab_find_dir(lab, dir);
    if (run != NULL) {
        *out = run->id;
        return QN_OK;
    }
    struct qn_spec spec;
    enum qn_status status = read_spec(dir, &spec, err);
    if (status != QN_OK) {
        return status;
    }
    run = qn_lab_add_run(lab, dir, &spec);
    status = qn_lab_read_history(run, err);
    if (status == QN_OK) {
        status = read_state(run, err);
    }
    if (status != QN_OK) {
        qn_lab_drop_last_run(lab);
        return status;
    }
    *out = run->id;
    return QN_OK;
}

enum qn_status qn_lab_open_stored(struct qn_lab *lab, const char *name,
                                  qn_run_id *out, struct qn_err *err)
{
    char *dir = NULL;
    enum qn_status status =
        qn_store_find(lab->env.store, name, &dir, NULL, err);
    if (status == QN_OK) {
        status = open_dir(lab, dir, out, err);
    }
    free(dir);
    return status;
}
