/* run_id.c - what a run's folder is called. */
#include "store/files.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* File names end at 255 bytes; stamp, digits, dashes and QN_NEW_PREFIX take 27
 * of them. */
#define MOST_NAME 200
#define STAMP 16
#define PREFIX (STAMP + 1 + 4 + 1)

/* Only to keep two runs of one millisecond apart. */
static unsigned random_16(void)
{
    unsigned char bytes[2] = {0};
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
        uint64_t mixed = (uint64_t)(qn_clock_now() * 1e9);
        bytes[0] = (unsigned char)mixed;
        bytes[1] = (unsigned char)(mixed >> 8);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return bytes[0] | (unsigned)bytes[1] << 8;
}

/* One code point of a name: "/" as "~", control characters and what is no UTF-8
 * as "_". Returns the bytes that it takes of the name. */
static size_t add_safe(const char *name, size_t len, struct qn_str *out)
{
    uint32_t code;
    int taken = qn_utf8_decode(name, len, &code);
    if (taken == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
        qn_str_add(out, "_");
        return taken > 0 ? (size_t)taken : 1;
    }
    if (code == '/') {
        qn_str_add(out, "~");
    } else {
        qn_str_add_bytes(out, name, (size_t)taken);
    }
    return (size_t)taken;
}

static void add_name(const char *name, struct qn_str *out)
{
    size_t len = strlen(name), start = out->len;
    for (size_t at = 0; at < len;) {
        size_t before = out->len;
        at += add_safe(name + at, len - at, out);
        if (out->len - start > MOST_NAME) {
            out->len = before;
            out->text[before] = '\0';
            break;
        }
    }
    if (out->len == start) {
        qn_str_add(out, "run");
    }
    if (out->text[start] == '.') {
        out->text[start] = '_';
    }
}

/* Four digits that sort runs of one second by their millisecond; what is left
 * of them is chance. */
static unsigned digits(double wall)
{
    const unsigned per_ms = 0x10000 / 1000;
    unsigned ms = (unsigned)((wall - floor(wall)) * 1000);
    return ms * per_ms + random_16() % per_ms;
}

static bool has_prefix(const char *id)
{
    static const char form[] = "dddddddd"
                               "T"
                               "dddddd"
                               "Z-hhhh-";
    if (strlen(id) < PREFIX) {
        return false;
    }
    for (int i = 0; i < PREFIX; i++) {
        unsigned char c = (unsigned char)id[i];
        bool fits = form[i] == 'd'   ? isdigit(c) != 0
                    : form[i] == 'h' ? isxdigit(c) != 0
                                     : c == (unsigned char)form[i];
        if (!fits) {
            return false;
        }
    }
    return true;
}

bool qn_run_id_is_dated(const char *id)
{
    double wall;
    return has_prefix(id) && qn_clock_read_stamp(id, &wall);
}

/* When an id is from: what comes before its name. */
struct moment {
    double wall;
    unsigned digits;
};

static void format_moment(struct moment m, char out[PREFIX + 1])
{
    char stamp[STAMP + 1];
    qn_clock_stamp(m.wall, stamp);
    (void)snprintf(out, PREFIX + 1, "%s-%04x-", stamp, m.digits & 0xffff);
}

/* The one after that of a dated id. */
static struct moment moment_after(const char *id)
{
    struct moment m = {.wall = 0};
    (void)qn_clock_read_stamp(id, &m.wall);
    m.digits = (unsigned)strtoul(id + STAMP + 1, NULL, 16) + 1;
    if (m.digits > 0xffff) {
        m.wall += 1;
        m.digits = 0;
    }
    return m;
}

char *qn_run_id_make(const char *name, double wall, const char *newest)
{
    char prefix[PREFIX + 1];
    struct qn_str id = {0};
    format_moment((struct moment){wall, digits(wall)}, prefix);
    if (newest != NULL && qn_run_id_is_dated(newest) &&
        strncmp(prefix, newest, PREFIX) <= 0) {
        format_moment(moment_after(newest), prefix);
    }
    qn_str_add(&id, prefix);
    add_name(name, &id);
    return qn_str_take(&id);
}

char *qn_run_id_name(const char *id)
{
    char *name = qn_xstrdup(has_prefix(id) ? id + PREFIX : id);
    for (char *p = name; *p != '\0'; p++) {
        *p = *p == '~' ? '/' : *p;
    }
    return name;
}
