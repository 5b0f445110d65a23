/* classifier_resume.c - classifiers that are cut and gone on with, and what a
 * run must hold for that.
 */
#include "labelled.h"

#include "base/mem.h"
#include "base/safetensors.h"
#include "base/str.h"
#include "store/store.h"
#include "train/trainer_self.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* An epoch is 27 batches, the last one not full. */
static const char *const goes_on[] = {"steps=40",
                                      "eval.every=10 steps",
                                      "checkpoint.every=6",
                                      "stats.every=5",
                                      "stats.of=c,z,h",
                                      "model.embed_dropout=0.2",
                                      "checkpoint.metric=valid.accuracy",
                                      NULL};

static void remove_file(const char *path)
{
    struct qn_err err;
    assert_true(qn_path_exists(path));
    assert_int_equal(qn_remove_tree(path, &err), QN_OK);
}

/* Where the run is cut nothing is saved, as when it is killed; the vectors'
 * file is gone then. */
static void check_cut(struct labelled *l, const char *const *settings,
                      const char *whole, int64_t cut)
{
    struct labelled again = *l;
    again.vectors = qn_path_join(l->f->folder, "cut.txt");
    struct qn_bytes vectors;
    struct qn_err err;
    assert_int_equal(qn_file_read(l->vectors, &vectors, &err), QN_OK);
    free(fixture_write(l->f, "cut.txt", vectors.data));
    struct qn_trainer *t = labelled_create(&again, settings);
    fixture_run(t, cut);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    remove_file(again.vectors);
    t = fixture_resume(l->f, run, NULL, 0);
    assert_true(qn_trainer_step_count(t) <= cut);
    free(fixture_finish(t));
    assert_same_training(run, whole, 40);
    free(again.vectors);
    free(run);
    qn_bytes_free(&vectors);
}

static void a_cut_run_ends_byte_for_byte_like_an_uncut_one(void **state)
{
    struct labelled *l = *state;
    static const int64_t cuts[] = {0, 5, 6, 13, 26, 27, 28, 39};
    char *whole = fixture_finish(labelled_create(l, goes_on));
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        check_cut(l, goes_on, whole, cuts[i]);
    }
    free(whole);
    l->f->env.backend = "cpu";
    whole = fixture_finish(labelled_create(l, goes_on));
    check_cut(l, goes_on, whole, 14);
    check_cut(l, goes_on, whole, 28);
    free(whole);
}

static void so_does_one_of_another_kind(void **state)
{
    struct labelled *l = *state;
    static const char *const kinds[][8] = {
        {"steps=40", "checkpoint.every=6", "eval.every=10 steps",
         "model.batch_norm=true", "optim.kind=rmsprop", NULL},
        {"steps=40", "checkpoint.every=6", "eval.every=10 steps",
         "model.cell=lstm", "model.dense=true", "optim.kind=sgd",
         "optim.momentum=0.9", NULL}};
    for (int i = 0; i < 2; i++) {
        char *whole = fixture_finish(labelled_create(l, kinds[i]));
        check_cut(l, kinds[i], whole, 16);
        free(whole);
    }
}

static bool has_tensor(const char *path, const char *name)
{
    struct qn_st_file *file;
    struct qn_err err;
    assert_int_equal(qn_st_open(path, &file, &err), QN_OK);
    bool has = qn_st_find(file, name) != NULL;
    qn_st_close(file);
    return has;
}

static void word_vectors_are_kept_once(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, NULL));
    char *vectors = qn_path_join(run, "vectors.safetensors");
    char *model = qn_path_join(run, "checkpoints/20/model.safetensors");
    char *beside = qn_path_join(run, "checkpoints/20/vectors.safetensors");
    assert_true(has_tensor(vectors, "embedding.weight"));
    assert_false(has_tensor(model, "embedding.weight"));
    assert_false(qn_path_exists(beside));
    free(vectors);
    free(model);
    free(beside);
    free(run);
    static const char *const embedded[] = {"data.vectors=none", NULL};
    run = fixture_finish(labelled_create(l, embedded));
    vectors = qn_path_join(run, "vectors.safetensors");
    model = qn_path_join(run, "checkpoints/20/model.safetensors");
    assert_false(qn_path_exists(vectors));
    assert_true(has_tensor(model, "embedding.weight"));
    free(vectors);
    free(model);
    free(run);
}

/* Every batch of documents begins at zero. */
static void nothing_is_carried_over(void **state)
{
    char *run = fixture_finish(labelled_create(*state, NULL));
    char *path = qn_path_join(run, "checkpoints/20/state.safetensors");
    struct qn_st_file *file;
    struct qn_err err;
    assert_int_equal(qn_st_open(path, &file, &err), QN_OK);
    const struct qn_st_tensor *carried = qn_st_find(file, "carried");
    assert_non_null(carried);
    assert_true(qn_st_count(carried) > 0);
    for (size_t i = 0; i < qn_st_count(carried); i++) {
        assert_true(qn_st_value(carried, i) == 0);
    }
    qn_st_close(file);
    free(path);
    free(run);
}

static void a_full_disk_leaves_no_run_without_vectors(void **state)
{
    struct labelled *l = *state;
    struct qn_spec spec = labelled_spec(l, NULL);
    struct qn_trainer *t = NULL;
    struct qn_err err = {""};
    struct qn_run_summary *runs;
    int n;
    rlim_t before = fixture_limit_files(300); /* 11 vectors need more */
    enum qn_status status =
        qn_trainer_create(&l->f->env, &spec, &l->f->sink, &t, &err);
    (void)fixture_limit_files(before);
    assert_int_equal(status, QN_EIO);
    assert_non_null(strstr(err.text, "vectors.safetensors"));
    assert_null(strchr(err.text, '\n'));
    assert_null(t);
    assert_int_equal(qn_store_list(l->f->store, &runs, &n, NULL, &err), QN_OK);
    assert_int_equal(n, 0);
    free(runs);
}

static void missing_or_foreign_vectors_are_named(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, NULL));
    char *vectors = qn_path_join(run, "vectors.safetensors");
    static const char *const more[] = {"steps=30"};
    struct qn_trainer *t;
    struct qn_measure *m;
    struct qn_err err;
    remove_file(vectors);
    assert_int_equal(
        qn_trainer_resume(&l->f->env, run, more, 1, NULL, &t, &err),
        QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "vectors.safetensors"));
    assert_int_equal(
        qn_measure_open(&l->f->env, run, "last", NULL, 0, &m, &err),
        QN_ENOTFOUND);
    static const float one = 1;
    struct qn_st_tensor small = {.name = "embedding.weight",
                                 .dtype = QN_F32,
                                 .n_dims = 2,
                                 .dim = {1, 1},
                                 .data = &one};
    assert_int_equal(qn_st_write(vectors, &small, 1, NULL, 0, &err), QN_OK);
    assert_int_equal(
        qn_measure_open(&l->f->env, run, "last", NULL, 0, &m, &err),
        QN_EFORMAT);
    assert_non_null(strstr(err.text, "vectors.safetensors"));
    free(vectors);
    free(run);
}

/* The file is as large as it was, and one of its numbers another. */
static void changed_vectors_are_noticed(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, NULL));
    char *path = qn_path_join(run, "vectors.safetensors");
    static const char *const more[] = {"steps=30"};
    struct qn_trainer *t;
    struct qn_measure *m;
    struct qn_bytes file;
    struct qn_err err;
    assert_int_equal(qn_file_read(path, &file, &err), QN_OK);
    file.data[file.len - 4] ^= 1;
    assert_int_equal(qn_file_write(path, file.data, file.len, &err), QN_OK);
    assert_int_equal(
        qn_trainer_resume(&l->f->env, run, more, 1, NULL, &t, &err), QN_ESTATE);
    assert_non_null(strstr(err.text, "vectors.safetensors has changed"));
    assert_int_equal(
        qn_measure_open(&l->f->env, run, "last", NULL, 0, &m, &err), QN_ESTATE);
    file.data[file.len - 4] ^= 1;
    assert_int_equal(qn_file_write(path, file.data, file.len, &err), QN_OK);
    qn_trainer_free(fixture_resume(l->f, run, more, 1));
    qn_bytes_free(&file);
    free(path);
    free(run);
}

/* As runs of programs that noted no vectors are: code.json without them. */
static void runs_that_noted_no_vectors_are_read(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, NULL));
    char *path = qn_path_join(run, "code.json");
    static const char *const more[] = {"steps=30"};
    struct qn_bytes code;
    struct qn_err err;
    assert_int_equal(qn_file_read(path, &code, &err), QN_OK);
    char *at = strstr(code.data, ",\"vectors\":");
    assert_non_null(at);
    char *rest = strchr(at, '}');
    char *older =
        qn_xasprintf("%.*s%s", (int)(at - code.data), code.data, rest);
    assert_int_equal(qn_file_write(path, older, strlen(older), &err), QN_OK);
    qn_trainer_free(fixture_resume(l->f, run, more, 1));
    qn_bytes_free(&code);
    free(older);
    free(path);
    free(run);
}

static void changed_documents_are_noticed(void **state)
{
    struct labelled *l = *state;
    struct qn_trainer *t = labelled_create(l, NULL);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    struct qn_err err;
    qn_trainer_free(t);
    free(fixture_write(l->f, "test.tsv", "1\t0\tthe film was bright\n"));
    assert_int_equal(
        qn_trainer_resume(&l->f->env, run, NULL, 0, NULL, &t, &err), QN_ESTATE);
    assert_non_null(strstr(err.text, "data.test"));
    assert_non_null(strstr(err.text, "has changed"));
    assert_null(strstr(err.text, "data.train"));
    free(run);
}

static void write_in(struct labelled *l, const char *folder, const char *name,
                     const char *text)
{
    struct qn_err err;
    char *path = qn_path_join(l->f->folder, folder);
    assert_int_equal(qn_make_dirs(path, &err), QN_OK);
    free(path);
    path = qn_path_join(folder, name);
    free(fixture_write(l->f, path, text));
    free(path);
}

static void a_folder_is_trained_on_and_its_changes_are_noticed(void **state)
{
    struct labelled *l = *state;
    struct labelled of_folder = *l;
    static const char *const whole[] = {"data.fold=none", "steps=4", "batch=2",
                                        NULL};
    struct qn_err err;
    write_in(l, "reviews/pos", "0_9.txt", "the film was bright");
    write_in(l, "reviews/pos", "1_8.txt", "bright plot and bright actors");
    write_in(l, "reviews/neg", "0_1.txt", "the plot was dull");
    of_folder.train = qn_path_join(l->f->folder, "reviews");
    struct qn_trainer *t = labelled_create(&of_folder, whole);
    assert_int_equal(qn_trainer_steps_per_epoch(t), 2);
    fixture_run(t, 3);
    assert_int_equal(qn_trainer_checkpoint(t, &err), QN_OK);
    char *run = qn_xstrdup(qn_trainer_dir(t));
    qn_trainer_free(t);
    qn_trainer_free(fixture_resume(l->f, run, NULL, 0));
    write_in(l, "reviews/neg", "0_1.txt", "the plot was dull and dull");
    assert_int_equal(
        qn_trainer_resume(&l->f->env, run, NULL, 0, NULL, &t, &err), QN_ESTATE);
    assert_non_null(strstr(err.text, "data.train"));
    free(of_folder.train);
    free(run);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, labelled_setup, labelled_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_cut_run_ends_byte_for_byte_like_an_uncut_one),
        CASE(so_does_one_of_another_kind),
        CASE(word_vectors_are_kept_once),
        CASE(nothing_is_carried_over),
        CASE(a_full_disk_leaves_no_run_without_vectors),
        CASE(missing_or_foreign_vectors_are_named),
        CASE(changed_vectors_are_noticed),
        CASE(runs_that_noted_no_vectors_are_read),
        CASE(changed_documents_are_noticed),
        CASE(a_folder_is_trained_on_and_its_changes_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
