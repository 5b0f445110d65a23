/* checkpoint.h - a model's weights to and from model.safetensors. */
#ifndef QN_MODEL_CHECKPOINT_H
#define QN_MODEL_CHECKPOINT_H

#include "model/model.h"

/* Weights and nothing else; equal weights give equal bytes. Atomic. */
enum qn_status qn_checkpoint_save(struct qn_model *m, const char *path,
                                  struct qn_err *err);

/* Weights from a file of quern or PyTorch (F32 or F64). Every missing, extra
 * and misshapen tensor is named with both shapes; the model is untouched then.
 */
enum qn_status qn_checkpoint_load(struct qn_model *m, const char *path,
                                  struct qn_err *err);

/* The spec's sizes as a file of weights implies them (layers, hidden, embed,
 * windows; the vocabulary's size into *vocab): what import needs when the
 * person did not say. The activation must be known: it decides how many gate
 * blocks G*H splits into. Only fields that the file fixes are changed. */
enum qn_status qn_checkpoint_infer(const char *path, struct qn_spec *spec,
                                   int *vocab, struct qn_err *err);

#endif
