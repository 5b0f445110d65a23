/* stream.h - a text's lines as one stream. */
#ifndef QN_DATA_STREAM_H
#define QN_DATA_STREAM_H

#include "base/file.h"
#include "data/corpus.h"

/* Join the lines of a text in place (see enum qn_text_stream). */
void qn_stream_join(enum qn_text_stream stream, struct qn_bytes *text);

#endif
