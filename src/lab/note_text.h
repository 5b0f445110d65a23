/* note_text.h - a note of a trainer as a line for a person. */
#ifndef QN_LAB_NOTE_TEXT_H
#define QN_LAB_NOTE_TEXT_H

#include "base/log.h"
#include "base/str.h"
#include "train/event.h"

/* A loss, norm or the like: four decimals, or %.4g where they would not help.
 */
const char *qn_number_text(char *buf, size_t size, double v);
/* What people compare: "2.1929 bpc", "perplexity 120.3010" or
 * "accuracy 87.24 %". */
const char *qn_reading_text(char *buf, size_t size, enum qn_reading reading,
                            double loss, double accuracy);
/* Append "step 500  valid loss 1.5200  2.1929 bpc" and the like to out, without
 * a newline; false (and nothing) for a reply, which its asker shows. */
bool qn_note_text(const struct qn_note *n, struct qn_str *out);
/* How loud that line is. */
enum qn_log_level qn_note_level(const struct qn_note *n);

#endif
