/* export.c - a run's files as other programs get them. */
#include "../store/make_run.h"

#include "base/clock.h"
#include "export/draw.h"
#include "export/export.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scratch folder with a store, a run in it and a place to export to. */
struct place {
    void *scratch;
    char *run, *to;
};

static void line(struct qn_run_dir *d, enum qn_run_file file, const char *text)
{
    struct qn_json j = {.comma = false};
    qn_str_add(&j.text, text);
    assert_int_equal(qn_run_dir_append(d, file, &j, NULL), QN_OK);
    qn_json_free(&j);
}

static const char step_1[] =
    "{\"event\":\"step\",\"step\":1,\"epoch\":0.5,\"loss\":4.25,\"lr\":0.001,"
    "\"grad_norm\":null,\"tokens_per_s\":91000,\"seconds\":0.4}";
static const char step_2_lost[] =
    "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":7,\"lr\":0.001,"
    "\"grad_norm\":1,\"tokens_per_s\":91000,\"seconds\":0.8}";
static const char step_2[] =
    "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":3.5,\"lr\":1e-05,"
    "\"grad_norm\":0.25,\"tokens_per_s\":90000.5,\"seconds\":0.9}";
static const char eval_2[] =
    "{\"event\":\"eval\",\"step\":2,\"split\":\"valid\",\"loss\":3,"
    "\"bpc\":4.5,\"predictions\":99,\"seconds\":0.1}";
static const char stats_2[] =
    "{\"event\":\"stats\",\"step\":2,\"threshold\":0.1,\"layers\":[{\"layer\":"
    "1,\"of\":\"c\",\"negative\":0.25,\"near\":0.5,\"positive\":0.25,\"zero\":"
    "0,\"nan\":0,\"count\":4,\"n_negative\":1,\"n_near\":2,\"n_positive\":1,"
    "\"n_zero\":0,\"n_nan\":0},{\"layer\":1,\"of\":\"f\",\"negative\":0,"
    "\"near\":0,\"positive\":1,\"zero\":0,\"nan\":0,\"count\":4,"
    "\"n_negative\":0,\"n_near\":0,\"n_positive\":4,\"n_zero\":0,\"n_nan\":0}"
    "],\"bins\":[{\"negative\":[[70,1],[40,1]],\"positive\":[[3,1],[80,1]]},"
    "{\"negative\":[],\"positive\":[[79,4]]}]}";

/* Interrupted after step 2, and trained again from step 1. */
static int make_place(void **state)
{
    struct place *p = qn_xmalloc(sizeof *p);
    assert_int_equal(make_scratch(&p->scratch), 0);
    struct qn_run_dir *d = make_run(p->scratch, "t");
    p->run = qn_xstrdup(qn_run_dir_path(d));
    p->to = qn_path_join(p->scratch, "out");
    line(d, QN_EVENTS, "{\"event\":\"start\",\"step\":0}");
    line(d, QN_METRICS, step_1);
    line(d, QN_METRICS, step_2_lost);
    for (int f = 0; f < QN_N_RUN_FILES; f++) {
        line(d, (enum qn_run_file)f, "{\"segment\":2,\"from\":1}");
    }
    line(d, QN_METRICS, step_2);
    line(d, QN_METRICS, eval_2);
    line(d, QN_STATS, stats_2);
    line(d, QN_EVENTS, "{\"event\":\"sample\",\"step\":2,\"text\":\"a\\n\"}");
    qn_run_dir_close(d);
    *state = p;
    return 0;
}

static int remove_place(void **state)
{
    struct place *p = *state;
    int failed = remove_scratch(&p->scratch);
    free(p->run);
    free(p->to);
    free(p);
    return failed;
}

/* With a checkpoint of this step, which is the best one and the only one that
 * stays. */
static void commit_at(const struct place *p, int64_t step, const char *weights)
{
    struct qn_run_dir *d;
    char *folder;
    struct qn_figures figures = {1, 1, (double)NAN};
    struct qn_keep keep = {0, 0};
    assert_int_equal(qn_run_dir_open(p->run, &d, NULL), QN_OK);
    assert_int_equal(qn_run_dir_checkpoint(d, step, &folder, NULL), QN_OK);
    put(folder, "model.safetensors", weights);
    assert_int_equal(qn_run_dir_commit(d, step, true, &figures, keep, NULL),
                     QN_OK);
    free(folder);
    qn_run_dir_close(d);
}

static void commit(const struct place *p, const char *weights)
{
    commit_at(p, 2, weights);
}

/* The sentence goes to *err. */
static enum qn_status export_to(const struct place *p, const char *to,
                                const char *list, struct qn_err *err)
{
    unsigned formats = 0;
    struct qn_exported e = {.n = 0};
    if (list != NULL) {
        assert_int_equal(qn_export_formats_parse(list, &formats, NULL), QN_OK);
    }
    enum qn_status status = qn_export(p->run, to, formats, &e, err);
    qn_exported_free(&e);
    return status;
}

static void export_well(const struct place *p, const char *list)
{
    struct qn_err err = {""};
    if (export_to(p, p->to, list, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
}

static void tables_are_of_the_run_as_it_went_on(void **state)
{
    struct place *p = *state;
    export_well(p, "csv");
    check_names(p->to, "evals.csv metrics.csv stats.csv");
    check_file(p->to, "metrics.csv",
               "step,epoch,loss,accuracy,lr,grad_norm,tokens_per_s,seconds\n"
               "1,0.5,4.25,,0.001,,91000,0.4\n"
               "2,1,3.5,,1e-05,0.25,90000.5,0.9\n");
    check_file(p->to, "evals.csv",
               "step,split,loss,bpc,perplexity,accuracy,predictions,seconds\n"
               "2,valid,3,4.5,,,99,0.1\n");
    check_file(p->to, "stats.csv",
               "step,threshold,layer,of,negative,near,positive,zero,nan,count,"
               "n_negative,n_near,n_positive,n_zero,n_nan\n"
               "2,0.1,1,c,0.25,0.5,0.25,0,0,4,1,2,1,0,0\n"
               "2,0.1,1,f,0,0,1,0,0,4,0,0,4,0,0\n");
}

static void check_lines(const char *folder, const char *name, const char *first,
                        const char *second, const char *third)
{
    struct qn_str text = {0};
    const char *const lines[] = {first, second, third};
    for (size_t i = 0; i < 3 && lines[i] != NULL; i++) {
        qn_str_addf(&text, "%s\n", lines[i]);
    }
    check_file(folder, name, text.text);
    qn_str_free(&text);
}

static void lines_are_as_if_no_resume_had_happened(void **state)
{
    struct place *p = *state;
    export_well(p, "jsonl");
    check_names(p->to, "events.jsonl metrics.jsonl stats.jsonl");
    check_lines(p->to, "metrics.jsonl", step_1, step_2, eval_2);
    check_lines(p->to, "stats.jsonl", stats_2, NULL, NULL);
    check_lines(p->to, "events.jsonl", "{\"event\":\"start\",\"step\":0}",
                "{\"event\":\"sample\",\"step\":2,\"text\":\"a\\n\"}", NULL);
}

static void weights_are_the_best_checkpoints(void **state)
{
    struct place *p = *state;
    commit(p, "weights");
    export_well(p, "safetensors");
    check_names(p->to, "model.safetensors spec.json vocab.txt");
    check_file(p->to, "model.safetensors", "weights");
    check_file(p->to, "spec.json", "{\"name\":\"t\"}\n");
    check_file(p->to, "vocab.txt", "a\n");
}

/* Asked before the first file is written: the run goes on. */
static bool train_on(void *user)
{
    struct place *p = user;
    char *before = qn_path_join(p->run, "checkpoints/2");
    if (qn_path_exists(before)) {
        commit_at(p, 3, "newer weights");
    }
    assert_false(qn_path_exists(before));
    free(before);
    return false;
}

static void a_checkpoint_that_goes_meanwhile_gives_way_to_the_next(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    struct qn_exported e = {.n = 0};
    commit(p, "weights");
    if (qn_export_until(p->run, p->to, 1u << QN_EXPORT_SAFETENSORS, train_on, p,
                        &e, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    check_names(p->to, "model.safetensors spec.json vocab.txt");
    check_file(p->to, "model.safetensors", "newer weights");
    qn_exported_free(&e);
}

/* It is named as damage, and not tried for ever. */
static void a_checkpoint_without_weights_is_damaged(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    commit(p, "weights");
    char *folder = qn_path_join(p->run, "checkpoints/2");
    char *sums = qn_path_join(folder, "SHA256SUMS");
    char *model = qn_path_join(folder, "model.safetensors");
    assert_int_equal(unlink(sums), 0);
    assert_int_equal(unlink(model), 0);
    assert_int_equal(export_to(p, p->to, NULL, &err), QN_EIO);
    assert_non_null(strstr(err.text, "checkpoints/2/model.safetensors"));
    assert_false(qn_path_exists(p->to));
    free(model);
    free(sums);
    free(folder);
}

static void word_vectors_come_with_the_weights(void **state)
{
    struct place *p = *state;
    commit(p, "weights");
    put(p->run, "vectors.safetensors", "vectors");
    export_well(p, "safetensors");
    check_file(p->to, "vectors.safetensors", "vectors");
}

/* The files' names, each with a blank behind it, in two pieces. */
static void check_list(const struct qn_exported *e, const char *first,
                       const char *rest)
{
    struct qn_str names = {0};
    for (int i = 0; i < e->n; i++) {
        qn_str_addf(&names, "%s ", qn_path_base(e->path[i]));
        assert_true(qn_path_exists(e->path[i]));
    }
    size_t len = strlen(first);
    assert_int_equal(strncmp(names.text, first, len), 0);
    assert_string_equal(names.text + len, rest);
    qn_str_free(&names);
}

static void without_a_checkpoint_there_are_numbers_but_no_weights(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    struct qn_exported e;
    int n = qn_draw_has_png() ? 19 : 13;
    put(p->run, "spec.json", "{\"name\":\"t\",\"data\":{\"train\":\"x\"}}");
    assert_int_equal(export_to(p, p->to, "csv,safetensors", &err),
                     QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "checkpoint"));
    assert_false(qn_path_exists(p->to));
    assert_int_equal(qn_export(p->run, p->to, 0, &e, NULL), QN_OK);
    assert_int_equal(e.n, n);
    assert_string_equal(e.no_weights.text, err.text);
    check_list(&e,
               "metrics.csv evals.csv stats.csv metrics.jsonl "
               "events.jsonl stats.jsonl events.out.tfevents.quern "
               "loss.svg shares.svg histogram-c.svg heatmap-c.svg "
               "histogram-f.svg heatmap-f.svg ",
               qn_draw_has_png()
                   ? "loss.png shares.png histogram-c.png heatmap-c.png "
                     "histogram-f.png heatmap-f.png "
                   : "");
    qn_exported_free(&e);
}

static void files_of_the_same_name_are_replaced_and_others_stay(void **state)
{
    struct place *p = *state;
    assert_int_equal(qn_make_dirs(p->to, NULL), QN_OK);
    put(p->to, "evals.csv", "old");
    put(p->to, "notes", "mine");
    export_well(p, "csv");
    export_well(p, "csv");
    check_names(p->to, "evals.csv metrics.csv notes stats.csv");
    check_file(p->to, "notes", "mine");
    check_file(p->run, "spec.json", "{\"name\":\"t\"}\n");
}

/* A damaged line in the last file that is read. */
static void a_failure_leaves_the_folder_as_it_was(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    put(p->run, "stats.jsonl", "{\"event\":\"stats\"}\n{]\n");
    assert_int_equal(export_to(p, p->to, NULL, &err), QN_EFORMAT);
    assert_non_null(strstr(err.text, "stats.jsonl: line 2"));
    assert_false(qn_path_exists(p->to));
    char *deep = qn_path_join(p->to, "a//b/");
    assert_int_equal(export_to(p, deep, NULL, &err), QN_EFORMAT);
    assert_false(qn_path_exists(p->to));
    free(deep);
    assert_int_equal(qn_make_dirs(p->to, NULL), QN_OK);
    put(p->to, "metrics.csv", "old");
    assert_int_equal(export_to(p, p->to, "csv", &err), QN_EFORMAT);
    check_names(p->to, "metrics.csv");
    check_file(p->to, "metrics.csv", "old");
}

static void a_runs_folder_is_no_place_to_export_to(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    char *inside = qn_path_join(p->run, "a/b");
    char *lock = qn_path_join(p->run, "lock");
    assert_int_equal(export_to(p, p->run, "csv", &err), QN_EUSAGE);
    assert_non_null(strstr(err.text, "run's folder"));
    commit(p, "weights");
    assert_int_equal(qn_remove_tree(lock, NULL), QN_OK);
    assert_int_equal(export_to(p, p->run, "csv", &err), QN_EUSAGE);
    free(lock);
    assert_int_equal(export_to(p, inside, "csv", &err), QN_EUSAGE);
    check_names(p->run, "best checkpoints code.json events.jsonl last "
                        "metrics.jsonl spec.json stats.jsonl vocab.txt");
    free(inside);
}

static void what_is_in_the_way_is_named(void **state)
{
    struct place *p = *state;
    struct qn_err err = {""};
    char *taken = qn_path_join(p->to, "evals.csv");
    assert_int_equal(qn_make_dirs(taken, NULL), QN_OK);
    assert_int_equal(export_to(p, p->to, "csv", &err), QN_EIO);
    assert_non_null(strstr(err.text, "evals.csv: is a folder"));
    check_names(p->to, "evals.csv");
    assert_int_equal(qn_remove_tree(p->to, NULL), QN_OK);
    *strrchr(taken, '/') = '\0';
    put("", taken, "a file");
    assert_int_equal(export_to(p, p->to, "csv", &err), QN_EIO);
    assert_non_null(strstr(err.text, "not a folder"));
    free(taken);
}

#define EVENTS "events.out.tfevents.quern"

static struct qn_bytes read_events(const char *folder)
{
    char *path = qn_path_join(folder, EVENTS);
    struct qn_bytes b = {0};
    assert_int_equal(qn_file_read(path, &b, NULL), QN_OK);
    free(path);
    return b;
}

/* len bytes, the least first, as a number. */
static uint64_t little_endian(const char *at, size_t len)
{
    uint64_t v = 0;
    while (len-- > 0) {
        v = v << 8 | (unsigned char)at[len];
    }
    return v;
}

/* The wall times of all records, which are u64 length, u32 sum, data, u32 sum;
 * the data begins with the key of field 1, a double. Returns how many. */
static int wall_times(const char *folder, double *wall, int room)
{
    int n = 0;
    struct qn_bytes b = read_events(folder);
    for (size_t at = 0; at < b.len; n++) {
        size_t len = little_endian(b.data + at, 8);
        uint64_t bits = little_endian(b.data + at + 13, 8);
        assert_true(n < room && b.data[at + 12] == 9);
        memcpy(&wall[n], &bits, sizeof bits);
        at += 8 + 4 + len + 4;
        assert_true(at <= b.len);
    }
    qn_bytes_free(&b);
    return n;
}

/* The version; loss, lr, grad_norm, tokens_per_s of two steps; loss and bpc of
 * an evaluation; c and f of a layer. */
#define N_EVENTS (1 + 2 * 4 + 2 + 2)

static void check_times(const char *folder, double start)
{
    double wall[N_EVENTS];
    assert_int_equal(wall_times(folder, wall, N_EVENTS), N_EVENTS);
    for (int i = 0; i < N_EVENTS; i++) {
        double seconds = i == 0 ? 0 : i < 5 ? 0.4 : 0.9;
        /* Doubles of 1e9 seconds are 2e-7 apart. */
        assert_true(fabs(wall[i] - (start + seconds)) < 1e-6);
    }
}

static void events_are_those_of_the_lines_that_count(void **state)
{
    struct place *p = *state;
    double start = 0;
    export_well(p, "tfevents");
    check_names(p->to, EVENTS);
    assert_true(qn_clock_read_stamp(qn_path_base(p->run), &start));
    check_times(p->to, start);
}

static void a_renamed_runs_time_is_that_of_its_settings(void **state)
{
    struct place *p = *state;
    char *renamed = qn_path_join(p->scratch, "renamed");
    char *spec = qn_path_join(renamed, "spec.json");
    assert_int_equal(rename(p->run, renamed), 0);
    const struct timespec times[2] = {{1000000000, 0}, {1234567890, 0}};
    assert_int_equal(utimensat(AT_FDCWD, spec, times, 0), 0);
    free(p->run);
    p->run = renamed;
    export_well(p, "tfevents");
    check_times(p->to, 1234567890);
    free(spec);
}

static bool mentions(const struct qn_bytes *b, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= b->len; at++) {
        if (memcmp(b->data + at, word, len) == 0) {
            return true;
        }
    }
    return false;
}

static void events_have_the_tags_of_the_manual(void **state)
{
    struct place *p = *state;
    export_well(p, "tfevents");
    struct qn_bytes b = read_events(p->to);
    static const char *const tags[] = {
        "train/loss", "train/lr",  "train/grad_norm", "train/tokens_per_s",
        "valid/loss", "valid/bpc", "c/layer 1",       "f/layer 1"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        assert_true(mentions(&b, tags[i]));
    }
    assert_false(mentions(&b, "accuracy") || mentions(&b, "perplexity"));
    qn_bytes_free(&b);
}

static void a_list_of_formats_is_checked(void **state)
{
    (void)state;
    unsigned set = 99;
    struct qn_err err;
    assert_int_equal(qn_export_formats_parse("tfevents,csv", &set, &err),
                     QN_OK);
    assert_int_equal(set, 1u << QN_EXPORT_TFEVENTS | 1u << QN_EXPORT_CSV);
    static const char *const bad[] = {
        "",    ",",         "csv,", ",csv",    "cs",        "csvs",
        "CSV", "csv jsonl", " csv", "csv,npz", "csv,,jsonl"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set = 99;
        assert_int_equal(qn_export_formats_parse(bad[i], &set, &err),
                         QN_EUSAGE);
        assert_int_equal(set, 99);
    }
    assert_string_equal(err.text, "there is no format '', only csv, jsonl, "
                                  "safetensors, tfevents, svg, png");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tables_are_of_the_run_as_it_went_on),
        TEST(lines_are_as_if_no_resume_had_happened),
        TEST(weights_are_the_best_checkpoints),
        TEST(a_checkpoint_that_goes_meanwhile_gives_way_to_the_next),
        TEST(a_checkpoint_without_weights_is_damaged),
        TEST(word_vectors_come_with_the_weights),
        TEST(without_a_checkpoint_there_are_numbers_but_no_weights),
        TEST(files_of_the_same_name_are_replaced_and_others_stay),
        TEST(a_failure_leaves_the_folder_as_it_was),
        TEST(a_runs_folder_is_no_place_to_export_to),
        TEST(what_is_in_the_way_is_named),
        TEST(events_are_those_of_the_lines_that_count),
        TEST(a_renamed_runs_time_is_that_of_its_settings),
        TEST(events_have_the_tags_of_the_manual),
        cmocka_unit_test(a_list_of_formats_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
