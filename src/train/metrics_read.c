/* metrics_read.c - a run's steps and evaluations, as if no resume had happened.
 *
 * The cache says what the lines of a prefix say; those behind it are read. A
 * file that grows meanwhile is fine: what is not a whole line yet is left out.
 */
#include "train/metrics_read.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/run_dir.h"
#include "train/metrics_cache.h"
#include "train/metrics_fill.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)
#define LONGEST ((size_t)16 << 20) /* a line; those of a run have 200 bytes */
/* Lines beyond the cache for which a new one is written: reading less takes a
 * person no time. */
#define WORTH_WHILE ((uint64_t)4 << 20)

void qn_metrics_free(struct qn_metrics *m)
{
    free(m->step);
    free(m->eval);
    *m = (struct qn_metrics){.n_steps = 0};
}

/* Hand what was read over, or throw it away. */
static enum qn_status end_fill(struct qn_metrics_fill *f, enum qn_status status,
                               struct qn_metrics *out)
{
    if (status == QN_OK) {
        *out = f->m;
        f->m = (struct qn_metrics){.n_steps = 0};
    }
    qn_metrics_fill_free(f);
    return status;
}

enum qn_status qn_metrics_parse(const char *text, size_t len,
                                struct qn_metrics *out, struct qn_err *err)
{
    struct qn_metrics_fill f = {.lines = 0};
    size_t used;
    enum qn_status status = qn_metrics_fill_add(&f, text, len, &used, err);
    qn_metrics_fill_end(&f);
    return end_fill(&f, status, out);
}

/* Bytes of a file that begin with a line. */
struct block {
    char *bytes;
    size_t len, cap;
};

/* Some more bytes behind those that are there; *n is 0 at the end. */
static enum qn_status read_more(int fd, struct block *b, size_t *n,
                                struct qn_err *err)
{
    if (b->len == b->cap) {
        if (b->cap >= LONGEST) {
            return qn_fail(err, QN_EFORMAT, "a line is longer than %zu bytes",
                           LONGEST);
        }
        b->cap = b->cap > 0 ? 2 * b->cap : BLOCK;
        b->bytes = qn_xrealloc(b->bytes, b->cap, 1);
    }
    ssize_t got;
    do {
        got = read(fd, b->bytes + b->len, b->cap - b->len);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return qn_fail(err, QN_EIO, "cannot read: %s", strerror(errno));
    }
    b->len += (size_t)got;
    *n = (size_t)got;
    return QN_OK;
}

/* Every line behind those that f has. */
static enum qn_status read_lines(int fd, struct qn_metrics_fill *f,
                                 struct qn_err *err)
{
    struct block b = {.len = 0};
    enum qn_status status = QN_OK;
    if (lseek(fd, (off_t)f->len, SEEK_SET) < 0) {
        return qn_fail(err, QN_EIO, "cannot seek: %s", strerror(errno));
    }
    for (size_t n = 1; n > 0 && status == QN_OK;) {
        size_t used = 0;
        status = read_more(fd, &b, &n, err);
        if (status == QN_OK) {
            status = qn_metrics_fill_add(f, b.bytes, b.len, &used, err);
        }
        b.len -= used;
        memmove(b.bytes, b.bytes + used, b.len);
    }
    free(b.bytes);
    return status;
}

/* As far as the cache goes, if there is one to be believed. */
static void begin_with_cache(const char *run_path, int fd,
                             struct qn_metrics_fill *f)
{
    struct qn_metrics_prefix prefix;
    if (qn_metrics_cache_load(run_path, fd, &prefix, &f->m)) {
        f->step_room = f->m.n_steps;
        f->eval_room = f->m.n_evals;
        f->len = prefix.len;
        f->lines = prefix.lines;
        f->segments = prefix.segments;
    }
}

static enum qn_status read_open(const char *run_path, int fd,
                                struct qn_metrics_fill *f, struct qn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || S_ISFIFO(st.st_mode)) {
        return qn_fail(err, QN_EIO, "is not a regular file");
    }
    begin_with_cache(run_path, fd, f);
    uint64_t covered = f->len;
    enum qn_status status = read_lines(fd, f, err);
    qn_metrics_fill_end(f);
    uint64_t more = f->len - covered;
    /* All of it is written anew, for which a long history must have grown by
     * more. */
    if (status == QN_OK && more >= WORTH_WHILE && more >= covered / 16) {
        struct qn_metrics_prefix prefix = {
            .len = f->len, .lines = f->lines, .segments = f->segments};
        qn_metrics_cache_save(run_path, fd, prefix, &f->m);
    }
    return status;
}

enum qn_status qn_metrics_read(const char *run_path, struct qn_metrics *out,
                               struct qn_err *err)
{
    struct qn_metrics_fill f = {.lines = 0};
    char *path = qn_path_join(run_path, "metrics.jsonl");
    enum qn_status status = QN_OK;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        status = read_open(run_path, fd, &f, err);
        status = status == QN_OK ? QN_OK : qn_fail_in(err, status, path);
        (void)close(fd);
    } else if (errno != ENOENT || !qn_path_is_dir(run_path)) {
        status = qn_fail_errno(err, path, "cannot open");
    } /* else it was made and never started */
    free(path);
    return end_fill(&f, status, out);
}

double qn_metrics_seconds(const struct qn_metrics *m, int64_t step)
{
    size_t from = 0, to = m->n_steps; /* the first later step is in from..to */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (m->step[middle].step <= step) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    while (from > 0 && !isfinite(m->step[from - 1].seconds)) {
        from--;
    }
    return from > 0 ? m->step[from - 1].seconds : 0;
}
