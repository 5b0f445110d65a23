/* number.c - numbers to text and back, exactly, whatever the locale. */
#include "base/str.h"

#include "base/assert.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This thread's numbers are in the C locale between enter and leave. */
struct c_locale {
    locale_t c, before;
};

static struct c_locale c_locale_enter(void)
{
    struct c_locale l = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (l.c == (locale_t)0) {
        qn_die("out of memory for the C locale");
    }
    l.before = uselocale(l.c);
    return l;
}

static void c_locale_leave(struct c_locale l)
{
    (void)uselocale(l.before);
    freelocale(l.c);
}

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9') {
        s++;
    }
    return s;
}

static const char *skip_sign(const char *s)
{
    return *s == '+' || *s == '-' ? s + 1 : s;
}

bool qn_parse_int(const char *s, int64_t *out)
{
    const char *digits = skip_sign(s);
    const char *end = skip_digits(digits);
    if (end == digits || *end != '\0') {
        return false;
    }
    errno = 0;
    intmax_t v = strtoimax(s, NULL, 10);
    if (errno == ERANGE || v < INT64_MIN || v > INT64_MAX) {
        return false;
    }
    *out = (int64_t)v;
    return true;
}

/* Is the whole of s a decimal number? strtod would also take blanks, hex, nan
 * and infinity. */
static bool is_decimal(const char *s)
{
    s = skip_sign(s);
    const char *end = skip_digits(s);
    bool digits = end > s;
    if (*end == '.') {
        s = end + 1;
        end = skip_digits(s);
        digits = digits || end > s;
    }
    if (digits && (*end == 'e' || *end == 'E')) {
        s = skip_sign(end + 1);
        end = skip_digits(s);
        digits = end > s;
    }
    return digits && *end == '\0';
}

bool qn_parse_double(const char *s, double *out)
{
    if (!is_decimal(s)) {
        return false;
    }
    struct c_locale l = c_locale_enter();
    double v = strtod(s, NULL);
    c_locale_leave(l);
    if (!isfinite(v)) {
        return false;
    }
    *out = v;
    return true;
}

/* %g drops trailing zeros, so 15 digits print the shortest text of every number
 * that 15 digits determine; only subnormals, which have fewer significant
 * digits, must be searched from one digit up. */
static void shortest(char *text, size_t size, double v)
{
    int digits = v != 0 && fabs(v) < DBL_MIN ? 1 : 15;
    do {
        (void)snprintf(text, size, "%.*g", digits, v);
        digits++;
    } while (digits <= 17 && strtod(text, NULL) != v);
}

const char *qn_format_double(char *buf, size_t size, double v)
{
    char text[32];
    if (isfinite(v)) {
        struct c_locale l = c_locale_enter();
        shortest(text, sizeof text, v);
        c_locale_leave(l);
    } else {
        (void)snprintf(text, sizeof text, "%s",
                       isnan(v) ? "nan"
                       : v > 0  ? "inf"
                                : "-inf");
    }
    (void)snprintf(buf, size, "%s", text);
    return buf;
}

const char *qn_format_float(char *buf, size_t size, double v)
{
    if (!isfinite(v)) {
        return qn_format_double(buf, size, v);
    }
    struct c_locale l = c_locale_enter();
    char text[32];
    int digits = 1;
    do {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        digits++;
    } while (digits <= 9 && strtof(text, NULL) != (float)v);
    c_locale_leave(l);
    (void)snprintf(buf, size, "%s", text);
    return buf;
}

const char *qn_format_fixed(char *buf, size_t size, double v, int decimals)
{
    struct c_locale l = c_locale_enter();
    (void)snprintf(buf, size, "%.*f", decimals, v);
    if (strspn(buf, "-0.") == strlen(buf)) {
        (void)snprintf(buf, size, "%.*f", decimals, 0.0);
    }
    c_locale_leave(l);
    return buf;
}

const char *qn_format_digits(char *buf, size_t size, double v, int digits)
{
    struct c_locale l = c_locale_enter();
    (void)snprintf(buf, size, "%.*g", digits, v == 0 ? 0 : v);
    c_locale_leave(l);
    return buf;
}
