/* classify.c - what a trained classifier says of documents and of a text. */
#include "labelled.h"

#include "base/mem.h"
#include "base/str.h"
#include "train/import.h"
#include "train/measure_self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void remove_file(const char *path)
{
    struct qn_err err;
    assert_true(qn_path_exists(path));
    assert_int_equal(qn_remove_tree(path, &err), QN_OK);
}

static struct qn_measure *open_run(struct labelled *l, const char *run,
                                   const char *const *changes, int n)
{
    struct qn_measure *m;
    struct qn_err err;
    if (qn_measure_open(&l->f->env, run, "last", changes, n, &m, &err) !=
        QN_OK) {
        fail_msg("%s", err.text);
    }
    return m;
}

static struct qn_judgement judge(struct qn_measure *m, const char *text)
{
    struct qn_judgement j;
    struct qn_err err;
    if (qn_measure_classify(m, text, strlen(text), &j, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(j.label, j.probability > 0.5);
    return j;
}

static void check_refused(struct qn_measure *m, const char *text, size_t len,
                          const char *sentence)
{
    struct qn_judgement j;
    struct qn_err err;
    assert_int_equal(qn_measure_classify(m, text, len, &j, &err), QN_EUSAGE);
    assert_string_equal(err.text, sentence);
}

static void a_text_is_classified(void **state)
{
    struct labelled *l = *state;
    static const char *const settings[] = {"steps=200", "data.lower=true",
                                           NULL};
    char *run = fixture_finish(labelled_create(l, settings));
    remove_file(l->train); /* nor the vectors' file is wanted */
    remove_file(l->vectors);
    struct qn_measure *m = open_run(l, run, NULL, 0);
    struct qn_judgement j = judge(m, "The film was BRIGHT");
    assert_int_equal(j.label, 1);
    assert_int_equal(j.words, 4);
    assert_int_equal(j.known, 4);
    assert_int_equal(judge(m, "the film was dull").label, 0);
    /* Words without vectors are passed over. */
    struct qn_judgement with = judge(m, "a film zork was, bright!");
    struct qn_judgement without = judge(m, "film was bright");
    assert_true(with.probability == without.probability);
    assert_int_equal(with.words, 7); /* marks are words */
    assert_int_equal(with.known, 3);
    check_refused(m, "", 0, "the text has no words");
    check_refused(m, " \n\t ", 4, "the text has no words");
    check_refused(m, "qux zork", 8,
                  "the run knows no word of the text, which has 2");
    check_refused(m, "dull \xff", 6, "the text is not valid UTF-8: byte 5");
    qn_measure_free(m);
    free(run);
}

static void a_long_text_is_cut(void **state)
{
    struct labelled *l = *state;
    static const char *const settings[] = {"data.max_words=20", NULL};
    char *run = fixture_finish(labelled_create(l, settings));
    struct qn_measure *m = open_run(l, run, NULL, 0);
    struct qn_str text = {0};
    for (int i = 0; i < 10; i++) {
        qn_str_add(&text, "the film ");
    }
    struct qn_judgement front = judge(m, text.text);
    assert_int_equal(front.known, 20);
    for (int i = 0; i < 10000; i++) {
        qn_str_add(&text, "bright dull ");
    }
    struct qn_judgement whole = judge(m, text.text);
    assert_true(whole.probability == front.probability);
    assert_int_equal(whole.words, 20020);
    assert_int_equal(whole.known, 20);
    qn_measure_free(m);
    qn_str_free(&text);
    free(run);
}

/* All texts share what the first one made room for. */
static void a_judgement_owes_nothing_to_those_before(void **state)
{
    struct labelled *l = *state;
    static const char *const texts[] = {
        "the film was bright",
        "dull", /* shorter, then longer than there was room for */
        "the plot and the actors and the ends and the film was with its plot "
        "and its actors and its ends and its film the plot and the actors and "
        "the ends and the film was with its plot and its actors and its ends "
        "and its film the plot and the actors and the ends was bright",
        "the film was dull"};
    static const char *const kinds[][3] = {{"steps=40", "model.dense=true"},
                                           {"steps=40", "model.cell=lstm"}};
    static const char *const backends[] = {"ref", "cpu"};
    for (int i = 0; i < 4; i++) {
        l->f->env.backend = backends[i / 2];
        char *run = fixture_finish(labelled_create(l, kinds[i % 2]));
        struct qn_measure *all = open_run(l, run, NULL, 0);
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            struct qn_measure *one = open_run(l, run, NULL, 0);
            assert_true(judge(all, texts[k]).probability ==
                        judge(one, texts[k]).probability);
            qn_measure_free(one);
        }
        qn_measure_free(all);
        free(run);
    }
}

/* One by one the documents of the test split get the labels that together are
 * its accuracy, and their log-likelihoods its loss: padding has no say. */
static void judgements_add_up_to_the_evaluation(void **state)
{
    struct labelled *l = *state;
    static const char *const settings[] = {"steps=12", "optim.lr=0.003", NULL};
    char *run = fixture_finish(labelled_create(l, settings));
    struct qn_measure *m = open_run(l, run, NULL, 0);
    struct qn_evaluation e;
    struct qn_bytes text;
    struct qn_err err;
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_OK);
    assert_int_equal(qn_file_read(l->test, &text, &err), QN_OK);
    double loss = 0;
    int n = 0, right = 0;
    for (char *line = strtok(text.data, "\n"); line != NULL;
         line = strtok(NULL, "\n"), n++) {
        int label = line[0] == '1';
        struct qn_judgement j = judge(m, line + strlen("1\t0\t"));
        loss -= log(label == 1 ? j.probability : 1 - j.probability);
        right += j.label == label;
    }
    assert_int_equal(n, e.predictions);
    assert_true(e.accuracy == (double)right / n);
    /* Single precision, and sums in another order. */
    assert_true(fabs(e.loss - loss / n) < 1e-5);
    qn_bytes_free(&text);
    qn_measure_free(m);
    free(run);
}

static void batches_and_limits_do_not_change_what_is_measured(void **state)
{
    struct labelled *l = *state;
    static const char *const limited[] = {"eval.limit=4", NULL};
    static const char *const batch[] = {"eval.batch=7"};
    char *run = fixture_finish(labelled_create(l, limited));
    assert_int_equal(fixture_note(l->f, QN_NOTE_EVAL)->predictions, 4);
    struct qn_evaluation a, b;
    struct qn_err err;
    struct qn_measure *m = open_run(l, run, NULL, 0);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &a, &err), QN_OK);
    assert_int_equal(a.predictions, 40);
    qn_measure_free(m);
    m = open_run(l, run, batch, 1);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &b, &err), QN_OK);
    assert_int_equal(b.predictions, 40);
    assert_true(a.accuracy == b.accuracy);
    assert_true(fabs(a.loss - b.loss) < 1e-5); /* single precision */
    qn_measure_free(m);
    free(run);
}

/* Every real position is counted once, whatever the padding is. */
static void statistics_are_of_real_words(void **state)
{
    struct labelled *l = *state;
    char *run = fixture_finish(labelled_create(l, NULL));
    struct qn_measure *m = open_run(l, run, NULL, 0);
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    struct qn_err err;
    assert_int_equal(qn_measure_stats(m, QN_TEST, 1u << QN_CELL, 0.1, r, &err),
                     QN_OK);
    size_t words;
    (void)qn_corpus_ids(m->corpus, QN_TEST, &words);
    assert_true(words > 12);
    assert_int_equal(qn_hist_shares(&r->layer[0][QN_CELL]).count, words * 8);
    assert_int_equal(qn_hist_shares(&r->layer[1][QN_CELL]).count, words * 8);
    free(r);
    qn_measure_free(m);
    free(run);
}

static void other_documents_are_read_with_the_runs_vocabulary(void **state)
{
    struct labelled *l = *state;
    char *other = fixture_write(l->f, "other.tsv",
                                "pos\t9\tnever seen before, bright!\n"
                                "neg\t2\tnothing known here\n"
                                "neg\t1\tdull\n");
    char *change = qn_xasprintf("data.test=%s", other);
    const char *changes[] = {change};
    static const char *const settings[] = {"steps=200", NULL};
    char *run = fixture_finish(labelled_create(l, settings));
    struct qn_measure *m = open_run(l, run, changes, 1);
    struct qn_evaluation e;
    struct qn_err err;
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_OK);
    assert_int_equal(e.predictions, 2); /* one has no known word */
    assert_true(e.accuracy == 1);
    qn_measure_free(m);
    free(fixture_write(l->f, "other.tsv", "neg\t2\tnothing known here\n"));
    m = open_run(l, run, changes, 1);
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_EUSAGE);
    assert_string_equal(err.text, "the test split has no document with a word "
                                  "that the run knows");
    qn_measure_free(m);
    free(run);
    free(change);
    free(other);
}

/* A split with a file of its own wants no other; one that is cut from train
 * wants train. */
static void only_the_files_of_the_split_are_read(void **state)
{
    struct labelled *l = *state;
    struct qn_evaluation e;
    struct qn_bytes train;
    struct qn_err err;
    char *run = fixture_finish(labelled_create(l, NULL));
    struct qn_measure *m = open_run(l, run, NULL, 0);
    assert_int_equal(qn_file_read(l->train, &train, &err), QN_OK);
    remove_file(l->train);
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_OK);
    assert_int_equal(e.predictions, 12);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_ENOTFOUND);
    assert_non_null(strstr(err.text, "train.tsv"));
    free(fixture_write(l->f, "train.tsv", train.data));
    remove_file(l->test);
    assert_int_equal(qn_measure_evaluate(m, QN_VALID, &e, &err), QN_OK);
    assert_int_equal(e.predictions, 40);
    assert_int_equal(qn_measure_evaluate(m, QN_TRAIN, &e, &err), QN_OK);
    assert_int_equal(e.predictions, 160);
    assert_int_equal(qn_measure_evaluate(m, QN_TEST, &e, &err), QN_ENOTFOUND);
    assert_null(strstr(l->f->lines.text, "has changed"));
    qn_measure_free(m);
    qn_bytes_free(&train);
    free(run);
}

static void questions_of_the_wrong_kind_are_refused(void **state)
{
    struct labelled *l = *state;
    static const char *const vectors[] = {"data.vectors=none"};
    static const struct qn_text_request own = {.temperature = -1, .seed = -1};
    struct qn_str text = {0};
    struct qn_err err;
    struct qn_measure *m;
    char *run = fixture_finish(labelled_create(l, NULL));
    m = open_run(l, run, NULL, 0);
    assert_int_equal(qn_measure_sample(m, &own, &text, &err), QN_EUSAGE);
    assert_string_equal(err.text, "the run is a classifier: it tells the label "
                                  "of a text and cannot write one");
    qn_measure_free(m);
    assert_int_equal(
        qn_measure_open(&l->f->env, run, "last", vectors, 1, &m, &err),
        QN_EUSAGE);
    assert_non_null(strstr(err.text, "keeps the word vectors"));
    free(run);
    run = fixture_finish(fixture_create(l->f, NULL));
    m = open_run(l, run, NULL, 0);
    check_refused(m, "bright", 6,
                  "the run is a language model: it predicts the symbols of a "
                  "text and has no labels for it");
    qn_measure_free(m);
    free(run);
}

static void imported_weights_judge_the_same(void **state)
{
    struct labelled *l = *state;
    static const char *const wrong[] = {"model.hidden=99", NULL};
    char *run = fixture_finish(labelled_create(l, NULL));
    char *weights = qn_path_join(run, "checkpoints/20/model.safetensors");
    struct qn_measure *m = open_run(l, run, NULL, 0);
    double before = judge(m, "the film was bright").probability;
    qn_measure_free(m);
    struct qn_spec spec = labelled_spec(l, wrong);
    struct qn_err err;
    char *id;
    if (qn_import(&l->f->env, weights, &spec, &id, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    free(run);
    run = qn_path_join(l->f->store, id);
    remove_file(l->vectors);
    m = open_run(l, run, NULL, 0);
    assert_int_equal(qn_measure_spec(m)->model.hidden, 8);
    assert_true(judge(m, "the film was bright").probability == before);
    qn_measure_free(m);
    free(weights);
    free(run);
    free(id);
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, labelled_setup, labelled_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_text_is_classified),
        CASE(a_long_text_is_cut),
        CASE(a_judgement_owes_nothing_to_those_before),
        CASE(judgements_add_up_to_the_evaluation),
        CASE(batches_and_limits_do_not_change_what_is_measured),
        CASE(statistics_are_of_real_words),
        CASE(other_documents_are_read_with_the_runs_vocabulary),
        CASE(only_the_files_of_the_split_are_read),
        CASE(questions_of_the_wrong_kind_are_refused),
        CASE(imported_weights_judge_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
