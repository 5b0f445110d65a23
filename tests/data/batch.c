/* batch.c - tests of streams and segments. */
#include "data/batch.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Ids that say where they stand. */
static int32_t *count_up(size_t n)
{
    int32_t *ids = qn_xcalloc(n, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)i;
    }
    return ids;
}

/* One walk over all segments. */
struct walk {
    struct qn_streams s;
    int32_t *ids, *targets; /* of the segment */
    int *n_real, *times;    /* of each stream; of each pair: predictions */
    size_t predictions;
};

static void check_row(struct walk *w, size_t segment, int b, int steps)
{
    const int32_t *ids = w->ids + b * steps;
    const int32_t *targets = w->targets + b * steps;
    for (int t = 0; t < steps; t++) {
        bool real = t < w->n_real[b];
        assert_int_equal(targets[t] >= 0, real);
        if (!real) {
            assert_int_equal(ids[t], 0);
            continue;
        }
        size_t place = (size_t)b * w->s.stream_len +
                       segment * (size_t)w->s.seq + (size_t)t;
        assert_int_equal(ids[t], place);
        assert_int_equal(targets[t], place + 1);
        w->times[ids[t]]++;
        w->predictions++;
    }
}

/* Every segment in order: each stream goes on where it stopped, and only the
 * last segment may be short. */
static void walk(struct walk *w, size_t n)
{
    size_t room = (size_t)w->s.batch * (size_t)w->s.seq;
    w->ids = qn_xcalloc(room, sizeof *w->ids);
    w->targets = qn_xcalloc(room, sizeof *w->targets);
    w->n_real = qn_xcalloc((size_t)w->s.batch, sizeof *w->n_real);
    w->times = qn_xcalloc(n + 1, sizeof *w->times);
    for (size_t i = 0; i < w->s.n_segments; i++) {
        int steps = qn_streams_segment(&w->s, i, w->ids, w->targets, w->n_real);
        assert_in_range(steps, 1, w->s.seq);
        assert_true(steps == w->s.seq || i + 1 == w->s.n_segments);
        for (int b = 0; b < w->s.batch; b++) {
            check_row(w, i, b, steps);
        }
    }
}

static void end_walk(struct walk *w)
{
    free(w->ids);
    free(w->targets);
    free(w->n_real);
    free(w->times);
}

static void check_evaluation(size_t n, int batch, int seq, int64_t limit)
{
    int32_t *ids = count_up(n);
    struct walk w = {0};
    qn_streams_eval(&w.s, ids, n, batch, seq, limit);
    size_t pairs = n > 0 ? n - 1 : 0;
    if (limit > 0 && (size_t)limit < pairs) {
        pairs = (size_t)limit;
    }
    assert_int_equal(w.s.n_pairs, pairs);
    walk(&w, n);
    assert_int_equal(w.predictions, pairs);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(w.times[i], i < pairs);
    }
    end_walk(&w);
    free(ids);
}

static void evaluation_predicts_every_pair_once(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        size_t n = (size_t)(qn_mix64(i * 4 + 1) % 400);
        int batch = 1 + (int)(qn_mix64(i * 4 + 2) % 17);
        int seq = 1 + (int)(qn_mix64(i * 4 + 3) % 40);
        bool limited = qn_mix64(i * 4 + 4) % 3 == 0;
        int64_t limit = limited ? 1 + (int64_t)(qn_mix64(i) % 450) : 0;
        check_evaluation(n, batch, seq, limit);
    }
}

static void evaluation_of_less_than_two_symbols_has_no_pairs(void **state)
{
    (void)state;
    int32_t one = 5;
    struct qn_streams s;
    for (size_t n = 0; n < 2; n++) {
        qn_streams_eval(&s, &one, n, 4, 8, 0);
        assert_int_equal(s.n_pairs, 0);
        assert_int_equal(s.n_segments, 0);
    }
}

static void evaluation_pads_the_last_streams(void **state)
{
    (void)state;
    int32_t ids[8], out[8], targets[8];
    int n_real[3];
    for (int i = 0; i < 8; i++) {
        ids[i] = 10 + i;
    }
    struct qn_streams s;
    qn_streams_eval(&s, ids, 8, 3, 2, 0);
    assert_int_equal(s.stream_len, 3);
    assert_int_equal(s.n_segments, 2);
    assert_int_equal(qn_streams_segment(&s, 1, out, targets, n_real), 1);
    assert_int_equal(n_real[0], 1);
    assert_int_equal(n_real[1], 1);
    assert_int_equal(n_real[2], 0);
    assert_int_equal(out[1], 15);
    assert_int_equal(targets[1], 16);
    assert_int_equal(targets[2], -1);
}

static void training_predicts_whole_segments_of_contiguous_streams(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        int batch = 1 + (int)(qn_mix64(i * 3 + 1) % 9);
        int seq = 1 + (int)(qn_mix64(i * 3 + 2) % 20);
        size_t least = (size_t)batch * (size_t)seq + 1;
        size_t n = least + (size_t)(qn_mix64(i * 3 + 3) % 300);
        int32_t *ids = count_up(n);
        struct walk w = {0};
        assert_int_equal(qn_streams_train(&w.s, ids, n, batch, seq, NULL),
                         QN_OK);
        assert_int_equal(w.s.stream_len, (n - 1) / (size_t)batch);
        assert_int_equal(w.s.n_segments, w.s.stream_len / (size_t)seq);
        walk(&w, n);
        assert_int_equal(w.predictions, w.s.n_pairs);
        assert_int_equal(w.predictions, w.s.n_segments * (least - 1));
        end_walk(&w);
        free(ids);
    }
}

/* Counts known from the literature: 929,589 words of training text. */
static void penn_treebank_has_442_segments_an_epoch(void **state)
{
    (void)state;
    struct qn_streams s;
    int32_t none = 0;
    assert_int_equal(qn_streams_train(&s, &none, 929589, 20, 105, NULL), QN_OK);
    assert_int_equal(s.n_segments, 442);
    assert_int_equal(s.stream_len, 46479);
    assert_int_equal(s.n_pairs, 442 * 20 * 105);
}

static void too_short_a_text_says_what_it_needs(void **state)
{
    (void)state;
    struct qn_streams s = {.batch = -7};
    struct qn_err err;
    int32_t ids[12] = {0};
    for (size_t n = 0; n < 13; n++) {
        assert_int_equal(qn_streams_train(&s, ids, n, 4, 3, &err), QN_EUSAGE);
    }
    assert_string_equal(err.text, "the training text has 12 symbols; batch 4 x "
                                  "seq 3 wants at least 13");
    assert_int_equal(s.batch, -7);
    assert_int_equal(qn_streams_train(&s, ids, 13, 4, 3, &err), QN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_predicts_every_pair_once),
        cmocka_unit_test(evaluation_of_less_than_two_symbols_has_no_pairs),
        cmocka_unit_test(evaluation_pads_the_last_streams),
        cmocka_unit_test(
            training_predicts_whole_segments_of_contiguous_streams),
        cmocka_unit_test(penn_treebank_has_442_segments_an_epoch),
        cmocka_unit_test(too_short_a_text_says_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
