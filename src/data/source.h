/* source.h - the bytes that data.train and its like name. */
#ifndef QN_DATA_SOURCE_H
#define QN_DATA_SOURCE_H

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"

/* Find and read what 'given' names, decompressed. *path is where it was found
 * (or the name of the built-in text that was taken) and the caller's to free,
 * like the bytes. QN_ENOTFOUND lists where it was looked for. */
enum qn_status qn_source_read(const char *given, const char *data_dir,
                              struct qn_log *log, struct qn_bytes *text,
                              char **path, struct qn_err *err);

/* Where 'given' is, a file or a folder: as given, then below the data folder; x
 * and x.gz stand for each other, and a file anywhere comes before a folder.
 * *path is the caller's to free. Not of what is built in. QN_ENOTFOUND lists
 * where it was looked for. */
enum qn_status qn_source_find(const char *given, const char *data_dir,
                              char **path, struct qn_err *err);
bool qn_source_is_builtin(const char *given);

/* The King James Bible, one verse a line and an empty line between chapters,
 * from the cache or from the command "bible", whose output is then cached.
 * Returns false, having written a line to the log, when there is none. */
bool qn_bible_text(struct qn_log *log, struct qn_bytes *text);

/* About 2 MB of sentences of a seeded grammar: always the same ones. */
void qn_grammar_text(struct qn_bytes *text);

#endif
