/* sums.c - tests of SHA256SUMS: what is damaged is named and not used. */
#include "make_checkpoint.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct qn_run_dir *one_checkpoint(const char *store)
{
    struct qn_run_dir *d = make_run(store, "r");
    checkpoint(d, 7, "seven", false, 2, keep_all);
    return d;
}

/* Checkpoints 5, 6 and 7, of which 6 is the best. */
static struct qn_run_dir *three_checkpoints(const char *store)
{
    struct qn_run_dir *d = make_run(store, "r");
    checkpoint(d, 5, "five", false, 3, keep_all);
    checkpoint(d, 6, "six", true, 1, keep_all);
    checkpoint(d, 7, "seven", false, 2, keep_all);
    return d;
}

static void a_checkpoint_holds_the_sums_that_sha256sum_reads(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    char *folder;
    const struct qn_figures figures = {1, 1, (double)NAN};
    assert_int_equal(qn_run_dir_checkpoint(d, 5, &folder, NULL), QN_OK);
    put(folder, "state.safetensors", "");
    put(folder, "model.safetensors", "abc");
    put(folder, "model.safetensors.1-0.tmp", "left by a write that failed");
    assert_int_equal(qn_run_dir_commit(d, 5, true, &figures, keep_all, NULL),
                     QN_OK);
    check_file(
        folder, "SHA256SUMS",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        "  model.safetensors\n"
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        "  state.safetensors\n"
        "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"
        "  metric\n");
    char *command =
        qn_xasprintf("cd '%s' && sha256sum --quiet -c SHA256SUMS", folder);
    assert_int_equal(system(command), 0);
    free(command);
    free(folder);
    qn_run_dir_close(d);
}

/* What finding this checkpoint says, QN_EFORMAT, below the run's path. */
static void check_damaged(const char *run, const char *which,
                          const char *sentence)
{
    struct qn_err err = {""};
    char *folder = NULL;
    int64_t step;
    char *whole = qn_xasprintf("%s/checkpoints/%s", run, sentence);
    assert_int_equal(
        qn_run_dir_find_checkpoint(run, which, &folder, &step, &err),
        QN_EFORMAT);
    assert_string_equal(err.text, whole);
    assert_null(folder);
    free(whole);
}

static void remove_from(const char *run, const char *name)
{
    char *path = qn_path_join(run, name);
    assert_int_equal(remove(path), 0);
    free(path);
}

static void a_damaged_file_is_named_with_what_is_wrong(void **state)
{
    struct qn_run_dir *d = three_checkpoints(*state);
    const char *run = qn_run_dir_path(d);
    put(run, "checkpoints/7/model.safetensors", "sewen");
    put(run, "checkpoints/6/metric", "2\n");
    remove_from(run, "checkpoints/5/model.safetensors");
    check_damaged(run, "last",
                  "7/model.safetensors: is damaged: the SHA-256 of its 5 bytes "
                  "begins with a74e4c6edefc680b, not with 3ba8d02b16fd2a01 as "
                  "SHA256SUMS says");
    check_damaged(run, "best",
                  "6/metric: is damaged: the SHA-256 of its 2 bytes begins "
                  "with 53c234e5e8472b6a, not with 4355a46b19d348dc as "
                  "SHA256SUMS says");
    check_damaged(run, "5",
                  "5/model.safetensors: is missing, SHA256SUMS lists it");
    qn_run_dir_close(d);
}

/* A pipe would keep whoever opens it waiting for ever. */
static void what_is_no_file_is_damage(void **state)
{
    struct qn_run_dir *d = one_checkpoint(*state);
    const char *run = qn_run_dir_path(d);
    char *path = qn_path_join(run, "checkpoints/7/model.safetensors");
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_damaged(run, "7", "7/model.safetensors: is not a regular file");
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    check_damaged(run, "7", "7/model.safetensors: is not a regular file");
    free(path);
    qn_run_dir_close(d);
}

static void an_older_checkpoint_without_sums_is_believed(void **state)
{
    struct qn_run_dir *d = one_checkpoint(*state);
    const char *run = qn_run_dir_path(d);
    remove_from(run, "checkpoints/7/SHA256SUMS");
    put(run, "checkpoints/7/model.safetensors", "changed");
    check_found(run, "last", 7, "changed");
    qn_run_dir_close(d);
}

#define HEX_32 "0123456789abcdef0123456789abcdef"
#define HEX_OF_METRIC                                                          \
    "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"

static void a_malformed_list_is_damage(void **state)
{
    static const char *const lists[] = {
        "\n",
        "x",
        HEX_32 HEX_32 "  metric", /* torn */
        HEX_32 HEX_32 " metric\n",
        HEX_32 HEX_32 " *metric\n",
        HEX_32 HEX_32 "  \n",
        HEX_32 HEX_32 "\n",
        HEX_32 HEX_32 "  ../metric\n",
        HEX_32 HEX_32 "  /etc/passwd\n",
        HEX_32 HEX_32 "  ..\n",
        HEX_32 HEX_32 "  .\n",
        HEX_32 "0123456789ABCDEF0123456789ABCDEF  metric\n",
        HEX_32 "0123456789abcdef0123456789abcde  metric\n",
        "\\" HEX_32 HEX_32 "  metric\n",
        "# a comment\n",
    };
    struct qn_run_dir *d = three_checkpoints(*state);
    const char *run = qn_run_dir_path(d);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        put(run, "checkpoints/7/SHA256SUMS", lists[i]);
        check_damaged(run, "7",
                      "7/SHA256SUMS: line 1 is not a SHA-256 and a file's "
                      "name");
    }
    char *path = qn_path_join(run, "checkpoints/6/SHA256SUMS");
    static const char with_nul[] = HEX_OF_METRIC "  metric\0x\n";
    assert_int_equal(qn_file_write(path, with_nul, sizeof with_nul - 1, NULL),
                     QN_OK);
    check_damaged(run, "6",
                  "6/SHA256SUMS: line 1 is not a SHA-256 and a file's name");
    free(path);
    struct qn_str name = {0};
    for (int i = 0; i < 256; i++) {
        qn_str_add(&name, i > 0 ? "x" : HEX_OF_METRIC "  ");
    }
    qn_str_add(&name, "x\n");
    put(run, "checkpoints/5/SHA256SUMS", name.text);
    check_damaged(run, "5",
                  "5/SHA256SUMS: line 1 is not a SHA-256 and a file's name");
    qn_str_free(&name);
    qn_run_dir_close(d);
}

/* At every byte, also where a line ends. */
static void a_list_cut_short_anywhere_is_damage(void **state)
{
    struct qn_run_dir *d = one_checkpoint(*state);
    const char *run = qn_run_dir_path(d);
    char *path = qn_path_join(run, "checkpoints/7/SHA256SUMS");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (off_t len = st.st_size - 1; len >= 0; len--) {
        char *folder;
        int64_t step;
        assert_int_equal(truncate(path, len), 0);
        assert_int_equal(
            qn_run_dir_find_checkpoint(run, "7", &folder, &step, NULL),
            QN_EFORMAT);
    }
    put(run, "checkpoints/7/SHA256SUMS", "");
    check_damaged(run, "7",
                  "7/SHA256SUMS: is cut short, its last line must be that of "
                  "\"metric\"");
    free(path);
    qn_run_dir_close(d);
}

/* What find_whole finds and says of damage; with step -1, that it fails so. */
static void check_whole(const char *run, int64_t step, const char *sentence,
                        enum qn_status status)
{
    struct qn_err damage = {"not touched"}, err = {""};
    char *folder = NULL;
    int64_t found = -1;
    assert_int_equal(qn_run_dir_find_whole(run, &folder, &found, &damage, &err),
                     status);
    const char *said = status == QN_OK ? damage.text : err.text;
    assert_int_equal(found, step);
    if (sentence[0] == '\0') {
        assert_string_equal(said, "");
    } else if (strstr(said, sentence) == NULL) {
        fail_msg("%s", said);
    }
    assert_true((folder != NULL) == (status == QN_OK));
    free(folder);
}

static void a_resume_goes_on_from_the_newest_whole_checkpoint(void **state)
{
    struct qn_run_dir *d = three_checkpoints(*state);
    const char *run = qn_run_dir_path(d);
    check_whole(run, 7, "", QN_OK);
    put(run, "checkpoints/7/model.safetensors", "sewen");
    check_whole(run, 6, "/7/model.safetensors: is damaged: ", QN_OK);
    remove_from(run, "checkpoints/6/model.safetensors");
    check_whole(run, 5, "/6/model.safetensors: is missing, SHA256SUMS lists it",
                QN_OK);
    check_whole(run, 5, "; ", QN_OK); /* and what is wrong with 7 */
    put(run, "checkpoints/5/SHA256SUMS", "");
    check_whole(run, -1, ": has no checkpoint that is whole: ", QN_EFORMAT);
    qn_run_dir_close(d);
}

static void a_resume_goes_on_without_the_file_last(void **state)
{
    struct qn_run_dir *d = three_checkpoints(*state);
    const char *run = qn_run_dir_path(d);
    remove_from(run, "last");
    check_whole(run, 7, ": has no file \"last\"", QN_OK);
    put(run, "last", "seven\n");
    check_whole(run, 7, "/last: holds \"seven\", not a step", QN_OK);
    put(run, "last", "6\n");
    check_whole(run, 6, "", QN_OK);
    put(run, "last", "9\n");
    check_whole(run, 7,
                ": the checkpoint of step 9, which \"last\" names, is gone",
                QN_OK);
    put(run, "last", "4\n"); /* those after it are of a history replaced */
    check_whole(run, -1, "of step 4, which \"last\" names, is gone",
                QN_EFORMAT);
    qn_run_dir_close(d);
}

static void a_run_without_checkpoints_has_none_to_go_on_from(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    check_whole(qn_run_dir_path(d), -1,
                ": no checkpoint \"last\"; it has none yet", QN_ENOTFOUND);
    qn_run_dir_close(d);
}

static void the_last_good_is_one_against_which_nothing_speaks(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    checkpoint(d, 10, "one", false, 3, keep_all);
    checkpoint(d, 20, "two", true, 1, keep_all);
    checkpoint(d, 30, "three", false, 2, keep_all);
    append(d, QN_EVENTS, "checkpoint", 30);
    append(d, QN_EVENTS, "nan", 32);
    append(d, QN_EVENTS, "spike", 29);
    check_found(run, "last_good", 30, "three");
    append(d, QN_EVENTS, "nan", 31); /* the first that its weights made */
    check_found(run, "last_good", 20, "two");
    append(d, QN_EVENTS, "spike", 20);
    check_found(run, "last_good", 10, "one");
    append(d, QN_EVENTS, "spike", 11);
    check_not_found(run, "last_good",
                    "no checkpoint \"last_good\"; it has those of steps 10, "
                    "20, 30");
    qn_run_dir_close(d);
}

static void what_a_rollback_replaced_speaks_against_nothing(void **state)
{
    struct qn_run_dir *d = one_checkpoint(*state);
    const char *run = qn_run_dir_path(d);
    put(run, "events.jsonl",
        "{\"event\":\"nan\",\"step\":8}\n{\"segment\":2,\"from\":7}\n");
    check_found(run, "last_good", 7, "seven");
    qn_run_dir_close(d);
}

/* Resumes that fail at once must not push out what they could go back to. */
static void the_last_good_is_never_pruned(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    const char *run = qn_run_dir_path(d);
    const struct qn_keep two = {.best = 0, .last = 2};
    checkpoint(d, 10, "one", false, (double)NAN, two);
    checkpoint(d, 20, "two", false, (double)NAN, two);
    append(d, QN_EVENTS, "nan", 22);
    for (int step = 22; step < 26; step++) {
        checkpoint(d, step, "spoilt", false, (double)NAN, two);
        append(d, QN_EVENTS, "nan", step + 1);
    }
    check_found(run, "last_good", 20, "two");
    check_not_found(run, "22",
                    "no checkpoint \"22\"; it has those of steps 20, 24, 25");
    qn_run_dir_close(d);
}

static void a_damaged_checkpoint_is_not_the_last_good(void **state)
{
    struct qn_run_dir *d = three_checkpoints(*state);
    const char *run = qn_run_dir_path(d);
    put(run, "checkpoints/7/model.safetensors", "sewen");
    check_found(run, "last_good", 6, "six");
    put(run, "last", "5\n"); /* later ones are of a history replaced */
    check_found(run, "last_good", 5, "five");
    put(run, "checkpoints/5/SHA256SUMS", "");
    check_damaged(run, "last_good",
                  "5/SHA256SUMS: is cut short, its last line must be that of "
                  "\"metric\"");
    qn_run_dir_close(d);
}

static void a_damaged_checkpoint_is_written_anew(void **state)
{
    struct qn_run_dir *d = one_checkpoint(*state);
    const char *run = qn_run_dir_path(d);
    put(run, "checkpoints/7/model.safetensors", "sewen");
    checkpoint(d, 7, "seven", false, 2, keep_all);
    check_found(run, "last", 7, "seven");
    qn_run_dir_close(d);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_checkpoint_holds_the_sums_that_sha256sum_reads),
        IN_SCRATCH(a_damaged_file_is_named_with_what_is_wrong),
        IN_SCRATCH(what_is_no_file_is_damage),
        IN_SCRATCH(an_older_checkpoint_without_sums_is_believed),
        IN_SCRATCH(a_malformed_list_is_damage),
        IN_SCRATCH(a_list_cut_short_anywhere_is_damage),
        IN_SCRATCH(a_resume_goes_on_from_the_newest_whole_checkpoint),
        IN_SCRATCH(a_resume_goes_on_without_the_file_last),
        IN_SCRATCH(a_run_without_checkpoints_has_none_to_go_on_from),
        IN_SCRATCH(the_last_good_is_one_against_which_nothing_speaks),
        IN_SCRATCH(the_last_good_is_never_pruned),
        IN_SCRATCH(what_a_rollback_replaced_speaks_against_nothing),
        IN_SCRATCH(a_damaged_checkpoint_is_not_the_last_good),
        IN_SCRATCH(a_damaged_checkpoint_is_written_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
