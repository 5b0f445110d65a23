/* path.c - names of files, and folders: made, listed, synced, removed. */
#include "base/file.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool qn_path_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool qn_path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool qn_path_is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

char *qn_path_join(const char *a, const char *b)
{
    if (b[0] == '/' || a[0] == '\0') {
        return qn_xstrdup(b);
    }
    if (b[0] == '\0') {
        return qn_xstrdup(a);
    }
    return qn_xasprintf("%s%s%s", a, qn_ends_with(a, "/") ? "" : "/", b);
}

const char *qn_path_base(const char *path)
{
    const char *base = path;
    for (const char *p = path; *p != '\0'; p++) {
        if (*p == '/' && p[1] != '/' && p[1] != '\0') {
            base = p + 1;
        }
    }
    return base;
}

char *qn_path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return qn_xstrdup(".");
    }
    return qn_xstrndup(path, slash > path ? (size_t)(slash - path) : 1);
}

enum qn_status qn_path_resolve(const char *path, char **out, struct qn_err *err)
{
    char *resolved = realpath(path, NULL);
    if (resolved == NULL) {
        return qn_fail(err, errno == ENOENT ? QN_ENOTFOUND : QN_EIO, "%s: %s",
                       path, strerror(errno));
    }
    *out = resolved;
    return QN_OK;
}

bool qn_path_names(int folder, const char *path, int fd)
{
    struct stat named, opened;
    if (fstatat(folder, path, &named, 0) != 0 || fstat(fd, &opened) != 0) {
        return false;
    }
    bool same = named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    errno = same ? errno : ENOENT;
    return same;
}

enum qn_status qn_make_dir(const char *path, struct qn_err *err)
{
    if (mkdir(path, 0777) == 0) {
        return QN_OK;
    }
    int why = errno;
    /* Some file systems say EROFS or EACCES before they look. */
    if (qn_path_is_dir(path)) {
        return QN_OK;
    }
    if (why == EEXIST || why == ENOTDIR) {
        return qn_fail(err, QN_EIO, "%s: %s", path,
                       why == EEXIST ? "exists and is not a folder"
                                     : "is below something not a folder");
    }
    errno = why;
    return qn_fail_errno(err, path, "cannot make the folder");
}

enum qn_status qn_make_dirs(const char *path, struct qn_err *err)
{
    char *part = qn_xstrdup(path);
    enum qn_status status = QN_OK;
    for (char *p = part; *p != '\0' && status == QN_OK; p++) {
        if (*p == '/' && p > part) {
            *p = '\0';
            status = qn_make_dir(part, err);
            *p = '/';
        }
    }
    if (status == QN_OK) {
        status = qn_make_dir(path, err);
    }
    free(part);
    return status;
}

enum qn_status qn_dir_sync(const char *path, struct qn_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open the folder");
    }
    enum qn_status status = QN_OK;
    /* EINVAL: this file system has no notion of syncing a folder. */
    if (fsync(fd) != 0 && errno != EINVAL) {
        status = qn_fail_errno(err, path, "cannot sync the folder");
    }
    (void)close(fd);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
}

static bool is_dots(const char *name)
{
    return qn_str_eq(name, ".") || qn_str_eq(name, "..");
}

/* All names of the open folder; errno is not 0 after a failure. */
static char **read_names(DIR *dir, size_t *n)
{
    size_t len = 0, cap = 16;
    char **names = qn_xmalloc(cap * sizeof *names);
    struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        if (is_dots(entry->d_name)) {
            continue;
        }
        if (len == cap) {
            cap *= 2;
            names = qn_xrealloc(names, cap, sizeof *names);
        }
        names[len++] = qn_xstrdup(entry->d_name);
    }
    *n = len;
    return names;
}

enum qn_status qn_dir_list(const char *path, char ***names, size_t *n,
                           struct qn_err *err)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return qn_fail_errno(err, path, "cannot open the folder");
    }
    enum qn_status status = QN_OK;
    size_t len;
    char **read = read_names(dir, &len);
    if (errno != 0) {
        status = qn_fail_errno(err, path, "cannot list the folder");
        free_names(read, len);
    } else {
        qsort(read, len, sizeof *read, compare_names);
        *names = read;
        *n = len;
    }
    (void)closedir(dir);
    return status;
}

static enum qn_status remove_dir(const char *path, struct qn_err *err)
{
    char **names;
    size_t n;
    enum qn_status status = qn_dir_list(path, &names, &n, err);
    if (status != QN_OK) {
        return status;
    }
    for (size_t i = 0; i < n && status == QN_OK; i++) {
        char *inner = qn_path_join(path, names[i]);
        status = qn_remove_tree(inner, err);
        free(inner);
    }
    free_names(names, n);
    if (status == QN_OK && rmdir(path) != 0 && errno != ENOENT) {
        status = qn_fail_errno(err, path, "cannot remove the folder");
    }
    return status;
}

enum qn_status qn_remove_tree(const char *path, struct qn_err *err)
{
    struct stat st;
    /* lstat: a link goes, what it points at stays. */
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? QN_OK
                               : qn_fail_errno(err, path, "cannot stat");
    }
    if (S_ISDIR(st.st_mode)) {
        return remove_dir(path, err);
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return qn_fail_errno(err, path, "cannot remove");
    }
    return QN_OK;
}

/* The home folder as the environment or the user database has it. */
static char *home_dir(void)
{
    const char *home = getenv("HOME");
    if (home != NULL && home[0] != '\0') {
        return qn_xstrdup(home);
    }
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(getuid(), &entry, text, sizeof text, &found) == 0 &&
        found != NULL) {
        return qn_xstrdup(found->pw_dir);
    }
    return qn_xstrdup(".");
}

char *qn_xdg_dir(const char *kind)
{
    static const char *const defaults[][2] = {{"DATA", ".local/share"},
                                              {"STATE", ".local/state"},
                                              {"CACHE", ".cache"},
                                              {"CONFIG", ".config"}};
    const size_t n = sizeof defaults / sizeof *defaults;
    size_t k = 0;
    while (k < n && !qn_str_eq(kind, defaults[k][0])) {
        k++;
    }
    QN_ASSERT(k < n);
    char *variable = qn_xasprintf("XDG_%s_HOME", kind);
    const char *set = getenv(variable);
    free(variable);
    /* The XDG specification: a relative path there is to be ignored. */
    if (set != NULL && set[0] == '/') {
        return qn_path_join(set, "quern");
    }
    char *home = home_dir();
    char *dir = qn_xasprintf("%s/%s/quern", home, defaults[k][1]);
    free(home);
    return dir;
}
