/* sha256.c - the digest that names data and proves it unchanged. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

static void finish(struct sha256_ctx *ctx, char out[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(ctx, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
}

void qn_sha256_hex(const void *data, size_t len, char out[65])
{
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    sha256_update(&ctx, len, data);
    finish(&ctx, out);
}

static enum qn_status digest_open(int fd, const char *path, char out[65],
                                  uint64_t *size, struct qn_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return qn_fail_errno(err, path, "cannot stat");
    }
    if (!S_ISREG(st.st_mode)) {
        return qn_fail(err, QN_EFORMAT, "%s: is not a regular file", path);
    }
    struct sha256_ctx ctx;
    sha256_init(&ctx);
    uint8_t piece[32768];
    uint64_t n_read = 0;
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno != EINTR) {
            return qn_fail_errno(err, path, "cannot read");
        }
        if (n > 0) {
            sha256_update(&ctx, (size_t)n, piece);
            n_read += (uint64_t)n;
        }
    }
    finish(&ctx, out);
    *size = n_read;
    return QN_OK;
}

enum qn_status qn_file_sha256(const char *path, char out[65], uint64_t *size,
                              struct qn_err *err)
{
    /* Opening a pipe must not wait for somebody who writes to it. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return qn_fail_errno(err, path, "cannot open");
    }
    enum qn_status status = digest_open(fd, path, out, size, err);
    (void)close(fd);
    return status;
}
