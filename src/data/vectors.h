/* vectors.h - word vectors from a text file, of the words that are wanted.
 *
 * A line is a word and 'width' numbers, parted by single spaces, as GloVe
 * writes them; the word is all before the last 'width' fields and may itself
 * hold spaces (GloVe 840B has such). A first line of two whole numbers
 * (fastText) is skipped. x and x.gz stand for each other. The file is read in
 * pieces: that of 840 billion tokens has 5.6 GB.
 */
#ifndef QN_DATA_VECTORS_H
#define QN_DATA_VECTORS_H

#include "base/log.h"
#include "base/status.h"
#include "data/words.h"

/* Vectors of the words in 'wanted': *found lists them in the order of wanted,
 * *table [size of found, width] is theirs; both the caller's. Of a word that
 * comes twice the first line holds. Lines that are no word and 'width' finite
 * numbers are left out with one notice that tells how many and the first one's
 * number. QN_EFORMAT when the file's vectors have another width (the sentence
 * names both and model.embed), or when no line is left. QN_ENOTFOUND as
 * data/source.h. */
enum qn_status qn_vectors_read(const char *given, const char *data_dir,
                               int width, const struct qn_words *wanted,
                               struct qn_log *log, struct qn_words **found,
                               float **table, struct qn_err *err);

/* How wide the file's vectors are, as its first lines tell, read alone; 0 when
 * they do not, for which qn_vectors_read has the sentence. */
int qn_vectors_width(const char *given, const char *data_dir);

#endif
