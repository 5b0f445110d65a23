/* words.h - a set of words, numbered from 0 as they came. */
#ifndef QN_DATA_WORDS_H
#define QN_DATA_WORDS_H

#include <stddef.h>

struct qn_words;

struct qn_words *qn_words_new(void);
void qn_words_free(struct qn_words *w); /* NULL is fine */
int qn_words_size(const struct qn_words *w);
/* The number of a word, any bytes, or -1. */
int qn_words_find(const struct qn_words *w, const char *word, size_t len);
int qn_words_add(struct qn_words *w, const char *word, size_t len);
/* With a NUL after it; valid until the next word is added. */
const char *qn_words_get(const struct qn_words *w, int id, size_t *len);

#endif
