/* sweep.c - the shapes of a question: how the cost changes with one of them. */
#include "bench/sweep.h"

#include "bench/rig.h"

#include "base/mem.h"
#include "nn/settings.h"

#include <stdio.h>
#include <stdlib.h>

#define SYMBOLS_OF_A_STEP 16384
#define LEAST_STEPS 32
#define MOST_STEPS 4096
#define MOST_STREAMS 512
#define MOST_LAYERS 8

/* --- shapes ------------------------------------------------------------- */

enum qn_status qn_bench_shape(const struct qn_bench_source *source,
                              const char *const *settings,
                              struct qn_shape *shape, struct qn_err *err)
{
    *shape = (struct qn_shape){.preset = source->preset};
    struct qn_settings *s = qn_settings_new();
    enum qn_status status = qn_settings_preset(s, source->preset, err);
    /* A wrong name on the command line is a misuse, not a failure. */
    status = status == QN_ENOTFOUND ? QN_EUSAGE : status;
    for (int i = 0; status == QN_OK && i < source->n_assignments; i++) {
        qn_settings_assign(s, source->assignments[i], QN_FROM_USER);
    }
    for (int i = 0; settings != NULL && settings[i] != NULL; i++) {
        qn_settings_assign(s, settings[i], QN_FROM_PRESET);
    }
    if (status == QN_OK) {
        status = qn_settings_finish(s, &shape->spec, err);
    }
    qn_settings_free(s);
    if (status == QN_OK) {
        shape->steps = qn_rig_steps(&shape->spec);
    }
    return status;
}

void qn_shapes_free(struct qn_shapes *shapes)
{
    qn_str_free(&shapes->note);
    free(shapes->list);
    *shapes = (struct qn_shapes){.n = 0};
}

struct qn_shape *qn_shapes_add(struct qn_shapes *shapes)
{
    size_t n = (size_t)shapes->n + 1;
    shapes->list = qn_xrealloc(shapes->list, n, sizeof *shapes->list);
    struct qn_shape *shape = &shapes->list[shapes->n++];
    *shape = (struct qn_shape){.preset = NULL};
    return shape;
}

/* --- sweeps ------------------------------------------------------------- */

/* What the sweeps share. */
struct sweep {
    const struct qn_bench_env *env;
    const struct qn_bench_source *source;
    struct qn_shapes *out;
    struct qn_err *err;
};

#define SETTING 48 /* room for "model.batch_norm=false" and its like */

/* One more shape, with "KEY=value"; its place. */
static enum qn_status add(struct sweep *w, const char *key, int value,
                          struct qn_shape **out)
{
    char setting[SETTING];
    (void)snprintf(setting, sizeof setting, "%s=%d", key, value);
    *out = qn_shapes_add(w->out);
    const char *const settings[] = {setting, NULL};
    return qn_bench_shape(w->source, settings, *out, w->err);
}

/* Documents are as long as the sweep says, too. */
static enum qn_status add_segment(struct sweep *w, int batch, int steps,
                                  bool batch_norm)
{
    char streams[SETTING], seq[SETTING];
    (void)snprintf(streams, sizeof streams, "batch=%d", batch);
    (void)snprintf(seq, sizeof seq, "seq=%d", steps);
    const char *const settings[] = {
        streams, seq, batch_norm ? NULL : "model.batch_norm=false", NULL};
    struct qn_shape *shape = qn_shapes_add(w->out);
    enum qn_status status = qn_bench_shape(w->source, settings, shape, w->err);
    shape->steps = steps;
    return status;
}

static enum qn_status sweep_steps(struct sweep *w)
{
    enum qn_status status = QN_OK;
    for (int t = LEAST_STEPS; t <= MOST_STEPS && status == QN_OK; t *= 2) {
        status = add_segment(w, SYMBOLS_OF_A_STEP / t, t, true);
    }
    return status;
}

/* The first that has no room ends the list, and its sentence is the note. */
static enum qn_status sweep_batch(struct sweep *w)
{
    /* One symbol has nothing to be normalised with. */
    enum qn_status status = add_segment(w, 1, 1, false);
    for (int b = 1; b <= MOST_STREAMS && status == QN_OK; b *= 2) {
        struct qn_shape *shape = NULL;
        struct qn_err why;
        status = add(w, "batch", b, &shape);
        if (status == QN_OK &&
            qn_shape_check(w->env, shape, shape, 0, &why) != QN_OK) {
            qn_str_addf(&w->out->note, "batch %d and more: %s", b, why.text);
            w->out->n--;
            break;
        }
    }
    return status;
}

static enum qn_status sweep_layers(struct sweep *w)
{
    enum qn_status status = QN_OK;
    struct qn_shape *shape;
    for (int n = 1; n <= MOST_LAYERS && status == QN_OK; n++) {
        status = add(w, "model.layers", n, &shape);
    }
    return status;
}

static enum qn_status sweep_threads(struct sweep *w)
{
    enum qn_status status = QN_OK;
    struct qn_shape *shape;
    for (int n = 1; n <= qn_pool_size(w->env->pool) && status == QN_OK; n++) {
        status = add(w, "threads", n, &shape);
        shape->workers = n;
    }
    return status;
}

enum qn_status qn_sweep_shapes(enum qn_sweep sweep,
                               const struct qn_bench_env *env,
                               const struct qn_bench_source *source,
                               struct qn_shapes *out, struct qn_err *err)
{
    static enum qn_status (*const make[QN_N_SWEEPS])(struct sweep *) = {
        [QN_SWEEP_STEPS] = sweep_steps,
        [QN_SWEEP_BATCH] = sweep_batch,
        [QN_SWEEP_LAYERS] = sweep_layers,
        [QN_SWEEP_THREADS] = sweep_threads,
    };
    *out = (struct qn_shapes){.n = 0};
    struct sweep w = {env, source, out, err};
    return make[sweep](&w);
}

bool qn_sweep_sets(enum qn_sweep sweep, const char *key)
{
    static const char *const keys[QN_N_SWEEPS][2] = {
        [QN_SWEEP_STEPS] = {"batch", "seq"},
        [QN_SWEEP_BATCH] = {"batch", NULL},
        [QN_SWEEP_LAYERS] = {"model.layers", NULL},
        [QN_SWEEP_THREADS] = {"threads", NULL},
    };
    return qn_str_eq(key, keys[sweep][0]) ||
           (keys[sweep][1] != NULL && qn_str_eq(key, keys[sweep][1]));
}
