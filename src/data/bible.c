/* bible.c - the King James Bible of Debian's bible-kjv: made once, cached. */
#include "data/source.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTALL                                                                \
    "install bible-kjv and bible-kjv-text for the real text (apt install "     \
    "bible-kjv bible-kjv-text)"
/* The text has 4.4 MB; a program of that name that prints on and on is not it.
 */
#define MOST_OUTPUT ((size_t)64 << 20)
#define FIRST_VERSE "Ge1:1 "
#define LAST_VERSE "\nRev22:21 "

extern char **environ;

/* Start "bible" with its output in a pipe. posix_spawn and not fork, since
 * other threads may hold locks. Returns an errno. */
static int spawn_bible(int out, pid_t *pid)
{
    char name[] = "bible", flag[] = "-f", range[] = "gen1:1-rev22:21";
    char *argv[] = {name, flag, range, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, pipe_only;
    (void)sigemptyset(&none);
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    int why = posix_spawn_file_actions_init(&files);
    if (why != 0) {
        return why;
    }
    why = posix_spawnattr_init(&attributes);
    if (why != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return why;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    /* This program ignores it, and a child would too. */
    (void)posix_spawnattr_setsigdefault(&attributes, &pipe_only);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, out, 1);
    (void)posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    why = posix_spawnp(pid, name, &files, &attributes, argv, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return why;
}

static void read_pipe(int fd, struct qn_str *out)
{
    char block[16384];
    while (out->len < MOST_OUTPUT) {
        ssize_t n = read(fd, block, sizeof block);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return;
        }
        qn_str_add_bytes(out, block, n > 0 ? (size_t)n : 0);
    }
}

static bool ended_well(pid_t pid)
{
    int status = 0;
    pid_t waited;
    do {
        waited = waitpid(pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    return waited == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What "bible" prints, or false when it cannot be run or fails. */
static bool run_bible(struct qn_str *out)
{
    int fd[2];
    if (pipe(fd) != 0) {
        return false;
    }
    (void)fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    pid_t pid;
    int why = spawn_bible(fd[1], &pid);
    (void)close(fd[1]);
    if (why == 0) {
        read_pipe(fd[0], out);
    }
    /* Closed before waiting: a writer that is cut off ends by SIGPIPE. */
    (void)close(fd[0]);
    return why == 0 && ended_well(pid);
}

static bool looks_whole(const struct qn_str *s)
{
    return s->len > 0 && qn_starts_with(s->text, FIRST_VERSE) &&
           strstr(s->text, LAST_VERSE) != NULL && s->text[s->len - 1] == '\n';
}

/* Lines are "Ge1:1 In the beginning ...": the reference goes, since a model
 * would only learn to count, and an empty line parts the chapters. */
static void add_verse(const char *line, size_t len, struct qn_str *out)
{
    const char *space = memchr(line, ' ', len);
    size_t skip = space != NULL ? (size_t)(space - line) : len;
    bool opens_chapter = skip >= 2 && memcmp(line + skip - 2, ":1", 2) == 0;
    if (opens_chapter && out->len > 0) {
        qn_str_add(out, "\n");
    }
    if (skip < len) {
        qn_str_add_bytes(out, space + 1, len - skip - 1);
    }
    qn_str_add(out, "\n");
}

static void strip_references(const struct qn_str *printed, struct qn_str *out)
{
    for (size_t at = 0; at < printed->len;) {
        const char *line = printed->text + at;
        const char *end = memchr(line, '\n', printed->len - at);
        size_t len = end != NULL ? (size_t)(end - line) : printed->len - at;
        add_verse(line, len, out);
        at += len + 1;
    }
}

/* A cache that cannot be written costs time at the next start, no more. */
static void write_cache(const char *folder, const char *path,
                        const struct qn_str *text, struct qn_log *log)
{
    struct qn_err err;
    if (qn_make_dirs(folder, &err) != QN_OK ||
        qn_file_write(path, text->text, text->len, &err) != QN_OK) {
        qn_log_write(log, QN_LOG_WARN, "the text is not cached: %s", err.text);
    }
}

static bool make_text(struct qn_str *out)
{
    struct qn_str printed = {0};
    bool whole = run_bible(&printed) && looks_whole(&printed);
    if (whole) {
        strip_references(&printed, out);
    }
    qn_str_free(&printed);
    return whole;
}

bool qn_bible_text(struct qn_log *log, struct qn_bytes *text)
{
    char *folder = qn_xdg_dir("CACHE");
    char *path = qn_path_join(folder, "kjv.txt");
    struct qn_str made = {0};
    bool found = qn_file_read(path, text, NULL) == QN_OK;
    if (found && text->len == 0) {
        qn_bytes_free(text);
        found = false;
    }
    if (!found && make_text(&made)) {
        write_cache(folder, path, &made, log);
        text->len = made.len;
        text->data = qn_str_take(&made);
        found = true;
    }
    if (!found) {
        qn_log_write(log, QN_LOG_INFO, "%s", INSTALL);
    }
    free(path);
    free(folder);
    return found;
}
