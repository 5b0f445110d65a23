/* memory.c - what a run will take in memory: the network's plan and all that
 * training puts around it. */
#include "train/memory.h"

#include "base/mem.h"
#include "model/params.h"
#include "model/sample.h"
#include "train/text.h"
#include "train/trainer_self.h"

#include <stdlib.h>

/* What OpenBLAS's buffer for a thread that calls it is seen to take, of the 32
 * MB that it reserves: some for a part of one factor, and some for every row of
 * the product, up to a limit. */
#define BLAS_BYTES ((size_t)2 << 20)
#define BLAS_ROW_BYTES ((size_t)1300)
#define BLAS_MOST_BYTES ((size_t)26 << 20)
/* And a thread's stack. */
#define STACK_BYTES ((size_t)64 << 10)
/* Where the system does not tell what the program itself takes. */
#define PROGRAM_BYTES ((size_t)20 << 20)

struct qn_held qn_held_now(void)
{
    struct qn_held held = {PROGRAM_BYTES, 0};
    (void)qn_mem_resident(&held.now, &held.most);
    return held;
}

static int eval_batch(const struct qn_spec *spec)
{
    return spec->eval.batch > 0 ? spec->eval.batch : spec->batch;
}

/* Of the longest segment that evaluations will read; 0: there are none. */
static int eval_steps(const struct qn_trainer *t)
{
    const struct qn_spec *spec = &t->spec;
    struct qn_feed *feed;
    if (!qn_text_has(t->corpus, QN_VALID) ||
        qn_feed_eval(t->corpus, QN_VALID, eval_batch(spec), spec->seq,
                     spec->eval.limit, &feed, NULL) != QN_OK) {
        return 0;
    }
    int steps = qn_feed_steps(feed);
    qn_feed_free(feed);
    return steps;
}

/* Of the pass that draws the run's own samples; 0: there are none. */
static int sample_steps(const struct qn_trainer *t)
{
    const struct qn_spec *spec = &t->spec;
    int32_t *ids;
    size_t n;
    if (spec->task != QN_TASK_LM || !(spec->sample.every.amount > 0) ||
        qn_text_prompt(qn_corpus_vocab(t->corpus), spec, spec->sample.prompt,
                       &ids, &n, NULL) != QN_OK) {
        return 0;
    }
    free(ids);
    return qn_sample_steps(n);
}

/* It begins from a checkpoint, or will go back to one. */
static bool loads_state(const struct qn_trainer *t)
{
    return t->fixed_vocab != NULL || t->spec.stop.nan == QN_NAN_ROLLBACK;
}

/* Or its end does, to the best weights. */
static bool loads_weights(const struct qn_trainer *t)
{
    return loads_state(t) || (t->spec.stop.restore == QN_RESTORE_BEST &&
                              qn_text_has(t->corpus, QN_VALID));
}

/* Ids and targets of what is fed to a pass. */
static size_t feed_bytes(int batch, int steps)
{
    return 2 * sizeof(int32_t) * (size_t)batch * (size_t)steps;
}

/* The products with most rows are the gradients of weights: those of the layers
 * and of the decoder, which stand behind the embedding. */
static size_t blas_bytes(const struct qn_trainer *t)
{
    struct qn_param_list params;
    int vocab = qn_vocab_size(qn_corpus_vocab(t->corpus));
    size_t rows = 0;
    qn_param_list_init(&params, &t->spec, vocab);
    for (int i = params.first_layer; i < params.n; i++) {
        size_t n = params.items[i].dim[0];
        rows = n > rows ? n : rows;
    }
    qn_param_list_fini(&params);
    size_t bytes = BLAS_BYTES + rows * BLAS_ROW_BYTES;
    return bytes < BLAS_MOST_BYTES ? bytes : BLAS_MOST_BYTES;
}

static size_t threads_bytes(const struct qn_trainer *t)
{
    size_t threads = (size_t)qn_pool_size(t->env.pool);
    size_t slices = t->spec.threads > 0 ? (size_t)t->spec.threads : 1;
    size_t callers = slices < threads ? slices : threads;
    return callers * blas_bytes(t) + (threads + 1) * STACK_BYTES;
}

/* Statistics in the trainer and with whoever looks at them; a histogram of each
 * slice. */
static size_t stats_bytes(const struct qn_spec *spec)
{
    size_t slices = spec->threads > 0 ? (size_t)spec->threads : 1;
    return 4 * sizeof(struct qn_stats_record) + slices * sizeof(struct qn_hist);
}

/* Word vectors stand in the corpus until the run's folder has them, which is
 * before all this is taken. */
static size_t vectors_excess(const struct qn_memory_plan *plan, size_t vectors)
{
    size_t later =
        plan->workspace + plan->saving + plan->evaluation + plan->sampling;
    return vectors > later ? vectors - later : 0;
}

/* When the data was read more was held than now: the process's peak may have
 * been that. */
static void count_opening(struct qn_memory_plan *plan,
                          const struct qn_held *before,
                          const struct qn_held *now)
{
    size_t opening = now->most > before->most && now->most > now->now
                         ? now->most - now->now
                         : 0;
    qn_memory_plan_add_up(plan);
    size_t later = plan->total - plan->data - plan->taken;
    plan->rest += opening > later ? opening - later : 0;
    qn_memory_plan_add_up(plan);
}

void qn_memory_plan_run(const struct qn_trainer *t,
                        const struct qn_held *before,
                        struct qn_memory_plan *out)
{
    const struct qn_spec *spec = &t->spec;
    struct qn_held now = qn_held_now();
    const struct qn_plan_shapes shapes = {
        .vocab = qn_vocab_size(qn_corpus_vocab(t->corpus)),
        .steps = qn_feed_steps(t->feed),
        .eval_batch = eval_batch(spec),
        .eval_steps = eval_steps(t),
        .sample_steps = sample_steps(t),
        .loads_weights = loads_weights(t),
        .loads_state = loads_state(t),
    };
    struct qn_memory_plan plan;
    qn_model_plan(spec, &shapes, t->be, &plan);
    size_t held = qn_corpus_bytes(t->corpus);
    size_t vectors = qn_corpus_vectors_bytes(t->corpus);
    plan.data = held - vectors;
    plan.taken = now.now > held ? now.now - held : 0;
    plan.rest = threads_bytes(t) + stats_bytes(spec) +
                feed_bytes(shapes.eval_batch, shapes.eval_steps) +
                vectors_excess(&plan, vectors);
    count_opening(&plan, before, &now);
    *out = plan;
}

size_t qn_trainer_memory(const struct qn_trainer *t)
{
    return t->plan.total;
}

void qn_trainer_memory_text(const struct qn_trainer *t, bool alone,
                            struct qn_str *out)
{
    struct qn_memory_plan plan = t->plan;
    if (alone) {
        plan.taken = 0;
        qn_memory_plan_add_up(&plan);
    }
    qn_memory_plan_text(&plan, out);
}
