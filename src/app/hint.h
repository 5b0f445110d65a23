/* hint.h - a command line that a person can copy into a shell. */
#ifndef QN_APP_HINT_H
#define QN_APP_HINT_H

#include "base/str.h"

/* Append a space and the word, quoted where a shell needs it. */
void qn_hint_word(struct qn_str *out, const char *word);

/* Append "quern --store DIR --data DIR resume RUN", quoted where a shell needs
 * it. store and data are the options as they were given; NULL leaves one out.
 */
void qn_hint_resume(struct qn_str *out, const char *store, const char *data,
                    const char *run);

/* Append "quern --store DIR compare THEN NOW" in the same way. */
void qn_hint_compare(struct qn_str *out, const char *store, const char *then,
                     const char *now);

#endif
