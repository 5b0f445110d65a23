/* comparison.c - whether a run came out as another one, for people and
 * programs. */
#include "app/comparison.h"

#include "base/mem.h"
#include "lab/note_text.h"

#include <stdlib.h>
#include <string.h>

/* "the losses of 200 steps" */
static void add_losses(struct qn_str *s, const struct qn_comparison *c)
{
    qn_str_addf(s, "the loss%s of %lld step%s", c->steps == 1 ? "" : "es",
                (long long)c->steps, c->steps == 1 ? "" : "s");
}

static void add_same(struct qn_str *s, const struct qn_comparison *c,
                     bool complete)
{
    qn_str_add(s, complete ? "the same: " : "the same so far: ");
    if (c->steps > 0) {
        add_losses(s, c);
    }
    if (c->weights_step >= 0) {
        qn_str_addf(s, "%sthe weights of step %lld",
                    c->steps > 0 ? " and " : "", (long long)c->weights_step);
    }
    bool one = c->steps == 1 && c->weights_step < 0;
    qn_str_add(s, one ? " is equal to the last bit"
                      : " are equal to the last bit");
}

/* Both with as many digits as tell them apart. */
static void add_two_losses(struct qn_str *s, double then, double now)
{
    char a[32], b[32];
    (void)qn_number_text(a, sizeof a, then);
    (void)qn_number_text(b, sizeof b, now);
    if (qn_str_eq(a, b)) {
        (void)qn_format_double(a, sizeof a, then);
        (void)qn_format_double(b, sizeof b, now);
    }
    qn_str_addf(s, " (%s then, %s now)", a, b);
}

static void add_not_same(struct qn_str *s, const struct qn_comparison *c)
{
    qn_str_add(s, "not the same: ");
    if (c->first_step >= 0) {
        qn_str_addf(s, "the loss differs from step %lld on",
                    (long long)c->first_step);
        add_two_losses(s, c->then, c->now);
        if (c->weights_step >= 0) {
            qn_str_addf(s,
                        c->weights_same
                            ? ", yet the weights of step %lld are equal"
                            : ", and so do the weights of step %lld",
                        (long long)c->weights_step);
        }
        return;
    }
    if (c->steps > 0) {
        add_losses(s, c);
        qn_str_add(s, c->steps == 1 ? " is equal, yet " : " are equal, yet ");
    }
    qn_str_addf(s, "the weights of step %lld differ",
                (long long)c->weights_step);
}

static bool is_digest(const char *text)
{
    size_t len = strlen(text);
    return (len == 40 || len == 64) && strspn(text, "0123456789abcdef") == len;
}

/* On one line; of a digest as much as tells it from others. */
static void add_value(struct qn_str *s, const char *text)
{
    if (is_digest(text)) {
        qn_str_addf(s, "%.12s...", text);
        return;
    }
    char *line = qn_xstrdup(text);
    qn_blunt_controls(line);
    for (char *at = line; (at = strchr(at, '\n')) != NULL;) {
        *at = ' ';
    }
    qn_str_add(s, line[0] != '\0' ? line : "\"\"");
    free(line);
}

static void print_differences(struct qn_out *out, const struct qn_comparison *c)
{
    size_t width = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t len = strlen(c->difference[i].what);
        width = len > width ? len : width;
    }
    for (size_t i = 0; i < c->n; i++) {
        const struct qn_difference *d = &c->difference[i];
        struct qn_str s = {0};
        qn_str_addf(&s, "  %-*s  ", (int)width, d->what);
        add_value(&s, d->then);
        qn_str_add(&s, " then, ");
        add_value(&s, d->now);
        qn_str_add(&s, " now");
        qn_blunt_controls(s.text); /* keys come from the folders as well */
        (void)qn_out_line(out, s.text);
        qn_str_free(&s);
    }
}

void qn_comparison_text(struct qn_out *out, const struct qn_comparison *c,
                        const struct qn_compared *runs)
{
    struct qn_str s = {0};
    bool same = qn_comparison_same(c);
    bool compared = c->steps > 0 || c->weights_step >= 0;
    if (!compared) {
        qn_str_addf(&s, "not compared: %s and %s have no step in common",
                    runs->then, runs->now);
    } else if (same) {
        add_same(&s, c, runs->complete);
    } else {
        add_not_same(&s, c);
    }
    (void)qn_out_line(out, s.text);
    qn_str_free(&s);
    if (same && c->n > 0) {
        (void)qn_out_line(out, "on record differ, and made no difference:");
    }
    print_differences(out, c);
    if (!same && compared && c->n == 0) {
        (void)qn_out_line(out, "nothing on record differs");
    }
}

/* A step, or null for none. */
static void json_step(struct qn_json *j, const char *key, int64_t step)
{
    qn_json_key(j, key);
    if (step >= 0) {
        qn_json_int(j, step);
    } else {
        qn_json_null(j);
    }
}

static void json_losses(struct qn_json *j, const struct qn_comparison *c)
{
    qn_json_kint(j, "steps", c->steps);
    json_step(j, "first_step", c->first_step);
    if (c->first_step >= 0) {
        qn_json_kdouble(j, "then", c->then);
        qn_json_kdouble(j, "now", c->now);
    }
    json_step(j, "weights_step", c->weights_step);
    if (c->weights_step >= 0) {
        qn_json_kbool(j, "weights_same", c->weights_same);
    }
}

void qn_comparison_json(struct qn_out *out, const struct qn_comparison *c,
                        const struct qn_compared *runs)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "event", "compared");
    qn_json_kstring(&j, "run", runs->now);
    qn_json_kstring(&j, "with", runs->then);
    qn_json_kbool(&j, "same", qn_comparison_same(c));
    qn_json_kbool(&j, "complete", runs->complete);
    json_losses(&j, c);
    qn_json_key(&j, "differences");
    qn_json_array(&j);
    for (size_t i = 0; i < c->n; i++) {
        qn_json_object(&j);
        qn_json_kstring(&j, "what", c->difference[i].what);
        qn_json_kstring(&j, "then", c->difference[i].then);
        qn_json_kstring(&j, "now", c->difference[i].now);
        qn_json_end_object(&j);
    }
    qn_json_end_array(&j);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}
