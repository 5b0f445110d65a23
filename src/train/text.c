/* text.c - the corpus and the vocabulary of a run, as its spec names them. */
#include "train/text.h"

#include "base/file.h"
#include "model/checkpoint.h"
#include "store/run_dir.h"
#include "train/code.h"

#include <stdlib.h>

static enum qn_symbol_kind kind_of(const struct qn_spec *spec)
{
    if (spec->task == QN_TASK_CLASSIFY) {
        return QN_SYMBOL_WORD;
    }
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
        .documents = spec->task == QN_TASK_CLASSIFY,
        .fold = {spec->data.fold.k, spec->data.fold.n},
        .vectors = spec->data.vectors,
        .vector_width = spec->model.embed,
        .max_words = spec->data.max_words,
        .data_dir = env->data_dir,
        .vocab = vocab,
    };
    return qn_corpus_open(&corpus, env->log, out, err);
}

bool qn_text_has(const struct qn_corpus *corpus, enum qn_split split)
{
    const struct qn_documents *documents = qn_corpus_documents(corpus, split);
    if (documents != NULL) {
        return documents->n > 0;
    }
    size_t n;
    (void)qn_corpus_ids(corpus, split, &n);
    return n > 1;
}

int qn_text_longest(const struct qn_corpus *corpus, const struct qn_spec *spec)
{
    int longest = 0;
    for (int s = 0; s < QN_N_SPLITS; s++) {
        const struct qn_documents *documents =
            qn_corpus_documents(corpus, (enum qn_split)s);
        if (documents == NULL) {
            return spec->seq;
        }
        if (documents->longest > longest) {
            longest = documents->longest;
        }
    }
    return longest;
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

enum qn_status qn_text_vectors(const char *run_path, struct qn_model *model,
                               struct qn_err *err)
{
    if (qn_model_vectors(model).buffer == NULL) {
        return QN_OK;
    }
    char *path = qn_path_join(run_path, QN_VECTORS_FILE);
    enum qn_status status = qn_vectors_load(model, path, err);
    if (status == QN_OK) {
        status = qn_code_check_vectors(run_path, path, err);
    }
    free(path);
    return status;
}
