/* net.c - a small network and a text for it, to be run in pieces. */
#include "model/net.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void net_open(struct net *net, const char *backend, struct qn_spec spec)
{
    net->be = qn_test_backend(backend);
    net->spec = spec;
    net->m = qn_test_model(net->be, &spec, NET_VOCAB);
    net->ids = qn_test_ids(NET_BATCH * NET_LEN, NET_VOCAB, 21);
    net->targets = qn_test_ids(NET_BATCH * NET_LEN, NET_VOCAB, 22);
}

void net_close(struct net *net)
{
    free(net->ids);
    free(net->targets);
    qn_model_free(net->m);
    qn_backend_free(net->be);
}

struct qn_step_result net_forward(struct net *net, struct qn_pass *p, int from,
                                  int n, uint64_t step)
{
    int32_t ids[NET_BATCH * NET_LEN];
    int32_t targets[NET_BATCH * NET_LEN];
    for (int b = 0; b < NET_BATCH; b++) {
        for (int t = 0; t < n; t++) {
            ids[b * n + t] = net->ids[b * NET_LEN + from + t];
            targets[b * n + t] = net->targets[b * NET_LEN + from + t];
        }
    }
    struct qn_segment seg = {ids, targets, n, NULL, 9, step, 0};
    return qn_test_forward(net->m, p, &seg);
}

float *net_logits(struct qn_pass *p, int steps)
{
    struct qn_err err;
    float *out =
        qn_xcalloc((size_t)(NET_BATCH * steps * NET_VOCAB), sizeof *out);
    assert_int_equal(qn_pass_logits(p, out, &err), QN_OK);
    return out;
}
