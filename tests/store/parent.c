/* parent.c - tests of parent.json and of what it keeps. */
#include "make_checkpoint.h"

#include "store/parent.h"
#include "store/store.h"

#define HEX_64                                                                 \
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

/* A run that began from step 800 of another one. */
static struct qn_run_dir *make_child(const char *store,
                                     enum qn_relation relation)
{
    const struct qn_parent parent = {.relation = relation,
                                     .run = "20260101T000000Z-0001-a~1",
                                     .name = "a/1",
                                     .step = 800,
                                     .sha256 = HEX_64};
    struct qn_json json = {0};
    struct qn_run_dir *d = NULL;
    struct qn_err err = {""};
    qn_parent_json(&parent, &json);
    struct qn_run_files files = {.name = "a/fork-1",
                                 .spec_json = "{\"name\":\"a/fork-1\"}\n",
                                 .parent_json = json.text.text};
    if (qn_run_dir_create(store, &files, &d, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_json_free(&json);
    return d;
}

static void a_parent_is_read_as_it_was_written(void **state)
{
    struct qn_run_dir *d = make_child(*state, QN_RERUN);
    struct qn_parent parent;
    check_file(qn_run_dir_path(d), "parent.json",
               "{\"relation\":\"rerun\",\"run\":\"20260101T000000Z-0001-a~1\","
               "\"name\":\"a/1\",\"step\":800,\"sha256\":\"" HEX_64 "\"}");
    assert_int_equal(qn_parent_read(qn_run_dir_path(d), &parent, NULL), QN_OK);
    assert_int_equal(parent.relation, QN_RERUN);
    assert_string_equal(parent.run, "20260101T000000Z-0001-a~1");
    assert_string_equal(parent.name, "a/1");
    assert_int_equal(parent.step, 800);
    assert_string_equal(parent.sha256, HEX_64);
    qn_run_dir_close(d);
}

static void a_run_of_its_own_has_no_parent(void **state)
{
    struct qn_run_dir *d = make_run(*state, "r");
    struct qn_parent parent;
    check_file(qn_run_dir_path(d), "parent.json", NULL);
    assert_int_equal(qn_parent_read(qn_run_dir_path(d), &parent, NULL),
                     QN_ENOTFOUND);
    qn_run_dir_close(d);
}

static void check_bad(const char *folder, const char *json, const char *wrong)
{
    struct qn_parent parent = {.step = -7};
    struct qn_err err;
    char *sentence = qn_xasprintf("%s/parent.json: %s", folder, wrong);
    put(folder, "parent.json", json);
    assert_int_equal(qn_parent_read(folder, &parent, &err), QN_EFORMAT);
    assert_string_equal(err.text, sentence);
    assert_int_equal(parent.step, -7);
    free(sentence);
}

/* The keys after "relation"; %s is the run, %s the step. */
#define WITH(relation, run, step, sha256)                                      \
    "{\"relation\":" relation ",\"run\":" run ",\"name\":\"n\",\"step\":" step \
    ",\"sha256\":" sha256 "}"

static void a_damaged_parent_is_an_error_that_names_the_key(void **state)
{
    static const char relation[] = "\"relation\" must be \"fork\" or \"rerun\"";
    static const char run[] = "\"run\" must be the id of a run";
    static const char step[] = "\"step\" must be a whole number from 0";
    static const char hex[] =
        "\"sha256\" must be 64 hexadecimal digits or \"\"";
    check_bad(*state, "", "is no JSON object");
    check_bad(*state, "[]", "is no JSON object");
    check_bad(*state, "{}", relation);
    check_bad(*state, WITH("\"child\"", "\"a\"", "1", "\"\""), relation);
    check_bad(*state, WITH("1", "\"a\"", "1", "\"\""), relation);
    check_bad(*state, WITH("\"fork\"", "\"\"", "1", "\"\""), run);
    check_bad(*state, WITH("\"fork\"", "\"../a\"", "1", "\"\""), run);
    check_bad(*state, WITH("\"fork\"", "\"/a\"", "1", "\"\""), run);
    check_bad(*state, WITH("\"fork\"", "\"..\"", "1", "\"\""), run);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "-1", "\"\""), step);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "1.5", "\"\""), step);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "\"1\"", "\"\""), step);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "1", "null"), hex);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "1", "\"12\""), hex);
    check_bad(*state, WITH("\"fork\"", "\"a\"", "1", "\"" HEX_64 "0\""), hex);
    check_bad(*state, "{\"relation\":\"fork\",\"run\":\"a\"}",
              "\"name\" must be a text");
    struct qn_str json = {0};
    qn_str_add(&json, "{\"relation\":\"fork\",\"run\":\"");
    for (int i = 0; i < 320; i++) {
        qn_str_add(&json, "x");
    }
    qn_str_add(&json, "\"}");
    check_bad(*state, json.text, run);
    qn_str_free(&json);
}

static void a_fork_keeps_the_checkpoint_that_it_began_from(void **state)
{
    const struct qn_keep least = {1, 1};
    for (enum qn_relation r = QN_FORK; r <= QN_RERUN; r++) {
        struct qn_run_dir *d = make_child(*state, r);
        checkpoint(d, 800, "origin", false, 9, least);
        for (int64_t step = 900; step <= 1200; step += 100) {
            checkpoint(d, step, "x", step == 900, (double)step, least);
        }
        check_steps(qn_run_dir_path(d), "1200 800 900");
        assert_int_equal(qn_run_dir_rewind(d, 800, NULL), QN_OK);
        check_steps(qn_run_dir_path(d), "800 900");
        qn_run_dir_close(d);
    }
}

static void a_fork_whose_parent_is_unreadable_keeps_its_oldest(void **state)
{
    struct qn_run_dir *d = make_child(*state, QN_FORK);
    put(qn_run_dir_path(d), "parent.json", "{");
    for (int64_t step = 800; step <= 1000; step += 100) {
        checkpoint(d, step, "x", false, (double)NAN, (struct qn_keep){0, 1});
    }
    check_steps(qn_run_dir_path(d), "1000 800");
    qn_run_dir_close(d);
}

static void a_listing_tells_the_parent(void **state)
{
    struct qn_run_dir *d = make_child(*state, QN_FORK);
    struct qn_run_summary *runs;
    int n;
    struct qn_bad_runs bad;
    assert_int_equal(qn_store_list(*state, &runs, &n, &bad, NULL), QN_OK);
    assert_int_equal(n, 1);
    assert_string_equal(runs[0].parent, "20260101T000000Z-0001-a~1");
    free(runs);
    put(qn_run_dir_path(d), "parent.json", "{");
    assert_int_equal(qn_store_list(*state, &runs, &n, &bad, NULL), QN_OK);
    assert_int_equal(n, 1);
    assert_int_equal(bad.n, 0);
    assert_string_equal(runs[0].parent, "");
    free(runs);
    qn_run_dir_close(d);
}

#define IN_SCRATCH(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_parent_is_read_as_it_was_written),
        IN_SCRATCH(a_run_of_its_own_has_no_parent),
        IN_SCRATCH(a_damaged_parent_is_an_error_that_names_the_key),
        IN_SCRATCH(a_fork_keeps_the_checkpoint_that_it_began_from),
        IN_SCRATCH(a_fork_whose_parent_is_unreadable_keeps_its_oldest),
        IN_SCRATCH(a_listing_tells_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
