/* fuzz_vectors.c - no file may crash the reader of word vectors or give it a
 * number that is none. The first byte chooses the width, the rest is the file.
 */
#include "inputs.h"

#include "base/assert.h"
#include "data/vectors.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct qn_words *some_words(void)
{
    static const char *const words[] = {"a", "b", "the", ".", "a b", "1"};
    struct qn_words *wanted = qn_words_new();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        (void)qn_words_add(wanted, words[i], strlen(words[i]));
    }
    return wanted;
}

/* Found words are wanted ones, in the same order, and their numbers finite. */
static void check_found(const struct qn_words *wanted,
                        const struct qn_words *found, const float *table,
                        int width)
{
    int before = -1;
    for (int i = 0; i < qn_words_size(found); i++) {
        size_t len;
        const char *word = qn_words_get(found, i, &len);
        int id = qn_words_find(wanted, word, len);
        QN_ASSERT(id > before);
        before = id;
        for (int k = 0; k < width; k++) {
            QN_ASSERT(isfinite(table[i * width + k]));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0) {
        return 0;
    }
    char *path = fuzz_path("text");
    fuzz_write(path, bytes + 1, len - 1);
    int width = 1 + bytes[0] % 4;
    struct qn_words *wanted = some_words(), *found = NULL;
    float *table = NULL;
    struct qn_err err = {{0}};
    if (qn_vectors_read(path, NULL, width, wanted, NULL, &found, &table,
                        &err) == QN_OK) {
        check_found(wanted, found, table, width);
        qn_words_free(found);
        free(table);
    } else {
        QN_ASSERT(found == NULL && table == NULL && err.text[0] != '\0');
    }
    qn_words_free(wanted);
    (void)unlink(path); /* replaced by the next text otherwise */
    free(path);
    return 0;
}
