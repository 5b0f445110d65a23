/* vocab.h - symbols and their ids.
 *
 * Ids count from 0 by first appearance. A symbol is a code point (char) or a
 * byte. vocab.txt holds one symbol a line in order of ids; backslash, control
 * characters, white space, other invisible code points and bytes above 0x7f of
 * a byte vocabulary are escaped ("\n", "\s", "\x00", "\u{2028}"), so that any
 * editor shows it. The row of <unk> is the line "<unk>".
 */
#ifndef QN_DATA_VOCAB_H
#define QN_DATA_VOCAB_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum qn_symbol_kind { QN_SYMBOL_CODE_POINT, QN_SYMBOL_BYTE };
#define QN_UNK (-1) /* qn_vocab_unk when the vocabulary has no <unk> */

struct qn_vocab;

struct qn_vocab *qn_vocab_new(enum qn_symbol_kind kind);
void qn_vocab_free(struct qn_vocab *v); /* NULL is fine */
struct qn_vocab *qn_vocab_copy(const struct qn_vocab *v);
enum qn_symbol_kind qn_vocab_kind(const struct qn_vocab *v);
int qn_vocab_size(const struct qn_vocab *v);
int qn_vocab_unk(const struct qn_vocab *v); /* id of <unk>, or QN_UNK */
/* The id of a symbol, or -1. */
int qn_vocab_find(const struct qn_vocab *v, uint32_t symbol);
int qn_vocab_add(struct qn_vocab *v, uint32_t symbol); /* its id, old or new */
int qn_vocab_add_unk(struct qn_vocab *v);

/* The symbol of an id that is not <unk>'s. */
uint32_t qn_vocab_symbol(const struct qn_vocab *v, int id);
/* Add every symbol of the text. Invalid UTF-8 (char level) is QN_EFORMAT. */
enum qn_status qn_vocab_learn(struct qn_vocab *v, const char *text, size_t len,
                              struct qn_err *err);
/* Whether every symbol of the text has an id. */
bool qn_vocab_covers(const struct qn_vocab *v, const char *text, size_t len);
/* How many symbols the text holds; QN_EFORMAT as above. */
enum qn_status qn_symbols_count(enum qn_symbol_kind kind, const char *text,
                                size_t len, size_t *n, struct qn_err *err);

/* Encode text; ids is allocated, the caller frees it. Invalid UTF-8 (char
 * level) is QN_EFORMAT with its byte offset; a symbol without id becomes <unk>
 * or, without <unk>, is an error naming it. */
enum qn_status qn_vocab_encode(const struct qn_vocab *v, const char *text,
                               size_t len, int32_t **ids, size_t *n,
                               struct qn_err *err);
/* Append the text of n ids; <unk> is written as U+FFFD (char) or "?" (byte). */
void qn_vocab_decode(const struct qn_vocab *v, const int32_t *ids, size_t n,
                     struct qn_str *out);

void qn_vocab_text(const struct qn_vocab *v,
                   struct qn_str *out); /* vocab.txt */
enum qn_status qn_vocab_parse(enum qn_symbol_kind kind, const char *text,
                              size_t len, struct qn_vocab **out,
                              struct qn_err *err);
bool qn_vocab_equal(const struct qn_vocab *a, const struct qn_vocab *b);

#endif
