/* benching.c - quern bench: its figures hang together, and its words. No time
 * is looked at. */
#include "shell.h"

#include <jansson.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Trains in no time. */
#define TINY_UNITS "-p demo seq=8 model.hidden=8 model.embed=4 "
#define TINY_NET TINY_UNITS "batch=2 model.layers=2 "

static json_t *ask(const char *command)
{
    char *out = quern_out("%s --json", command);
    json_t *value = parse(out);
    free(out);
    return value;
}

static bool same(double a, double b)
{
    return fabs(a / b - 1) < 1e-9;
}

static void bench_divides_training_by_the_product(void **state)
{
    (void)state;
    json_t *b = ask("bench --only train -p demo 1");
    const json_t *train = json_object_get(b, "train");
    const json_t *row = json_array_get(train, 0);
    assert_int_equal(json_array_size(train), 1);
    assert_string_equal(string(row, "preset"), "demo");
    assert_true(strlen(string(b, "blas_kernel")) > 0);
    assert_true(number(b, "threads") >= 1);
    assert_true(number(b, "sgemm_gflops") > 0);
    assert_true(number(row, "batch") == 32 && number(row, "seq") == 64);
    double tokens = number(row, "tokens_per_s");
    double flops = number(row, "model_gflops");
    /* 4 gates of 256 units over 6 x 64 and twice 2 x 256 inputs with a bias,
     * and a decoder of 50 symbols. */
    double n = 1024 * (384 + 1) + 2 * 1024 * (512 + 1) + 50 * 257;
    assert_true(fabs(flops / (6 * n * tokens / 1e9) - 1) < 1e-9);
    double ratio = flops / number(b, "sgemm_gflops");
    assert_true(fabs(number(row, "ratio") / ratio - 1) < 1e-9);
    json_decref(b);
    assert_int_equal(sh("test -e store"), 1);
}

/* The word vectors are looked up, as an embedding is. They are not trained: the
 * weights that meet them, 'idle' of all, make 4 operations instead of 6. */
static void check_classifier(const char *preset, double idle)
{
    char bench[80], params[80];
    (void)snprintf(bench, sizeof bench, "bench --only train -p %s 1", preset);
    (void)snprintf(params, sizeof params, "params -p %s", preset);
    json_t *b = ask(bench);
    json_t *p = ask(params);
    const json_t *row = json_array_get(json_object_get(b, "train"), 0);
    assert_true(number(row, "batch") == 24 && number(row, "seq") == 256);
    double per_token = (6 * number(p, "trainable") - 2 * idle) / 1e9;
    double flops = per_token * number(row, "tokens_per_s");
    assert_true(fabs(number(row, "model_gflops") / flops - 1) < 1e-9);
    json_decref(b);
    json_decref(p);
}

static void bench_gives_a_classifier_documents_of_256_words(void **state)
{
    (void)state;
    /* Gates x units x taps x numbers of a vector; dense: in all four layers. */
    check_classifier("sentiment/tanh-300", 3 * 300 * 2 * 300);
    check_classifier("sentiment/dc-drelu-200", 4.0 * 4 * 200 * 2 * 300);
    check_classifier("sentiment/lstm-256", 4 * 256 * 300);
}

static void bench_measures_the_shape_that_settings_make(void **state)
{
    (void)state;
    json_t *b = ask("bench " TINY_NET "model.activation=tanh 2");
    const json_t *row = json_array_get(json_object_get(b, "train"), 0);
    assert_true(number(row, "batch") == 2 && number(row, "seq") == 8);
    assert_true(number(row, "layers") == 2 && number(row, "hidden") == 8);
    assert_string_equal(string(row, "activation"), "tanh");
    assert_true(number(row, "step_spread") >= 1);
    assert_true(number(row, "product_spread") >= 1);
    json_decref(b);
}

static const json_t *find_operation(const json_t *rows, const char *op)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(string(row, "op"), op) == 0) {
            return row;
        }
    }
    fail_msg("no operation %s", op);
    return NULL;
}

static void operations_add_up_to_the_step(void **state)
{
    (void)state;
    json_t *b = ask("bench --only ops " TINY_NET "2");
    const json_t *ops = json_object_get(b, "ops");
    const json_t *rows = json_object_get(ops, "operations");
    double ms = number(ops, "rest_ms");
    double share = ms / number(ops, "step_ms");
    assert_true(json_array_size(rows) > 10);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        ms += number(row, "ms");
        share += number(row, "share");
        double rate = number(row, "bytes") / number(row, "best_ms") / 1e6;
        assert_true(number(row, "gb_per_s") == 0 ||
                    same(number(row, "gb_per_s"), rate));
    }
    assert_true(same(ms, number(ops, "step_ms")));
    assert_true(same(share, 1));
    assert_string_equal(string(json_array_get(rows, 0), "op"), "step_begin");
    assert_true(number(ops, "triad_gb_per_s") > 0);
    const json_t *layer = find_operation(rows, "qrnn");
    assert_true(number(layer, "gb_per_s") > 0 && number(layer, "gflops") > 0);
    assert_null(json_object_get(b, "train"));
    json_decref(b);
}

static void batches_are_listed_with_a_single_symbol_first(void **state)
{
    (void)state;
    json_t *b = ask("bench --only batch " TINY_UNITS "model.layers=2 1");
    const json_t *rows = json_object_get(b, "batch");
    assert_int_equal(json_array_size(rows), 11);
    assert_true(number(json_array_get(rows, 0), "seq") == 1);
    assert_true(number(json_array_get(rows, 1), "seq") == 8);
    assert_true(number(json_array_get(rows, 10), "batch") == 512);
    assert_null(json_object_get(b, "batch_note"));
    json_decref(b);
}

/* Every line of text fits a terminal of 80 columns. */
static void check_width(const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        if (len > 80 || (len > 0 && text[len - 1] == ' ')) {
            fail_msg("too long, or blank at its end: '%.*s'", (int)len, text);
        }
        text += len + (text[len] == '\n');
    }
}

static void tables_say_what_their_lines_are_of(void **state)
{
    (void)state;
    char *layers = quern_out("bench --only layers " TINY_UNITS "batch=2 1");
    assert_non_null(strstr(layers, "product: "));
    assert_memory_equal(layers, "with seq=8 model.hidden=8 ", 26);
    assert_non_null(strstr(layers, "\ndemo, a step of 2 x 8\n"));
    assert_non_null(strstr(layers, "median / best"));
    assert_non_null(strstr(layers, "\n1 layer  "));
    assert_non_null(strstr(layers, "\n8 layers  "));
    check_width(layers);
    free(layers);
    char *ops = quern_out("bench --only ops " TINY_NET "1");
    assert_non_null(strstr(ops, "\ntriad: "));
    assert_non_null(strstr(ops, "\nqrnn          6 x 4 to 4 x 8 "));
    assert_non_null(strstr(ops, "\nthe rest "));
    check_width(ops);
    free(ops);
    char *train = quern_out("bench " TINY_NET "1");
    assert_non_null(strstr(train, "\ndemo  "));
    assert_non_null(strstr(train, "     -       -\n")); /* of one step */
    check_width(train);
    free(train);
    char *many =
        quern_out("bench " TINY_NET "optim.kind=adam optim.beta1=0.875 1");
    assert_non_null(strstr(many, " optim.kind=adam\n     optim.beta1=0.875\n"));
    check_width(many);
    free(many);
}

/* Two tables are there or under way, and minutes of others are to come. */
static void an_interrupt_ends_it(void **state)
{
    (void)state;
    struct child c = child_start("bench --only all " TINY_NET "9");
    char line[200] = "";
    assert_non_null(fgets(line, sizeof line, c.out)); /* with ... */
    assert_non_null(fgets(line, sizeof line, c.out));
    assert_string_equal(line, "train:\n");
    while (strncmp(line, "triad: ", 7) != 0) {
        assert_non_null(fgets(line, sizeof line, c.out));
    }
    assert_int_equal(kill(c.pid, SIGINT), 0);
    assert_int_equal(child_end(&c), 1);
    assert_int_equal(sh("grep -qx 'quern: stopped on request' .err"), 0);
}

/* Of a million steps of each of eight networks; whether the first one has had
 * its turn by then is the machine's. */
static void an_interrupt_leaves_a_whole_json(void **state)
{
    (void)state;
    struct child c =
        child_start("bench --json --only layers " TINY_UNITS "batch=2 1000000");
    (void)sleep(2);
    assert_int_equal(kill(c.pid, SIGINT), 0);
    json_t *b = child_line(&c);
    assert_int_equal(child_end(&c), 1);
    assert_non_null(b);
    assert_true(json_is_true(json_object_get(b, "stopped")));
    const json_t *rows = json_object_get(b, "layers");
    assert_true(json_array_size(rows) <= 1);
    assert_int_equal(json_object_get(b, "sgemm_gflops") != NULL,
                     json_array_size(rows) == 1);
    if (json_array_size(rows) == 1) {
        const json_t *row = json_array_get(rows, 0);
        assert_true(number(row, "layers") == 1);
        assert_true(number(row, "tokens_per_s") > 0);
    }
    json_decref(b);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(bench_divides_training_by_the_product),
        WITH_SHELL(bench_gives_a_classifier_documents_of_256_words),
        WITH_SHELL(bench_measures_the_shape_that_settings_make),
        WITH_SHELL(operations_add_up_to_the_step),
        WITH_SHELL(batches_are_listed_with_a_single_symbol_first),
        WITH_SHELL(tables_say_what_their_lines_are_of),
        WITH_SHELL(an_interrupt_ends_it),
        WITH_SHELL(an_interrupt_leaves_a_whole_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
