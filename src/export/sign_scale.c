/* sign_scale.c - a scale by decades that goes through zero. */
#include "export/sign_scale.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>

double qn_sign_place(const struct qn_sign_scale *s, int sign, double exponent)
{
    double out = (exponent - s->from) / (s->to - s->from);
    out = fmin(fmax(out, 0), 1);
    double side = (1 - s->middle) / 2;
    return sign < 0 ? side * (1 - out) : 1 - side * (1 - out);
}

static struct qn_sign_tick make_tick(const struct qn_sign_scale *s, int sign,
                                     int exponent)
{
    char number[16];
    struct qn_sign_tick tick = {.place = qn_sign_place(s, sign, exponent)};
    (void)qn_format_fixed(number, sizeof number, pow(10, exponent),
                          exponent < 0 ? -exponent : 0);
    (void)snprintf(tick.label, sizeof tick.label, "%s%.11s",
                   sign < 0 ? "\xe2\x88\x92" : "", number); /* U+2212 */
    return tick;
}

int qn_sign_ticks(const struct qn_sign_scale *s, int every,
                  struct qn_sign_tick tick[QN_MAX_SIGN_TICKS])
{
    int decades = s->to - s->from, n = 0;
    int each = decades / every + 1; /* ticks of a side */
    /* Not at the middle's very edge, where the label of 0 stands. */
    each -= decades % every == 0 && each > 1;
    for (int i = 0; i < each && n < QN_MAX_SIGN_TICKS; i++) {
        tick[n++] = make_tick(s, -1, s->to - i * every);
    }
    if (n < QN_MAX_SIGN_TICKS) {
        tick[n++] = (struct qn_sign_tick){.place = 0.5, .label = "0"};
    }
    for (int i = each - 1; i >= 0 && n < QN_MAX_SIGN_TICKS; i--) {
        tick[n++] = make_tick(s, 1, s->to - i * every);
    }
    return n;
}
