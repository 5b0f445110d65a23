/* cmd_doctor.c - quern doctor: what of this machine may get in the way. */
#include "app/commands.h"

#include "app/out.h"
#include "backend/backend.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "store/store.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOW_SPACE 100e6 /* bytes: a few checkpoints of a large model */

enum verdict { GOOD, WARN, BAD };

struct doctor {
    struct qn_out out;
    bool json;
    struct qn_json list; /* the checks, as an array */
    bool bad;
};

/* One check's outcome; says is taken apart after use. */
static void report(struct doctor *d, const char *name, enum verdict verdict,
                   struct qn_str *says)
{
    static const char *const words[] = {
        [GOOD] = "ok", [WARN] = "warning", [BAD] = "problem"};
    d->bad |= verdict == BAD;
    if (d->json) {
        qn_json_object(&d->list);
        qn_json_kstring(&d->list, "check", name);
        qn_json_kstring(&d->list, "verdict", words[verdict]);
        qn_json_kstring(&d->list, "text", says->text);
        qn_json_end_object(&d->list);
    } else {
        (void)qn_out_linef(&d->out, "%-9s %-10s %s", words[verdict], name,
                           says->text);
    }
    qn_str_free(says);
}

static const char *env_text(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void check_terminal(struct doctor *d)
{
    struct qn_str s = {0};
    const char *term = env_text("TERM");
    bool usable = term != NULL && !qn_str_eq(term, "dumb");
    bool tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    qn_str_addf(&s, "TERM is %s, %s", term != NULL ? term : "not set",
                tty ? "a terminal" : "input or output is no terminal");
    if (!usable || !tty) {
        qn_str_add(&s, "; the workbench needs one, quern train does not");
    }
    report(d, "terminal", usable && tty ? GOOD : WARN, &s);
}

static void check_colours(struct doctor *d)
{
    struct qn_str s = {0};
    const char *term = env_text("TERM");
    const char *colour = env_text("COLORTERM");
    bool many =
        colour != NULL || (term != NULL && (strstr(term, "256color") != NULL ||
                                            strstr(term, "direct") != NULL));
    if (env_text("NO_COLOR") != NULL) {
        qn_str_add(&s, "NO_COLOR is set: none are used");
    } else if (many) {
        qn_str_add(&s, "256 or more");
    } else {
        qn_str_add(&s, "8 or 16, as TERM tells; TERM=xterm-256color may give "
                       "more");
    }
    report(d, "colours", GOOD, &s);
}

static void check_locale(struct doctor *d)
{
    struct qn_str s = {0};
    const char *codeset = nl_langinfo(CODESET);
    bool utf8 = qn_str_eq(codeset, "UTF-8");
    qn_str_addf(&s, "characters are %s", codeset);
    if (!utf8) {
        qn_str_add(&s, "; curves are coarse without UTF-8: try LANG=C.UTF-8");
    }
    report(d, "locale", utf8 ? GOOD : WARN, &s);
}

/* Whether the processor has vectors of 512 bits. */
static bool has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

static void check_blas(struct doctor *d)
{
    struct qn_str s = {0};
    const char *kernel = qn_backend_blas_kernel();
    const char *forced = env_text("OPENBLAS_CORETYPE");
    bool narrow = has_avx512() &&
                  (qn_str_eq(kernel, "Haswell") || qn_str_eq(kernel, "Zen"));
    qn_str_addf(&s, "OpenBLAS kernel %s, OPENBLAS_CORETYPE is %s", kernel,
                forced != NULL ? forced : "not set");
    if (narrow) {
        qn_str_add(&s, "; this processor has AVX-512: "
                       "OPENBLAS_CORETYPE=SkylakeX may be twice as fast");
    }
    report(d, "blas", narrow ? WARN : GOOD, &s);
}

static void check_machine(struct doctor *d)
{
    struct qn_str s = {0};
    int cores = qn_n_cores();
    qn_str_addf(&s, "%d core%s", cores, cores == 1 ? "" : "s");
    report(d, "cores", GOOD, &s);

    size_t bytes = qn_mem_available();
    char text[32];
    s = (struct qn_str){0};
    if (bytes == SIZE_MAX) {
        qn_str_add(&s, "free memory is unknown");
    } else {
        qn_str_addf(&s, "%s free",
                    qn_format_bytes(text, sizeof text, (double)bytes));
    }
    bool low = bytes < 500u * 1000 * 1000;
    report(d, "memory", low ? WARN : GOOD, &s);
}

/* The nearest folder at or above path that exists; the caller frees it. */
static char *existing_part(const char *path)
{
    char *part = qn_xstrdup(path);
    while (!qn_path_exists(part)) {
        char *slash = strrchr(part, '/');
        if (slash == NULL || slash == part) {
            free(part);
            return qn_xstrdup(slash == NULL ? "." : "/");
        }
        *slash = '\0';
    }
    return part;
}

/* Whether something can be made in the folder, as permissions alone do not
 * tell; 0 or the reason as errno. */
static int try_folder(const char *folder)
{
    char *trial = qn_path_join(folder, ".quern-doctor-XXXXXX");
    int why = mkdtemp(trial) != NULL ? 0 : errno;
    if (why == 0) {
        (void)rmdir(trial);
    }
    free(trial);
    return why;
}

/* Say what is wrong with the store, whose nearest folder is 'part'. */
static void add_store_problem(struct qn_str *s, const char *store,
                              const char *part, int why)
{
    qn_str_add(s, store);
    if (!qn_str_eq(part, store)) {
        qn_str_addf(s, " cannot be made: %s", part);
    }
    if (!qn_path_is_dir(part)) {
        qn_str_add(s, " is no folder");
    } else {
        qn_str_addf(s, " cannot be written: %s", strerror(why));
    }
}

/* Bytes free for this user on the folder's file system; HUGE_VAL: unknown. */
static double free_space(const char *folder)
{
    struct statvfs fs;
    return statvfs(folder, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize
                                     : HUGE_VAL;
}

static void check_store(struct doctor *d, const char *store)
{
    struct qn_str s = {0};
    char *part = existing_part(store);
    int why = qn_path_is_dir(part) ? try_folder(part) : ENOTDIR;
    enum verdict verdict = GOOD;
    if (why != 0) {
        add_store_problem(&s, store, part, why);
        verdict = BAD;
    } else {
        char text[32];
        double space = free_space(part);
        qn_str_addf(&s, "%s %s", store,
                    qn_str_eq(part, store) ? "can be written"
                                           : "will be made when needed");
        if (isfinite(space)) {
            qn_str_addf(&s, ", %s free",
                        qn_format_bytes(text, sizeof text, space));
        }
        verdict = space < LOW_SPACE ? WARN : GOOD;
    }
    report(d, "store", verdict, &s);
    free(part);
}

static void check_data(struct doctor *d, const char *given)
{
    struct qn_str s = {0};
    const char *set = given != NULL ? given : env_text("QUERN_DATA");
    char *data = set != NULL ? qn_xstrdup(set) : qn_xdg_dir("DATA");
    bool there = qn_path_is_dir(data);
    qn_str_addf(&s, "%s %s", data,
                there ? "is there"
                      : "is not there; texts are then looked for "
                        "as their paths are given");
    /* Only a folder that somebody named is missed. */
    report(d, "data", there || set == NULL ? GOOD : WARN, &s);
    free(data);
}

/* Whether a program is in PATH. */
static bool has_program(const char *name)
{
    const char *path = getenv("PATH");
    bool found = false;
    while (path != NULL && *path != '\0' && !found) {
        size_t len = strcspn(path, ":");
        char *folder = qn_xstrndup(path, len);
        char *file = qn_path_join(folder, name);
        found = access(file, X_OK) == 0;
        free(file);
        free(folder);
        path += len + (path[len] == ':');
    }
    return found;
}

static void check_bible(struct doctor *d)
{
    struct qn_str s = {0};
    bool there = has_program("bible");
    qn_str_add(&s, there ? "bible-kjv is installed"
                         : "bible-kjv is not installed: the demo trains on "
                           "made-up sentences (apt install bible-kjv "
                           "bible-kjv-text)");
    report(d, "demo text", there ? GOOD : WARN, &s);
}

static void print_json(struct doctor *d)
{
    struct qn_str s = {0};
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kstring(&j, "version", QN_VERSION);
    qn_json_kbool(&j, "ok", !d->bad);
    qn_json_end_object(&j);
    /* The list is JSON already: it goes in before the closing brace. */
    qn_str_add_bytes(&s, j.text.text, j.text.len - 1);
    qn_str_addf(&s, ",\"checks\":%s}", d->list.text.text);
    (void)qn_out_line(&d->out, s.text);
    qn_str_free(&s);
    qn_json_free(&j);
}

int qn_cmd_doctor(const struct qn_args *args)
{
    struct doctor d = {.json = args->option[QN_OPT_JSON] != NULL};
    char *store = qn_store_dir(args->option[QN_OPT_STORE]);
    qn_json_array(&d.list);
    check_terminal(&d);
    check_locale(&d);
    check_colours(&d);
    check_blas(&d);
    check_machine(&d);
    check_store(&d, store);
    check_data(&d, args->option[QN_OPT_DATA]);
    check_bible(&d);
    qn_json_end_array(&d.list);
    if (d.json) {
        print_json(&d);
    }
    qn_json_free(&d.list);
    free(store);
    return qn_out_close(&d.out, d.bad ? QN_EXIT_FAILURE : QN_EXIT_OK);
}
