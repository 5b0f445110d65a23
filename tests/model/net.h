/* net.h - a small network and a text for it, to be run in pieces. */
#ifndef QN_TESTS_MODEL_NET_H
#define QN_TESTS_MODEL_NET_H

#include "model/support.h"

enum { NET_VOCAB = 13, NET_BATCH = 5, NET_LEN = 29 };

struct net {
    struct qn_backend *be;
    struct qn_spec spec;
    struct qn_model *m;
    int32_t *ids, *targets; /* [NET_BATCH, NET_LEN] */
};

void net_open(struct net *net, const char *backend, struct qn_spec spec);
void net_close(struct net *net);

/* Steps [from, from + n) of every stream, forward. */
struct qn_step_result net_forward(struct net *net, struct qn_pass *p, int from,
                                  int n, uint64_t step);
/* [NET_BATCH, steps, NET_VOCAB] of the last forward, the caller's to free. */
float *net_logits(struct qn_pass *p, int steps);

#endif
