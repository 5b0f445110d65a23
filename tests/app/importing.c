/* importing.c - what is wrong with weights from elsewhere is said tensor by
 * tensor. */
#include "shell.h"

#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NORM "model.batch_norm=true "
#define LSTM "model.cell=lstm "
#define DENSE "model.dense=true "
#define STEPS "model.bias=step "

/* The weights of a short training of this kind, as w.st. */
static void make_weights(const char *kind)
{
    free(quern_out("train " TINY "%s steps=3 name=a", kind));
    assert_int_equal(sh("mv store/*-a/checkpoints/3/model.safetensors w.st"),
                     0);
    assert_int_equal(sh("rm -r store"), 0);
}

/* What is done to w.st to make bad.st; NULL: not that. */
struct harm {
    const char *without, *with;
    const char *shorter; /* in its last dimension, by one */
};

static void make_bad(const struct harm *harm)
{
    struct qn_st_file *f = NULL;
    struct qn_err err;
    assert_int_equal(qn_st_open("w.st", &f, &err), QN_OK);
    size_t n = qn_st_n_tensors(f);
    struct qn_st_tensor *t = qn_xcalloc(n + 1, sizeof *t);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        t[kept] = *qn_st_at(f, i);
        if (harm->shorter && qn_str_eq(t[kept].name, harm->shorter)) {
            t[kept].dim[t[kept].n_dims - 1]--;
        }
        kept += !harm->without || !qn_str_eq(t[kept].name, harm->without);
    }
    if (harm->with != NULL) {
        t[kept] = t[0];
        t[kept++].name = harm->with;
    }
    assert_int_equal(qn_st_write("bad.st", t, kept, NULL, 0, &err), QN_OK);
    free(t);
    qn_st_close(f);
}

/* The import of bad.st fails, says all three texts, and leaves no run. */
static void expect(const char *kind, const struct harm *harm,
                   const char *const said[3])
{
    make_weights(kind);
    make_bad(harm);
    struct outcome o = quern("import bad.st " TINY "%s name=b", kind);
    assert_int_not_equal(o.status, 0);
    for (int i = 0; i < 3; i++) {
        if (strstr(o.err, said[i]) == NULL) {
            fail_msg("%s says '%s', not '%s'", kind, o.err, said[i]);
        }
    }
    outcome_free(&o);
    assert_int_not_equal(sh("test -e store/*-b"), 0);
}

static void a_missing_tensor_is_named(void **state)
{
    (void)state;
    static const struct harm norm = {.without = "layers.1.norm.running_var"};
    static const char *const norm_said[] = {
        "bad.st", "layers.1.norm.running_var", "missing"};
    expect(NORM, &norm, norm_said);
    static const struct harm lstm = {.without = "layers.0.lstm.weight_hh"};
    static const char *const lstm_said[] = {"bad.st", "layers.0.lstm.weight_hh",
                                            "missing"};
    expect(LSTM, &lstm, lstm_said);
    static const struct harm dense = {.without = "decoder.bias"};
    static const char *const dense_said[] = {"bad.st", "decoder.bias",
                                             "missing"};
    expect(DENSE, &dense, dense_said);
}

static void an_extra_tensor_is_named(void **state)
{
    (void)state;
    static const struct harm extra = {.with = "layers.7.conv.weight"};
    static const char *const said[] = {"bad.st", "layers.7.conv.weight", ""};
    expect(STEPS, &extra, said);
    expect(LSTM, &extra, said);
}

static void a_misshapen_tensor_is_named_with_both_shapes(void **state)
{
    (void)state;
    /* drelu with fo-pooling has four blocks of 12 units; the windows are 2. */
    static const struct harm norm = {.shorter = "layers.0.norm.weight"};
    static const char *const norm_said[] = {"layers.0.norm.weight", "[47]",
                                            "[48]"};
    expect(NORM, &norm, norm_said);
    static const struct harm lstm = {.shorter = "layers.1.lstm.bias_ih"};
    static const char *const lstm_said[] = {"layers.1.lstm.bias_ih", "[47]",
                                            "[48]"};
    expect(LSTM, &lstm, lstm_said);
    static const struct harm steps = {.shorter = "layers.1.conv.bias"};
    static const char *const steps_said[] = {"layers.1.conv.bias", "[8, 47]",
                                             "[8, 48]"};
    expect(STEPS, &steps, steps_said);
}

static void a_typed_setting_that_the_file_contradicts_is_named(void **state)
{
    (void)state;
    make_weights("");
    struct outcome o =
        quern("import w.st " TINY "model.hidden=300 model.cell=lstm name=b");
    assert_int_equal(o.status, 2);
    assert_non_null(
        strstr(o.err, "model.cell is lstm, the tensors of w.st have qrnn"));
    assert_non_null(
        strstr(o.err, "model.hidden is 300, the tensors of w.st have 12"));
    outcome_free(&o);
    assert_int_not_equal(sh("test -e store/*-b"), 0);
}

#define WITH_SHELL(name)                                                       \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(a_typed_setting_that_the_file_contradicts_is_named),
        WITH_SHELL(a_missing_tensor_is_named),
        WITH_SHELL(an_extra_tensor_is_named),
        WITH_SHELL(a_misshapen_tensor_is_named_with_both_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
