/* cuts.h - a run that is killed at a step, and the same one that is not. */
#ifndef QN_TRAIN_CUTS_H
#define QN_TRAIN_CUTS_H

#include "fixture.h"

/* Of 50 steps: an epoch of the fixture's text is 40 segments. Checkpoints at
 * every 8 steps and at each new best of every 10. */
extern const char *const cut_settings[];

/* A change that a person makes at a step. */
struct cut_change {
    int64_t step;
    const char *key, *value;
};

/* A run with changes: two of one step, some of one key, schedules, and an end
 * that moves twice; it begins with 60 steps and ends after 50. */
#define CUT_N_CHANGES 10
extern const char *const cut_changing[];
extern const struct cut_change cut_changes[CUT_N_CHANGES];
/* Killed at this step and gone on with, it ends like 'whole', which never was.
 */
void cut_check_changes(struct fixture *f, const char *whole, int64_t cut);

/* Train to this step, making the changes from where the run is up to there. */
void cut_run(struct qn_trainer *t, const struct cut_change *changes, int n,
             int64_t to);
/* The run of these settings that is never cut, kept outside the store; the
 * caller frees its folder's path. */
char *cut_uncut_of(struct fixture *f, const char *const *settings,
                   const struct cut_change *changes, int n);
char *cut_uncut(struct fixture *f, const struct cut_change *changes, int n);
/* Train to step 'cut' in a child that is then killed, alone in the store. */
char *cut_killed_at_of(struct fixture *f, const char *const *settings,
                       const struct cut_change *changes, int n, int64_t cut);
char *cut_killed_at(struct fixture *f, const struct cut_change *changes, int n,
                    int64_t cut);
/* Go on with it in a child that is killed at a later step. */
void cut_kill_again(struct fixture *f, const char *run, int64_t cut);
void cut_remove_store(const struct fixture *f);

#endif
