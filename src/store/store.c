/* store.c - the folder of all runs: list them, find the one that is meant. */
#include "store/store.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/files.h"

#include <stdlib.h>
#include <string.h>

char *qn_store_dir(const char *given)
{
    if (given != NULL) {
        return qn_xstrdup(given);
    }
    const char *set = getenv("QUERN_STORE");
    if (set != NULL && set[0] != '\0') {
        return qn_xstrdup(set);
    }
    char *state = qn_xdg_dir("STATE");
    char *store = qn_path_join(state, "runs");
    free(state);
    return store;
}

/* Ids of runs: no dot is in front of their folders' names, by which they are
 * sorted and so by age. */
struct ids {
    char **at;
    size_t n;
};

static void free_ids(struct ids *ids)
{
    for (size_t i = 0; i < ids->n; i++) {
        free(ids->at[i]);
    }
    free(ids->at);
}

static enum qn_status list_ids(const char *store, struct ids *out,
                               struct qn_err *err)
{
    struct ids ids = {0};
    size_t n = 0;
    enum qn_status status = qn_dir_list(store, &ids.at, &n, err);
    if (status != QN_OK && status != QN_ENOTFOUND) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        char *path = qn_path_join(store, ids.at[i]);
        if (ids.at[i][0] != '.' && qn_is_run(path)) {
            ids.at[ids.n++] = ids.at[i];
        } else {
            free(ids.at[i]);
        }
        free(path);
    }
    *out = ids;
    return QN_OK;
}

enum qn_status qn_store_list(const char *store, struct qn_run_summary **runs,
                             int *n, struct qn_bad_runs *bad,
                             struct qn_err *err)
{
    struct ids ids;
    enum qn_status status = list_ids(store, &ids, err);
    if (status != QN_OK) {
        return status;
    }
    struct qn_run_summary *list = qn_xcalloc(ids.n, sizeof *list);
    int good = 0;
    struct qn_bad_runs others = {.n = 0};
    for (size_t i = 0; i < ids.n; i++) {
        char *path = qn_path_join(store, ids.at[i]);
        struct qn_err why;
        if (qn_run_summarise(path, &list[good], &why) == QN_OK) {
            good++;
        } else if (others.n++ == 0) {
            others.first = why;
        }
        free(path);
    }
    free_ids(&ids);
    *runs = list;
    *n = good;
    if (bad != NULL) {
        *bad = others;
    }
    return QN_OK;
}

/* The names of runs beside their ids, NULL where there is none to read. */
static char **read_names(const char *store, const struct ids *ids)
{
    char **names = qn_xcalloc(ids->n, sizeof *names);
    for (size_t i = 0; i < ids->n; i++) {
        char *path = qn_path_join(store, ids->at[i]);
        (void)qn_run_read_name(path, &names[i], NULL);
        free(path);
    }
    return names;
}

/* The last of equal words is the newest run; *n_same counts them. */
static long find_word(const char *word, char *const *words, size_t n,
                      int *n_same)
{
    long found = -1;
    *n_same = 0;
    for (size_t i = 0; i < n; i++) {
        if (words[i] != NULL && qn_str_eq(words[i], word)) {
            found = (long)i;
            (*n_same)++;
        }
    }
    return found;
}

static long find_prefix(const char *prefix, const struct ids *ids,
                        int *n_matches)
{
    long found = -1;
    *n_matches = 0;
    for (size_t i = 0; i < ids->n; i++) {
        if (qn_starts_with(ids->at[i], prefix)) {
            found = (long)i;
            (*n_matches)++;
        }
    }
    return found;
}

/* Names first: a person types those rather than ids. */
static enum qn_status fail_not_found(const char *store, const char *run,
                                     const struct ids *ids, char *const *names,
                                     struct qn_err *err)
{
    const char **words = qn_xcalloc(2 * ids->n, sizeof *words);
    int n = 0;
    for (size_t i = 0; i < ids->n; i++) {
        if (names[i] != NULL) {
            words[n++] = names[i];
        }
    }
    for (size_t i = 0; i < ids->n; i++) {
        words[n++] = ids->at[i];
    }
    int nearest = qn_nearest(run, words, n);
    enum qn_status status;
    if (ids->n == 0) {
        status = qn_fail(err, QN_ENOTFOUND, "no run \"%s\": %s holds no runs",
                         run, store);
    } else if (nearest < 0) {
        status = qn_fail(err, QN_ENOTFOUND, "no run \"%s\" in %s", run, store);
    } else {
        status = qn_fail(err, QN_ENOTFOUND,
                         "no run \"%s\" in %s; did you mean \"%s\"", run, store,
                         words[nearest]);
    }
    free(words);
    return status;
}

static enum qn_status choose(const char *store, const char *run,
                             const struct ids *ids, long *found, int *n_same,
                             struct qn_err *err)
{
    *found = find_word(run, ids->at, ids->n, n_same);
    if (*found >= 0) {
        return QN_OK;
    }
    char **names = read_names(store, ids);
    enum qn_status status = QN_OK;
    *found = find_word(run, names, ids->n, n_same);
    if (*found < 0) {
        int n_matches;
        *found = find_prefix(run, ids, &n_matches);
        *n_same = 1;
        if (n_matches > 1) {
            status = qn_fail(err, QN_EUSAGE,
                             "\"%s\" begins the ids of %d runs, the newest %s",
                             run, n_matches, ids->at[*found]);
        } else if (n_matches == 0) {
            status = fail_not_found(store, run, ids, names, err);
        }
    }
    for (size_t i = 0; i < ids->n; i++) {
        free(names[i]);
    }
    free(names);
    return status;
}

enum qn_status qn_store_find(const char *store, const char *run, char **path,
                             int *n_same, struct qn_err *err)
{
    if (n_same != NULL) {
        *n_same = 1;
    }
    if (run[0] == '\0') {
        return qn_fail(err, QN_EUSAGE, "no run is named");
    }
    if (qn_is_run(run)) {
        *path = qn_xstrdup(run);
        return QN_OK;
    }
    struct ids ids;
    enum qn_status status = list_ids(store, &ids, err);
    if (status != QN_OK) {
        return status;
    }
    long found;
    int same;
    status = choose(store, run, &ids, &found, &same, err);
    if (status == QN_OK) {
        *path = qn_path_join(store, ids.at[found]);
        if (n_same != NULL) {
            *n_same = same;
        }
    }
    free_ids(&ids);
    return status;
}

/* The number in "prefix<number>", 0 when the name is none of these or none can
 * follow. */
static int64_t number_of(const char *name, const char *prefix, size_t len)
{
    int64_t number;
    if (strncmp(name, prefix, len) != 0 || !qn_parse_int(name + len, &number)) {
        return 0;
    }
    return number < INT64_MAX ? number : 0;
}

char *qn_store_fresh_name(const char *store, const char *name)
{
    if (!qn_ends_with(name, "-*")) {
        return qn_xstrdup(name);
    }
    size_t len = strlen(name) - 1; /* the hyphen included */
    struct qn_run_summary *runs = NULL;
    int n = 0;
    int64_t last = 0;
    /* An unreadable store is an error of the run itself, soon enough. */
    if (qn_store_list(store, &runs, &n, NULL, NULL) == QN_OK) {
        for (int i = 0; i < n; i++) {
            int64_t number = number_of(runs[i].name, name, len);
            last = number > last ? number : last;
        }
        free(runs);
    }
    return qn_xasprintf("%.*s%lld", (int)len, name, (long long)last + 1);
}
