/* clock.c - read the clocks, and print times for people. */
#include "base/clock.h"

#include "base/assert.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

/* n digits as a number; -1 when they are not all digits. */
static int digits(const char *text, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* From 1970-01-01 to a day of the Gregorian calendar. Years that begin in March
 * have their leap day at the end. */
static int64_t days_until(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 -
           719468;
}

bool qn_clock_read_stamp(const char *text, double *wall)
{
    if (strlen(text) < 16 || text[8] != 'T' || text[15] != 'Z') {
        return false;
    }
    int year = digits(text, 4), month = digits(text + 4, 2);
    int day = digits(text + 6, 2), hour = digits(text + 9, 2);
    int minute = digits(text + 11, 2), second = digits(text + 13, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60) {
        return false;
    }
    *wall = (double)(days_until(year, month, day) * 86400 + hour * 3600 +
                     minute * 60 + second);
    return true;
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
