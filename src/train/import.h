/* import.h - a run made from weights that were trained elsewhere. */
#ifndef QN_TRAIN_IMPORT_H
#define QN_TRAIN_IMPORT_H

#include "train/trainer.h"

/* Make a finished run of this spec whose only checkpoint holds these weights.
 * data.train gives the vocabulary. The id is the caller's to free. */
enum qn_status qn_import(const struct qn_train_env *env,
                         const char *weights_path, const struct qn_spec *spec,
                         char **id, struct qn_err *err);

/* QN_EUSAGE with all that the person typed ("KEY=VALUE", in effect in 'spec')
 * and the file contradicts: unlike what a preset says, it is meant. */
enum qn_status qn_import_check(const char *weights_path,
                               const struct qn_spec *spec,
                               const char *const *typed, int n,
                               struct qn_err *err);

#endif
