/* fixture.h - a store in a temporary folder, a tiny text, and runs over it. */
#ifndef QN_TRAIN_FIXTURE_H
#define QN_TRAIN_FIXTURE_H

#include "train/trainer.h"

#include <jansson.h>
#include <sys/resource.h>

#define FIXTURE_NOTES 256
#define FIXTURE_STEPS 1024

/* What a sink was told. */
struct told {
    struct qn_note note[FIXTURE_NOTES];
    int n_notes;
    struct qn_step_record step[FIXTURE_STEPS];
    int n_steps;
    struct qn_stats_record stats; /* the newest */
    int n_stats;
};

struct fixture {
    char *folder; /* removed at the end */
    char *text;   /* path of the text: "text.txt" in the folder */
    char *store;
    struct qn_log *log;
    struct qn_str lines; /* what was logged, a line each */
    struct qn_train_env env;
    struct told told;
    struct qn_sink sink; /* fills told */
};

/* cmocka's setup and teardown; the state is a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Write a file in the folder; returns its path, the caller's to free. */
char *fixture_write(struct fixture *f, const char *name, const char *text);

/* The spec of settings with these assignments (NULL at the end), those of
 * 'base' as a preset's; takes s. Mistakes fail the test. */
struct qn_spec fixture_settled(struct qn_settings *s, const char *const *base,
                               const char *const *assignments);
struct qn_trainer *fixture_create_of(struct fixture *f,
                                     const struct qn_spec *spec);

/* A small run over the text: these assignments (NULL at the end) over
 * settings that suit it. */
struct qn_spec fixture_spec(struct fixture *f, const char *const *assignments);
struct qn_trainer *fixture_create(struct fixture *f,
                                  const char *const *assignments);
struct qn_trainer *fixture_resume(struct fixture *f, const char *run,
                                  const char *const *changes, int n);
/* Steps until 'step' are done or the run no longer trains. */
void fixture_run(struct qn_trainer *t, int64_t step);
/* Wait for a checkpoint that is on its way. */
void fixture_settle(struct qn_trainer *t);
/* Run it to its end, free it, return its folder (the caller's to free). */
char *fixture_finish(struct qn_trainer *t);

/* How many notes of this kind came. */
int fixture_notes(const struct fixture *f, enum qn_note_kind kind);
/* Whether one of this kind is of this step. */
bool fixture_noted(const struct fixture *f, enum qn_note_kind kind,
                   int64_t step);
/* The newest one; a missing one fails the test. */
const struct qn_note *fixture_note(const struct fixture *f,
                                   enum qn_note_kind kind);

/* Let no file of this process grow beyond so many bytes, as a full disk would;
 * returns the limit before. */
rlim_t fixture_limit_files(rlim_t bytes);

/* The same file of two checkpoints has the same bytes. */
void assert_same_file(const char *run_a, const char *run_b, int64_t step,
                      const char *file);
/* Both files of this step's checkpoints, and the losses of all steps. */
void assert_same_training(const char *run_a, const char *run_b, int64_t step);
/* Tensors of more than a counter are the same in two checkpoints of a run. */
void assert_same_arrays(const char *run, int64_t from, int64_t to);
/* Losses of steps 1.. as recorded, at most n; returns how many there are. */
int recorded_losses(const char *run, double *loss, int n);
/* Lines of events.jsonl with this event. */
int recorded_events(const char *run, const char *event);
/* The newest of them, the caller's to release; a missing one fails the test. */
json_t *recorded_event(const char *run, const char *event);
double recorded_number(const json_t *line, const char *key);

#endif
