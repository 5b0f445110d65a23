/* mem.c - allocation that cannot fail when small and may fail when large. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/mem.h"

#include "base/assert.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A count for tests, for the whole process because malloc is. */
static atomic_uint_fast64_t n_allocations;

static void count_one(void)
{
    atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed);
}

/* n * size, at least 1; false when it overflows. */
static bool product(size_t n, size_t size, size_t *out)
{
    if (size != 0 && n > SIZE_MAX / size) {
        return false;
    }
    *out = n * size > 0 ? n * size : 1;
    return true;
}

static _Noreturn void die_of_hunger(size_t n, size_t size)
{
    char text[96];
    (void)snprintf(text, sizeof text, "out of memory: wanted %zu x %zu bytes",
                   n, size);
    qn_die(text);
}

void *qn_xmalloc(size_t size)
{
    count_one();
    void *p = malloc(size > 0 ? size : 1);
    if (p == NULL) {
        die_of_hunger(1, size);
    }
    return p;
}

void *qn_xcalloc(size_t n, size_t size)
{
    size_t bytes;
    count_one();
    void *p = product(n, size, &bytes) ? calloc(1, bytes) : NULL;
    if (p == NULL) {
        die_of_hunger(n, size);
    }
    return p;
}

void *qn_xrealloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    count_one();
    void *moved = product(n, size, &bytes) ? realloc(p, bytes) : NULL;
    if (moved == NULL) {
        die_of_hunger(n, size);
    }
    return moved;
}

char *qn_xstrdup(const char *s)
{
    size_t size = strlen(s) + 1;
    return memcpy(qn_xmalloc(size), s, size);
}

char *qn_xstrndup(const char *s, size_t len)
{
    const char *end = memchr(s, '\0', len);
    size_t n = end != NULL ? (size_t)(end - s) : len;
    char *copy = qn_xmalloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *qn_xasprintf(const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    QN_ASSERT(len >= 0);
    size_t size = (size_t)len + 1;
    char *text = qn_xmalloc(size);
    (void)vsnprintf(text, size, fmt, again);
    va_end(again);
    return text;
}

#define WORTH_ASKING ((size_t)1 << 20)
#define LINE 64
#define HUGE_PAGE ((size_t)1 << 21) /* of x86-64, and of most others */

/* Rows of a batch lie hundreds of kB apart, each on its own page: steps that
 * take one row of every sequence want more small pages than the processor finds
 * quickly. Only a wish; what is not a whole huge page stays small. */
static void wish_for_huge_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(block, bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

void *qn_try_big(size_t n, size_t size)
{
    size_t bytes;
    if (!product(n, size, &bytes)) {
        return NULL;
    }
    /* Asked first: an overcommitting kernel grants anything and kills later.
     * The answer takes as long as some MB do. */
    if (bytes >= WORTH_ASKING && bytes > qn_mem_available()) {
        return NULL;
    }
    void *p = NULL;
    bool huge = bytes >= HUGE_PAGE;
    count_one();
    if (posix_memalign(&p, huge ? HUGE_PAGE : LINE, bytes) != 0) {
        return NULL;
    }
    if (huge) {
        wish_for_huge_pages(p, bytes);
    }
    return memset(p, 0, bytes);
}

/* Left alone, glibc takes a large block that is freed as a sign that its like
 * comes again, and keeps up to 32 MB of such. */
void qn_mem_return_large(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

const char *qn_format_bytes(char *buf, size_t size, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    if (!(bytes >= 0) || isinf(bytes)) {
        (void)snprintf(buf, size, "-");
        return buf;
    }
    /* 999.5 of a unit would print as 1000 of it. */
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    int decimals = unit > 0 && bytes < 9.95 ? 1 : 0;
    (void)snprintf(buf, size, "%.*f %s", decimals, bytes, units[unit]);
    return buf;
}

uint64_t qn_mem_count(void)
{
    return atomic_load_explicit(&n_allocations, memory_order_relaxed);
}
