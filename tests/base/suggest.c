/* suggest.c - did you mean: distances and the nearest name. */
#include "base/str.h"

#include "base/mem.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void distances_are_those_of_optimal_alignment(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {
        {"", "", 0},         {"", "abc", 3},
        {"abc", "abc", 0},   {"hiden", "hidden", 1},
        {"ab", "ba", 1},     {"kitten", "sitting", 3},
        {"ca", "abc", 3},    {"abcd", "badc", 2},
        {"flaw", "lawn", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(qn_edit_distance(cases[i].a, cases[i].b),
                         cases[i].distance);
        assert_int_equal(qn_edit_distance(cases[i].b, cases[i].a),
                         cases[i].distance);
    }
}

static const char *const names[] = {"model.hidden", "model.layers",
                                    "train.rate", "seed", "optim.kind"};
enum { N_NAMES = sizeof names / sizeof *names };

static void the_nearest_name_is_suggested(void **state)
{
    (void)state;
    assert_int_equal(qn_nearest("model.hiden", names, N_NAMES), 0);
    assert_int_equal(qn_nearest("modle.layers", names, N_NAMES), 1);
    assert_int_equal(qn_nearest("sead", names, N_NAMES), 3);
}

static void the_last_component_alone_is_enough(void **state)
{
    (void)state;
    assert_int_equal(qn_nearest("hiden", names, N_NAMES), 0);
    assert_int_equal(qn_nearest("kind", names, N_NAMES), 4);
    assert_int_equal(qn_nearest("rtae", names, N_NAMES), 2);
}

static void nothing_is_suggested_for_what_is_far(void **state)
{
    (void)state;
    assert_int_equal(qn_nearest("banana", names, N_NAMES), -1);
    assert_int_equal(qn_nearest("sxxd", names, N_NAMES), -1);
    assert_int_equal(qn_nearest("hidden", names, 0), -1);
}

static void of_equally_near_names_the_first_wins(void **state)
{
    (void)state;
    static const char *const twins[] = {"cat", "bat", "hat"};
    assert_int_equal(qn_nearest("rat", twins, 3), 0);
    assert_int_equal(qn_nearest("hat", twins, 3), 2);
}

/* Aligning takes the product of the lengths, and allocates. */
static void a_word_too_long_to_be_near_is_not_aligned(void **state)
{
    (void)state;
    char word[5000];
    memset(word, 'e', sizeof word);
    word[sizeof word - 1] = '\0';
    uint64_t before = qn_mem_count();
    assert_int_equal(qn_nearest(word, names, N_NAMES), -1);
    assert_true(qn_mem_count() == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_those_of_optimal_alignment),
        cmocka_unit_test(the_nearest_name_is_suggested),
        cmocka_unit_test(the_last_component_alone_is_enough),
        cmocka_unit_test(nothing_is_suggested_for_what_is_far),
        cmocka_unit_test(of_equally_near_names_the_first_wins),
        cmocka_unit_test(a_word_too_long_to_be_near_is_not_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
