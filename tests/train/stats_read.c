/* stats_read.c - what a damaged line of statistics can do: nothing. */
#include "train/stats_read.h"

#include "base/mem.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The histogram of layer 1's c in a line with this entry and these bins. */
static struct qn_hist read_hist(const char *entry, const char *bins)
{
    char *text = qn_xasprintf("{\"event\":\"stats\",\"step\":3,\"layers\":[{"
                              "\"layer\":1,\"of\":\"c\",%s}],\"bins\":[%s]}",
                              entry, bins);
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    qn_stats_read(r, line, 0.1);
    assert_int_equal(r->step, 3);
    assert_int_equal(r->n_layers, 1);
    struct qn_hist h = r->layer[0][QN_CELL];
    free(r);
    json_decref(line);
    free(text);
    return h;
}

static void what_was_counted_is_read(void **state)
{
    (void)state;
    struct qn_hist h =
        read_hist("\"n_negative\":2,\"n_near\":5,\"n_positive\":1,\"n_zero\":4",
                  "{\"negative\":[[70,2],[3,1]],\"positive\":[[60,1]]}");
    assert_int_equal(h.n_negative, 2);
    assert_int_equal(h.n_zero, 4);
    assert_int_equal(h.bin[QN_HIST_NEGATIVE][70], 2);
    assert_int_equal(h.bin[QN_HIST_POSITIVE][60], 1);
}

static void no_share_is_above_one(void **state)
{
    (void)state;
    /* The first was found by fuzz_stats. */
    static const char *const entries[] = {
        "\"n_near\":1,\"n_zero\":375",
        "\"n_near\":9223372036854775807,\"n_positive\":9223372036854775807",
        "\"n_negative\":-5,\"n_near\":1",
    };
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        struct qn_hist h = read_hist(entries[i], "{}");
        struct qn_shares s = qn_hist_shares(&h);
        assert_true(s.zero <= 1 && s.near <= 1 && s.negative <= 1 &&
                    s.positive <= 1);
    }
}

static void bins_that_hold_more_than_was_counted_are_left_out(void **state)
{
    (void)state;
    struct qn_hist h =
        read_hist("\"n_near\":1,\"n_negative\":1", "{\"negative\":[[70,3]]}");
    assert_int_equal(h.bin[QN_HIST_NEGATIVE][70], 0);
    assert_true(qn_hist_shares_at(&h, 0.3).negative <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_counted_is_read),
        cmocka_unit_test(no_share_is_above_one),
        cmocka_unit_test(bins_that_hold_more_than_was_counted_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
