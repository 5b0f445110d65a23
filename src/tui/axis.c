/* axis.c - how numbers are written. */
#include "tui/axis.h"

#include <math.h>
#include <stdio.h>

const char *qn_text_count(char *buf, size_t size, double v, bool exact)
{
    static const char *const unit[] = {"", "k", "M", "G", "T"};
    int u = 0;
    /* 999.5 and above would be written with four digits. */
    while (fabs(v) >= (exact ? 1000 : 999.5) && u < 4) {
        v /= 1000;
        u++;
    }
    int precision = exact ? 6 : 3;
    (void)snprintf(buf, size, "%.*g%s", precision, v, unit[u]);
    return buf;
}

const char *qn_text_value(char *buf, size_t size, double v)
{
    double a = fabs(v);
    if (!isfinite(v)) {
        (void)snprintf(buf, size, "%s",
                       isnan(v) ? "NaN"
                       : v > 0  ? "inf"
                                : "-inf");
    } else if (a >= 1e5 || (a > 0 && a < 1e-3)) {
        (void)snprintf(buf, size, "%.2g", v);
    } else {
        int decimals = a < 9.9995 ? 3 : a < 99.995 ? 2 : a < 999.95 ? 1 : 0;
        (void)snprintf(buf, size, "%.*f", decimals, v);
    }
    return buf;
}

const char *qn_text_share(char *buf, size_t size, double v)
{
    if (!isfinite(v)) {
        return qn_text_value(buf, size, v);
    }
    (void)snprintf(buf, size, "%.1f %%", 100 * v);
    return buf;
}

const char *qn_text_duration(char *buf, size_t size, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e9) {
        (void)snprintf(buf, size, "?");
        return buf;
    }
    long s = lround(seconds);
    if (s < 60) {
        (void)snprintf(buf, size, "%lds", s);
    } else if (s < 3600) {
        (void)snprintf(buf, size, "%ldm%02lds", s / 60, s % 60);
    } else if (s < 86400) {
        (void)snprintf(buf, size, "%ldh%02ldm", s / 3600, s / 60 % 60);
    } else {
        (void)snprintf(buf, size, "%ldd%02ldh", s / 86400, s / 3600 % 24);
    }
    return buf;
}
