/* text.c - the corpus and the vocabulary of a run, as its spec names them. */
#include "train/text.h"

#include "base/mem.h"
#include "base/str.h"
#include "store/run_dir.h"

#include <stdlib.h>
#include <string.h>

enum qn_status qn_text_open(const struct qn_train_env *env,
                            const struct qn_spec *spec,
                            const struct qn_vocab *vocab,
                            struct qn_corpus **out, struct qn_err *err)
{
    struct qn_corpus_spec corpus = {
        .path = {spec->data.train, spec->data.valid, spec->data.test},
        .fraction = {0, spec->data.valid_fraction, spec->data.test_fraction},
        .bytes = spec->data.level == QN_LEVEL_BYTE,
        .lower = spec->data.lower,
        .vocab_size = spec->data.vocab_size,
        .data_dir = env->data_dir,
        .vocab = vocab,
    };
    return qn_corpus_open(&corpus, env->log, out, err);
}

enum qn_status qn_text_vocab(const char *run_path, const struct qn_spec *spec,
                             struct qn_vocab **out, struct qn_err *err)
{
    struct qn_bytes text;
    enum qn_status status = qn_run_dir_read(run_path, "vocab.txt", &text, err);
    if (status != QN_OK) {
        return status;
    }
    enum qn_symbol_kind kind = spec->data.level == QN_LEVEL_BYTE
                                   ? QN_SYMBOL_BYTE
                                   : QN_SYMBOL_CODE_POINT;
    status = qn_vocab_parse(kind, text.data, text.len, out, err);
    qn_bytes_free(&text);
    return status != QN_OK ? qn_fail_in(err, status, run_path) : QN_OK;
}

/* The symbol at s: its code and how many bytes it takes, 0 = not UTF-8. */
static int next_symbol(enum qn_symbol_kind kind, const char *s, size_t len,
                       uint32_t *symbol)
{
    if (kind == QN_SYMBOL_CODE_POINT) {
        return qn_utf8_decode(s, len, symbol);
    }
    *symbol = (unsigned char)*s;
    return 1;
}

static enum qn_status unknown_symbol(enum qn_symbol_kind kind, const char *s,
                                     int bytes, struct qn_err *err)
{
    if (kind == QN_SYMBOL_BYTE) {
        return qn_fail(err, QN_EUSAGE,
                       "prompt: byte 0x%02x is not in the run's vocabulary",
                       (unsigned)(unsigned char)*s);
    }
    uint32_t code = 0;
    (void)qn_utf8_decode(s, (size_t)bytes, &code);
    return qn_fail(err, QN_EUSAGE,
                   "prompt: \"%.*s\" (U+%04X) is not in the run's vocabulary",
                   bytes, s, (unsigned)code);
}

enum qn_status qn_text_prompt(const struct qn_vocab *vocab,
                              const struct qn_spec *spec, const char *prompt,
                              int32_t **ids, size_t *n, struct qn_err *err)
{
    enum qn_symbol_kind kind = qn_vocab_kind(vocab);
    size_t len = strlen(prompt);
    int32_t *made = qn_xcalloc(len + 1, sizeof *made);
    size_t count = 0;
    for (size_t i = 0; i < len;) {
        uint32_t symbol = 0;
        int bytes = next_symbol(kind, prompt + i, len - i, &symbol);
        if (bytes == 0) {
            free(made);
            return qn_fail(err, QN_EUSAGE,
                           "prompt: byte %zu is not valid UTF-8", i);
        }
        if (spec->data.lower && symbol >= 'A' && symbol <= 'Z') {
            symbol += 'a' - 'A';
        }
        int id = qn_vocab_find(vocab, symbol);
        if (id < 0) {
            free(made);
            return unknown_symbol(kind, prompt + i, bytes, err);
        }
        made[count++] = id;
        i += (size_t)bytes;
    }
    *ids = made;
    *n = count;
    return QN_OK;
}
