/* place.h - put host arrays into a backend's memory with room around them.
 *
 * Sequences are laid out with a larger row and sequence pitch than they need
 * and an odd offset; what lies between the rows holds a pattern, so that an
 * operation that writes outside its rows is found, and one that reads there
 * gives NaN. */
#ifndef QN_TESTS_BACKEND_PLACE_H
#define QN_TESTS_BACKEND_PLACE_H

#include "backend/backend.h"

/* A backend that the test fails without. */
struct qn_backend *place_backend(const char *name, struct qn_pool *pool,
                                 int slices);

/* A tensor of its own buffer holding data (NULL: zeros). */
struct qn_tensor place_tensor(struct qn_backend *be, const void *data,
                              size_t count);
/* A fresh copy of it on the host; free it. */
float *place_read(struct qn_backend *be, struct qn_tensor t);

struct place_shape {
    int batch, steps, width, history;
    int extra; /* floats between rows; 0 also closes the gaps elsewhere */
};

/* A sequence holding data [batch, history + steps, width] (NULL: NaN). */
struct qn_seq place_seq(struct qn_backend *be, struct place_shape shape,
                        const float *data);
/* The same rows without the first columns. */
struct qn_seq place_last_columns(struct qn_seq seq, int skipped);
/* Its rows, history included, as [batch, history + steps, width]; free them.
 * Fails when anything outside the rows was written. */
float *place_read_seq(struct qn_backend *be, const struct qn_seq *seq);
/* The real rows only, [batch, steps, width]. */
float *place_read_rows(struct qn_backend *be, const struct qn_seq *seq);

/* How many of 'steps' rows of each sequence are real, [batch]. Kind 0: none; 1:
 * all; from 2 on: each sequence all, none, one, about half, or all but one,
 * with another one first for each kind. */
void place_lengths(int *n_real, int batch, int steps, int kind);

/* The symbol of a row of x that is an embedding of so many; some are negative.
 */
int32_t place_symbol(int n_symbols, int b, int t);
/* Those of all rows, [batch, steps]. */
struct qn_tensor place_symbols(struct qn_backend *be, int n_symbols, int batch,
                               int steps);
/* The row [width] of x that it is in a table: zeros for a negative one. */
void place_looked_up(float *x, const float *table, int32_t symbol, int width);

/* NaN into the cpu backend's workspace, once a first run has made it: an
 * operation must not count on what it finds there. */
void place_spoil_workspace(struct qn_backend *be);

void place_free(struct qn_backend *be, struct qn_buffer *buffer);

#endif
