/* history.h - what a run's own records say when it is taken up again.
 *
 * A change that a person made at a step holds from the next step on. Those that
 * were made after the step from which a run goes on are not lost: the segment
 * line of events.jsonl keeps them, and the run makes them again when it comes
 * to their steps (train/replay.c), so that it goes on exactly as it was. */
#ifndef QN_TRAIN_HISTORY_H
#define QN_TRAIN_HISTORY_H

#include "base/json.h"
#include "nn/settings.h"

struct qn_history {
    char end[16];   /* "done", "stop", "failed"; "" = none of them */
    int segments;   /* so far: 1 + resumes and rollbacks */
    double seconds; /* of training up to the step asked for */
};

enum qn_status qn_history_read(const char *run_path, int64_t step,
                               struct qn_history *out, struct qn_err *err);

struct qn_change {
    int64_t step;
    char *key, *value;
    bool again; /* not made since the run was taken up again */
};
/* Changes by their steps, those of one step in the order in which they were
 * made. */
struct qn_pending {
    struct qn_change *change;
    int n;
};

/* All changes of a run, those that it has not come to again with them. One that
 * was made while changes of the same key at later steps waited has replaced
 * those. */
enum qn_status qn_history_changes(const char *run_path, struct qn_pending **out,
                                  struct qn_err *err);
void qn_pending_free(struct qn_pending *p); /* NULL is fine */
/* A change of this key at this step replaces those at later ones; so does one
 * of steps those of epochs, and the other way round. */
void qn_pending_cancel(struct qn_pending *p, int64_t step, const char *key);
/* Make those up to this step on a spec and take them out; what the settings
 * refuse is an error. */
enum qn_status qn_pending_apply(struct qn_pending *p, int64_t step,
                                struct qn_spec *spec, struct qn_err *err);
/* Take the first one out if it is of this step or one before: the caller frees
 * key and value. */
bool qn_pending_take(struct qn_pending *p, int64_t step, struct qn_change *out);
/* All of them as a JSON array, as a segment line has them. */
void qn_pending_json(const struct qn_pending *p, struct qn_json *out);

/* The spec with which a run was made: spec.json. */
enum qn_status qn_spec_made(const char *run_path, struct qn_spec *out,
                            struct qn_err *err);
/* The spec of a run as it was after 'step' steps: spec.json and all changes up
 * to there. later: the changes after it, the caller's to free; NULL drops them.
 */
enum qn_status qn_history_spec(const char *run_path, int64_t step,
                               struct qn_spec *out, struct qn_pending **later,
                               struct qn_err *err);

#endif
