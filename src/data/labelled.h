/* labelled.h - documents with a label, from a folder or a file.
 *
 * A folder holds the folders "neg" and "pos" (as aclImdb/train does), each with
 * one document a .txt file, taken in the order of their names, neg first; other
 * names in it are ignored. A file, x or x.gz, holds one document a line:
 * label TAB rating TAB text, split on the first two tabs only; the label is 0
 * or neg, 1 or pos; the rating is not used. Documents are UTF-8; a byte order
 * mark before a file's first label is skipped.
 */
#ifndef QN_DATA_LABELLED_H
#define QN_DATA_LABELLED_H

#include "base/log.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct qn_labelled {
    size_t n;
    struct qn_labelled_doc {
        const char *text; /* into 'memory'; not ended by NUL */
        size_t len;
        int32_t label; /* 0 negative, 1 positive */
    } * docs;
    char *path;      /* where it was found */
    char sha256[65]; /* of the file, or of the folder's documents */
    char *memory;
    char **names; /* of a folder: its files' names, [n]; else NULL */
};

/* Find (as data/source.h does) and read. Every mistake is one sentence with the
 * file and, of a file, the line: a label that is neither, fewer than two tabs,
 * no UTF-8, a folder without one of the two classes (or one whose train folder
 * has them: the sentence names it), no documents at all. */
enum qn_status qn_labelled_read(const char *given, const char *data_dir,
                                struct qn_log *log, struct qn_labelled *out,
                                struct qn_err *err);
void qn_labelled_fini(struct qn_labelled *l);
/* "line 12" or "pos/12_9.txt": how a person finds document i again. */
const char *qn_labelled_where(const struct qn_labelled *l, size_t i, char *buf,
                              size_t size);

#endif
