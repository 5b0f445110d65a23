/* doc_words.c - a file of labelled documents as numbered words. */
#include "data/doc_words.h"

#include "base/mem.h"
#include "data/tokens.h"

#include <stdlib.h>

#define FIRST_CAP 4096 /* also where there is no word at all */

struct splitting {
    struct qn_tokens *tokens;
    struct qn_words *set;
    int32_t *words;
    size_t n, cap;
};

static void add_word(struct splitting *s, int number)
{
    if (s->n == s->cap) {
        s->cap += s->cap / 2;
        s->words = qn_xrealloc(s->words, s->cap, sizeof *s->words);
    }
    s->words[s->n++] = number;
}

static enum qn_status split(struct splitting *s,
                            const struct qn_labelled_doc *doc,
                            struct qn_err *err)
{
    const char *word;
    size_t len;
    qn_tokens_start(s->tokens, doc->text, doc->len);
    while (qn_tokens_next(s->tokens, &word, &len)) {
        add_word(s, qn_words_add(s->set, word, len));
    }
    return qn_words_size(s->set) <= QN_MAX_WORDS
               ? QN_OK
               : qn_fail(err, QN_EFORMAT, "holds more than %d words",
                         QN_MAX_WORDS);
}

static enum qn_status split_all(struct splitting *s, struct qn_doc_words *d,
                                struct qn_err *err)
{
    const struct qn_labelled *l = &d->labelled;
    enum qn_status status = QN_OK;
    d->start = qn_xcalloc(l->n + 1, sizeof *d->start);
    for (size_t i = 0; status == QN_OK && i < l->n; i++) {
        status = split(s, &l->docs[i], err);
        d->start[i + 1] = s->n;
    }
    return status == QN_OK ? QN_OK : qn_fail_in(err, status, l->path);
}

enum qn_status qn_doc_words_read(const char *given,
                                 const struct qn_corpus_spec *spec,
                                 struct qn_log *log, struct qn_words *set,
                                 struct qn_doc_words *out, struct qn_err *err)
{
    struct qn_doc_words d = {0};
    enum qn_status status =
        qn_labelled_read(given, spec->data_dir, log, &d.labelled, err);
    if (status != QN_OK) {
        return status;
    }
    struct splitting s = {
        .tokens = qn_tokens_new(spec->lower),
        .set = set,
        .words = qn_xcalloc(FIRST_CAP, sizeof *s.words),
        .cap = FIRST_CAP,
    };
    status = split_all(&s, &d, err);
    qn_tokens_free(s.tokens);
    d.words = s.words;
    if (status != QN_OK) {
        qn_doc_words_fini(&d);
        return status;
    }
    free(d.labelled.memory);
    d.labelled.memory = NULL;
    for (size_t i = 0; i < d.labelled.n; i++) {
        d.labelled.docs[i].text = NULL;
    }
    *out = d;
    return QN_OK;
}

void qn_doc_words_fini(struct qn_doc_words *d)
{
    qn_labelled_fini(&d->labelled);
    free(d->start);
    free(d->words);
    *d = (struct qn_doc_words){0};
}
