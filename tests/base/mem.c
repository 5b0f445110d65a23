/* mem.c - memory that is there, zeroed, aligned and counted. */
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void zero_bytes_are_a_valid_pointer(void **state)
{
    (void)state;
    void *blocks[] = {qn_xmalloc(0), qn_xcalloc(0, 8), qn_xcalloc(8, 0),
                      qn_xrealloc(NULL, 0, 4), qn_try_big(0, 4)};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        assert_non_null(blocks[i]);
        free(blocks[i]);
    }
    void *p = qn_xrealloc(qn_xmalloc(10), 0, 1);
    assert_non_null(p);
    free(p);
}

static void big_blocks_are_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t n = 1; n < 100000; n = n * 3 + 1) {
        unsigned char *p = qn_try_big(n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t i = 0; i < 3 * n; i++) {
            assert_int_equal(p[i], 0);
        }
        memset(p, 1, 3 * n);
        free(p);
    }
}

/* Whether the mapping that p is in is one for huge pages, as the kernel says
 * itself. */
static bool wants_huge_pages(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    FILE *f = fopen("/proc/self/smaps", "r");
    bool inside = false;
    bool huge = false;
    char line[512];
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned long from, end;
        if (sscanf(line, "%lx-%lx ", &from, &end) == 2) {
            inside = at >= from && at < end;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            huge = huge || strstr(line, " hg") != NULL;
        }
    }
    (void)fclose(f);
    return huge;
}

static void only_whole_huge_pages_are_wished_for(void **state)
{
    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0 ||
        access("/proc/self/smaps", R_OK) != 0) {
        skip();
    }
    size_t page = (size_t)1 << 21;
    char *large = qn_try_big(4 * page + page / 2, 1);
    char *small = qn_try_big(page - 1, 1);
    assert_non_null(large);
    assert_non_null(small);
    assert_true(wants_huge_pages(large));
    assert_true(wants_huge_pages(large + 4 * page - 1));
    assert_false(wants_huge_pages(large + 4 * page));
    assert_false(wants_huge_pages(small));
    free(small);
    free(large);
}

static void big_blocks_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_null(qn_try_big(SIZE_MAX / 2 + 1, 2));
    assert_null(qn_try_big(SIZE_MAX, 1));
    size_t available = qn_mem_available();
    if (available < SIZE_MAX / 4) {
        assert_null(qn_try_big(available, 2));
    }
}

static void strings_are_copied(void **state)
{
    (void)state;
    char *whole = qn_xstrdup("quern");
    char *part = qn_xstrndup("quern", 2);
    char *all = qn_xstrndup("quern", 99);
    char *made = qn_xasprintf("%s-%03d", whole, 7);
    assert_string_equal(whole, "quern");
    assert_string_equal(part, "qu");
    assert_string_equal(all, "quern");
    assert_string_equal(made, "quern-007");
    free(whole);
    free(part);
    free(all);
    free(made);
}

static void reallocation_keeps_what_was_there(void **state)
{
    (void)state;
    char *p = memcpy(qn_xmalloc(4), "abc", 4);
    p = qn_xrealloc(p, 1000, 10);
    assert_string_equal(p, "abc");
    free(p);
}

static void every_allocation_is_counted(void **state)
{
    (void)state;
    uint64_t before = qn_mem_count();
    void *a = qn_xmalloc(1), *b = qn_xcalloc(1, 1), *c = qn_try_big(1, 1);
    assert_int_equal(qn_mem_count() - before, 3);
    a = qn_xrealloc(a, 2, 1);
    char *d = qn_xstrdup("x");
    assert_int_equal(qn_mem_count() - before, 5);
    free(a);
    free(b);
    free(c);
    free(d);
    assert_int_equal(qn_mem_count() - before, 5);
}

static void some_memory_is_available(void **state)
{
    (void)state;
    assert_true(qn_mem_available() > 1 << 20);
}

/* A sanitizer keeps what is freed. */
#if defined(QN_SANITIZED) || !defined(__GLIBC__)
#define QN_RETURNS 0
#else
#define QN_RETURNS 1
#endif

/* A second block of a size that came before is the one that would stay. */
static void large_blocks_are_seen_and_go_back_when_freed(void **state)
{
    (void)state;
    const size_t size = (size_t)24 << 20, slack = (size_t)8 << 20;
    size_t before = 0, with = 0, after = 0, most = 0, later = 0;
    if (!QN_RETURNS || !qn_mem_resident(&before, &most)) {
        skip();
    }
    qn_mem_return_large();
    for (int i = 0; i < 2; i++) {
        void *p = qn_try_big(size, 1);
        void *small = qn_xmalloc(1); /* behind it, if that is in the heap */
        assert_non_null(p);
        assert_true(qn_mem_resident(&with, &most));
        free(p);
        assert_true(qn_mem_resident(&after, &later));
        free(small);
        assert_true(with >= before + size - slack && with <= most);
        assert_true(after <= before + slack);
        assert_true(later >= before + size - slack);
    }
}

static void bytes_print_with_two_or_three_digits(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},         {999, "999 B"},     {999.5, "1.0 kB"},
        {1000, "1.0 kB"},   {9940, "9.9 kB"},   {9960, "10 kB"},
        {640000, "640 kB"}, {999499, "999 kB"}, {999500, "1.0 MB"},
        {3.1e9, "3.1 GB"},  {64e12, "64 TB"},   {2e15, "2.0 PB"},
        {5e19, "50000 PB"}, {-1, "-"},          {(double)NAN, "-"},
        {HUGE_VAL, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        assert_string_equal(qn_format_bytes(buf, sizeof buf, cases[i].bytes),
                            cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_bytes_are_a_valid_pointer),
        cmocka_unit_test(big_blocks_are_zeroed_and_aligned),
        cmocka_unit_test(only_whole_huge_pages_are_wished_for),
        cmocka_unit_test(big_blocks_that_cannot_be_are_refused),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(reallocation_keeps_what_was_there),
        cmocka_unit_test(every_allocation_is_counted),
        cmocka_unit_test(some_memory_is_available),
        cmocka_unit_test(large_blocks_are_seen_and_go_back_when_freed),
        cmocka_unit_test(bytes_print_with_two_or_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
