/* vocab.c - symbols and their ids: adding, finding, comparing. */
#include "data/vocab.h"

#include "base/assert.h"
#include "base/mem.h"
#include "data/words.h"

#include <stdlib.h>
#include <string.h>

/* Ids are found through pages of 256 symbols, made when first needed: texts
 * use few of the 4352 pages that Unicode fills. Entries are id + 1. */
#define PAGE 256
#define N_PAGES (0x110000 / PAGE)
/* What stands in symbol[] for the row of <unk>. */
#define UNK_SYMBOL UINT32_MAX

struct qn_vocab {
    enum qn_symbol_kind kind;
    int n, unk;
    /* Of code points and bytes. */
    int cap;
    uint32_t *symbol; /* [n], by id */
    int32_t *page[N_PAGES];
    /* Of words. */
    struct qn_words *words;
    char *eos_name, *unk_name;
    int eos; /* or -1 */
};

static struct qn_vocab *new_vocab(enum qn_symbol_kind kind)
{
    struct qn_vocab *v = qn_xcalloc(1, sizeof *v);
    v->kind = kind;
    v->unk = QN_UNK;
    v->eos = -1;
    return v;
}

struct qn_vocab *qn_vocab_new(enum qn_symbol_kind kind)
{
    QN_ASSERT(kind != QN_SYMBOL_WORD);
    return new_vocab(kind);
}

static char *name_or(const char *given, const char *otherwise)
{
    bool unset = given == NULL || given[0] == '\0';
    return qn_xstrdup(unset ? otherwise : given);
}

struct qn_vocab *qn_vocab_new_words(const char *eos, const char *unk)
{
    struct qn_vocab *v = new_vocab(QN_SYMBOL_WORD);
    v->words = qn_words_new();
    v->eos_name = name_or(eos, QN_EOS_NAME);
    v->unk_name = name_or(unk, QN_UNK_NAME);
    return v;
}

void qn_vocab_free(struct qn_vocab *v)
{
    if (v == NULL) {
        return;
    }
    for (int i = 0; i < N_PAGES; i++) {
        free(v->page[i]);
    }
    free(v->symbol);
    qn_words_free(v->words);
    free(v->eos_name);
    free(v->unk_name);
    free(v);
}

static struct qn_vocab *copy_words(const struct qn_vocab *v)
{
    struct qn_vocab *copy = qn_vocab_new_words(v->eos_name, v->unk_name);
    for (int id = 0; id < v->n; id++) {
        size_t len;
        const char *word = qn_vocab_word(v, id, &len);
        qn_vocab_add_word(copy, word, len);
    }
    return copy;
}

struct qn_vocab *qn_vocab_copy(const struct qn_vocab *v)
{
    if (v->kind == QN_SYMBOL_WORD) {
        return copy_words(v);
    }
    struct qn_vocab *copy = qn_vocab_new(v->kind);
    for (int id = 0; id < v->n; id++) {
        if (id == v->unk) {
            qn_vocab_add_unk(copy);
        } else {
            qn_vocab_add(copy, v->symbol[id]);
        }
    }
    return copy;
}

enum qn_symbol_kind qn_vocab_kind(const struct qn_vocab *v)
{
    return v->kind;
}

int qn_vocab_size(const struct qn_vocab *v)
{
    return v->n;
}

int qn_vocab_unk(const struct qn_vocab *v)
{
    return v->unk;
}

int qn_vocab_eos(const struct qn_vocab *v)
{
    return v->eos;
}

uint32_t qn_vocab_symbol(const struct qn_vocab *v, int id)
{
    QN_ASSERT(v->kind != QN_SYMBOL_WORD);
    QN_ASSERT(id >= 0 && id < v->n && id != v->unk);
    return v->symbol[id];
}

const char *qn_vocab_word(const struct qn_vocab *v, int id, size_t *len)
{
    QN_ASSERT(v->kind == QN_SYMBOL_WORD && id >= 0 && id < v->n);
    return qn_words_get(v->words, id, len);
}

int qn_vocab_find(const struct qn_vocab *v, uint32_t symbol)
{
    if (symbol >= PAGE * N_PAGES || v->page[symbol / PAGE] == NULL) {
        return -1;
    }
    return v->page[symbol / PAGE][symbol % PAGE] - 1;
}

int qn_vocab_find_word(const struct qn_vocab *v, const char *word, size_t len)
{
    QN_ASSERT(v->kind == QN_SYMBOL_WORD);
    return qn_words_find(v->words, word, len);
}

static int append(struct qn_vocab *v, uint32_t symbol)
{
    if (v->n == v->cap) {
        v->cap = v->cap > 0 ? 2 * v->cap : 64;
        v->symbol = qn_xrealloc(v->symbol, (size_t)v->cap, sizeof *v->symbol);
    }
    v->symbol[v->n] = symbol;
    return v->n++;
}

int qn_vocab_add(struct qn_vocab *v, uint32_t symbol)
{
    QN_ASSERT(v->kind != QN_SYMBOL_WORD);
    QN_ASSERT(symbol < (v->kind == QN_SYMBOL_BYTE ? 256 : PAGE * N_PAGES));
    int32_t **page = &v->page[symbol / PAGE];
    if (*page == NULL) {
        *page = qn_xcalloc(PAGE, sizeof **page);
    }
    int32_t *entry = &(*page)[symbol % PAGE];
    if (*entry == 0) {
        *entry = append(v, symbol) + 1;
    }
    return *entry - 1;
}

static bool is_name(const char *name, const char *word, size_t len)
{
    return strlen(name) == len && memcmp(name, word, len) == 0;
}

int qn_vocab_add_word(struct qn_vocab *v, const char *word, size_t len)
{
    QN_ASSERT(v->kind == QN_SYMBOL_WORD && len > 0);
    int id = qn_words_add(v->words, word, len);
    if (id == v->n) {
        v->n++;
        if (is_name(v->eos_name, word, len)) {
            v->eos = id;
        }
        if (is_name(v->unk_name, word, len)) {
            v->unk = id;
        }
    }
    return id;
}

int qn_vocab_add_eos(struct qn_vocab *v)
{
    return v->eos >= 0 ? v->eos
                       : qn_vocab_add_word(v, v->eos_name, strlen(v->eos_name));
}

int qn_vocab_add_unk(struct qn_vocab *v)
{
    if (v->kind == QN_SYMBOL_WORD) {
        return qn_vocab_add_word(v, v->unk_name, strlen(v->unk_name));
    }
    if (v->unk == QN_UNK) {
        v->unk = append(v, UNK_SYMBOL);
    }
    return v->unk;
}

static bool equal_words(const struct qn_vocab *a, const struct qn_vocab *b)
{
    for (int id = 0; id < a->n; id++) {
        size_t len, other_len;
        const char *word = qn_vocab_word(a, id, &len);
        const char *other = qn_vocab_word(b, id, &other_len);
        if (len != other_len || memcmp(word, other, len) != 0) {
            return false;
        }
    }
    return a->eos == b->eos && a->unk == b->unk;
}

bool qn_vocab_equal(const struct qn_vocab *a, const struct qn_vocab *b)
{
    if (a->kind != b->kind || a->n != b->n) {
        return false;
    }
    if (a->kind == QN_SYMBOL_WORD) {
        return equal_words(a, b);
    }
    return a->n == 0 ||
           memcmp(a->symbol, b->symbol, (size_t)a->n * sizeof *a->symbol) == 0;
}
