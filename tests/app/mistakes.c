/* mistakes.c - what goes wrong is one sentence and a status, and leaves
 * nothing.
 */
#include "shell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "nn/settings.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each line of text begins so. */
static void assert_sentences(const char *text, const char *command)
{
    size_t len = strlen(text);
    if (len == 0 || text[len - 1] != '\n') {
        fail_msg("quern %s says '%s'", command, text);
    }
    for (const char *line = text; *line != '\0';
         line = strchr(line, '\n') + 1) {
        if (strncmp(line, "quern: ", 7) != 0) {
            fail_msg("quern %s says '%s'", command, text);
        }
    }
}

static void expect(const char *command, int status, const char *says)
{
    struct outcome o = quern("%s", command);
    if (o.status != status || strstr(o.err, says) == NULL) {
        fail_msg("quern %s: status %d, not %d; says '%s', not '%s'", command,
                 o.status, status, o.err, says);
    }
    assert_sentences(o.err, command);
    assert_string_equal(o.out, "");
    outcome_free(&o);
}

static void a_misspelt_command_line_names_the_nearest(void **state)
{
    (void)state;
    expect("trian", 2, "did you mean 'train'");
    expect("xyzzyxyzzy", 2, "xyzzyxyzzy");
    expect("train --jsno " TINY, 2, "did you mean --json");
    expect("--no-such-thing-at-all", 2, "--no-such-thing-at-all");
    expect("train -x", 2, "-x");
    expect("train --store", 2, "--store needs a value");
    expect("train --json=yes " TINY, 2, "--json takes no value");
    expect("train " TINY " optim.rl=1", 2, "optim.lr");
    expect("train -p dmeo", 2, "demo");
    expect("help trian", 2, "'trian' (did you mean 'train'?)");
    expect("help optim.rl", 2, "'optim.rl' (did you mean 'optim.lr'?)");
    expect("help xyzzyxyzzy", 2, "no help for 'xyzzyxyzzy'\n");
}

static void a_command_says_what_it_lacks_or_has_too_much(void **state)
{
    (void)state;
    expect("resume", 2, "quern: resume needs a run: quern resume RUN [");
    expect("eval", 2, "needs a run");
    expect("import", 2, "needs a file of weights");
    expect("runs extra", 2, "quern: 'extra' is one word too many for runs\n");
    expect("runs batch=3", 2, "batch=3");
    expect("train demo", 2, "(settings are written KEY=VALUE)");
    expect("train --split test", 2, "quern: train takes no option --split");
    expect("--split test", 2, "the workbench takes no option --split");
    expect("--check", 2, "quern: a script needs ");
    expect("bench --only nothing", 2,
           "quern: --only is 'nothing', must be train, ops, steps, batch, "
           "layers, threads, lstm or all\n");
    expect("bench --only lst", 2, "lstm or all (did you mean 'lstm'?)");
    expect("bench model.hiden=3", 2, "model.hidden");
    expect("bench steps=3", 2, "quern: steps makes no difference to bench (");
    expect("bench data.train=x", 2, "data.train makes no difference to bench");
    expect("bench 0", 2,
           "STEPS is '0', must be a whole number from 1 to 1000000\n");
    expect("bench 99999999999999999999", 2, "from 1 to 1000000\n");
    expect("bench demo", 2, "from 1 to 1000000; -p takes a preset\n");
    expect("bench ops", 2, "1000000; --only takes what to measure\n");
    expect("bench --only lstm model.hidden=32", 2,
           "model.hidden makes no difference to bench --only lstm, which sets "
           "it itself\n");
    expect("bench --only steps seq=7", 2, "seq makes no difference to bench");
    expect("bench --only threads threads=1", 2, "--only threads, which sets");
    expect("bench -p nosuch", 2, "nosuch");
}

static void a_text_is_not_run_as_a_script(void **state)
{
    (void)state;
    expect("text.txt", 2,
           "quern: 'text.txt' is no Lua script; to train on it: quern "
           "data.train=text.txt\n");
    assert_int_equal(sh("cp text.txt 'a text'"), 0);
    expect("'a text' arg", 2, "quern 'data.train=a text'\n");
    static const char tool[] = "#!/usr/bin/env quern\nprint 'ran'";
    write_file("tool", tool, sizeof tool - 1);
    char *out = quern_out("tool");
    assert_string_equal(out, "ran\n");
    free(out);
    expect("text.txt --store elsewhere", 2, "no Lua script");
    expect("./nosuch", 1, "nosuch");
    expect("nosuch.lua", 1, "nosuch.lua");
    write_file("bad.lua", "x =", 3);
    expect("bad.lua", 1, "bad.lua:1:");
}

static void a_wrong_setting_is_named_with_its_value(void **state)
{
    (void)state;
    expect("train " TINY " model.layers=0", 2, "model.layers");
    expect("train " TINY " model.hidden=-3", 2, "-3");
    expect("train " TINY " batch=x seq=y", 2, "seq");
    expect("train " TINY " model.activation=sigmoid", 2, "sigmoid");
    expect("train " TINY " eval.every=soon", 2, "soon");
}

static void a_text_that_cannot_be_used_says_why(void **state)
{
    (void)state;
    write_file("empty.txt", "", 0);
    write_file("binary.txt", "ab\xff\xfe\x00\x01zz", 8);
    write_file("short.txt", "abcabcabc", 9);
    char one[2000];
    memset(one, 'a', sizeof one);
    write_file("one.txt", one, sizeof one);
    expect("train batch=4", 2, "data.train");
    expect("train " TINY " data.train=nosuch.txt", 1, "nosuch.txt");
    expect("train " TINY " data.train=.", 1, ".");
    expect("train " TINY " data.train=empty.txt", 1, "empty.txt");
    expect("train " TINY " data.train=binary.txt", 1, "UTF-8");
    expect("train " TINY " data.train=short.txt", 2, "9 symbols");
    expect("train " TINY " data.vocab_size=5", 2, "5");
    expect("train " TINY " data.train=one.txt", 1, "symbol");
}

/* "ptb" of data.train=ptb/ptb.train.txt, *file being what follows the slash;
 * NULL for a text that is built in. The caller frees it. */
static char *set_of_preset(const struct qn_preset_info *p, const char **file)
{
    static const char key[] = "data.train=";
    for (const char *const *a = p->assignments; *a != NULL; a++) {
        const char *path = *a + sizeof key - 1;
        if (qn_starts_with(*a, key) && !qn_starts_with(path, "builtin:")) {
            *file = strchr(path, '/') + 1;
            return qn_xstrndup(path, (size_t)(*file - path) - 1);
        }
    }
    return NULL;
}

static void a_preset_without_its_data_says_what_gets_it(void **state)
{
    (void)state;
    struct qn_bytes sets;
    struct qn_err err;
    assert_int_equal(
        qn_file_read(QN_DOCS_DIR "/../scripts/data-sets", &sets, &err), QN_OK);
    for (int i = 0; i < qn_n_presets(); i++) {
        const char *file = NULL;
        char *set = set_of_preset(qn_preset_at(i), &file);
        if (set == NULL) {
            continue;
        }
        char *line = qn_xasprintf("\nfile %s %s ", set, file);
        assert_non_null(strstr(sets.data, line));
        char *command =
            qn_xasprintf("train -p %s --data none", qn_preset_at(i)->name);
        char *says = qn_xasprintf("none/%s/%s.gz; scripts/get-data %s fetches",
                                  set, file, set);
        expect(command, 1, says);
        free(says);
        free(command);
        free(line);
        free(set);
    }
    qn_bytes_free(&sets);
}

static void what_does_not_fit_into_memory_says_how_much_it_wants(void **state)
{
    (void)state;
    expect("train " TINY " model.hidden=8192 model.layers=64", 1, "GB");
}

static void a_store_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    expect("train " TINY " steps=1 --store text.txt/store", 1, "text.txt");
    struct outcome o = quern("runs --store nowhere");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
}

static void an_unknown_run_or_checkpoint_is_one_sentence(void **state)
{
    (void)state;
    expect("resume nosuch", 1, "nosuch");
    expect("eval nosuch", 1, "nosuch");
    expect("stats nosuch", 1, "nosuch");
    expect("sample nosuch", 1, "nosuch");
    expect("rerun nosuch", 1, "nosuch");
    expect("import nosuch.safetensors " TINY, 1, "nosuch.safetensors");
    expect("import text.txt " TINY, 1, "text.txt");
    free(quern_out("train " TINY " steps=2 name=there"));
    expect("eval there --checkpoint 99", 1, "99");
    expect("eval there --checkpoint first", 1, "first");
    expect("eval there --split dev", 2, "dev");
    expect("eval there batch=3", 2, "batch");
    expect("eval there data.test=0 --split test", 2, "test");
    expect("eval there data.level=word", 2,
           "data.level is word, the vocabulary of the run holds characters");
    expect("stats there --near x", 2, "--near");
    expect("stats there --near 0.1,,1", 2, "--near");
    expect("stats there --near 0.1,-1", 2, "is -1");
    expect("stats there --near 0.1,", 2, "--near");
    expect("stats there --of c,x", 2, "--of");
    expect("stats there --of ''", 2, "--of");
    expect("sample there --length 0", 2, "--length");
    expect("sample there --prompt 'THE Q'", 2, "T");
    expect("resume there model.hidden=5", 2, "model.hidden");
    expect("eval thera", 1, "there");
}

static void a_text_that_does_not_suit_the_run_says_why(void **state)
{
    (void)state;
    write_file("one.txt", "t", 1);
    free(quern_out("train " TINY " data.level=word steps=2 name=words"));
    expect("eval words data.level=char", 2,
           "data.level is char, the vocabulary of the run holds words");
    expect("eval words data.valid=one.txt data.level=byte", 2, "holds words");
    free(quern_out("train " TINY " steps=2 name=letters"));
    expect("eval letters data.valid=one.txt", 2,
           "the valid split has one symbol only, nothing to predict");
    expect("stats letters data.test=one.txt --split test", 2,
           "the test split has one symbol only");
    assert_int_equal(sh("sed -i '1s/.*/&&/' store/*-letters/vocab.txt"), 0);
    expect("eval letters", 1, "-letters/vocab.txt: line 1 ");
}

static void a_mistake_leaves_no_run_behind(void **state)
{
    (void)state;
    expect("train " TINY " data.train=nosuch.txt", 1, "nosuch.txt");
    expect("train " TINY " model.hidden=8192 model.layers=64", 1, "GB");
    expect("train " TINY " sample.prompt=Q", 2, "Q");
    char *runs = quern_out("runs --json");
    assert_string_equal(runs, "");
    free(runs);
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    if (!qn_path_exists("/dev/full")) {
        skip();
    }
    static const char *const commands[] = {
        "--help",         "--version",
        "help settings",  "presets",
        "presets --json", "doctor --json",
        "params " TINY,   "train " TINY " steps=3 name=full"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct outcome o = quern("%s >/dev/full", commands[i]);
        if (o.status != 1 || strstr(o.err, "cannot write the output") == NULL) {
            fail_msg("quern %s >/dev/full: %d, '%s'", commands[i], o.status,
                     o.err);
        }
        assert_sentences(o.err, commands[i]);
        outcome_free(&o);
    }
    struct outcome o = quern("--version >&-");
    assert_int_equal(o.status, 1);
    outcome_free(&o);
}

/* Standard output closed: no file of the run may get its number. */
static void a_closed_output_does_not_spoil_the_run(void **state)
{
    (void)state;
    struct outcome o = quern("train --json " TINY " steps=5 name=shut >&-");
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "quern resume"));
    outcome_free(&o);
    assert_int_equal(sh("! grep -l tokens_per_s store/*shut/events.jsonl"), 0);
    assert_int_equal(sh("! grep -q '\"start\"' store/*shut/metrics.jsonl"), 0);
    free(quern_out("resume shut"));
}

static void a_reader_that_leaves_ends_the_run_with_a_checkpoint(void **state)
{
    (void)state;
    assert_int_equal(sh("{ %s train --json " TINY
                        " steps=100000 name=left 2>.err; echo $? >.status; } | "
                        "head -n 3 >.out",
                        QUERN),
                     0);
    assert_int_equal(sh("grep -qx 1 .status"), 0);
    assert_int_equal(sh("grep -q 'quern resume' .err"), 0);
    char *runs = quern_out("runs --json");
    json_t *run = parse(runs);
    assert_string_equal(string(run, "state"), "stopped");
    json_decref(run);
    free(runs);
    free(quern_out("eval left"));
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, shell_setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(a_misspelt_command_line_names_the_nearest),
        WITH_SHELL(a_command_says_what_it_lacks_or_has_too_much),
        WITH_SHELL(a_text_is_not_run_as_a_script),
        WITH_SHELL(a_wrong_setting_is_named_with_its_value),
        WITH_SHELL(a_text_that_cannot_be_used_says_why),
        WITH_SHELL(a_preset_without_its_data_says_what_gets_it),
        WITH_SHELL(what_does_not_fit_into_memory_says_how_much_it_wants),
        WITH_SHELL(a_store_that_cannot_be_written_is_named),
        WITH_SHELL(an_unknown_run_or_checkpoint_is_one_sentence),
        WITH_SHELL(a_text_that_does_not_suit_the_run_says_why),
        WITH_SHELL(a_mistake_leaves_no_run_behind),
        WITH_SHELL(output_that_cannot_be_written_is_a_failure),
        WITH_SHELL(a_closed_output_does_not_spoil_the_run),
        WITH_SHELL(a_reader_that_leaves_ends_the_run_with_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
