/* vocab.c - symbols and their ids: adding, finding, encoding, decoding. */
#include "data/vocab.h"

#include "base/assert.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ids are found through pages of 256 symbols, made when first needed: texts
 * use few of the 4352 pages that Unicode fills. Entries are id + 1. */
#define PAGE 256
#define N_PAGES (0x110000 / PAGE)
/* So many ids are no prompt but a corpus, which may not fit. */
#define BIG 65536
/* What stands in symbol[] for the row of <unk>. */
#define UNK_SYMBOL UINT32_MAX

struct qn_vocab {
    enum qn_symbol_kind kind;
    int n, cap, unk;
    uint32_t *symbol; /* [n], by id */
    int32_t *page[N_PAGES];
};

struct qn_vocab *qn_vocab_new(enum qn_symbol_kind kind)
{
    struct qn_vocab *v = qn_xcalloc(1, sizeof *v);
    v->kind = kind;
    v->unk = QN_UNK;
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
    free(v);
}

struct qn_vocab *qn_vocab_copy(const struct qn_vocab *v)
{
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

uint32_t qn_vocab_symbol(const struct qn_vocab *v, int id)
{
    QN_ASSERT(id >= 0 && id < v->n && id != v->unk);
    return v->symbol[id];
}

int qn_vocab_find(const struct qn_vocab *v, uint32_t symbol)
{
    if (symbol >= PAGE * N_PAGES || v->page[symbol / PAGE] == NULL) {
        return -1;
    }
    return v->page[symbol / PAGE][symbol % PAGE] - 1;
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

int qn_vocab_add_unk(struct qn_vocab *v)
{
    if (v->unk == QN_UNK) {
        v->unk = append(v, UNK_SYMBOL);
    }
    return v->unk;
}

bool qn_vocab_equal(const struct qn_vocab *a, const struct qn_vocab *b)
{
    return a->kind == b->kind && a->n == b->n &&
           (a->n == 0 || memcmp(a->symbol, b->symbol,
                                (size_t)a->n * sizeof *a->symbol) == 0);
}

/* Read the symbol at text[*at] and step over it; false when it is no UTF-8. */
static bool next_symbol(enum qn_symbol_kind kind, const char *text, size_t len,
                        size_t *at, uint32_t *symbol)
{
    unsigned char first = (unsigned char)text[*at];
    if (kind == QN_SYMBOL_BYTE || first < 0x80) {
        *symbol = first;
        (*at)++;
        return true;
    }
    int taken = qn_utf8_decode(text + *at, len - *at, symbol);
    *at += (size_t)taken;
    return taken > 0;
}

static enum qn_status fail_utf8(size_t at, struct qn_err *err)
{
    return qn_fail(err, QN_EFORMAT,
                   "invalid UTF-8 at byte %zu (data.level=byte takes any "
                   "bytes)",
                   at);
}

enum qn_status qn_symbols_count(enum qn_symbol_kind kind, const char *text,
                                size_t len, size_t *n, struct qn_err *err)
{
    size_t count = 0;
    uint32_t symbol;
    for (size_t at = 0; at < len; count++) {
        if (!next_symbol(kind, text, len, &at, &symbol)) {
            return fail_utf8(at, err);
        }
    }
    *n = count;
    return QN_OK;
}

enum qn_status qn_vocab_learn(struct qn_vocab *v, const char *text, size_t len,
                              struct qn_err *err)
{
    uint32_t symbol;
    for (size_t at = 0; at < len;) {
        if (!next_symbol(v->kind, text, len, &at, &symbol)) {
            return fail_utf8(at, err);
        }
        qn_vocab_add(v, symbol);
    }
    return QN_OK;
}

bool qn_vocab_covers(const struct qn_vocab *v, const char *text, size_t len)
{
    uint32_t symbol;
    for (size_t at = 0; at < len;) {
        if (!next_symbol(v->kind, text, len, &at, &symbol) ||
            qn_vocab_find(v, symbol) < 0) {
            return false;
        }
    }
    return true;
}

static enum qn_status fail_symbol(const struct qn_vocab *v, uint32_t symbol,
                                  struct qn_err *err)
{
    if (v->kind == QN_SYMBOL_BYTE) {
        return qn_fail(err, QN_EUSAGE,
                       "the byte 0x%02" PRIx32 " is not in the vocabulary",
                       symbol);
    }
    char shown[8] = "";
    bool is_control = symbol < 0x20 || (symbol >= 0x7f && symbol < 0xa0);
    if (!is_control) {
        shown[0] = ' ';
        (void)qn_utf8_encode(symbol, shown + 1);
    }
    return qn_fail(err, QN_EUSAGE,
                   "the symbol U+%04" PRIX32 "%s is not in the vocabulary",
                   symbol, shown);
}

enum qn_status qn_vocab_encode(const struct qn_vocab *v, const char *text,
                               size_t len, int32_t **ids, size_t *n,
                               struct qn_err *err)
{
    size_t count;
    enum qn_status status = qn_symbols_count(v->kind, text, len, &count, err);
    if (status != QN_OK) {
        return status;
    }
    int32_t *made = count < BIG ? qn_xcalloc(count, sizeof *made)
                                : qn_try_big(count, sizeof *made);
    if (made == NULL) {
        char size[32];
        return qn_fail(err, QN_ENOMEM, "no memory for %zu symbols (%s)", count,
                       qn_format_bytes(size, sizeof size, 4.0 * (double)count));
    }
    for (size_t i = 0, at = 0; i < count; i++) {
        uint32_t symbol = 0;
        (void)next_symbol(v->kind, text, len, &at, &symbol); /* counted above */
        int id = qn_vocab_find(v, symbol);
        if (id < 0 && v->unk == QN_UNK) {
            free(made);
            return fail_symbol(v, symbol, err);
        }
        made[i] = id >= 0 ? id : v->unk;
    }
    *ids = made;
    *n = count;
    return QN_OK;
}

void qn_vocab_decode(const struct qn_vocab *v, const int32_t *ids, size_t n,
                     struct qn_str *out)
{
    for (size_t i = 0; i < n; i++) {
        QN_ASSERT(ids[i] >= 0 && ids[i] < v->n);
        uint32_t symbol = v->symbol[ids[i]];
        if (v->kind == QN_SYMBOL_BYTE) {
            char byte = symbol == UNK_SYMBOL ? '?' : (char)symbol;
            qn_str_add_bytes(out, &byte, 1);
        } else {
            char utf8[4];
            uint32_t shown = symbol == UNK_SYMBOL ? 0xfffd : symbol;
            qn_str_add_bytes(out, utf8, (size_t)qn_utf8_encode(shown, utf8));
        }
    }
}
