/* tokens.h - English text into words, as Penn Treebank's tokenisers split it.
 *
 * For classifiers, whose word vectors know "do", "n't" and "." as words: marks
 * stand alone, clitics are split off ("it 's", "do n't", "can not"), a pair of
 * double quotes becomes `` and '', a full stop is split off at the end of a
 * sentence but not of an abbreviation. The rules are those of Robert McIntyre's
 * sed script for the treebank (docs/data.md lists them and where ours differ);
 * sentences are not found first, as in NLTK: a stop ends one when white space
 * or the end follows and the word is neither initials nor a known abbreviation.
 * HTML's <br> is white space; typesetters' marks become the treebank's.
 */
#ifndef QN_DATA_TOKENS_H
#define QN_DATA_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

/* Words of text[0..len), one after the other. */
struct qn_tokens; /* owns what it needs for one text at a time */

struct qn_tokens *qn_tokens_new(bool lower); /* ASCII letters to lower case */
void qn_tokens_free(struct qn_tokens *t);    /* NULL is fine */
/* Begin a text, any bytes; it is copied. */
void qn_tokens_start(struct qn_tokens *t, const char *text, size_t len);
/* The next word, never empty, valid until the next start; false at the end. */
bool qn_tokens_next(struct qn_tokens *t, const char **word, size_t *len);

#endif
