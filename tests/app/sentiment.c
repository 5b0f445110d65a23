/* sentiment.c - classifiers on the command line: data good and bad, training,
 * and what they say of texts. */
#include "shell.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Enough steps to tell good from bad, and no time. */
#define CLASSIFY                                                               \
    "task=classify data.vectors=vectors.txt data.test=docs.tsv batch=4 "       \
    "threads=2 model.layers=1 model.hidden=8 model.embed=3 optim.lr=0.05 "     \
    "steps=40 eval.every=none stats.every=none checkpoint.every=none "
#define LEARN "train data.train=docs.tsv name=a " CLASSIFY

static const char *const words[] = {"good", "fine", "bad", "poor",
                                    "the",  "film", "is",  "."};

/* A line of a labelled file; the words differ a little from line to line. */
static void add_line(struct qn_str *s, int i)
{
    bool positive = i % 2 == 1;
    qn_str_addf(s, "%d\t%d\tthe film is %s .", positive, positive ? 8 : 2,
                words[(positive ? 0 : 2) + i / 2 % 2]);
    qn_str_add(s, i % 3 == 0 ? " it is .\n" : "\n");
}

/* Twice twelve lines with another in their middle. */
static void write_docs(const char *name, const char *middle)
{
    struct qn_str s = {0};
    for (int i = 0; i < 24; i++) {
        qn_str_add(&s, i == 12 ? middle : "");
        add_line(&s, i);
    }
    write_file(name, s.text, s.len);
    qn_str_free(&s);
}

/* One vector a word, as a plain code; line 'short_at' lacks a number. */
static void write_vectors(const char *name, int short_at)
{
    struct qn_str s = {0};
    for (int i = 0; i < 8; i++) {
        qn_str_addf(&s, "%s %d %d%s\n", words[i], i & 1 ? 1 : -1,
                    i & 2 ? 1 : -1,
                    i + 1 == short_at ? "" : (i & 4 ? " 1" : " -1"));
    }
    write_file(name, s.text, s.len);
    qn_str_free(&s);
}

static int setup(void **state)
{
    int failed = shell_setup(state);
    if (failed == 0) {
        write_docs("docs.tsv", "");
        write_vectors("vectors.txt", 0);
    }
    return failed;
}

static void expect(const char *command, int status, const char *sentence)
{
    struct outcome o = quern("%s", command);
    if (o.status != status || strstr(o.err, sentence) == NULL) {
        fail_msg("quern %s: status %d, '%s' is not in: %s", command, o.status,
                 sentence, o.err);
    }
    outcome_free(&o);
}

static json_t *ask(const char *command)
{
    char *out = quern_out("%s --json", command);
    json_t *value = parse(out);
    free(out);
    return value;
}

/* The last line of JSON Lines that is this event. */
static json_t *last_event(const char *lines, const char *name)
{
    json_t *found = NULL;
    char *copy = qn_xstrdup(lines);
    char *rest = NULL;
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        json_t *event = parse(line);
        bool same = strcmp(string(event, "event"), name) == 0;
        json_decref(same ? found : event);
        found = same ? event : found;
    }
    free(copy);
    assert_non_null(found);
    return found;
}

static void a_classifier_tells_its_accuracy_everywhere(void **state)
{
    (void)state;
    char *out = quern_out(LEARN "--json");
    json_t *step = last_event(out, "step");
    json_t *eval = last_event(out, "eval");
    json_t *done = last_event(out, "done");
    json_t *runs = ask("runs");
    json_t *again = ask("eval a");
    json_t *test = ask("eval a --split test");
    const json_t *best = json_object_get(done, "best");
    const json_t *listed = json_object_get(runs, "best");
    assert_true(number(step, "accuracy") == 1);
    assert_true(number(eval, "accuracy") == 1);
    assert_true(number(best, "accuracy") == 1);
    assert_true(number(listed, "accuracy") == 1);
    assert_true(number(listed, "loss") == number(eval, "loss"));
    assert_true(number(again, "accuracy") == 1);
    assert_true(number(again, "predictions") == 4); /* a fifth of 24 */
    assert_true(number(test, "accuracy") == 1);
    assert_true(number(test, "predictions") == 24);
    assert_null(json_object_get(eval, "bpc"));
    json_decref(step);
    json_decref(eval);
    json_decref(done);
    json_decref(runs);
    json_decref(again);
    json_decref(test);
    free(out);
}

static void lines_for_people_have_the_accuracy_too(void **state)
{
    (void)state;
    char *out = quern_out(LEARN);
    assert_non_null(strstr(out, "  accuracy 100.00 %  grad norm "));
    assert_non_null(strstr(out, "best: step 40  valid loss "));
    free(out);
    out = quern_out("runs");
    assert_non_null(strstr(out, "(accuracy 100.00 %) at step 40"));
    free(out);
    out = quern_out("eval a");
    assert_non_null(strstr(out, "  accuracy 100.00 %  4 predictions in "));
    free(out);
}

#define TEXTS                                                                  \
    "the film is good .\n"                                                     \
    "the film is bad \\033[31mand long .\n"                                    \
    "fine film .\n"

static void texts_are_judged_a_line_each_in_their_order(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    /* Nothing but the run's folder is needed. */
    assert_int_equal(sh("rm docs.tsv vectors.txt; printf '" TEXTS "' >t"), 0);
    char *out = quern_out("eval a --text t");
    const char *second = strchr(out, '\n') + 1;
    const char *third = strchr(second, '\n') + 1;
    assert_true(strncmp(out, "positive ", 9) == 0);
    assert_non_null(strstr(out, " %  the film is good .\n"));
    assert_true(strncmp(second, "negative ", 9) == 0);
    /* What a terminal would obey is blunt. */
    assert_non_null(strstr(second, " %  the film is bad  [31mand long .  ("));
    assert_true(strncmp(third, "positive ", 9) == 0);
    assert_non_null(strstr(third, " %  fine film .\n"));
    char *piped = quern_out("eval a --text - <t");
    assert_string_equal(piped, out);
    free(piped);
    free(out);
}

static void judgements_as_json_have_the_number_of_their_line(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    assert_int_equal(sh("printf 'good film\\n\\nbad zzz' >t"), 0);
    struct outcome o = quern("eval a --text t --json");
    assert_int_equal(o.status, 1);
    assert_string_equal(o.err, "quern: t: line 2: the text has no words\n");
    char *second = strchr(o.out, '\n') + 1;
    second[-1] = '\0';
    json_t *good = parse(o.out);
    json_t *bad = parse(second);
    assert_true(number(good, "text") == 1 && number(bad, "text") == 3);
    assert_string_equal(string(good, "label"), "positive");
    assert_string_equal(string(bad, "label"), "negative");
    assert_true(number(good, "probability") > 0.5);
    assert_true(number(bad, "probability") < 0.5);
    assert_true(number(good, "words") == 2 && number(good, "known") == 2);
    assert_true(number(bad, "words") == 2 && number(bad, "known") == 1);
    json_decref(good);
    json_decref(bad);
    outcome_free(&o);
}

static void what_is_no_text_has_its_sentence_and_the_rest_goes_on(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    assert_int_equal(sh("{ printf 'zzz qqq\\r\\n\\377\\n';"
                        " head -c 17000000 /dev/zero | tr '\\0' a;"
                        " printf '\\nthe good film\\n'; } >t"),
                     0);
    struct outcome o = quern("eval a --text t");
    assert_int_equal(o.status, 1);
    assert_string_equal(
        o.err, "quern: t: line 1: the run knows no word of the text, which has "
               "2\n"
               "quern: t: line 2: the text is not valid UTF-8: byte 0\n"
               "quern: t: line 3: the text has more than 16777216 bytes\n");
    assert_true(strncmp(o.out, "positive ", 9) == 0);
    assert_non_null(strstr(o.out, "  the good film\n"));
    outcome_free(&o);
}

static void a_file_that_holds_no_texts_is_refused(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    assert_int_equal(sh("printf 'good\\n\\1\\0\\2' >binary; : >empty"), 0);
    expect("eval a --text nofile", 1, "nofile: cannot open: ");
    expect("eval a --text store", 1, "store: is a folder, not a file");
    expect("eval a --text empty", 1, "empty: is empty");
    expect("eval a --text - <empty", 1, "standard input: is empty");
    expect("eval a --text binary", 1,
           "binary: line 2 holds a zero byte: this is no text");
    expect("eval a --text empty --split test", 2, "--text and --split");
    expect("eval a --text ''", 2, "--text is empty, must be a file, or -");
    expect("stats a --text empty", 2, "stats takes no option --text");
}

/* The program waits for room in the pipe, far from the end of the texts. */
static void a_signal_ends_the_work_between_two_texts(void **state)
{
    (void)state;
    enum { N_TEXTS = 10000 };
    char line[256];
    int n = 0;
    free(quern_out(LEARN));
    assert_int_equal(sh("yes good | head -n %d >t", N_TEXTS), 0);
    struct child c = child_start("eval a --text t");
    while (fgets(line, sizeof line, c.out) != NULL) {
        assert_true(n++ > 0 || kill(c.pid, SIGTERM) == 0);
    }
    assert_int_equal(child_end(&c), 1);
    assert_in_range(n, 1, N_TEXTS - 1);
    assert_int_equal(sh("echo 'quern: stopped on request' | cmp - .err"), 0);
}

static void each_kind_of_run_refuses_the_questions_of_the_other(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    free(quern_out("train " TINY "steps=2 name=lm"));
    expect("eval lm --text text.txt", 2,
           "-lm is a language model, which has no labels for texts");
    expect("sample a", 2, "the run is a classifier");
    expect("sample a --length 3", 2, "applies to task lm, not classify");
    char *out = quern_out("stats a --split test");
    assert_non_null(strstr(out, "c on test"));
    free(out);
}

static void a_folder_of_documents_is_learnt_from(void **state)
{
    (void)state;
    assert_int_equal(
        sh("mkdir -p all/train/pos all/train/neg; cd all/train;"
           " for i in 1 2 3 4 5 6; do echo 'the film is good' >pos/$i.txt;"
           " echo 'the film is bad .' >neg/$i.txt; done"),
        0);
    char *out =
        quern_out("train data.train=all/train name=f " CLASSIFY "--json");
    json_t *done = last_event(out, "done");
    assert_true(number(json_object_get(done, "best"), "accuracy") == 1);
    json_decref(done);
    free(out);
    expect("train data.train=all " CLASSIFY, 1, "all/train has them");
    expect("all/train", 2, "quern task=classify data.train=all/train");
    assert_int_equal(sh("rm -r all/train/neg"), 0);
    expect("train data.train=all/train " CLASSIFY, 1,
           "all/train: holds one class only");
}

/* All that is wrong is said in one sentence, and nothing is made. */
static void wrong_data_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    write_docs("neither.tsv", "2\t7\tgood\n");
    write_docs("tabs.tsv", "a film\n");
    write_docs("bytes.tsv", "1\t7\tgood \xff\n");
    expect("train data.train=neither.tsv " CLASSIFY, 1,
           "neither.tsv: line 13: the label is \"2\", must be 0 or neg, 1 or "
           "pos");
    expect("train data.train=tabs.tsv " CLASSIFY, 1,
           "tabs.tsv: line 13: has fewer than two tabs");
    expect("train data.train=bytes.tsv " CLASSIFY, 1, "bytes.tsv: line 13: ");
    expect("train data.train=docs.tsv " CLASSIFY "model.embed=4", 1,
           "vectors.txt: its vectors have 3 numbers, model.embed is 4");
    expect("train data.train=docs.tsv " CLASSIFY "data.vectors=none.txt", 1,
           "none.txt: not found");
    expect("train data.train=docs.tsv " CLASSIFY "data.valid=0.1", 2,
           "data.valid must be a path with task = classify");
    expect("train data.train=docs.tsv " CLASSIFY "data.fold='7 of 5'", 2,
           "data.fold is '7 of 5', must be a part such as \"1 of 5\"");
    char *runs = quern_out("runs");
    assert_true(strncmp(runs, "no runs in ", 11) == 0);
    free(runs);
}

/* What can be left out is, with a notice. */
static void odd_documents_and_vectors_are_told_and_survived(void **state)
{
    (void)state;
    write_docs("empty.tsv", "1\t7\t\n");
    struct qn_str line = {0};
    qn_str_add(&line, "1\t7\t");
    for (int i = 0; i < 20000; i++) {
        qn_str_add(&line, "good ");
    }
    qn_str_add(&line, "\n");
    write_docs("long.tsv", line.text);
    qn_str_free(&line);
    write_vectors("ragged.txt", 5);
    expect("train data.train=empty.tsv name=a " CLASSIFY, 0,
           "1 document without a known word left out, the first is line 13 of "
           "empty.tsv");
    expect("train data.train=long.tsv name=b " CLASSIFY "steps=8", 0,
           " documents cut at data.max_words = 3000, the first is line 13 of "
           "long.tsv");
    expect("train data.train=docs.tsv name=c " CLASSIFY
           "data.vectors=ragged.txt",
           0, "ragged.txt: left out 1 line that is no word and 3 numbers");
}

static void params_of_a_run_leave_the_vectors_out(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    json_t *p = ask("params a");
    /* Windows of 2 into four blocks of 8, their biases, the decoder. */
    assert_true(number(p, "trainable") == 2 * 3 * 32 + 32 + 8 + 1);
    assert_true(number(p, "states") == 8);
    assert_true(number(p, "all") == number(p, "trainable") + 8);
    json_decref(p);
}

static void a_rerun_and_a_resume_classify_as_well(void **state)
{
    (void)state;
    free(quern_out(LEARN));
    char *out = quern_out("resume a steps=44 --json");
    json_t *done = last_event(out, "done");
    assert_true(number(done, "steps") == 44);
    assert_true(number(json_object_get(done, "best"), "accuracy") == 1);
    json_decref(done);
    free(out);
    out = quern_out("rerun a name=b data.fold='2 of 3' steps=2 --json");
    free(out);
    json_t *e = ask("eval b");
    assert_true(number(e, "predictions") == 8);
    json_decref(e);
}

/* The words may have other numbers: vectors are found by word. */
static void imported_weights_judge_as_those_of_the_run(void **state)
{
    (void)state;
    static const char *const import =
        "import w.st task=classify data.train=few.tsv data.fold=none "
        "data.test=0 name=b";
    free(quern_out(LEARN));
    assert_int_equal(
        sh("cp store/*-a/checkpoints/40/model.safetensors w.st;"
           " printf '1\\t\\tfine film\\n0\\t\\tpoor film\\n' >few.tsv;"
           " printf 'fine film\\npoor film\\npoor\\n' >t"),
        0);
    char *before = quern_out("eval a --checkpoint last --text t");
    free(quern_out("%s data.vectors=vectors.txt", import));
    char *after = quern_out("eval b --text t");
    assert_string_equal(before, after);
    free(before);
    free(after);
    expect("import w.st data.train=few.tsv", 1, "which is task=classify");
    struct outcome o = quern("%s", import);
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.err, "data.vectors does not say where"));
    outcome_free(&o);
}

#define WITH_SHELL(test)                                                       \
    cmocka_unit_test_setup_teardown(test, setup, shell_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SHELL(a_classifier_tells_its_accuracy_everywhere),
        WITH_SHELL(lines_for_people_have_the_accuracy_too),
        WITH_SHELL(texts_are_judged_a_line_each_in_their_order),
        WITH_SHELL(judgements_as_json_have_the_number_of_their_line),
        WITH_SHELL(what_is_no_text_has_its_sentence_and_the_rest_goes_on),
        WITH_SHELL(a_file_that_holds_no_texts_is_refused),
        WITH_SHELL(a_signal_ends_the_work_between_two_texts),
        WITH_SHELL(each_kind_of_run_refuses_the_questions_of_the_other),
        WITH_SHELL(a_folder_of_documents_is_learnt_from),
        WITH_SHELL(wrong_data_is_refused_and_leaves_nothing),
        WITH_SHELL(odd_documents_and_vectors_are_told_and_survived),
        WITH_SHELL(params_of_a_run_leave_the_vectors_out),
        WITH_SHELL(imported_weights_judge_as_those_of_the_run),
        WITH_SHELL(a_rerun_and_a_resume_classify_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
