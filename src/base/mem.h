/* mem.h - memory: small requests cannot fail, large ones say how much. */
#ifndef QN_BASE_MEM_H
#define QN_BASE_MEM_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* malloc and friends that abort (through qn_die) when memory is out and when
 * n * size overflows. Free with free(). A size of 0 gives a valid pointer. */
void *qn_xmalloc(size_t size);
void *qn_xcalloc(size_t n, size_t size);
void *qn_xrealloc(void *p, size_t n, size_t size);
char *qn_xstrdup(const char *s);
char *qn_xstrndup(const char *s, size_t len);
char *qn_xasprintf(const char *fmt, ...) QN_PRINTF(1, 2);

/* A block too large to take for granted: 64-byte aligned and zeroed, or NULL.
 * Free with free(). */
void *qn_try_big(size_t n, size_t size);

/* Once, before there are threads: what is freed in large blocks goes back to
 * the system at once, where the C library can be told so. */
void qn_mem_return_large(void);

/* Bytes of memory this process may still take, as the kernel and cgroup limits
 * say; SIZE_MAX when unknown. */
size_t qn_mem_available(void);

/* Bytes of main memory that this process holds, and the most that it ever held;
 * false where the system does not say. */
bool qn_mem_resident(size_t *now, size_t *most);

/* "3.1 GB", "640 kB" (powers of 1000) into buf; returns buf. */
const char *qn_format_bytes(char *buf, size_t size, double bytes);

/* How many allocations this process has made through this module; a test
 * asserts that a running trainer makes none. */
uint64_t qn_mem_count(void);

#endif
