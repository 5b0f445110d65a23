/* checkpoint.h - a model's weights to and from model.safetensors. */
#ifndef QN_MODEL_CHECKPOINT_H
#define QN_MODEL_CHECKPOINT_H

#include "model/model.h"
#include "model/params.h"

/* Weights and nothing else; equal weights give equal bytes. Atomic. */
enum qn_status qn_checkpoint_save(struct qn_model *m, const char *path,
                                  struct qn_err *err);

/* The same in two parts, for a model that must not stand still meanwhile: a
 * copy of the weights on the host, with room for them in a file's order. Its
 * memory is taken when it is made, but for some kB (QN_ENOMEM says how much);
 * take reads the model; write touches neither model nor backend, so any thread
 * may call it that has the copy to itself. */
struct qn_weights_copy;
enum qn_status qn_weights_copy_new(const struct qn_model *m,
                                   struct qn_weights_copy **out,
                                   struct qn_err *err);
void qn_weights_copy_free(struct qn_weights_copy *c); /* NULL is fine */
enum qn_status qn_weights_copy_take(struct qn_weights_copy *c,
                                    struct qn_model *m, struct qn_err *err);
enum qn_status qn_weights_copy_write(struct qn_weights_copy *c,
                                     const char *path, struct qn_err *err);
/* Floats of such a copy, for the plan of a run. */
size_t qn_weights_copy_size(const struct qn_param_list *params);

/* Word vectors [vocab, width] to and from vectors.safetensors, under the name
 * embedding.weight: once for a run, beside its checkpoints. Atomic. */
enum qn_status qn_vectors_save(const char *path, const float *table, int vocab,
                               int width, struct qn_err *err);
/* Into the model, which must want some; another shape is QN_EFORMAT with both.
 */
enum qn_status qn_vectors_load(struct qn_model *m, const char *path,
                               struct qn_err *err);

/* Weights from a file of quern or PyTorch (F32 or F64). Every missing, extra
 * and misshapen tensor is named with both shapes; the model is untouched then.
 * The two biases of an LSTM are added up. */
enum qn_status qn_checkpoint_load(struct qn_model *m, const char *path,
                                  struct qn_err *err);
/* Floats that are held meanwhile, if the file is of type F32: its own. */
size_t qn_checkpoint_load_size(const struct qn_param_list *params);

/* The spec as a file of weights implies it: cell, layers, hidden, embed,
 * windows, batch_norm, dense, and with biases of single steps bias and seq; the
 * vocabulary's size into *vocab: what import needs when the person did not say.
 * Activation and pooling of a QRNN must be known: they decide how many gate
 * blocks its rows split into. spec->task says whether it is a classifier, whose
 * embedding is in the file unless data.vectors takes its place: then *vocab is
 * 0, since a file without an embedding fits any vocabulary. Settings that
 * become void go back to their defaults; else only what the file fixes is
 * changed (with one layer that is not dense). Nothing is changed on failure. */
enum qn_status qn_checkpoint_infer(const char *path, struct qn_spec *spec,
                                   int *vocab, struct qn_err *err);

#endif
