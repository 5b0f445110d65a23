/* comparison.h - whether a run came out as another one, for people and
 * programs. */
#ifndef QN_APP_COMPARISON_H
#define QN_APP_COMPARISON_H

#include "app/out.h"
#include "train/compare.h"

/* The two runs by their ids. */
struct qn_compared {
    const char *then, *now;
    /* The second one has come as far as it was to: what is the same is all of
     * it. */
    bool complete;
};

/* What was found, then what differs on record: lines. */
void qn_comparison_text(struct qn_out *out, const struct qn_comparison *c,
                        const struct qn_compared *runs);
/* {"event":"compared",...} */
void qn_comparison_json(struct qn_out *out, const struct qn_comparison *c,
                        const struct qn_compared *runs);

#endif
