/* run_state.c - whether a run has ended. */
#include "app/run_state.h"

#include "base/file.h"
#include "base/str.h"
#include "store/lock.h"
#include "store/store.h"

#include <stdlib.h>

/* Its last line may still be that of its end: who has just taken it up writes
 * another one soon. */
static bool is_being_trained(const char *path)
{
    char *lock = qn_path_join(path, "lock");
    bool held = qn_lock_is_held(lock);
    free(lock);
    return held;
}

bool qn_run_has_ended(const char *store, const char *path)
{
    static const char *const ends[] = {"done", "stopped", "failed"};
    struct qn_run_summary *runs = NULL;
    int n = 0;
    bool ended = false;
    if (path == NULL || is_being_trained(path) ||
        qn_store_list(store, &runs, &n, NULL, NULL) != QN_OK) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!qn_str_eq(runs[i].id, qn_path_base(path))) {
            continue;
        }
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
            ended |= qn_str_eq(runs[i].state, ends[e]);
        }
    }
    free(runs);
    return ended;
}
