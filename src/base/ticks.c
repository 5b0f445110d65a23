/* ticks.c - ranges and nice ticks. */
#include "base/ticks.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>

/* Values beyond would overflow when they are subtracted. */
#define LARGEST 1e150
/* A share's axis is at least so long: less is noise, not learning. */
#define SHARES_SPAN 0.02

static double clamp(double v)
{
    return fmax(-LARGEST, fmin(LARGEST, v));
}

/* The smallest of 1, 2, 5 times a power of ten that is not below v > 0. */
static double nice_step(double v)
{
    double unit = pow(10, floor(log10(v)));
    static const double of[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++) {
        if (of[i] * unit >= v * (1 - 1e-9)) {
            return of[i] * unit;
        }
    }
    return 10 * unit;
}

/* Round v > 0 up to a number with few digits: at most a fourth larger. */
static double nice_above(double v)
{
    static const double of[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    double unit = pow(10, floor(log10(v)));
    for (int i = 0; i < 11; i++) {
        if (of[i] * unit >= v * (1 - 1e-9)) {
            return of[i] * unit;
        }
    }
    return 10 * unit;
}

static double nice_below(double v)
{
    return 1 / nice_above(1 / v);
}

static void add_tick(struct qn_axis *a, double v)
{
    if (a->n_ticks < QN_MAX_TICKS) {
        a->tick[a->n_ticks++] = v;
    }
}

/* Decimals that a step of this size needs, or -1 for %g. */
static int decimals_for(double step, double largest)
{
    int digits = (int)-floor(log10(step) + 1e-9);
    if (largest >= 1e5 || digits > 5) {
        return -1;
    }
    return digits > 0 ? digits : 0;
}

static void multiples(struct qn_axis *a, double step)
{
    double first = ceil(a->lo / step - 1e-9);
    for (double k = first; k * step <= a->hi + step * 1e-9; k++) {
        if (a->n_ticks == QN_MAX_TICKS) {
            break;
        }
        add_tick(a, fabs(k) < 0.5 ? 0 : k * step);
    }
    a->decimals = decimals_for(step, fmax(fabs(a->lo), fabs(a->hi)));
}

/* One tick alone gives no scale. */
static void two_multiples(struct qn_axis *a, double step)
{
    multiples(a, step);
    for (int i = 0; i < 3 && a->n_ticks < 2; i++) {
        a->n_ticks = 0;
        step = nice_step(step / 2.5);
        multiples(a, step);
    }
}

static void linear_axis(struct qn_axis *a, double lo, double hi, int max_ticks)
{
    double floor_at = fmax(fabs(lo), fabs(hi)) * 1e-6;
    if (hi - lo <= floor_at) {
        double by = fmax(fabs(hi) * 0.05, 1e-12);
        lo -= by;
        hi += by;
    }
    double step = nice_step((hi - lo) / max_ticks);
    /* Fifths of a step: round enough to stand still, without much air. */
    a->lo = floor(lo / step * 5 + 1e-9) * step / 5;
    a->hi = ceil(hi / step * 5 - 1e-9) * step / 5;
    two_multiples(a, step);
}

/* 1, 2 and 5 of each decade, or whole decades when those are too many. */
static void log_ticks(struct qn_axis *a, int max_ticks)
{
    static const double of[] = {1, 2, 5};
    int from = (int)floor(log10(a->lo)), to = (int)ceil(log10(a->hi));
    int decades = to - from;
    int parts = decades * 3 <= max_ticks + 2 ? 3 : 1;
    int every = (decades + max_ticks - 1) / max_ticks;
    for (int e = from; e <= to; e += every > 0 ? every : 1) {
        for (int i = 0; i < parts; i++) {
            double v = of[i] * pow(10, e);
            if (v >= a->lo * (1 - 1e-9) && v <= a->hi * (1 + 1e-9)) {
                add_tick(a, v);
            }
        }
    }
    a->decimals = -1;
}

static void log_axis(struct qn_axis *a, double lo, double hi, int max_ticks)
{
    a->lo = nice_below(fmax(lo, 1 / LARGEST));
    a->hi = nice_above(hi);
    if (a->hi <= a->lo * 1.001) {
        a->lo *= 0.9;
        a->hi *= 1.1;
    }
    /* Within a decade even steps say more than 1, 2, 5. */
    if (a->hi / a->lo <= 10) {
        two_multiples(a, nice_step((a->hi - a->lo) / max_ticks));
    } else {
        log_ticks(a, max_ticks);
    }
}

void qn_axis_values(struct qn_axis *a, double lo, double hi, bool log,
                    int max_ticks)
{
    *a = (struct qn_axis){.log = log};
    max_ticks = max_ticks > 1 ? max_ticks : 1;
    if (log) {
        log_axis(a, clamp(lo), clamp(hi), max_ticks);
    } else {
        linear_axis(a, clamp(lo), clamp(hi), max_ticks);
    }
}

void qn_axis_shares(struct qn_axis *a, double lo, double hi, int max_ticks)
{
    double more = fmax(SHARES_SPAN - (hi - lo), 0);
    hi = fmin(hi + more / 2, 1);
    lo = fmax(fmin(lo, hi - SHARES_SPAN), 0);
    hi = fmax(hi, lo + SHARES_SPAN);
    *a = (struct qn_axis){.per_cent = true};
    linear_axis(a, lo, hi, max_ticks > 1 ? max_ticks : 1);
}

void qn_axis_steps(struct qn_axis *a, double lo, double hi, int max_ticks)
{
    *a = (struct qn_axis){.lo = clamp(lo), .decimals = -1};
    double span = clamp(hi) - a->lo;
    a->hi = a->lo + (span > 0 ? nice_above(span) : 1);
    if (a->hi <= a->lo) {
        a->hi = a->lo + fabs(a->lo) * 1e-9;
    }
    max_ticks = max_ticks > 1 ? max_ticks : 1;
    /* Steps are whole numbers: no ticks between them. */
    multiples(a, fmax(1, nice_step((a->hi - a->lo) / max_ticks)));
}

void qn_axis_between(struct qn_axis *a, double lo, double hi, double least,
                     int max_ticks)
{
    *a = (struct qn_axis){.lo = clamp(lo), .hi = clamp(hi)};
    max_ticks = max_ticks > 1 ? max_ticks : 1;
    multiples(a, fmax(least, nice_step((a->hi - a->lo) / max_ticks)));
}

double qn_axis_place(const struct qn_axis *a, double v)
{
    if (a->log) {
        double unit = log10(a->hi) - log10(a->lo);
        return v > 0 ? (log10(v) - log10(a->lo)) / unit : -1;
    }
    return (clamp(v) - a->lo) / (a->hi - a->lo);
}

const char *qn_axis_label(const struct qn_axis *a, int i, char *buf,
                          size_t size)
{
    if (a->per_cent) {
        char number[32];
        int decimals = a->decimals > 2 ? a->decimals - 2 : 0;
        double v = 100 * a->tick[i];
        (void)snprintf(
            buf, size, "%s%%",
            a->decimals < 0
                ? qn_format_digits(number, sizeof number, v, 6)
                : qn_format_fixed(number, sizeof number, v, decimals));
        return buf;
    }
    return a->decimals < 0
               ? qn_format_digits(buf, size, a->tick[i], 6)
               : qn_format_fixed(buf, size, a->tick[i], a->decimals);
}
