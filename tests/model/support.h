/* support.h - small networks for the tests of model/. */
#ifndef QN_TESTS_MODEL_SUPPORT_H
#define QN_TESTS_MODEL_SUPPORT_H

#include "model/model.h"
#include "model/params.h"

/* The backends that every test of numbers runs on. */
extern const char *const qn_test_backends[2];

/* All defaults of the settings, then these assignments ("model.hidden=6"),
 * NULL at the end; mistakes fail the test. */
struct qn_spec qn_test_spec(const char *const *assignments);
#define QN_SPEC(...) qn_test_spec((const char *const[]){__VA_ARGS__, NULL})

/* Networks of every kind, plain and dense: three layers of 10 units, embedding
 * 7; those with batch norm, too. */
int qn_test_n_kinds(void);
struct qn_spec qn_test_kind(int i);

struct qn_backend *qn_test_backend(const char *name);
/* Initialised from seed 1; biases made unequal to 0 and running statistics to
 * 0 and 1 as well; word vectors drawn. */
struct qn_model *qn_test_model(struct qn_backend *be,
                               const struct qn_spec *spec, int vocab);
struct qn_pass *qn_test_pass(struct qn_model *m, int batch, int steps,
                             bool training);
/* n ids below vocab by chance; the caller frees them. */
int32_t *qn_test_ids(size_t n, int vocab, uint64_t seed);

/* A copy of the flat weights or gradients, the caller's to free. */
float *qn_test_read(struct qn_model *m, struct qn_tensor t);
/* Forward in a step of its own; the step's result. */
struct qn_step_result qn_test_forward(struct qn_model *m, struct qn_pass *p,
                                      const struct qn_segment *seg);
/* The loss of an evaluation: nats a prediction. */
double qn_test_loss(struct qn_step_result r);

/* max |a - b| over n. */
double qn_test_distance(const float *a, const float *b, size_t n);

#endif
