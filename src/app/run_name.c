/* run_name.c - what a run is called, and whether it has ended. */
#include "app/run_name.h"

#include "base/file.h"
#include "base/str.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind "prefix-", 0 when the name is none of these. */
static int64_t number_of(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    int64_t number;
    if (strncmp(name, prefix, len) != 0 || name[len] != '-' ||
        !qn_parse_int(name + len + 1, &number)) {
        return 0;
    }
    return number;
}

void qn_name_run(const char *store, const char *preset, struct qn_spec *spec)
{
    if (spec->name[0] != '\0') {
        return;
    }
    const char *prefix = preset != NULL ? preset : "run";
    struct qn_run_summary *runs = NULL;
    int n = 0;
    int64_t last = 0;
    /* An unreadable store is an error of the run itself, soon enough. */
    if (qn_store_list(store, &runs, &n, NULL, NULL) == QN_OK) {
        for (int i = 0; i < n; i++) {
            int64_t number = number_of(runs[i].name, prefix);
            last = number > last ? number : last;
        }
        free(runs);
    }
    (void)snprintf(spec->name, sizeof spec->name, "%.200s-%lld", prefix,
                   (long long)last + 1);
}

bool qn_run_has_ended(const char *store, const char *path)
{
    static const char *const ends[] = {"done", "stopped", "failed"};
    struct qn_run_summary *runs = NULL;
    int n = 0;
    bool ended = false;
    if (path == NULL || qn_store_list(store, &runs, &n, NULL, NULL) != QN_OK) {
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
