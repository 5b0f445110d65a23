/* completion.c - what the word at the cursor may become. */
#include "script_fixture.h"

#include "base/mem.h"
#include "script/complete_line.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The word at the end of line may become these, with a space between. */
static void assert_completes(struct script_fixture *f, const char *line,
                             const char *word, const char *expected)
{
    struct qn_str got = {0};
    int start = -1;
    char **words = qn_script_complete(f->s, line, (int)strlen(line), &start);
    qn_str_add(&got, "");
    for (int i = 0; words != NULL && words[i] != NULL; i++) {
        qn_str_addf(&got, "%s%s", i > 0 ? " " : "", words[i]);
        free(words[i]);
    }
    if (words != NULL) {
        assert_string_equal(line + start, word);
    }
    free(words);
    if (!qn_str_eq(got.text, expected)) {
        fail_msg("'%s' gave '%s' and not '%s'", line, got.text, expected);
    }
    qn_str_free(&got);
}

static void names_of_globals_and_fields(void **state)
{
    struct script_fixture *f = *state;
    must(f, "t = { alpha = { beta = 1, ['not a name'] = 2 }, 1, 2 } s = 'x'");
    assert_completes(f, "pri", "pri", "print");
    assert_completes(f, "x = tonu", "tonu", "tonumber");
    assert_completes(f, "fun", "fun", "function");
    assert_completes(f, "string.forma", "forma", "format");
    assert_completes(f, "f(t.al", "al", "alpha");
    assert_completes(f, "t.alpha.b", "b", "beta");
    assert_completes(f, "s:rev", "rev", "reverse");
    assert_completes(f, "nothing.x", "x", "");
    assert_completes(f, "s.x.y.", "", "");
    assert_completes(f, "-- pri", "pri", "");
    assert_completes(f, "x = 'pri", "pri", "");
    assert_completes(f, "qn.s", "s", "sgd");
    assert_completes(f, "qn.ver", "ver", "version");
}

static void looking_runs_nobodys_code(void **state)
{
    struct script_fixture *f = *state;
    must(f, "n = 0 t = setmetatable({}, { __index = function() n = n + 1 "
            "return {} end, __pairs = function() n = n + 1 end })");
    assert_completes(f, "t.", "", "");
    assert_completes(f, "t.x.", "", "");
    assert_prints(f, "n", "0\n");
}

static void fields_and_methods_of_our_own(void **state)
{
    struct script_fixture *f = *state;
    must(f, "run = qn.train(SMALL) loss = run:metric('train.loss') "
            "m = qn.qrnn{} run:wait()");
    assert_completes(f, "run:st", "st", "stats stop");
    assert_completes(f, "run.st", "st",
                     "state stats step steps_per_epoch steps_total stop");
    assert_completes(f, "loss.", "", "at each last max min");
    assert_completes(f, "loss:", "", "at each");
    assert_completes(f, "m.in", "in", "init");
    assert_completes(f, "m.init.", "", "gain kind range std with");
    assert_completes(f, "run.config.model.hid", "hid", "hidden");
    assert_completes(f, "run.nothing.", "", "");
    must(f, "stats = run:stats()");
    assert_completes(f, "stats:", "", "at");
    assert_completes(f, "stats.po", "po", "pooled");
    assert_completes(f, "m:", "", "params with");
}

static void keys_inside_braces(void **state)
{
    struct script_fixture *f = *state;
    must(f, "run = qn.train(SMALL) m = qn.qrnn{} run:wait()");
    assert_completes(f, "qn.train{ pr", "pr", "preset");
    assert_completes(f, "qn.train { seed = 1, mo", "mo", "model");
    assert_completes(f, "qn.train({ mo", "mo", "model");
    assert_completes(f, "x = qn.train{ model = { hidden = 1, wi", "wi",
                     "window");
    assert_completes(f, "qn.train{ model = { init = { k", "k", "kind");
    assert_completes(f, "qn.train{ model = { hidden = 2 }, o", "o", "optim");
    assert_completes(f, "qn.qrnn{ po", "po", "pooling");
    assert_completes(f, "qn.adam{ b", "b", "beta1 beta2");
    assert_completes(f, "qn.corpus{ tr", "tr", "train");
    assert_completes(f, "qn.corpus{ ", "",
                     "eos level lower stream test train unk valid vocab_size");
    assert_completes(f, "qn.labelled{ ", "",
                     "fold lower max_words test train valid vectors "
                     "vocab_size");
    assert_completes(f, "qn.paper.sentiment_table{ ", "",
                     "changes folds names train");
    assert_completes(f, "qn.paper.activation_table{ s", "s", "size split");
    assert_completes(f, "qn.preset('demo', { epo", "epo", "epochs");
    assert_completes(f, "run:set{ l", "l", "log lr");
    assert_completes(f, "run:wait{ ", "", "timeout until_");
    assert_completes(f, "run:stop{ ", "", "save");
    assert_completes(f, "run:fork{ ", "",
                     "checkpoint epochs eval from log loss model name notes "
                     "optim sample seed stats steps stop tags threads");
    assert_completes(f, "run:fork{ optim = { mom", "mom", "momentum");
    assert_completes(f, "run:sample{ le", "le", "length");
    assert_completes(f, "m:with{ act", "act", "activation");
    assert_completes(f, "qn.lstm{ hid", "hid", "hidden");
    assert_completes(f, "qn.rmsprop{ rh", "rh", "rho");
    assert_completes(f, "qn.sgd{ mom", "mom", "momentum");
    assert_completes(f, "qn.train{ stats = { o", "o", "of");
    assert_completes(f, "run:measure{ ", "", "checkpoint layers near of split");
    assert_completes(f, "run:evaluate('test', { ", "", "checkpoint");
    assert_completes(f, "qn.train{ seed = tonu", "tonu", "tonumber");
    assert_completes(f, "x = { pri", "pri", "print");
}

/* Documents are classified, and have facts of their own. */
static void what_only_classifiers_have(void **state)
{
    struct script_fixture *f = *state;
    char *path = qn_xasprintf("%s/script/lua/documents.lua", QN_TESTS_DIR);
    char *chunk = qn_xasprintf(
        "data = qn.labelled(dofile('%s').data) judge = qn.train{ data = data, "
        "model = { layers = 1, hidden = 4, embed = 6 }, batch = 8, steps = 2 } "
        "judge:wait() run = qn.train(SMALL) run:wait() "
        "corpus = qn.corpus{ train = TEXT }",
        path);
    must(f, chunk);
    free(chunk);
    free(path);
    assert_completes(f, "data.do", "do", "documents");
    assert_completes(f, "data.ha", "ha", "hash");
    assert_completes(f, "corpus.do", "do", "");
    assert_completes(f, "corpus.siz", "siz", "sizes");
    assert_completes(f, "judge:cl", "cl", "classify");
    assert_completes(f, "judge.acc", "acc", "accuracy");
    assert_completes(f, "judge:metric('test", "test",
                     "test.accuracy test.loss");
    assert_completes(f, "run:metric('test", "test", "test.loss");
    assert_completes(f, "other:metric('test", "test",
                     "test.accuracy test.loss");
    assert_completes(f, "judge:classify('t", "t", "");
}

static void names_inside_quotes(void **state)
{
    struct script_fixture *f = *state;
    must(f, "SMALL.name = 'mine' run = qn.train(SMALL) run:wait()");
    assert_completes(f, "qn.preset(\"de", "de", "demo");
    assert_completes(f, "qn.preset 'de", "de", "demo");
    assert_completes(f, "qn.train{ preset = 'de", "de", "demo");
    assert_completes(f, "qn.run(\"m", "m", "mine");
    assert_completes(f, "qn.run 'm", "m", "mine");
    assert_completes(f, "run:metric('v", "v", "valid.loss");
    assert_completes(f, "run:evaluate 'te", "te", "test");
    assert_completes(f, "qn.qrnn{ activation = 'd", "d", "delu drelu");
    assert_completes(f, "qn.train{ model = { activation = \"t", "t", "tanh");
    assert_completes(f, "qn.help 'mode", "mode",
                     "model.activation model.alpha model.batch_norm "
                     "model.bias model.cell model.dense model.dropout "
                     "model.embed model.embed_dropout model.hidden "
                     "model.init.gain model.init.kind model.init.range "
                     "model.init.std model.layers model.pooling model.window "
                     "model.zoneout");
    assert_completes(f, "qn.train{ stats = { of = '", "", "c f h o z");
    assert_completes(f, "qn.train{ stats = { of = { 'c', '", "", "c f h o z");
    assert_completes(f, "run:measure{ split = 'te", "te", "test");
    assert_completes(f, "run:measure{ checkpoint = '", "", "best last");
    assert_completes(f, "run:fork{ from = '", "", "best last last_good");
    assert_completes(f, "run:measure{ of = '", "", "c f h o z");
    assert_completes(f, "run:measure{ layers = '", "", "all pooled");
    assert_completes(f, "print('a\\'", "a\\'", "");
}

/* Go to a folder with files; the one before is to be gone back to. */
static int enter_folder(struct script_fixture *f)
{
    static const char *const names[] = {"tiny.txt",     "tiny2.txt",  ".hidden",
                                        "tall/one.lua", "tall/o\"ne", "go od"};
    int before = open(".", O_RDONLY);
    assert_true(before >= 0);
    assert_int_equal(chdir(f->base->folder), 0);
    assert_int_equal(mkdir("tall", 0777), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        free(fixture_write(f->base, names[i], ""));
    }
    return before;
}

static void files_inside_other_quotes(void **state)
{
    struct script_fixture *f = *state;
    int before = enter_folder(f);
    assert_completes(f, "qn.corpus{ train = \"ti", "ti", "tiny.txt tiny2.txt");
    assert_completes(f, "qn.corpus{ train = \"ta", "ta", "tall/");
    assert_completes(f, "qn.train{ data = { valid = 'tiny2", "tiny2",
                     "tiny2.txt");
    assert_completes(f, "dofile(\"tall/", "tall/", "tall/one.lua");
    assert_completes(f, "dofile 'tall/o", "tall/o", "tall/one.lua");
    assert_completes(f, "x = './ti", "./ti", "./tiny.txt ./tiny2.txt");
    assert_completes(f, "io.open('go o", "go o", "go od");
    assert_completes(f, "dofile('.h", ".h", ".hidden");
    assert_completes(f, "dofile('nowhere/", "nowhere/", "");
    /* These are no paths. */
    assert_completes(f, "qn.preset('ti", "ti", "");
    assert_completes(f, "qn.train{ name = 'ti", "ti", "");
    assert_completes(f, "qn.qrnn{ activation = 'ti", "ti", "");
    char *absolute = qn_xasprintf("dofile('%s/tal", f->base->folder);
    char *whole = qn_xasprintf("%s/tall/", f->base->folder);
    assert_completes(f, absolute, absolute + strlen("dofile('"), whole);
    free(absolute);
    free(whole);
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
}

static void hidden_files_are_not_offered(void **state)
{
    struct script_fixture *f = *state;
    int before = enter_folder(f);
    int start = -1;
    char **words = qn_script_complete(f->s, "dofile('", 8, &start);
    assert_non_null(words);
    for (int i = 0; words[i] != NULL; i++) {
        assert_true(words[i][0] != '.');
        free(words[i]);
    }
    free(words);
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
}

static void an_endless_nesting_is_given_up(void **state)
{
    struct script_fixture *f = *state;
    char line[512];
    memset(line, '{', sizeof line);
    line[sizeof line - 1] = '\0';
    assert_completes(f, line, "", "");
    memset(line, 'a', sizeof line - 2);
    line[sizeof line - 2] = '{';
    struct qn_cursor c;
    qn_cursor_find(line, (int)strlen(line), &c);
    assert_int_equal(c.n_frames, 1);
    assert_string_equal(c.frame[0].callee, "");
}

/* Any line may be half typed: nothing is read beyond it, nothing breaks. */
static void no_line_breaks_it(void **state)
{
    struct script_fixture *f = *state;
    static const char bits[][12] = {
        "qn.train", "{", "(", "\"", "'",  "=", "model", ",",  " ",    ".",
        ":",        "}", ")", "--", "\\", "[", "r",     "\n", "\xc3", "init"};
    uint32_t seed = 1;
    for (int k = 0; k < 2000; k++) {
        struct qn_str line = {0};
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525u + 1013904223u;
            qn_str_add(&line, bits[(seed >> 16) % 20]);
        }
        char *exact = qn_str_take(&line); /* no room behind, for ASan */
        int start = -1;
        int point = (int)strlen(exact);
        char **words = qn_script_complete(f->s, exact, point, &start);
        assert_true(words == NULL || (start >= 0 && start <= point));
        for (int i = 0; words != NULL && words[i] != NULL; i++) {
            free(words[i]);
        }
        free(words);
        free(exact);
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, script_fixture_setup,                \
                                    script_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_of_globals_and_fields),
        TEST(looking_runs_nobodys_code),
        TEST(fields_and_methods_of_our_own),
        TEST(keys_inside_braces),
        TEST(what_only_classifiers_have),
        TEST(names_inside_quotes),
        TEST(files_inside_other_quotes),
        TEST(hidden_files_are_not_offered),
        TEST(an_endless_nesting_is_given_up),
        TEST(no_line_breaks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
