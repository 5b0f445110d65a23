/* fuzz_corpus.c - no text may crash a corpus, at any level and however it is
 * cut; and no symbol gets lost. The first byte chooses, the rest is the text.
 */
#include "inputs.h"

#include "base/assert.h"
#include "base/file.h"
#include "data/corpus.h"
#include "data/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct qn_corpus_spec choose(uint8_t byte)
{
    static const double fractions[] = {0, 0.05, 0.3, 0.49};
    struct qn_corpus_spec spec = {
        .kind = (enum qn_symbol_kind)(byte % 3),
        .lower = (byte & 64) != 0,
        .fraction = {0, fractions[byte >> 2 & 3], fractions[byte >> 4 & 3]},
    };
    if (spec.kind != QN_SYMBOL_WORD && (byte & 128) != 0) {
        spec.stream = (byte & 1) != 0 ? QN_TEXT_PTB49 : QN_TEXT_PTB50;
    }
    return spec;
}

/* Symbols of the text as a whole, its lines joined. */
static size_t count(const struct qn_corpus_spec *spec, const char *path)
{
    struct qn_bytes text;
    size_t n = 0;
    QN_ASSERT(qn_file_read_gz(path, &text, NULL) == QN_OK);
    qn_stream_join(spec->stream, &text);
    QN_ASSERT(qn_symbols_count(spec->kind, text.data, text.len, &n, NULL) ==
              QN_OK);
    qn_bytes_free(&text);
    return n;
}

static void check_corpus(const struct qn_corpus_spec *spec,
                         const struct qn_corpus *c)
{
    const struct qn_vocab *v = qn_corpus_vocab(c);
    size_t sum = 0;
    for (int i = 0; i < QN_N_SPLITS; i++) {
        size_t n;
        const int32_t *ids = qn_corpus_ids(c, (enum qn_split)i, &n);
        for (size_t k = 0; k < n; k++) {
            QN_ASSERT(ids[k] >= 0 && ids[k] < qn_vocab_size(v));
        }
        sum += n;
    }
    /* A line that is cut between words ends twice, and there are two cuts. */
    size_t whole = count(spec, spec->path[QN_TRAIN]);
    size_t more = spec->kind == QN_SYMBOL_WORD ? 2 : 0;
    QN_ASSERT(sum >= whole && sum <= whole + more);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    char *path = fuzz_path("text");
    fuzz_write(path, bytes + 1, len - 1);
    struct qn_corpus_spec spec = choose(bytes[0]);
    spec.path[QN_TRAIN] = path;
    struct qn_corpus *c = NULL;
    struct qn_err err = {{0}};
    if (qn_corpus_open(&spec, NULL, &c, &err) == QN_OK) {
        check_corpus(&spec, c);
        qn_corpus_free(c);
    } else {
        QN_ASSERT(c == NULL && err.text[0] != '\0');
    }
    (void)unlink(path); /* replaced by the next text otherwise */
    free(path);
    return 0;
}
