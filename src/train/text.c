/* text.c - the corpus and the vocabulary of a run, as its spec names them. */
#include "train/text.h"

#include "base/file.h"
#include "store/run_dir.h"

#include <stdlib.h>

static enum qn_symbol_kind kind_of(const struct qn_spec *spec)
{
    switch (spec->data.level) {
    case QN_LEVEL_CHAR:
        return QN_SYMBOL_CODE_POINT;
    case QN_LEVEL_BYTE:
        return QN_SYMBOL_BYTE;
    case QN_LEVEL_WORD:
        break;
    }
    return QN_SYMBOL_WORD;
}

static enum qn_text_stream stream_of(const struct qn_spec *spec)
{
    switch (spec->data.stream) {
    case QN_STREAM_PTB49:
        return QN_TEXT_PTB49;
    case QN_STREAM_PTB50:
        return QN_TEXT_PTB50;
    case QN_STREAM_PLAIN:
        break;
    }
    return QN_TEXT_PLAIN;
}

enum qn_status qn_text_open(const struct qn_train_env *env,
                            const struct qn_spec *spec,
                            const struct qn_vocab *vocab,
                            struct qn_corpus **out, struct qn_err *err)
{
    struct qn_corpus_spec corpus = {
        .path = {spec->data.train, spec->data.valid, spec->data.test},
        .fraction = {0, spec->data.valid_fraction, spec->data.test_fraction},
        .kind = kind_of(spec),
        .lower = spec->data.lower,
        .stream = stream_of(spec),
        .eos = spec->data.eos,
        .unk = spec->data.unk,
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
    enum qn_symbol_kind kind = kind_of(spec);
    status = kind == QN_SYMBOL_WORD
                 ? qn_vocab_parse_words(spec->data.eos, spec->data.unk,
                                        text.data, text.len, out, err)
                 : qn_vocab_parse(kind, text.data, text.len, out, err);
    qn_bytes_free(&text);
    if (status != QN_OK) {
        char *path = qn_path_join(run_path, "vocab.txt");
        (void)qn_fail_in(err, status, path);
        free(path);
    }
    return status;
}
