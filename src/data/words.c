/* words.c - a set of words, numbered from 0 as they came.
 *
 * The words stand one after the other in one block; a table of slots with
 * linear probing finds them by a hash with a key. A text made to collide, or
 * bad luck, shows as a long walk: the table then takes another key, for which
 * the words would have to collide as well. Numbers do not depend on the key. */
#include "data/words.h"

#include "base/mem.h"
#include "base/rng.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* At most half of the slots are taken: walks of this length do not happen by
 * chance in tables that fit a machine. */
#define LONGEST_WALK 512
#define FIRST_SLOTS 1024

struct slot {
    uint32_t check; /* upper half of the hash: spares looking at the word */
    int32_t entry;  /* id + 1; 0 = empty */
};

struct qn_words {
    char *text; /* every word and a NUL */
    size_t len, cap;
    size_t *from; /* [n + 1] offsets into text */
    int n, cap_from;
    struct slot *slot; /* [n_slots], a power of two */
    size_t n_slots;
    uint64_t key;
};

struct qn_words *qn_words_new(void)
{
    struct qn_words *w = qn_xcalloc(1, sizeof *w);
    w->n_slots = FIRST_SLOTS;
    w->slot = qn_xcalloc(w->n_slots, sizeof *w->slot);
    w->cap_from = FIRST_SLOTS / 2;
    w->from = qn_xcalloc((size_t)w->cap_from + 1, sizeof *w->from);
    return w;
}

void qn_words_free(struct qn_words *w)
{
    if (w == NULL) {
        return;
    }
    free(w->slot);
    free(w->from);
    free(w->text);
    free(w);
}

int qn_words_size(const struct qn_words *w)
{
    return w->n;
}

const char *qn_words_get(const struct qn_words *w, int id, size_t *len)
{
    *len = w->from[id + 1] - w->from[id] - 1;
    return w->text + w->from[id];
}

static uint64_t hash(uint64_t key, const char *word, size_t len)
{
    uint64_t h = qn_mix64(key + len);
    while (len > 0) {
        uint64_t piece = 0;
        size_t n = len < sizeof piece ? len : sizeof piece;
        memcpy(&piece, word, n);
        h = qn_mix64(h ^ piece);
        word += n;
        len -= n;
    }
    return h;
}

/* The slot that holds the word or is the empty one where it belongs; *walk
 * counts the slots passed on the way. */
static struct slot *look_up(const struct qn_words *w, const char *word,
                            size_t len, uint64_t h, size_t *walk)
{
    size_t mask = w->n_slots - 1;
    *walk = 0;
    for (size_t i = h & mask;; i = (i + 1) & mask, (*walk)++) {
        struct slot *s = &w->slot[i];
        if (s->entry == 0) {
            return s;
        }
        if (s->check == (uint32_t)(h >> 32)) {
            size_t n;
            const char *there = qn_words_get(w, s->entry - 1, &n);
            if (n == len && memcmp(there, word, len) == 0) {
                return s;
            }
        }
    }
}

/* All words into a new table of n_slots. */
static void fill_slots(struct qn_words *w, size_t n_slots)
{
    free(w->slot);
    w->slot = qn_xcalloc(n_slots, sizeof *w->slot);
    w->n_slots = n_slots;
    for (int id = 0; id < w->n; id++) {
        size_t len, mask = n_slots - 1;
        const char *word = qn_words_get(w, id, &len);
        uint64_t h = hash(w->key, word, len);
        size_t i = h & mask;
        while (w->slot[i].entry != 0) {
            i = (i + 1) & mask;
        }
        w->slot[i] = (struct slot){(uint32_t)(h >> 32), id + 1};
    }
}

static void append(struct qn_words *w, const char *word, size_t len)
{
    if (w->len + len + 1 > w->cap) {
        w->cap = 2 * w->cap + len + 1;
        w->text = qn_xrealloc(w->text, w->cap, 1);
    }
    if (w->n == w->cap_from) {
        w->cap_from *= 2;
        w->from =
            qn_xrealloc(w->from, (size_t)w->cap_from + 1, sizeof *w->from);
    }
    memcpy(w->text + w->len, word, len);
    w->text[w->len + len] = '\0';
    w->len += len + 1;
    w->from[++w->n] = w->len;
}

int qn_words_find(const struct qn_words *w, const char *word, size_t len)
{
    size_t walk;
    uint64_t h = hash(w->key, word, len);
    return look_up(w, word, len, h, &walk)->entry - 1;
}

int qn_words_add(struct qn_words *w, const char *word, size_t len)
{
    size_t walk;
    uint64_t h = hash(w->key, word, len);
    struct slot *s = look_up(w, word, len, h, &walk);
    if (s->entry != 0) {
        return s->entry - 1;
    }
    append(w, word, len);
    *s = (struct slot){(uint32_t)(h >> 32), w->n};
    if (walk > LONGEST_WALK) {
        w->key = qn_mix64(w->key + 1);
        fill_slots(w, w->n_slots);
    } else if ((size_t)w->n > w->n_slots / 2) {
        fill_slots(w, 2 * w->n_slots);
    }
    return w->n - 1;
}
