/* file.h - whole files in, whole files out, nothing half done.
 *
 * Every function names the path in its error. Paths are plain strings; the
 * ones returned are the caller's to free. */
#ifndef QN_BASE_FILE_H
#define QN_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "path: what: why" with the reason that errno holds: QN_ENOTFOUND when it is
 * ENOENT, QN_EIO otherwise. */
enum qn_status qn_fail_errno(struct qn_err *err, const char *path,
                             const char *what);

/* Bytes of a file, with a NUL after the last that len does not count. */
struct qn_bytes {
    char *data;
    size_t len;
};
void qn_bytes_free(struct qn_bytes *bytes);

/* The whole file as it is. A folder, a pipe, a missing file: an error. */
enum qn_status qn_file_read(const char *path, struct qn_bytes *out,
                            struct qn_err *err);
/* The same, decompressed when the file begins with gzip's magic; a pipe is read
 * to its end. A truncated or damaged stream is QN_EFORMAT. */
enum qn_status qn_file_read_gz(const char *path, struct qn_bytes *out,
                               struct qn_err *err);

/* Replace path by these bytes: temporary file beside it, fsync, rename, fsync
 * of the folder. After a crash the old file or the new one is there, whole.
 * An error leaves the old one; only when syncing the folder fails, after the
 * rename, is the new one there all the same. */
enum qn_status qn_file_write(const char *path, const void *data, size_t len,
                             struct qn_err *err);

/* The same from several pieces, one after the other. */
struct qn_span {
    const void *data;
    size_t len;
};
enum qn_status qn_file_write_parts(const char *path,
                                   const struct qn_span *parts, size_t n,
                                   struct qn_err *err);

/* The same from bytes that come little by little: a new file beside path. The
 * first failure to add is kept and said by finish or commit, so that callers
 * look once. */
struct qn_new_file;
enum qn_status qn_new_file_open(const char *path, struct qn_new_file **out,
                                struct qn_err *err);
void qn_new_file_add(struct qn_new_file *f, const void *data, size_t len);
/* All is written and synced, but still beside path. */
enum qn_status qn_new_file_finish(struct qn_new_file *f, struct qn_err *err);
/* Finish, when that is not done, and take the place of path. */
enum qn_status qn_new_file_commit(struct qn_new_file *f, struct qn_err *err);
/* All take their places or, where the file system has hard links, none: what
 * was there before the first one is there again. */
enum qn_status qn_new_files_commit(struct qn_new_file *const *files, int n,
                                   struct qn_err *err);
/* Without a commit nothing is left of it; NULL is fine. */
void qn_new_file_close(struct qn_new_file *f);

/* A file that grows line by line; each line is one write(2). One that is
 * removed or replaced is made again, in the folder in which it was opened, with
 * all that it held: when it has lost its last name, by the next line; when it
 * was renamed, by the next sync. Where that is no longer possible is QN_EIO.
 * One thread may add lines while another one syncs, and never waits for the
 * disk meanwhile. */
struct qn_appender;
enum qn_status qn_appender_open(const char *path, struct qn_appender **out,
                                struct qn_err *err);
enum qn_status qn_appender_line(struct qn_appender *a, const char *line,
                                size_t len, struct qn_err *err);
enum qn_status qn_appender_sync(struct qn_appender *a, struct qn_err *err);
void qn_appender_close(struct qn_appender *a); /* NULL is fine */

/* How many of these bytes are whole lines: without a torn last one, which lacks
 * its newline, and without those at the end that hold a NUL, which is what a
 * power cut leaves of blocks that were never synced. */
size_t qn_whole_lines(const char *data, size_t len);
/* Cut off the file what qn_whole_lines does not count. */
enum qn_status qn_file_repair_lines(const char *path, struct qn_err *err);

bool qn_path_exists(const char *path);
bool qn_path_is_dir(const char *path);
/* A pipe, a socket or a device: opening or reading one may never end. */
bool qn_path_is_special(const char *path);
char *qn_path_join(const char *a, const char *b); /* absolute b wins */
/* The last component, pointing into path: "b" of "a/b", "b/" of "a/b/". */
const char *qn_path_base(const char *path);
/* The folder that it lies in: "a" of "a/b", "." of "b", "/" of "/b". */
char *qn_path_folder(const char *path);
/* An existing file's or folder's path from the root, so that a later chdir does
 * not lead astray; the caller frees it. */
enum qn_status qn_path_resolve(const char *path, char **out,
                               struct qn_err *err);
/* Whether the path, from the open folder (or AT_FDCWD) on, names the file that
 * is open as fd; errno then says why not, ENOENT also for another file. */
bool qn_path_names(int folder, const char *path, int fd);
/* mkdir and mkdir -p; existing folders are fine. */
enum qn_status qn_make_dir(const char *path, struct qn_err *err);
enum qn_status qn_make_dirs(const char *path, struct qn_err *err);
/* fsync a folder, so that a rename in it survives power loss. */
enum qn_status qn_dir_sync(const char *path, struct qn_err *err);
/* Names in a folder, sorted by byte, without "." and ".."; free each and the
 * array. */
enum qn_status qn_dir_list(const char *path, char ***names, size_t *n,
                           struct qn_err *err);
/* Remove a file or a folder with all in it; a missing one is fine. */
enum qn_status qn_remove_tree(const char *path, struct qn_err *err);

/* $XDG_<kind>_HOME/quern or its default under $HOME; kind is "DATA", "STATE",
 * "CACHE" or "CONFIG". */
char *qn_xdg_dir(const char *kind);

/* SHA-256 as 64 hex digits and a NUL. */
void qn_sha256_hex(const void *data, size_t len, char out[65]);
/* That of a file's content, which is never held whole; *size is its length.
 * What is no regular file is QN_EFORMAT. */
enum qn_status qn_file_sha256(const char *path, char out[65], uint64_t *size,
                              struct qn_err *err);

#endif
