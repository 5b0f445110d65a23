/* sweep.h - the shapes of a question: how the cost changes with one of them.
 *
 * Every shape is a preset's network with the settings that a person gave and
 * then those of the sweep, put together as a run's would be. */
#ifndef QN_BENCH_SWEEP_H
#define QN_BENCH_SWEEP_H

#include "base/str.h"
#include "bench/measure.h"

enum qn_sweep {
    QN_SWEEP_STEPS,   /* 16,384 symbols a step, as 512 x 32 ... 4 x 4,096 */
    QN_SWEEP_BATCH,   /* 1 x 1, then 1, 2, 4 ... 512 streams of the preset */
    QN_SWEEP_LAYERS,  /* 1 ... 8 */
    QN_SWEEP_THREADS, /* 1 ... all cores, of the split and of the pool */
    QN_N_SWEEPS
};

/* What the shapes come from. */
struct qn_bench_source {
    const char *preset;
    const char *const *assignments; /* KEY=VALUE of a person */
    int n_assignments;
};

/* One shape: the source's, and 'settings' (KEY=VALUE, NULL at the end) over
 * it, of which those without a meaning are dropped. settings may be NULL.
 * QN_EUSAGE for a wrong preset or setting. */
enum qn_status qn_bench_shape(const struct qn_bench_source *source,
                              const char *const *settings,
                              struct qn_shape *shape, struct qn_err *err);

struct qn_shapes {
    struct qn_shape *list;
    int n;
    /* Why there are not as many as there might be: of batches, memory. Empty
     * when they are all there. */
    struct qn_str note;
};

/* Nothing is measured yet. To be freed in any case. */
enum qn_status qn_sweep_shapes(enum qn_sweep sweep,
                               const struct qn_bench_env *env,
                               const struct qn_bench_source *source,
                               struct qn_shapes *out, struct qn_err *err);
/* Does the sweep set this key in all of its shapes? A person's value then makes
 * no difference. */
bool qn_sweep_sets(enum qn_sweep sweep, const char *key);
void qn_shapes_free(struct qn_shapes *shapes);
/* One more place at the end, zeroed. */
struct qn_shape *qn_shapes_add(struct qn_shapes *shapes);

#endif
