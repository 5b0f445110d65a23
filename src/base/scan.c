/* scan.c - read known text and numbers from bytes that no NUL ends.
 *
 * A number is an integer of up to 19 digits times a power of ten. Powers up to
 * 10^22 are doubles, so that a division by one has an exact remainder (fma):
 * quotient and remainder together are good to about 100 bits. Their sum is
 * rounded right unless the true value lies within that error of the middle
 * between two doubles, and then the number is refused. */
#include "base/scan.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAX_DIGITS 19 /* fit 64 bits, whichever they are */
#define MAX_EXACT 22  /* the greatest power of ten that is a double */
#define MIN_POWER (-3 * MAX_EXACT)

static const double power_of_ten[MAX_EXACT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* digits * 10^power, negated when it is negative. */
struct decimal {
    uint64_t digits;
    int n_digits; /* without zeros in front */
    int power;
    bool negative;
    bool whole; /* has neither fraction nor exponent */
};

bool qn_scan_text(struct qn_scan *s, const char *text, size_t len)
{
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, text, len) != 0) {
        return false;
    }
    s->at += len;
    return true;
}

static bool step_over(struct qn_scan *s, char c)
{
    bool there = s->at < s->end && *s->at == c;
    s->at += there ? 1 : 0;
    return there;
}

/* Digits up to something else; returns how many, zeros in front included. */
static size_t read_digits(struct qn_scan *s, struct decimal *d)
{
    const char *start = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
        d->digits = d->digits * 10 + (uint64_t)(*s->at - '0');
        d->n_digits += d->digits > 0 ? 1 : 0;
        s->at++;
        if (d->n_digits > MAX_DIGITS) {
            return 0;
        }
    }
    return (size_t)(s->at - start);
}

/* What follows an "e": a sign or none, and digits. */
static bool read_exponent(struct qn_scan *s, struct decimal *d)
{
    struct decimal e = {.digits = 0};
    bool negative = step_over(s, '-');
    if (!negative) {
        (void)step_over(s, '+');
    }
    if (read_digits(s, &e) == 0 || e.n_digits > 4) {
        return false;
    }
    d->power += negative ? -(int)e.digits : (int)e.digits;
    return true;
}

static bool read_decimal(struct qn_scan *s, struct decimal *d)
{
    d->negative = step_over(s, '-');
    bool zero = s->at < s->end && *s->at == '0';
    size_t n = read_digits(s, d);
    if (n == 0 || (zero && n > 1)) {
        return false; /* JSON has no zeros in front */
    }
    d->whole = true;
    if (step_over(s, '.')) {
        d->whole = false;
        size_t n_behind = read_digits(s, d);
        if (n_behind == 0 || n_behind > 1000) {
            return false;
        }
        d->power -= (int)n_behind;
    }
    if (step_over(s, 'e') || step_over(s, 'E')) {
        d->whole = false;
        return read_exponent(s, d);
    }
    return true;
}

/* digits / 10^power. */
static bool divide(uint64_t digits, int power, double *out)
{
    double high = (double)digits;
    uint64_t back = (uint64_t)high;
    double low =
        digits >= back ? (double)(digits - back) : -(double)(back - digits);
    while (power > 0) {
        int k = power < MAX_EXACT ? power : MAX_EXACT;
        double quotient = high / power_of_ten[k];
        low = (fma(-quotient, power_of_ten[k], high) + low) / power_of_ten[k];
        high = quotient;
        power -= k;
    }
    /* Over a hundred times the error of three divisions. */
    double slack = high * 0x1p-93;
    *out = high + (low - slack);
    return *out == high + (low + slack);
}

static bool to_double(const struct decimal *d, double *out)
{
    if (d->digits == 0) {
        *out = 0;
        return true;
    }
    if (d->power == 0) {
        *out = (double)d->digits;
        return true;
    }
    if (d->power < 0) {
        return d->power >= MIN_POWER && divide(d->digits, -d->power, out);
    }
    bool exact = d->power <= MAX_EXACT && d->digits <= 1ull << DBL_MANT_DIG;
    if (exact) {
        *out = (double)d->digits * power_of_ten[d->power];
    }
    return exact;
}

bool qn_scan_number(struct qn_scan *s, double *out)
{
    struct qn_scan at = *s;
    struct decimal d = {.digits = 0};
    double v;
    /* Where doubles are computed with more digits, sums are rounded twice. */
    if (FLT_EVAL_METHOD != 0 || !read_decimal(&at, &d) || !to_double(&d, &v)) {
        return false;
    }
    bool plain_zero = d.whole && d.digits == 0;
    *out = d.negative && !plain_zero ? -v : v;
    *s = at;
    return true;
}
