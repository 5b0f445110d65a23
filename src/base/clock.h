/* clock.h - time: monotonic for durations, wall time for names and records. */
#ifndef QN_BASE_CLOCK_H
#define QN_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

double qn_clock_now(void);  /* seconds, monotonic */
double qn_clock_wall(void); /* seconds since 1970, UTC */
/* "20261127T231744Z" of wall, into buf (room for 17). */
void qn_clock_stamp(double wall, char buf[17]);
/* The time of a stamp that text begins with; false when it does not. */
bool qn_clock_read_stamp(const char *text, double *wall);
/* "6m12s", "2h05m", "3d4h", "41s"; "-" for a negative or infinite time. */
const char *qn_format_duration(char *buf, size_t size, double seconds);

#endif
