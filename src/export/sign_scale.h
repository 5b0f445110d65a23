/* sign_scale.h - a scale of x by decades of |x|, negative ones first, with a
 * middle for all that is nearer to zero than its decades begin. */
#ifndef QN_EXPORT_SIGN_SCALE_H
#define QN_EXPORT_SIGN_SCALE_H

#include <stddef.h>

struct qn_sign_scale {
    int from, to;  /* 10^from to 10^to on either side, from < to */
    double middle; /* as a share of the whole length */
};
/* Where sign * 10^exponent lies, 0 to 1; what is beyond an end, at that end. */
double qn_sign_place(const struct qn_sign_scale *s, int sign, double exponent);

struct qn_sign_tick {
    double place;
    char label[16];
};
#define QN_MAX_SIGN_TICKS 32
/* Rising ticks at every so many decades from the outer ends on, and at 0 with
 * 'zero'; returns how many. */
int qn_sign_ticks(const struct qn_sign_scale *s, int every,
                  struct qn_sign_tick tick[QN_MAX_SIGN_TICKS]);

#endif
