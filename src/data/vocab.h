/* vocab.h - symbols and their ids.
 *
 * Ids count from 0 by first appearance. A symbol is a code point (char), a byte
 * or a word. vocab.txt holds one symbol a line in order of ids; backslash,
 * control characters, white space, other invisible code points and bytes above
 * 0x7f of a byte vocabulary are escaped ("\n", "\s", "\x00", "\u{2028}"), so
 * that any editor shows it. The row of <unk> is the line "<unk>".
 *
 * In a word vocabulary two words are special wherever they come from: the end
 * symbol, which newlines are encoded as, and the one that stands for words that
 * it lacks. Their names are the vocabulary's own: "<eos>", "<unk>" or others.
 */
#ifndef QN_DATA_VOCAB_H
#define QN_DATA_VOCAB_H

#include "base/status.h"
#include "base/str.h"
#include "data/symbols.h"

#include <stdbool.h>
#include <stdint.h>

#define QN_EOS_NAME "<eos>"
#define QN_UNK_NAME "<unk>"
#define QN_UNK (-1) /* qn_vocab_unk when the vocabulary has no <unk> */
#define QN_MAX_WORDS 10000000 /* of a word vocabulary */

struct qn_vocab;

struct qn_vocab *qn_vocab_new(enum qn_symbol_kind kind); /* not of words */
/* The names are copied; NULL or "" is QN_EOS_NAME, QN_UNK_NAME. */
struct qn_vocab *qn_vocab_new_words(const char *eos, const char *unk);
void qn_vocab_free(struct qn_vocab *v); /* NULL is fine */
struct qn_vocab *qn_vocab_copy(const struct qn_vocab *v);
enum qn_symbol_kind qn_vocab_kind(const struct qn_vocab *v);
int qn_vocab_size(const struct qn_vocab *v);
int qn_vocab_unk(const struct qn_vocab *v); /* id of <unk>, or QN_UNK */
int qn_vocab_add_unk(struct qn_vocab *v);

/* Of code points and bytes. The id of a symbol, or -1. */
int qn_vocab_find(const struct qn_vocab *v, uint32_t symbol);
int qn_vocab_add(struct qn_vocab *v, uint32_t symbol); /* its id, old or new */
/* The symbol of an id that is not <unk>'s. */
uint32_t qn_vocab_symbol(const struct qn_vocab *v, int id);

/* Of words: the same, and the id of the end symbol, or -1. */
int qn_vocab_find_word(const struct qn_vocab *v, const char *word, size_t len);
int qn_vocab_add_word(struct qn_vocab *v, const char *word, size_t len);
/* With a NUL after it; valid until the next word is added. */
const char *qn_vocab_word(const struct qn_vocab *v, int id, size_t *len);
int qn_vocab_eos(const struct qn_vocab *v);
int qn_vocab_add_eos(struct qn_vocab *v);

/* Add every symbol of the text. Invalid UTF-8 (char and word level) and more
 * than QN_MAX_WORDS are QN_EFORMAT. */
enum qn_status qn_vocab_learn(struct qn_vocab *v, const char *text, size_t len,
                              struct qn_err *err);
/* Whether every symbol of a valid text has an id. */
bool qn_vocab_covers(const struct qn_vocab *v, const char *text, size_t len);

/* Encode text; ids is allocated, the caller frees it. Invalid UTF-8 is
 * QN_EFORMAT with its byte offset; a symbol without id becomes <unk> or,
 * without <unk>, is an error naming it. */
enum qn_status qn_vocab_encode(const struct qn_vocab *v, const char *text,
                               size_t len, int32_t **ids, size_t *n,
                               struct qn_err *err);
/* Append the text of n ids; <unk> is written as U+FFFD (char) or "?" (byte).
 * A word is parted by a space from what stands before it, unless that ends in
 * white space; the end symbol is a newline. */
void qn_vocab_decode(const struct qn_vocab *v, const int32_t *ids, size_t n,
                     struct qn_str *out);

void qn_vocab_text(const struct qn_vocab *v,
                   struct qn_str *out); /* vocab.txt */
enum qn_status qn_vocab_parse(enum qn_symbol_kind kind, const char *text,
                              size_t len, struct qn_vocab **out,
                              struct qn_err *err); /* not of words */
/* Of words: with the names of qn_vocab_new_words. */
enum qn_status qn_vocab_parse_words(const char *eos, const char *unk,
                                    const char *text, size_t len,
                                    struct qn_vocab **out, struct qn_err *err);
/* Append a word of valid UTF-8 as vocab.txt shows it. */
void qn_word_escape(const char *word, size_t len, struct qn_str *out);
bool qn_vocab_equal(const struct qn_vocab *a, const struct qn_vocab *b);

#endif
