/* clock.c - read the clocks, and print times for people. */
#include "base/clock.h"

#include "base/assert.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec t;
    int failed = clock_gettime(id, &t);
    QN_ASSERT(!failed);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double qn_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double qn_clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

void qn_clock_stamp(double wall, char buf[17])
{
    const double last = 253402300799.0; /* 9999-12-31, four-digit years end */
    double clamped = wall > 0 ? fmin(wall, last) : 0;
    time_t seconds = (time_t)clamped;
    struct tm utc;
    QN_ASSERT(gmtime_r(&seconds, &utc) != NULL);
    QN_ASSERT(strftime(buf, 17, "%Y%m%dT%H%M%SZ", &utc) == 16);
}

const char *qn_format_duration(char *buf, size_t size, double seconds)
{
    if (!(seconds >= 0) || seconds > 1e15) {
        (void)snprintf(buf, size, "-");
        return buf;
    }
    uint64_t s = (uint64_t)(seconds + 0.5);
    unsigned long long m = s / 60, h = m / 60, d = h / 24;
    if (m == 0) {
        (void)snprintf(buf, size, "%us", (unsigned)s);
    } else if (h == 0) {
        (void)snprintf(buf, size, "%llum%02us", m, (unsigned)(s % 60));
    } else if (d == 0) {
        (void)snprintf(buf, size, "%lluh%02llum", h, m % 60);
    } else {
        (void)snprintf(buf, size, "%llud%lluh", d, h % 24);
    }
    return buf;
}
