/* between.h - what stands between the program and the disk in a test: the disk
 * may so be slow, full, or the last thing that the process sees. The linker
 * puts the functions of between.c in the places of those with the same names.
 *
 * Two threads ask things of the disk: a test's own, which trains, and the
 * saver's. */
#ifndef QN_TRAIN_BETWEEN_H
#define QN_TRAIN_BETWEEN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct between {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool closed; /* by lock */
    pthread_t trainer;
    atomic_bool full;   /* every write fails */
    atomic_int refused; /* writes of the saver's thread */
    bool everyone;      /* calls are those of all threads */
    atomic_int calls;   /* of the saver's thread */
    atomic_int kill_at; /* the call that never returns; 0 = none */
    atomic_int syncs;   /* of the trainer's thread */
};
extern struct between between;

void between_init(void);  /* once */
void between_reset(void); /* a disk like any other; this thread trains */
/* Closed: the saver's thread waits before it begins with a checkpoint. */
void between_gate(bool closed);

#endif
