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

/* The next of some numbers that have nothing to do with each other, below n. */
static int draw(uint32_t *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 16) % (uint32_t)n);
}

/* Document i: fillers with the mark of its label among them. */
static void add_document(struct qn_str *text, int i)
{
    uint32_t state = (uint32_t)i;
    int label = i % 2, n = 3 + draw(&state, 8), at = draw(&state, n);
    qn_str_addf(text, "%d\t0\t", label);
    for (int w = 0; w < n; w++) {
        qn_str_addf(text, "%s%s", w > 0 ? " " : "",
                    w == at ? marks[label] : fillers[draw(&state, N_FILLERS)]);
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

/* The last of a word's numbers is its say in the label. */
static void add_vector(struct qn_str *text, const char *word, int k,
                       int opinion)
{
    uint32_t state = (uint32_t)k * 40503u;
    qn_str_add(text, word);
    for (int j = 0; j < WIDTH - 1; j++) {
        qn_str_addf(text, " %g", draw(&state, 200) / 100.0 - 1);
    }
    qn_str_addf(text, " %d\n", opinion);
}

static char *write_vectors(struct fixture *f)
{
    struct qn_str text = {0};
    for (int i = 0; i < N_FILLERS - 1; i++) { /* the last one has none */
        add_vector(&text, fillers[i], i, 0);
    }
    add_vector(&text, marks[0], N_FILLERS, -1);
    add_vector(&text, marks[1], N_FILLERS + 1, 1);
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
    l->train = write_documents(l->f, "train.tsv", 0, 200);
    l->test = write_documents(l->f, "test.tsv", 200, 212);
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
    /* 160 documents train, 40 validate: 27 batches of 6, the last not full. */
    static const char *const base[] = {
        "batch=6",           "threads=2",
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
    return fixture_settled(s, base, assignments);
}

struct qn_trainer *labelled_create(struct labelled *l,
                                   const char *const *assignments)
{
    struct qn_spec spec = labelled_spec(l, assignments);
    return fixture_create_of(l->f, &spec);
}
