/* source.c - look a text up: built in, as given, or in the data folder. */
#include "data/source.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define BUILTIN "builtin:"

/* The sets that scripts/get-data knows, each with a folder of its name; of some
 * it fetches one file by its path. */
static const struct known_set {
    const char *name;
    bool by_file;
} known_sets[] = {
    {"ptb", false}, {"enwik8", false}, {"imdb", false}, {"glove", true}};
#define N_KNOWN_SETS ((int)(sizeof known_sets / sizeof *known_sets))

static enum qn_status read_builtin(const char *given, struct qn_log *log,
                                   struct qn_bytes *text, char **path,
                                   struct qn_err *err)
{
    const char *name = given + strlen(BUILTIN);
    if (!qn_str_eq(name, "kjv") && !qn_str_eq(name, "grammar")) {
        return qn_fail(err, QN_ENOTFOUND,
                       "%s: no such built-in text; there are %skjv and "
                       "%sgrammar",
                       given, BUILTIN, BUILTIN);
    }
    if (qn_str_eq(name, "kjv") && qn_bible_text(log, text)) {
        *path = qn_xstrdup(BUILTIN "kjv");
        return QN_OK;
    }
    qn_grammar_text(text);
    *path = qn_xstrdup(BUILTIN "grammar");
    return QN_OK;
}

static char *data_folder(const char *data_dir)
{
    if (data_dir != NULL) {
        return qn_xstrdup(data_dir);
    }
    const char *set = getenv("QUERN_DATA");
    return set != NULL && set[0] != '\0' ? qn_xstrdup(set) : qn_xdg_dir("DATA");
}

/* x.gz for x and x for x.gz. */
static char *sibling(const char *path)
{
    return qn_ends_with(path, ".gz") ? qn_xstrndup(path, strlen(path) - 3)
                                     : qn_xasprintf("%s.gz", path);
}

#define N_PLACES 4

/* Where 'given' may be, in the order of looking; returns how many places. */
static int list_places(const char *given, const char *data_dir,
                       char *place[N_PLACES])
{
    int n = 0;
    place[n++] = qn_xstrdup(given);
    place[n++] = sibling(given);
    if (given[0] != '/') {
        char *folder = data_folder(data_dir);
        place[n++] = qn_path_join(folder, given);
        place[n] = sibling(place[n - 1]);
        n++;
        free(folder);
    }
    return n;
}

/* The first place with a file; else the first with a folder, which reading a
 * text then refuses by name; else -1. */
static int choose_place(char *const *place, int n)
{
    int folder = -1;
    for (int i = 0; i < n; i++) {
        if (qn_path_is_dir(place[i])) {
            folder = folder < 0 ? i : folder;
        } else if (qn_path_exists(place[i])) {
            return i;
        }
    }
    return folder;
}

/* The set that a path belongs to by its first folder, or NULL. */
static const struct known_set *set_of(const char *given)
{
    const char *slash = strchr(given, '/');
    size_t len = slash != NULL ? (size_t)(slash - given) : 0;
    for (int i = 0; i < N_KNOWN_SETS; i++) {
        if (strlen(known_sets[i].name) == len &&
            memcmp(known_sets[i].name, given, len) == 0) {
            return &known_sets[i];
        }
    }
    return NULL;
}

static enum qn_status fail_missing(const char *given, char *const *place, int n,
                                   struct qn_err *err)
{
    struct qn_str places = {0};
    for (int i = 0; i < n; i++) {
        qn_str_addf(&places, "%s%s", i > 0 ? ", " : "", place[i]);
    }
    const struct known_set *set = set_of(given);
    const char *fetched = "";
    if (set != NULL) {
        fetched = set->by_file ? given : set->name;
    }
    enum qn_status status =
        qn_fail(err, QN_ENOTFOUND, "%s: not found; looked for %s%s%s%s", given,
                places.text, set != NULL ? "; scripts/get-data " : "", fetched,
                set != NULL ? " fetches it" : "");
    qn_str_free(&places);
    return status;
}

enum qn_status qn_source_find(const char *given, const char *data_dir,
                              char **path, struct qn_err *err)
{
    char *place[N_PLACES] = {0};
    int n = list_places(given, data_dir, place);
    int chosen = choose_place(place, n);
    enum qn_status status = QN_OK;
    if (chosen < 0) {
        status = fail_missing(given, place, n, err);
    } else {
        *path = place[chosen];
        place[chosen] = NULL;
    }
    for (int i = 0; i < n; i++) {
        free(place[i]);
    }
    return status;
}

bool qn_source_is_builtin(const char *given)
{
    return qn_starts_with(given, BUILTIN);
}

enum qn_status qn_source_read(const char *given, const char *data_dir,
                              struct qn_log *log, struct qn_bytes *text,
                              char **path, struct qn_err *err)
{
    if (qn_source_is_builtin(given)) {
        return read_builtin(given, log, text, path, err);
    }
    char *found;
    enum qn_status status = qn_source_find(given, data_dir, &found, err);
    if (status != QN_OK) {
        return status;
    }
    if (qn_path_is_dir(found)) {
        status = qn_fail(err, QN_EIO,
                         "%s: is a folder, not a text (task=classify reads "
                         "folders of labelled documents)",
                         found);
    } else {
        status = qn_file_read_gz(found, text, err);
    }
    if (status != QN_OK) {
        free(found);
        return status;
    }
    *path = found;
    return QN_OK;
}
