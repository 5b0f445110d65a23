/* exporting.c - quern export as a person uses it. */
#include "shell.h"

#include "base/file.h"
#include "base/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FULL "stats.every=5 stats.of=c,f eval.every=5 checkpoint.every=5 "

static void make_run(void)
{
    free(quern_out("train " TINY FULL "steps=10 name=a"));
}

/* What comes after this beginning, which must be there. */
static const char *after(const char *text, const char *beginning)
{
    size_t len = strlen(beginning);
    if (strncmp(text, beginning, len) != 0) {
        fail_msg("does not begin with %s: %s", beginning, text);
    }
    return text + len;
}

static void every_file_written_is_said(void **state)
{
    (void)state;
    make_run();
    char *said = quern_out("export a --to out/here");
    const char *figures = after(
        said, "out/here/metrics.csv\nout/here/evals.csv\nout/here/stats.csv\n"
              "out/here/metrics.jsonl\nout/here/events.jsonl\n"
              "out/here/stats.jsonl\nout/here/model.safetensors\n"
              "out/here/spec.json\nout/here/vocab.txt\n"
              "out/here/events.out.tfevents.quern\n");
    const char *pngs =
        after(figures, "out/here/loss.svg\nout/here/shares.svg\n"
                       "out/here/histogram-c.svg\nout/here/heatmap-c.svg\n"
                       "out/here/histogram-f.svg\nout/here/heatmap-f.svg\n");
    /* A quern built without cairo has no png. */
    bool drawn = pngs[0] != '\0';
    if (drawn) {
        assert_string_equal(
            pngs, "out/here/loss.png\nout/here/shares.png\n"
                  "out/here/histogram-c.png\nout/here/heatmap-c.png\n"
                  "out/here/histogram-f.png\nout/here/heatmap-f.png\n");
    }
    assert_int_equal(
        sh("ls -A out/here | wc -l | grep -qx ' *%d'", drawn ? 22 : 16), 0);
    assert_int_equal(sh("while read f; do test -s $f || exit 1; done <.out"),
                     0);
    free(said);
}

static void with_json_there_is_one_object(void **state)
{
    (void)state;
    make_run();
    char *said = quern_out("export a --json --formats tfevents,csv --to ./o");
    json_t *object = parse(said);
    const json_t *files = json_object_get(object, "files");
    assert_non_null(strstr(string(object, "run"), "-a"));
    assert_int_equal(json_array_size(files), 4);
    assert_string_equal(json_string_value(json_array_get(files, 3)),
                        "./o/events.out.tfevents.quern");
    json_decref(object);
    free(said);
}

/* What quern wrote passes through unchanged, numbers to the last digit. */
static void the_lines_of_an_undisturbed_run_are_its_own(void **state)
{
    (void)state;
    make_run();
    free(quern_out("export a --to o --formats jsonl,safetensors"));
    assert_int_equal(sh("for f in metrics events stats; do "
                        "cmp o/$f.jsonl store/*-a/$f.jsonl || exit 1; done"),
                     0);
    assert_int_equal(sh("cmp o/model.safetensors store/*-a/checkpoints/"
                        "$(cat store/*-a/best)/model.safetensors"),
                     0);
}

static void what_is_exported_can_be_imported(void **state)
{
    (void)state;
    make_run();
    free(quern_out("export a --to o --formats safetensors"));
    free(quern_out("import o/model.safetensors name=b batch=4 seq=8 "
                   "data.train=text.txt"));
    char *before = quern_out("eval a eval.batch=1 --json");
    char *after = quern_out("eval b eval.batch=1 --json");
    json_t *a = parse(before), *b = parse(after);
    assert_true(number(a, "loss") == number(b, "loss"));
    json_decref(a);
    json_decref(b);
    free(before);
    free(after);
}

static void a_run_that_was_killed_and_resumed_has_each_step_once(void **state)
{
    (void)state;
    struct child c =
        child_start("train --json " TINY FULL "steps=100000 name=k");
    assert_true(child_reach(&c, 12));
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    (void)child_end(&c);
    /* Where it was killed nobody knows: it goes on for some steps more. */
    free(quern_out("resume k steps=$(($(cat store/*-k/last) + 7))"));
    free(quern_out("export k --to o --formats csv,jsonl"));
    assert_int_equal(
        sh("seq $(cat store/*-k/last) >wanted && tail -n +2 o/metrics.csv | "
           "cut -d, -f1 | cmp - wanted"),
        0);
    assert_int_equal(sh("grep -q segment store/*-k/metrics.jsonl"), 0);
    assert_int_equal(sh("grep -q segment o/*.jsonl"), 1);
}

static void without_a_checkpoint_the_weights_are_left_out_and_why(void **state)
{
    (void)state;
    make_run();
    assert_int_equal(sh("rm -r store/*-a/checkpoints/* store/*-a/best "
                        "store/*-a/last"),
                     0);
    struct outcome o = quern("export a --to o");
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "quern: "));
    assert_non_null(strstr(o.err, "checkpoint"));
    assert_null(strstr(o.out, "safetensors"));
    assert_non_null(strstr(o.out, "o/events.out.tfevents.quern\n"));
    outcome_free(&o);
}

/* One sentence, and no folder made. */
static void expect(int status, const char *command, const char *says)
{
    struct outcome o = quern("%s", command);
    size_t len = strlen(o.err);
    if (o.status != status || strstr(o.err, says) == NULL ||
        strncmp(o.err, "quern: ", 7) != 0 ||
        strchr(o.err, '\n') != o.err + len - 1) {
        fail_msg("quern %s: status %d; says '%s', not '%s'", command, o.status,
                 o.err, says);
    }
    assert_string_equal(o.out, "");
    outcome_free(&o);
}

static void a_mistake_is_one_sentence_and_leaves_nothing(void **state)
{
    (void)state;
    make_run();
    expect(2, "export --to o", "export needs a run");
    expect(2, "export a", "--to DIR");
    expect(2, "export a --to ''", "--to DIR");
    expect(2, "export a --to o --formats csv,xls",
           "--formats: there is no format 'xls', only csv, jsonl");
    expect(2, "export a --to o batch=3", "takes no settings");
    expect(2, "export a --to store/*-a", "run's folder");
    expect(1, "export b --to o", "b");
    expect(1, "export a --to text.txt", "text.txt: exists and is not a folder");
    expect(1, "export a --to /proc/quern/x", "/proc");
    assert_false(qn_path_exists("o"));
}

/* What the mistake lists is what help and manual list. */
static void help_names_the_formats_that_there_are(void **state)
{
    (void)state;
    struct outcome o = quern("export a --to o --formats ?");
    char *formats = strstr(o.err, "only ");
    assert_non_null(formats);
    formats += strlen("only ");
    formats[strcspn(formats, "\n")] = '\0';
    char *help = quern_out("export --help");
    assert_non_null(strstr(help, formats));
    for (char *name = strtok(formats, ", "); name != NULL;
         name = strtok(NULL, ", ")) {
        assert_int_equal(
            sh("grep -q '^## .*\\<%s\\>' %s/interchange.md", name, QN_DOCS_DIR),
            0);
    }
    free(help);
    outcome_free(&o);
}

/* A limit on the size of files stands for a full disk. */
static void a_full_disk_leaves_nothing_half_written(void **state)
{
    (void)state;
    make_run();
    static const char full[] = "trap '' XFSZ; ulimit -f 4; exec " QUERN
                               " export a --to o >.out 2>.err";
    assert_int_equal(sh("%s", full), 1);
    assert_int_equal(sh("grep -q '^quern: o/.*: cannot write: ' .err && "
                        "test $(wc -l <.err) -eq 1 && test ! -s .out"),
                     0);
    assert_false(qn_path_exists("o"));
    assert_int_equal(sh("mkdir o && echo old >o/metrics.csv"), 0);
    assert_int_equal(sh("%s", full), 1);
    assert_int_equal(sh("test \"$(ls -A o)\" = metrics.csv && "
                        "test $(cat o/metrics.csv) = old"),
                     0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_file_written_is_said),
        TEST(with_json_there_is_one_object),
        TEST(the_lines_of_an_undisturbed_run_are_its_own),
        TEST(what_is_exported_can_be_imported),
        TEST(a_run_that_was_killed_and_resumed_has_each_step_once),
        TEST(without_a_checkpoint_the_weights_are_left_out_and_why),
        TEST(a_mistake_is_one_sentence_and_leaves_nothing),
        TEST(help_names_the_formats_that_there_are),
        TEST(a_full_disk_leaves_nothing_half_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
