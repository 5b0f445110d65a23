/* str.h - a string that grows, and the few string questions C does not answer.
 */
#ifndef QN_BASE_STR_H
#define QN_BASE_STR_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; text is NULL or NUL-terminated, len without the NUL. */
struct qn_str {
    char *text;
    size_t len, cap;
};

void qn_str_free(struct qn_str *s);  /* leaves it empty and usable */
void qn_str_clear(struct qn_str *s); /* keeps the memory */
void qn_str_add(struct qn_str *s, const char *text);
void qn_str_add_bytes(struct qn_str *s, const void *bytes, size_t len);
void qn_str_addf(struct qn_str *s, const char *fmt, ...) QN_PRINTF(2, 3);
char *qn_str_take(struct qn_str *s); /* the caller frees it; "" when empty */

/* As much of s as fits into 'size' bytes with its NUL, cut between code points.
 */
void qn_copy_text(char *to, size_t size, const char *s);

/* Question marks for control characters but newlines. Names and values come
 * from files and people; none may steer the terminal that shows them. */
void qn_blunt_controls(char *text);

bool qn_str_eq(const char *a, const char *b);
bool qn_starts_with(const char *s, const char *prefix);
bool qn_ends_with(const char *s, const char *suffix);

/* The whole of s as a number, nothing before or after; false otherwise, with
 * *out untouched. The locale has no say. */
bool qn_parse_int(const char *s, int64_t *out);
bool qn_parse_double(const char *s, double *out); /* finite numbers only */

/* The shortest text that reads back as exactly v: "0.1", "1e-05", "3". */
const char *qn_format_double(char *buf, size_t size, double v);
/* The shortest text that reads back as exactly the float v. */
const char *qn_format_float(char *buf, size_t size, double v);
/* printf's %.*f and %.*g, but the locale has no say, and 0 has no sign. */
const char *qn_format_fixed(char *buf, size_t size, double v, int decimals);
const char *qn_format_digits(char *buf, size_t size, double v, int digits);

/* Levenshtein distance with transposition, for "did you mean". */
int qn_edit_distance(const char *a, const char *b);
/* Index of the nearest of n names, or -1 when none is near enough to suggest.
 */
int qn_nearest(const char *word, const char *const *names, int n);

/* Decode one code point of UTF-8 at s[0..len). Returns the bytes it takes, or
 * 0 when they are not valid UTF-8 (overlong, surrogate, > 0x10ffff, cut). */
int qn_utf8_decode(const char *s, size_t len, uint32_t *code);
/* Encode into out (room for 4); returns the bytes written. */
int qn_utf8_encode(uint32_t code, char *out);
/* Whether a terminal would obey it rather than show it. */
bool qn_is_control(uint32_t code);
/* U+FEFF in UTF-8, with which some programs begin a file. */
#define QN_BYTE_ORDER_MARK "\xef\xbb\xbf"

#endif
