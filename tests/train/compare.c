/* compare.c - whether two runs came out the same, and what differs if not. */
#include "fixture.h"

#include "base/mem.h"
#include "base/str.h"
#include "train/compare.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *run_of(struct fixture *f, const char *const *assignments)
{
    return fixture_finish(fixture_create(f, assignments));
}

/* Compare and free the paths. */
static struct qn_comparison compared(char *then, char *now)
{
    struct qn_comparison c;
    struct qn_err err;
    if (qn_compare_runs(then, now, &c, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(then);
    free(now);
    return c;
}

static const struct qn_difference *find(const struct qn_comparison *c,
                                        const char *what)
{
    for (size_t i = 0; i < c->n; i++) {
        if (qn_str_eq(c->difference[i].what, what)) {
            return &c->difference[i];
        }
    }
    fail_msg("no difference %s", what);
    return NULL;
}

static char *file_of(const char *run, const char *name)
{
    return qn_path_join(run, name);
}

static char *content(const char *run, const char *name)
{
    struct qn_bytes bytes;
    struct qn_err err;
    char *path = file_of(run, name);
    if (qn_file_read(path, &bytes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(path);
    return bytes.data;
}

static void write_to(const char *run, const char *name, const char *text)
{
    struct qn_err err;
    char *path = file_of(run, name);
    assert_int_equal(qn_file_write(path, text, strlen(text), &err), QN_OK);
    free(path);
}

static void two_runs_of_one_spec_are_the_same(void **state)
{
    struct fixture *f = *state;
    static const char *const a[] = {"name=a", "tags=x", NULL};
    static const char *const b[] = {"name=b", "notes=again", NULL};
    struct qn_comparison c = compared(run_of(f, a), run_of(f, b));
    assert_true(qn_comparison_same(&c));
    assert_int_equal(c.steps, 20);
    assert_int_equal(c.first_step, -1);
    assert_int_equal(c.weights_step, 20);
    assert_true(c.weights_same);
    assert_int_equal(c.n, 0);
    qn_comparison_fini(&c);
}

static void another_seed_differs_from_step_1_and_is_named(void **state)
{
    struct fixture *f = *state;
    static const char *const b[] = {"seed=2", NULL};
    struct qn_comparison c = compared(run_of(f, NULL), run_of(f, b));
    assert_false(qn_comparison_same(&c));
    assert_int_equal(c.first_step, 1);
    assert_true(c.then != c.now);
    assert_false(c.weights_same);
    assert_int_equal(c.n, 1);
    assert_string_equal(find(&c, "seed")->then, "1");
    assert_string_equal(find(&c, "seed")->now, "2");
    qn_comparison_fini(&c);
}

/* A setting that shows in no loss but the last one's weights. */
static void weights_alone_may_differ(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    static const char *const s[] = {"steps=5", NULL};
    char *a = run_of(f, s);
    struct qn_trainer *t = fixture_create(f, s);
    fixture_run(t, 4);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.5", &err), QN_OK);
    struct qn_comparison c = compared(a, fixture_finish(t));
    assert_int_equal(c.first_step, -1);
    assert_int_equal(c.weights_step, 5);
    assert_false(c.weights_same);
    assert_false(qn_comparison_same(&c));
    assert_string_equal(find(&c, "optim.lr after step 4")->then, "not set");
    assert_string_equal(find(&c, "optim.lr after step 4")->now, "0.5");
    qn_comparison_fini(&c);
}

static void a_change_by_hand_differs_two_steps_later(void **state)
{
    struct fixture *f = *state;
    struct qn_err err;
    struct qn_trainer *t = fixture_create(f, NULL);
    fixture_run(t, 7);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.02", &err), QN_OK);
    assert_int_equal(qn_trainer_set(t, "optim.lr", "0.03", &err), QN_OK);
    assert_int_equal(qn_trainer_set(t, "notes", "x", &err), QN_OK);
    char *a = fixture_finish(t);
    struct qn_comparison c = compared(a, run_of(f, NULL));
    /* Step 8 is made with it, step 9 is the first to see what it made. */
    assert_int_equal(c.first_step, 9);
    assert_int_equal(c.n, 1);
    assert_string_equal(find(&c, "optim.lr after step 7")->then, "0.03");
    assert_string_equal(find(&c, "optim.lr after step 7")->now, "not set");
    qn_comparison_fini(&c);
}

static void a_longer_run_is_the_same_as_far_as_both_went(void **state)
{
    struct fixture *f = *state;
    static const char *const a[] = {"checkpoint.every=10", "steps=10", NULL};
    static const char *const b[] = {"checkpoint.every=10", "steps=25",
                                    "checkpoint.keep.last=9", NULL};
    struct qn_comparison c = compared(run_of(f, a), run_of(f, b));
    assert_true(qn_comparison_same(&c));
    assert_int_equal(c.steps, 10);
    assert_int_equal(c.weights_step, 10);
    assert_int_equal(c.n, 1);
    assert_string_equal(find(&c, "checkpoint.keep.last")->now, "9");
    qn_comparison_fini(&c);
}

/* The same run with a line for each of these losses. */
static char *run_with_losses(struct fixture *f, const char *const *losses,
                             int n)
{
    static const char *const s[] = {"steps=3", NULL};
    char *run = run_of(f, s);
    struct qn_str text = {0};
    for (int i = 0; i < n; i++) {
        qn_str_addf(&text, "{\"event\":\"step\",\"step\":%d,\"loss\":%s}\n",
                    i + 1, losses[i]);
    }
    write_to(run, "metrics.jsonl", text.text ? text.text : "");
    qn_str_free(&text);
    return run;
}

static void a_loss_that_is_not_finite_equals_only_another_one(void **state)
{
    struct fixture *f = *state;
    static const char *const a[] = {"1.5", "null", "2"};
    static const char *const b[] = {"1.5", "null", "null"};
    struct qn_comparison c =
        compared(run_with_losses(f, a, 3), run_with_losses(f, a, 3));
    assert_true(qn_comparison_same(&c));
    qn_comparison_fini(&c);
    c = compared(run_with_losses(f, a, 3), run_with_losses(f, b, 3));
    assert_int_equal(c.first_step, 3);
    qn_comparison_fini(&c);
}

static void the_last_bit_of_a_loss_counts(void **state)
{
    struct fixture *f = *state;
    static const char *const a[] = {"0.3"};
    static const char *const b[] = {"0.30000000000000004"};
    struct qn_comparison c =
        compared(run_with_losses(f, a, 1), run_with_losses(f, b, 1));
    assert_int_equal(c.first_step, 1);
    qn_comparison_fini(&c);
}

static void nothing_in_common_is_not_the_same(void **state)
{
    struct fixture *f = *state;
    static const char *const s[] = {"steps=5", NULL};
    char *a = run_with_losses(f, NULL, 0), *b = run_of(f, s);
    struct qn_comparison c = compared(a, b);
    assert_int_equal(c.steps, 0);
    assert_int_equal(c.weights_step, -1);
    assert_false(qn_comparison_same(&c));
    qn_comparison_fini(&c);
}

static void one_byte_of_the_data_is_named(void **state)
{
    struct fixture *f = *state;
    char *a = run_of(f, NULL);
    char *text = content(f->folder, "text.txt");
    text[0] = text[0] == 'a' ? 'b' : 'a';
    write_to(f->folder, "text.txt", text);
    free(text);
    struct qn_comparison c = compared(a, run_of(f, NULL));
    const struct qn_difference *d = find(&c, "SHA-256 of data.train");
    assert_int_equal(strlen(d->then), 64);
    assert_int_equal(strlen(d->now), 64);
    assert_string_not_equal(d->then, d->now);
    qn_comparison_fini(&c);
}

/* Put these values of code.json's in place of what stands there. */
static void change_code(const char *run, const char *key, json_t *value)
{
    char *text = content(run, "code.json");
    json_t *code = json_loads(text, 0, NULL);
    free(text);
    if (value != NULL) {
        json_object_set_new(code, key, value);
    } else {
        json_object_del(code, key);
    }
    text = json_dumps(code, 0);
    write_to(run, "code.json", text);
    free(text);
    json_decref(code);
}

static void program_and_machine_are_named(void **state)
{
    struct fixture *f = *state;
    char *a = run_of(f, NULL), *b = run_of(f, NULL);
    change_code(a, "quern", json_string("0.0.1"));
    change_code(a, "commit", json_string("f00"));
    change_code(a, "dirty", json_true());
    change_code(b, "dirty", json_false());
    change_code(a, "backend", json_string("none"));
    change_code(a, "blas_kernel", json_string("Pencil"));
    change_code(b, "blas_kernel", NULL);
    struct qn_comparison c = compared(a, b);
    assert_true(qn_comparison_same(&c));
    assert_string_equal(find(&c, "quern")->then, "0.0.1");
    assert_string_equal(find(&c, "commit")->then, "f00");
    assert_string_equal(find(&c, "dirty")->then, "true");
    assert_string_equal(find(&c, "backend")->now, "ref");
    assert_string_equal(find(&c, "blas_kernel")->then, "Pencil");
    assert_string_equal(find(&c, "blas_kernel")->now, "not on record");
    assert_int_equal(c.n, 5);
    qn_comparison_fini(&c);
}

static void threads_are_named_once(void **state)
{
    struct fixture *f = *state;
    static const char *const b[] = {"threads=3", NULL};
    struct qn_comparison c = compared(run_of(f, NULL), run_of(f, b));
    assert_int_equal(c.n, 1);
    assert_string_equal(find(&c, "threads")->now, "3");
    qn_comparison_fini(&c);
}

/* A run with checkpoints of steps 10 and 20. */
static char *two_checkpoints(struct fixture *f)
{
    static const char *const s[] = {"checkpoint.every=10", NULL};
    return run_of(f, s);
}

static void a_checkpoint_that_one_lacks_gives_way_to_one_before(void **state)
{
    struct fixture *f = *state;
    char *a = two_checkpoints(f), *b = two_checkpoints(f);
    char *metric = file_of(b, "checkpoints/20/metric");
    assert_int_equal(remove(metric), 0);
    free(metric);
    struct qn_comparison c = compared(a, b);
    assert_int_equal(c.weights_step, 10);
    assert_true(qn_comparison_same(&c));
    assert_int_equal(c.n, 0);
    qn_comparison_fini(&c);
}

static void a_checkpoint_that_cannot_be_read_is_named(void **state)
{
    struct fixture *f = *state;
    char *a = two_checkpoints(f), *b = two_checkpoints(f);
    char *model = file_of(a, "checkpoints/20/model.safetensors");
    assert_int_equal(remove(model), 0);
    free(model);
    struct qn_comparison c = compared(a, b);
    assert_int_equal(c.weights_step, 10);
    assert_true(c.weights_same);
    assert_non_null(
        strstr(find(&c, "checkpoint 20")->then, "model.safetensors"));
    assert_string_equal(find(&c, "checkpoint 20")->now, "whole");
    qn_comparison_fini(&c);
}

static char *fork_of(struct fixture *f, const char *parent, const char *steps)
{
    struct qn_trainer *t = NULL;
    struct qn_err err;
    if (qn_trainer_fork(&f->env, parent, "10", &steps, 1, &f->sink, &t, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    return fixture_finish(t);
}

static void weights_that_both_began_from_prove_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const s[] = {"checkpoint.every=10", "steps=10", NULL};
    char *parent = run_of(f, s);
    struct qn_comparison c = compared(fork_of(f, parent, "steps=15"),
                                      fork_of(f, parent, "steps=18"));
    assert_int_equal(c.steps, 5);
    assert_int_equal(c.weights_step, -1);
    assert_true(qn_comparison_same(&c));
    qn_comparison_fini(&c);
    free(parent);
}

static void a_damaged_history_is_an_error(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"metrics.jsonl", "events.jsonl",
                                        "spec.json", "code.json"};
    char *a = run_of(f, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct qn_comparison c;
        struct qn_err err;
        char *b = run_of(f, NULL);
        write_to(b, files[i], "{\n");
        assert_int_equal(qn_compare_runs(a, b, &c, &err), QN_EFORMAT);
        assert_non_null(strstr(err.text, files[i]));
        assert_non_null(strstr(err.text, b));
        free(b);
    }
    free(a);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_runs_of_one_spec_are_the_same),
        TEST(another_seed_differs_from_step_1_and_is_named),
        TEST(weights_alone_may_differ),
        TEST(a_change_by_hand_differs_two_steps_later),
        TEST(a_longer_run_is_the_same_as_far_as_both_went),
        TEST(a_loss_that_is_not_finite_equals_only_another_one),
        TEST(the_last_bit_of_a_loss_counts),
        TEST(nothing_in_common_is_not_the_same),
        TEST(one_byte_of_the_data_is_named),
        TEST(program_and_machine_are_named),
        TEST(threads_are_named_once),
        TEST(a_checkpoint_that_one_lacks_gives_way_to_one_before),
        TEST(a_checkpoint_that_cannot_be_read_is_named),
        TEST(weights_that_both_began_from_prove_nothing),
        TEST(a_damaged_history_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
