/* bandwidth.c - what main memory moves when all workers ask for it at once. */
#include "bench/bandwidth.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

#define USUAL_LENGTH ((size_t)16 << 20)

static size_t length(size_t n)
{
    return n > 0 ? n : USUAL_LENGTH;
}

size_t qn_triad_size(size_t n)
{
    return 3 * length(n) * sizeof(float);
}

bool qn_triad_init(struct qn_triad *t, size_t n)
{
    n = length(n);
    *t = (struct qn_triad){.n = n};
    t->a = qn_try_big(n, sizeof *t->a);
    t->b = qn_try_big(n, sizeof *t->b);
    t->c = qn_try_big(n, sizeof *t->c);
    if (t->a == NULL || t->b == NULL || t->c == NULL) {
        qn_triad_fini(t);
        return false;
    }
    /* Pages that were never written are all the same one. */
    for (size_t i = 0; i < n; i++) {
        t->b[i] = (float)(i % 7);
        t->c[i] = (float)(i % 5);
    }
    return true;
}

void qn_triad_fini(struct qn_triad *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
    *t = (struct qn_triad){0};
}

static void add_scaled(float *restrict a, const float *restrict b,
                       const float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0f * c[i];
    }
}

struct job {
    struct qn_triad *t;
    int n_parts;
};

static void run_part(void *arg, int part)
{
    const struct job *job = arg;
    struct qn_triad *t = job->t;
    size_t parts = (size_t)job->n_parts;
    size_t from = t->n * (size_t)part / parts;
    size_t to = t->n * ((size_t)part + 1) / parts;
    add_scaled(t->a + from, t->b + from, t->c + from, to - from);
}

double qn_triad_run(struct qn_triad *t, struct qn_pool *pool)
{
    struct job job = {t, qn_pool_size(pool)};
    double start = qn_clock_now();
    qn_pool_run(pool, job.n_parts, run_part, &job);
    return qn_clock_now() - start;
}

double qn_triad_bytes(const struct qn_triad *t)
{
    return 3.0 * sizeof(float) * (double)t->n;
}
