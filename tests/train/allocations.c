/* allocations.c - a run that trains takes no memory from its third step on: in
 * its own thread, in the pool's, in the C library and in the BLAS. */
#include "labelled.h"

#include "base/mem.h"
#include "base/wake.h"
#include "train/worker.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- all calls that allocate, of this program and of its libraries -------- */

/* The process has one heap, hence one count. */
static atomic_uint_fast64_t n_calls;

/* Sanitizers and valgrind have an allocator of their own. */
#if defined(__GLIBC__) && !defined(QN_SANITIZED)
#define QN_COUNTS_CALLS 1

/* The names that glibc keeps for who stands before its allocator. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void count_call(void)
{
    atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
    count_call();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count_call();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count_call();
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count_call();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    count_call();
    *out = __libc_memalign(alignment, size);
    return *out != NULL ? 0 : ENOMEM;
}
#else
#define QN_COUNTS_CALLS 0
#endif

static uint64_t calls(void)
{
    return atomic_load(&n_calls);
}

static void every_call_is_counted(void **state)
{
    (void)state;
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    uint64_t before = calls();
    char *copy = strdup("text"); /* within the C library */
    void *aligned = NULL;
    int failed = posix_memalign(&aligned, 64, 1);
    uint64_t made = calls() - before;
    free(copy);
    free(aligned);
    assert_int_equal(failed, 0);
    assert_int_equal(made, 2);
}

/* --- runs ----------------------------------------------------------------- */

#define QUIET                                                                  \
    "stats.every=none", "eval.every=1000 steps", "checkpoint.every=none",      \
        "steps=60"

/* Where the workbench takes records from, so that they go through its ring. */
struct listener {
    struct qn_wake *wake;
    struct qn_outlet *outlet;
};

static void listen(struct fixture *f, struct listener *l)
{
    struct qn_err err;
    assert_int_equal(qn_wake_new(&l->wake, &err), QN_OK);
    l->outlet = qn_outlet_new(l->wake);
    f->sink = qn_outlet_sink(l->outlet);
}

/* Takes the trainer. Steps 3 to 20: forward, backward and update, a line in
 * metrics.jsonl, a record in the ring. */
static void check_steps(struct qn_trainer *t)
{
    fixture_run(t, 2);
    uint64_t before = calls();
    fixture_run(t, 20);
    uint64_t made = calls() - before;
    assert_int_equal(qn_trainer_step_count(t), 20);
    qn_trainer_free(t);
    assert_int_equal(made, 0);
}

static void check_text(struct fixture *f, const char *const *settings)
{
    struct listener l;
    listen(f, &l);
    f->env.backend = "cpu"; /* ref sums in arrays of its own */
    f->env.pool = qn_pool_new(3);
    check_steps(fixture_create(f, settings));
    qn_pool_free(f->env.pool);
    qn_outlet_free(l.outlet);
    qn_wake_free(l.wake);
}

static void a_qrnn_with_batch_norm_allocates_nothing(void **state)
{
    static const char *const settings[] = {"model.batch_norm=true",
                                           "threads=3",
                                           "model.layers=2",
                                           "model.hidden=40",
                                           "model.window=3,2",
                                           QUIET,
                                           NULL};
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    check_text(*state, settings);
}

static void an_lstm_allocates_nothing(void **state)
{
    static const char *const settings[] = {
        "model.cell=lstm", "threads=3", "model.layers=2",
        "model.hidden=40", QUIET,       NULL};
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    check_text(*state, settings);
}

static void a_model_of_words_allocates_nothing(void **state)
{
    static const char *const settings[] = {
        "data.level=word", "threads=2", "optim.l2=0.001",
        "batch=2",         "seq=4",     "model.hidden=40",
        "epochs=none",     QUIET,       NULL};
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    check_text(*state, settings);
}

/* Batches differ in length, so some later one is the longest so far. */
static void a_dense_classifier_allocates_nothing(void **state)
{
    static const char *const settings[] = {
        "model.dense=true", "threads=3", "model.layers=3",
        "batch=8",          QUIET,       NULL};
    struct labelled *documents = *state;
    struct fixture *f = documents->f;
    struct listener l;
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    listen(f, &l);
    f->env.backend = "cpu";
    f->env.pool = qn_pool_new(3);
    check_steps(labelled_create(documents, settings));
    qn_pool_free(f->env.pool);
    qn_outlet_free(l.outlet);
    qn_wake_free(l.wake);
}

/* Of what is due rarely, statistics are due most often: once their line has
 * found its length they take nothing either. */
static void statistics_that_come_again_allocate_nothing(void **state)
{
    static const char *const settings[] = {"threads=3",
                                           "model.layers=2",
                                           "model.hidden=40",
                                           "stats.every=1 step",
                                           "eval.every=1000 steps",
                                           "checkpoint.every=none",
                                           "stats.of=c,z,h,f,o",
                                           "steps=60",
                                           NULL};
    if (!QN_COUNTS_CALLS) {
        skip();
    }
    check_text(*state, settings);
}

int main(void)
{
#define TEXT(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_is_counted),
        TEXT(a_qrnn_with_batch_norm_allocates_nothing),
        TEXT(an_lstm_allocates_nothing),
        TEXT(a_model_of_words_allocates_nothing),
        TEXT(statistics_that_come_again_allocate_nothing),
        cmocka_unit_test_setup_teardown(a_dense_classifier_allocates_nothing,
                                        labelled_setup, labelled_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
