/* counts.c - quern params tells a preset's parameters without its data. */
#include "shell.h"

#include "nn/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The numbers of all tensors together. */
static double sum_of(const json_t *tensors)
{
    double sum = 0;
    size_t i, d;
    const json_t *t, *dim;
    json_array_foreach(tensors, i, t)
    {
        double n = 1;
        json_array_foreach(json_object_get(t, "shape"), d, dim)
        {
            n *= json_number_value(dim);
        }
        sum += n;
    }
    return sum;
}

static json_t *params(const char *preset)
{
    char *out = quern_out("--json params -p %s", preset);
    json_t *j = parse(out);
    free(out);
    return j;
}

static void presets_are_counted_without_data(void **state)
{
    (void)state;
    for (int i = 0; i < qn_n_presets(); i++) {
        const char *name = qn_preset_at(i)->name;
        json_t *j = params(name);
        double trainable = number(j, "trainable");
        assert_true(trainable > 0 && number(j, "all") >= trainable);
        assert_true(sum_of(json_object_get(j, "tensors")) +
                        number(j, "states") ==
                    number(j, "all"));
        json_decref(j);
    }
}

static void the_papers_counts_come_out(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        double all, trainable;
    } rows[] = {
        {"ptb-word/lstm-650", 19775200, 19775200},
        {"ptb-word/drelu-640", 19901200, 19901200},
        {"ptb-char/tanh-4x581", 6657854, 6643910},
        {"enwik8/drelu-4x1000", 25818325, 25786325},
        {"sentiment/lstm-256", 2148609, 2146561},
        {"sentiment/tanh-300", 2165101, 2163901},
        {"sentiment/drelu-256", 2192641, 2191617},
        {"sentiment/delu-256", 2192641, 2191617},
        {"sentiment/dc-lstm-256", 3856641, 3854593},
        {"sentiment/dc-tanh-242", 3854819, 3853851},
        {"sentiment/dc-drelu-200", 3844201, 3843401},
        {"sentiment/dc-delu-200", 3844201, 3843401},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *j = params(rows[i].preset);
        assert_true(number(j, "all") == rows[i].all);
        assert_true(number(j, "trainable") == rows[i].trainable);
        json_decref(j);
    }
}

/* Wide enough for the longest name, and no wider than a screen. */
static void presets_are_listed_in_columns(void **state)
{
    (void)state;
    char *out = quern_out("presets");
    for (int i = 0; i < qn_n_presets(); i++) {
        const struct qn_preset_info *p = qn_preset_at(i);
        char row[128];
        (void)snprintf(row, sizeof row, "%-27s %s\n", p->name, p->help);
        assert_true(strlen(row) <= 81);
        assert_non_null(strstr(out, row));
    }
    free(out);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(presets_are_counted_without_data),
        WITH_SHELL(the_papers_counts_come_out),
        WITH_SHELL(presets_are_listed_in_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
