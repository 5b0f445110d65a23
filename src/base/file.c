/* file.c - read whole files, compressed ones too. */
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Requests from here on are compared with what the machine has. */
#define BIG ((size_t)64 << 20)

void qn_bytes_free(struct qn_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct qn_bytes){0};
}

enum qn_status qn_fail_errno(struct qn_err *err, const char *path,
                             const char *what)
{
    int why = errno;
    return qn_fail(err, why == ENOENT ? QN_ENOTFOUND : QN_EIO, "%s: %s: %s",
                   path, what, strerror(why));
}

/* Bytes that grow and may be refused; one more than cap is always there, for
 * the NUL. */
struct growing {
    struct qn_bytes bytes;
    size_t cap;
};

static enum qn_status grow_to(struct growing *g, size_t cap, const char *path,
                              struct qn_err *err)
{
    char *moved = NULL;
    if (cap < SIZE_MAX / 2 && (cap < BIG || cap < qn_mem_available())) {
        moved = realloc(g->bytes.data, cap + 1);
    }
    if (moved == NULL) {
        char size[32];
        return qn_fail(err, QN_ENOMEM, "%s: no memory for its %s", path,
                       qn_format_bytes(size, sizeof size, (double)cap));
    }
    g->bytes.data = moved;
    g->cap = cap;
    return QN_OK;
}

static enum qn_status grow_when_full(struct growing *g, const char *path,
                                     struct qn_err *err)
{
    if (g->bytes.len < g->cap) {
        return QN_OK;
    }
    size_t more = g->cap > 4096 ? g->cap / 2 : 4096;
    return grow_to(g, g->cap + more, path, err);
}

static enum qn_status read_all(int fd, const char *path, struct growing *g,
                               struct qn_err *err)
{
    for (;;) {
        enum qn_status status = grow_when_full(g, path, err);
        if (status != QN_OK) {
            return status;
        }
        size_t room = g->cap - g->bytes.len;
        ssize_t n = read(fd, g->bytes.data + g->bytes.len, room);
        if (n == 0) {
            g->bytes.data[g->bytes.len] = '\0';
            return QN_OK;
        }
        if (n < 0 && errno != EINTR) {
            return qn_fail_errno(err, path, "cannot read");
        }
        g->bytes.len += n > 0 ? (size_t)n : 0;
    }
}

/* The size is a hint that spares growing: a file may change while it is read,
 * and those of /proc say 0. */
static enum qn_status read_open(int fd, const char *path, bool regular,
                                struct growing *g, struct qn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return qn_fail_errno(err, path, "cannot stat");
    }
    if (S_ISDIR(st.st_mode)) {
        return qn_fail(err, QN_EIO, "%s: is a folder, not a file", path);
    }
    if (regular && !S_ISREG(st.st_mode)) {
        return qn_fail(err, QN_EIO, "%s: is not a regular file", path);
    }
    size_t hint = S_ISREG(st.st_mode) ? (size_t)st.st_size + 1 : 4096;
    enum qn_status status = grow_to(g, hint, path, err);
    return status == QN_OK ? read_all(fd, path, g, err) : status;
}

/* Opening a pipe waits for its writer, who may never come: who wants a regular
 * file does not wait. */
static enum qn_status read_path(const char *path, bool regular,
                                struct qn_bytes *out, struct qn_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK : 0));
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    struct growing g = {0};
    enum qn_status status = read_open(fd, path, regular, &g, err);
    (void)close(fd);
    if (status != QN_OK) {
        free(g.bytes.data);
        return status;
    }
    *out = g.bytes;
    return QN_OK;
}

enum qn_status qn_file_read(const char *path, struct qn_bytes *out,
                            struct qn_err *err)
{
    return read_path(path, true, out, err);
}

/* The magic of gzip at the start of what is left, or of the input's end. */
static bool is_gzip(const struct qn_bytes *in, size_t at)
{
    return in->len - at >= 2 && memcmp(in->data + at, "\x1f\x8b", 2) == 0;
}

/* Zeros after the last member are padding, as tapes leave it. */
static bool only_zeros(const struct qn_bytes *in, size_t at)
{
    while (at < in->len && in->data[at] == '\0') {
        at++;
    }
    return at == in->len;
}

/* Inflate one step from in[*at] on. zlib counts in unsigned int, so that large
 * files go through in pieces. */
static int inflate_some(z_stream *z, const struct qn_bytes *in, size_t *at,
                        struct growing *g)
{
    const size_t most = 1u << 30;
    size_t left = in->len - *at, room = g->cap - g->bytes.len;
    uInt n_in = (uInt)(left < most ? left : most);
    uInt n_out = (uInt)(room < most ? room : most);
    z->next_in = (Bytef *)in->data + *at;
    z->avail_in = n_in;
    z->next_out = (Bytef *)g->bytes.data + g->bytes.len;
    z->avail_out = n_out;
    int result = inflate(z, Z_NO_FLUSH);
    *at += n_in - z->avail_in;
    g->bytes.len += n_out - z->avail_out;
    return result;
}

static enum qn_status fail_inflate(struct qn_err *err, const char *path,
                                   const z_stream *z, int result)
{
    if (result == Z_MEM_ERROR) {
        return qn_fail(err, QN_ENOMEM, "%s: no memory to decompress", path);
    }
    if (result == Z_BUF_ERROR) {
        return qn_fail(err, QN_EFORMAT, "%s: the gzip stream is cut short",
                       path);
    }
    return qn_fail(err, QN_EFORMAT, "%s: damaged gzip stream: %s", path,
                   z->msg != NULL ? z->msg : "bad data");
}

/* All members of the stream, one after the other. */
static enum qn_status inflate_all(z_stream *z, const struct qn_bytes *in,
                                  const char *path, struct growing *g,
                                  struct qn_err *err)
{
    for (size_t at = 0;;) {
        enum qn_status status = grow_when_full(g, path, err);
        if (status != QN_OK) {
            return status;
        }
        int result = inflate_some(z, in, &at, g);
        if (result == Z_STREAM_END && only_zeros(in, at)) {
            break;
        }
        if (result == Z_STREAM_END && !is_gzip(in, at)) {
            return qn_fail(err, QN_EFORMAT,
                           "%s: %zu bytes after the gzip stream are not gzip",
                           path, in->len - at);
        }
        if (result == Z_STREAM_END) {
            (void)inflateReset(z);
        } else if (result != Z_OK) {
            return fail_inflate(err, path, z, result);
        }
    }
    /* grow_when_full leaves the room of the NUL beyond cap. */
    g->bytes.data[g->bytes.len] = '\0';
    return QN_OK;
}

enum qn_status qn_file_read_gz(const char *path, struct qn_bytes *out,
                               struct qn_err *err)
{
    struct qn_bytes in;
    enum qn_status status = read_path(path, false, &in, err);
    if (status != QN_OK) {
        return status;
    }
    if (!is_gzip(&in, 0)) {
        *out = in;
        return QN_OK;
    }
    z_stream z = {0};
    struct growing g = {0};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
        status = qn_fail(err, QN_ENOMEM, "%s: no memory to decompress", path);
    } else {
        status = inflate_all(&z, &in, path, &g, err);
        (void)inflateEnd(&z);
    }
    qn_bytes_free(&in);
    if (status != QN_OK) {
        free(g.bytes.data);
        return status;
    }
    *out = g.bytes;
    return QN_OK;
}
