/* torture.c - a run that is killed again and again ends in the same bytes.
 * usage: faults_torture KIND [KILLS [SEED]]
 *
 * A moment to kill at is a number of lines that the program has printed and
 * some microseconds: it lies in the program's own progress, so that a slow
 * machine is tortured as a fast one is. */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "store/run_dir.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct kind {
    const char *name, *settings;
};

/* Everything that a checkpoint may have to hold, spread over four runs. */
#define ALL                                                                    \
    "name=run threads=2 model.layers=2 model.hidden=10 model.embed=6 "         \
    "stats.every=5 eval.every=10 checkpoint.every=3 "
static const struct kind kinds[] = {
    {"drelu", ALL "data.train=text.txt batch=4 seq=8 steps=150 "
                  "model.activation=drelu model.batch_norm=true "
                  "model.dropout=0.2 model.embed_dropout=0.1 "
                  "model.zoneout=0.1 optim.kind=adam optim.lr=0.01 "
                  "optim.clip_norm=1 optim.decay=0.8 sample.every=20 "
                  "sample.length=12 stats.of=c,z,h,f,o "},
    {"lstm", ALL "data.train=text.txt data.stream=ptb49 batch=4 seq=8 "
                 "steps=150 model.cell=lstm model.dropout=0.2 optim.kind=sgd "
                 "optim.momentum=0.9 optim.lr=0.1 optim.l2=1e-4 "},
    {"classifier", ALL "task=classify data.train=reviews.txt data.test=0.1 "
                       "batch=6 epochs=10 model.activation=delu "
                       "model.batch_norm=true model.dropout=0.2 "
                       "optim.kind=rmsprop optim.lr=0.01 "
                       "checkpoint.metric=valid.accuracy "},
    {"words", ALL "data.train=text.txt data.level=word batch=4 seq=6 steps=150 "
                  "model.activation=relu model.dense=true model.pooling=ifo "
                  "model.window=2,1 model.zoneout=0.2 model.bias=step "
                  "optim.kind=adam optim.lr=0.01 loss.time=sum "},
};

struct torture {
    const struct kind *kind;
    int n_kills;
    uint64_t seed, drawn;
    void *folder;   /* of app/shell.h */
    long n_lines;   /* that the undisturbed run prints */
    char *calm;     /* its folder */
    struct view of; /* what it recorded */
    int n_soft;     /* stops of this round that left an evaluation */
    int n_rounds;   /* runs that came to their end */
};

static double draw(struct torture *t)
{
    return qn_rng_uniform(t->seed, t->drawn++);
}

struct blow {
    int signal;
    long lines; /* to read first */
    long us;    /* to wait then */
};

/* Some at once, while the folder is being made or taken up; most soon, so that
 * the run is hit often; some later than its end. */
static struct blow next_blow(struct torture *t)
{
    double how = draw(t), whom = draw(t);
    double lines = draw(t), us = draw(t);
    struct blow b = {.signal = SIGKILL, .us = (long)(us * us * 4000)};
    if (whom < 0.1) {
        b.signal = SIGTERM;
    } else if (whom < 0.2) {
        b.signal = SIGHUP;
    }
    if (how < 0.15) {
        b.us = (long)(us * 40000);
    } else if (how < 0.75) {
        b.lines = (long)(lines * (double)t->n_lines / 8);
    } else {
        b.lines = (long)(lines * (double)t->n_lines * 1.1);
    }
    return b;
}

static void wait_us(long us)
{
    struct timespec ts = {us / 1000000, us % 1000000 * 1000};
    (void)nanosleep(&ts, NULL);
}

/* Start or go on, with what is on record. */
static struct child begin(const struct torture *t)
{
    char *run = only_run("shaken");
    struct child c =
        run != NULL
            ? child_start("resume --json --store shaken %s", run)
            : child_start("train --json --store shaken %s", t->kind->settings);
    free(run);
    return c;
}

/* Read so many lines (-1: all); false at the end of them. */
static bool read_lines(struct child *c, long n)
{
    char line[65536];
    while (n != 0 && fgets(line, sizeof line, c->out) != NULL) {
        n--;
    }
    return n == 0;
}

/* 0: ended by itself, or kept what there was and ended as it was asked to. */
static void check_end(const struct blow *b, int status)
{
    char *said = file_text(".err");
    bool well = status == 0 || status == 128 + b->signal;
    for (const char *line = said; *line != '\0';
         line += strcspn(line, "\n") + 1) {
        well = well && strncmp(line, "quern: ", 7) == 0;
    }
    if (!well) {
        fail_msg("signal %d after %ld lines and %ld us: status %d, %s",
                 b->signal, b->lines, b->us, status, said);
    }
    free(said);
}

static void strike(struct torture *t, const struct blow *b)
{
    struct child c = begin(t);
    if (read_lines(&c, b->lines)) {
        wait_us(b->us);
    }
    (void)kill(c.pid, b->signal);
    check_end(b, child_end(&c));
    char *state = run_state("shaken");
    t->n_soft += strcmp(state, "stopped") == 0;
    free(state);
}

/* A checkpoint that is there has the weights of the undisturbed run's. */
static void check_checkpoint(const struct torture *t, const char *run,
                             const char *which)
{
    char *ours = NULL, *theirs = NULL, *name = qn_path_join(run, which);
    int64_t step;
    struct qn_err err;
    bool there = qn_path_exists(name);
    if (there &&
        qn_run_dir_find_checkpoint(run, which, &ours, &step, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    if (there) {
        char *a = qn_path_join(ours, "model.safetensors");
        theirs = qn_xasprintf("%s/checkpoints/%lld/model.safetensors", t->calm,
                              (long long)step);
        if (qn_path_exists(theirs)) {
            same_bytes(a, theirs);
        }
        free(a);
    }
    free(name);
    free(theirs);
    free(ours);
}

/* Whatever the blow, others can read what it left. */
static void check_remains(const struct torture *t)
{
    char *run = only_run("shaken");
    struct outcome o = tried("runs --store shaken");
    assert_string_equal(o.err, "");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    if (run == NULL) {
        return;
    }
    check_checkpoint(t, run, "last");
    check_checkpoint(t, run, "best");
    o = tried("eval --json --store shaken %s", run);
    bool weights = o.status == 0;
    if (!weights) {
        check_sentence(&o, "no checkpoint");
        assert_int_equal(sh("test ! -e %s/last", run), 0);
    }
    outcome_free(&o);
    /* No figures: drawing takes longer than all else here. */
    o = tried("export --store shaken %s --to exported --formats "
              "csv,jsonl,tfevents%s",
              run, weights ? ",safetensors" : "");
    assert_int_equal(o.status, 0);
    outcome_free(&o);
    assert_int_equal(sh("rm -r exported"), 0);
    free(run);
}

/* What an evaluation more changes of a state. */
static bool counts_evaluations(const char *tensor)
{
    return strcmp(tensor, "evals") == 0 || qn_starts_with(tensor, "best.");
}

static void same_state(const char *a, const char *b)
{
    struct qn_st_file *x, *y;
    struct qn_err err;
    if (qn_st_open(a, &x, &err) != QN_OK || qn_st_open(b, &y, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(qn_st_n_tensors(x), qn_st_n_tensors(y));
    for (size_t i = 0; i < qn_st_n_tensors(x); i++) {
        const struct qn_st_tensor *p = qn_st_at(x, i);
        const struct qn_st_tensor *q = qn_st_find(y, p->name);
        size_t size = qn_st_count(p) * qn_dtype_size(p->dtype);
        assert_non_null(q);
        assert_int_equal(qn_st_count(p), qn_st_count(q));
        if (!counts_evaluations(p->name) && memcmp(p->data, q->data, size)) {
            fail_msg("%s: %s differs", a, p->name);
        }
    }
    qn_st_close(x);
    qn_st_close(y);
}

/* A stop evaluates, which the undisturbed run did not at that step, and cuts a
 * sample short that is being written. */
static void check_view_of_stops(const struct torture *t, const struct view *v)
{
    int more = n_missing(&v->evals, &t->of.evals);
    if (more > t->n_soft || n_missing(&t->of.evals, &v->evals) > 0 ||
        n_lines(v->evals.text) != n_lines(t->of.evals.text) + more) {
        fail_msg("%d evaluations more with %d stops:\n%s---\n%s", more,
                 t->n_soft, t->of.evals.text, v->evals.text);
    }
    assert_true(n_missing(&t->of.samples, &v->samples) <= t->n_soft);
    assert_int_equal(n_missing(&v->samples, &t->of.samples), 0);
    same_text("steps", &v->steps, &t->of.steps);
    same_text("statistics", &v->stats, &t->of.stats);
}

static void check_whole(struct torture *t)
{
    char *run = only_run("shaken");
    assert_non_null(run);
    char *last = file_text("%s/last", run);
    char *calm_last = file_text("%s/last", t->calm);
    char *best = file_text("%s/best", run);
    char *calm_best = file_text("%s/best", t->calm);
    assert_string_equal(last, calm_last);
    last[strcspn(last, "\n")] = '\0';
    check_checkpoint(t, run, "last");
    char *ours = qn_xasprintf("%s/checkpoints/%s/state.safetensors", run, last);
    char *theirs =
        qn_xasprintf("%s/checkpoints/%s/state.safetensors", t->calm, last);
    struct view v = view_of(run);
    if (t->n_soft == 0) {
        assert_string_equal(best, calm_best);
        check_checkpoint(t, run, "best");
        same_bytes(ours, theirs);
        same_view(&v, &t->of);
    } else {
        same_state(ours, theirs);
        check_view_of_stops(t, &v);
    }
    view_free(&v);
    free(ours);
    free(theirs);
    free(last);
    free(calm_last);
    free(best);
    free(calm_best);
    free(run);
}

/* A run that has come to its end is compared and makes room for the next. */
static void next_round_if_done(struct torture *t)
{
    char *state = run_state("shaken");
    if (strcmp(state, "done") == 0) {
        check_whole(t);
        assert_int_equal(sh("rm -r shaken"), 0);
        t->n_soft = 0;
        t->n_rounds++;
    }
    free(state);
}

static void train_undisturbed(struct torture *t)
{
    write_sentences("text.txt", 160, 7);
    write_reviews("reviews.txt", 120, 8);
    char *out = quern_out("train --json --store calm %s "
                          "checkpoint.keep.last=1000",
                          t->kind->settings);
    t->n_lines = n_lines(out);
    free(out);
    t->calm = only_run("calm");
    t->of = view_of(t->calm);
}

static void killed_at_any_moment_it_ends_in_the_same_bytes(void **state)
{
    struct torture *t = *state;
    train_undisturbed(t);
    for (int i = 0; i < t->n_kills; i++) {
        struct blow b = next_blow(t);
        strike(t, &b);
        check_remains(t);
        next_round_if_done(t);
    }
    struct child c = begin(t);
    (void)read_lines(&c, -1);
    assert_int_equal(child_end(&c), 0);
    check_whole(t);
    printf("%s: %d kills, %d runs\n", t->kind->name, t->n_kills,
           t->n_rounds + 1);
}

static int setup(void **state)
{
    struct torture *t = *state;
    return shell_setup(&t->folder);
}

static int teardown(void **state)
{
    struct torture *t = *state;
    view_free(&t->of);
    free(t->calm);
    return shell_teardown(&t->folder);
}

int main(int argc, char **argv)
{
    struct torture t = {.n_kills = argc > 2 ? atoi(argv[2]) : 12,
                        .seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1};
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            t.kind = &kinds[i];
        }
    }
    if (t.kind == NULL || t.n_kills < 0) {
        (void)fprintf(stderr, "usage: faults_torture "
                              "drelu|lstm|classifier|words [KILLS [SEED]]\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        {"killed_at_any_moment_it_ends_in_the_same_bytes",
         killed_at_any_moment_it_ends_in_the_same_bytes, setup, teardown, &t},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
