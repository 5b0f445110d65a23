/* axis.h - axes and the text of numbers on a screen: pure. */
#ifndef QN_TUI_AXIS_H
#define QN_TUI_AXIS_H

#include "base/ticks.h"

/* "950", "12.4k", "3.1M": three digits that matter; exact gives six. */
const char *qn_text_count(char *buf, size_t size, double v, bool exact);
/* A loss, four digits that matter: "1.234", "0.071", "12.35", "1.2e+06". */
const char *qn_text_value(char *buf, size_t size, double v);
/* A share from 0 to 1 as "87.2 %"; "NaN" when it is not finite. */
const char *qn_text_share(char *buf, size_t size, double v);
/* "42s", "6m12s", "1h04m", "3d4h". */
const char *qn_text_duration(char *buf, size_t size, double seconds);

#endif
