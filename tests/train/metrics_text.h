/* metrics_text.h - histories at random, and what they say by another way. */
#ifndef QN_TESTS_TRAIN_METRICS_TEXT_H
#define QN_TESTS_TRAIN_METRICS_TEXT_H

#include "../store/make_run.h"

#include "base/mem.h"
#include "base/rng.h"
#include "store/files.h"
#include "store/line.h"
#include "train/metrics_read.h"

#include <math.h>
#include <stdlib.h>

/* A metrics.jsonl that grows; begin with the seed. */
struct history {
    uint64_t seed;
    struct qn_str text;
    int64_t step; /* the newest */
    int segments; /* lines of segments so far */
};

/* At random, below n. */
static inline uint64_t draw(struct history *h, uint64_t n)
{
    h->seed += 0x9e3779b97f4a7c15u;
    return qn_mix64(h->seed) % n;
}

static inline double draw_number(struct history *h)
{
    static const double usual[] = {0, 1, 0.001, 91000, 1e-5, 0.25, 1e22, -3};
    uint64_t which = draw(h, 12);
    double scale = pow(10, (double)draw(h, 14) - 9);
    double v =
        ((double)draw(h, 1u << 30) + (double)draw(h, 1u << 30) * 0x1p-30) *
        0x1p-30 * scale;
    return which == 8                     ? (double)NAN
           : which < 8 && draw(h, 3) == 0 ? usual[which]
                                          : v;
}

/* In the form that record.c writes. */
static inline void add_step(struct history *h, bool of_labels)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "event", "step");
    qn_json_kint(&j, "step", ++h->step);
    qn_json_kdouble(&j, "epoch", draw_number(h));
    qn_json_kdouble(&j, "loss", draw_number(h));
    if (of_labels) {
        qn_json_kdouble(&j, "accuracy", draw_number(h));
    }
    qn_json_kdouble(&j, "lr", draw_number(h));
    qn_json_kdouble(&j, "grad_norm", draw_number(h));
    qn_json_kdouble(&j, "tokens_per_s", draw_number(h));
    qn_json_kdouble(&j, "seconds", draw_number(h));
    qn_json_end_object(&j);
    qn_str_addf(&h->text, "%s\n", j.text.text);
    qn_json_free(&j);
}

static inline void add_eval(struct history *h)
{
    static const char *const split[] = {"train", "valid", "test", "other"};
    static const char *const key[] = {"bpc", "perplexity", "accuracy", "x"};
    char loss[32], value[32];
    double of_loss = draw_number(h), of_value = draw_number(h);
    (void)qn_format_double(loss, sizeof loss, of_loss);
    (void)qn_format_double(value, sizeof value, of_value);
    qn_str_addf(&h->text,
                "{\"event\":\"eval\",\"step\":%lld,\"split\":\"%s\",\"loss\":"
                "%s,\"%s\":%s,\"predictions\":%d,\"seconds\":1.5}\n",
                (long long)h->step, split[draw(h, 4)],
                isnan(of_loss) ? "null" : loss, key[draw(h, 4)],
                isnan(of_value) ? "null" : value, (int)draw(h, 1000));
}

/* Objects that another hand might write. */
static inline void add_odd(struct history *h)
{
    static const char *const lines[] = {
        "{}",
        "{\"event\":\"step\"}",
        "{\"event\":\"other\",\"step\":3}",
        "{ \"event\": \"step\", \"step\": %d, \"loss\": 1.5 }",
        "{\"event\":\"step\",\"step\":2.5,\"loss\":1}",
        "{\"step\":%d,\"event\":\"step\",\"loss\":0.1,\"seconds\":\"x\"}",
        "{\"event\":\"step\",\"step\":%d,\"epoch\":1e-300,\"loss\":true}",
        "{\"event\":\"eval\",\"step\":%d,\"split\":7}",
        "{\"segment\":\"2\",\"from\":0}",
        "{\"segment\":2}",
    };
    const char *line = lines[draw(h, sizeof lines / sizeof *lines)];
    const char *hole = strstr(line, "%d");
    size_t len = hole != NULL ? (size_t)(hole - line) : strlen(line);
    qn_str_add_bytes(&h->text, line, len);
    if (hole != NULL) {
        qn_str_addf(&h->text, "%lld%s", (long long)++h->step, hole + 2);
    }
    qn_str_add(&h->text, "\n");
}

static inline void add_segment(struct history *h)
{
    int64_t back = (int64_t)draw(h, draw(h, 4) == 0 ? 60 : 6);
    h->step = h->step > back ? h->step - back : 0;
    qn_str_addf(&h->text, "{\"segment\":%d,\"from\":%lld}\n", ++h->segments + 1,
                (long long)h->step);
}

/* Some lines more, with resumes among them. */
static inline void add_lines(struct history *h, int n)
{
    bool of_labels = draw(h, 2) == 0;
    for (int i = 0; i < n; i++) {
        uint64_t which = draw(h, 40);
        if (which == 0) {
            add_segment(h);
        } else if (which < 4) {
            add_eval(h);
        } else if (which < 6) {
            add_odd(h);
        } else {
            add_step(h, of_labels);
        }
    }
}

/* What a crash may leave at the end: a line torn, or lines that hold NUL. */
static inline void add_torn(struct history *h)
{
    static const char half[] = "{\"event\":\"step\",\"step\":9,\"lo";
    static const char zeros[] = "{\"event\":\"st\0\0\0\n\0\n\0";
    if (draw(h, 3) > 0) {
        qn_str_add_bytes(&h->text, half, sizeof half - 1);
    }
    if (draw(h, 2) == 0) {
        qn_str_add_bytes(&h->text, zeros, draw(h, sizeof zeros));
    }
}

static inline bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline bool same_step(const struct qn_step_record *a,
                             const struct qn_step_record *b)
{
    return a->segment == b->segment && a->step == b->step &&
           same_number(a->epoch, b->epoch) && same_number(a->loss, b->loss) &&
           same_number(a->accuracy, b->accuracy) && same_number(a->lr, b->lr) &&
           same_number(a->grad_norm, b->grad_norm) &&
           same_number(a->tokens_per_s, b->tokens_per_s) &&
           same_number(a->seconds, b->seconds);
}

static inline bool same_eval(const struct qn_eval_record *a,
                             const struct qn_eval_record *b)
{
    return a->step == b->step && a->e.split == b->e.split &&
           a->e.reading == b->e.reading &&
           a->e.predictions == b->e.predictions &&
           same_number(a->e.loss, b->e.loss) &&
           same_number(a->e.accuracy, b->e.accuracy) &&
           same_number(a->e.seconds, b->e.seconds) &&
           same_number(a->value, b->value);
}

static inline void assert_same_metrics(const struct qn_metrics *a,
                                       const struct qn_metrics *b)
{
    assert_int_equal(a->n_steps, b->n_steps);
    assert_int_equal(a->n_evals, b->n_evals);
    for (size_t i = 0; i < a->n_steps; i++) {
        assert_true(same_step(&a->step[i], &b->step[i]));
    }
    for (size_t i = 0; i < a->n_evals; i++) {
        assert_true(same_eval(&a->eval[i], &b->eval[i]));
    }
}

#endif
