/* parent.h - parent.json: the run that a run comes from.
 *
 *   {"relation":"fork","run":"<id>","name":"demo-1","step":800,
 *    "sha256":"<of the checkpoint's model.safetensors>"}
 *
 * Written when the run is made, never changed. A fork keeps the checkpoint that
 * it began from whatever the rule of keeping says, so that it can be run again
 * without its parent. A rerun names the run that it repeats, with the step from
 * which that one began (0, or a fork's).
 */
#ifndef QN_STORE_PARENT_H
#define QN_STORE_PARENT_H

#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum qn_relation { QN_FORK, QN_RERUN };
const char *qn_relation_name(enum qn_relation relation); /* "fork", "rerun" */

struct qn_parent {
    enum qn_relation relation;
    char run[320];   /* its id */
    char name[256];  /* as it was called then */
    int64_t step;    /* of the checkpoint from which this run began */
    char sha256[65]; /* of its model.safetensors; "" when it began at 0 */
};

void qn_parent_json(const struct qn_parent *parent, struct qn_json *out);
/* QN_ENOTFOUND: the run has no parent. QN_EFORMAT: the file is damaged. */
enum qn_status qn_parent_read(const char *run_path, struct qn_parent *out,
                              struct qn_err *err);

#endif
