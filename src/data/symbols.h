/* symbols.h - the symbols that a text consists of, one after the other.
 *
 * A symbol is a code point, a byte or a word. Words are what ASCII white space
 * parts; every newline is an end symbol, and so is the end of a text whose last
 * line has no newline.
 */
#ifndef QN_DATA_SYMBOLS_H
#define QN_DATA_SYMBOLS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum qn_symbol_kind { QN_SYMBOL_CODE_POINT, QN_SYMBOL_BYTE, QN_SYMBOL_WORD };

/* ASCII white space, the newline among it. */
bool qn_is_blank(char c);

/* Read the code point or the byte at text[*at], *at < len, and step over it;
 * false when it is not UTF-8. */
bool qn_symbol_next(enum qn_symbol_kind kind, const char *text, size_t len,
                    size_t *at, uint32_t *symbol);

/* Words of text[0..len): zero-initialise 'at'. */
struct qn_word_reader {
    const char *text;
    size_t len, at;
};
/* The next word, or the end symbol as a word of length 0; false at the end. */
bool qn_word_next(struct qn_word_reader *r, const char **word, size_t *len);

/* How many symbols the text holds. Invalid UTF-8 (char and word level) is
 * QN_EFORMAT with its byte offset. */
enum qn_status qn_symbols_count(enum qn_symbol_kind kind, const char *text,
                                size_t len, size_t *n, struct qn_err *err);

/* Where a tail of n symbols begins in a valid text of n_all >= n: after n_all -
 * n symbols. Words: moved on to the next start of a line, unless less than half
 * of the tail would be left. */
size_t qn_symbols_tail(enum qn_symbol_kind kind, const char *text, size_t len,
                       size_t n_all, size_t n);

#endif
