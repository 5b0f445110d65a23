/* labelled.c - documents whose label one of their words tells, and vectors. */
#include "labelled.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N_FILLERS 10
#define WIDTH 6

static const char *const fillers[N_FILLERS] = {"the",  "film",   "was",  "and",
                                               "plot", "actors", "with", "its",
                                               "ends", "zork"};
static const char *const marks[2] = {"dull", "bright"};

/* Document i: fillers with the mark of its label among them. */
static void add_document(struct qn_str *text, int i)
{
    int label = (i * 5 / 3) % 2;
    int n = 3 + i * 7 % 12, at = i * 11 % n;
    qn_str_addf(text, "%d\t0\t", label);
    for (int w = 0; w < n; w++) {
        int filler = (i * 3 + w * 7) % N_FILLERS;
        qn_str_addf(text, "%s%s", w > 0 ? " " : "",
                    w == at ? marks[label] : fillers[filler]);
    }
    qn_str_add(text, "\n");
}

static char *write_documents(struct fixture *f, const char *name, int from,
                             int to)
{
    struct qn_str text = {0};
    for (int i = from; i < to; i++) {
        add_document(&text, i);
    }
    char *path = fixture_write(f, name, text.text);
    qn_str_free(&text);
    return path;
}

static void add_vector(struct qn_str *text, const char *word, int k)
{
    qn_str_add(text, word);
    for (int j = 0; j < WIDTH; j++) {
        qn_str_addf(text, " %d.%d", (k * 5 + j * 3) % 7 - 3,
                    (k * 3 + j * 7) % 10);
    }
    qn_str_add(text, "\n");
}

static char *write_vectors(struct fixture *f)
{
    struct qn_str text = {0};
    for (int i = 0; i < N_FILLERS - 1; i++) { /* the last one has none */
        add_vector(&text, fillers[i], i + 1);
    }
    add_vector(&text, marks[0], 11);
    add_vector(&text, marks[1], 12);
    char *path = fixture_write(f, "vectors.txt", text.text);
    qn_str_free(&text);
    return path;
}

int labelled_setup(void **state)
{
    struct labelled *l = qn_xcalloc(1, sizeof *l);
    void *fixture = NULL;
    if (fixture_setup(&fixture) != 0) {
        free(l);
        return -1;
    }
    l->f = fixture;
    l->train = write_documents(l->f, "train.tsv", 0, 40);
    l->test = write_documents(l->f, "test.tsv", 40, 52);
    l->vectors = write_vectors(l->f);
    *state = l;
    return 0;
}

int labelled_teardown(void **state)
{
    struct labelled *l = *state;
    void *fixture = l->f;
    int failed = fixture_teardown(&fixture);
    free(l->train);
    free(l->test);
    free(l->vectors);
    free(l);
    return failed;
}

struct qn_spec labelled_spec(struct labelled *l, const char *const *assignments)
{
    /* 32 documents train, 8 validate: 7 batches of 5, the last not full. */
    static const char *const base[] = {
        "batch=5",           "threads=2",
        "task=classify",     "model.layers=2",
        "model.hidden=8",    "model.embed=6",
        "model.dropout=0.1", "optim.lr=0.01",
        "optim.clip_norm=1", "eval.every=none",
        "stats.every=none",  "checkpoint.every=none",
        "steps=20",          NULL,
    };
    struct qn_settings *s = qn_settings_new();
    qn_settings_set(s, "data.train", l->train, QN_FROM_PRESET);
    qn_settings_set(s, "data.test", l->test, QN_FROM_PRESET);
    qn_settings_set(s, "data.vectors", l->vectors, QN_FROM_PRESET);
    for (const char *const *a = base; *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_PRESET);
    }
    for (const char *const *a = assignments; a && *a != NULL; a++) {
        qn_settings_assign(s, *a, QN_FROM_USER);
    }
    struct qn_spec spec;
    struct qn_err err;
    if (qn_settings_finish(s, &spec, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    qn_settings_free(s);
    return spec;
}

struct qn_trainer *labelled_create(struct labelled *l,
                                   const char *const *assignments)
{
    struct qn_spec spec = labelled_spec(l, assignments);
    struct qn_trainer *t = NULL;
    struct qn_err err;
    if (qn_trainer_create(&l->f->env, &spec, &l->f->sink, &t, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return t;
}
