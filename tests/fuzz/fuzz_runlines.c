/* fuzz_runlines.c - no .jsonl file may crash its reader, and what a resume
 * replaced never comes before it. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"
#include "store/files.h"

#include <stdlib.h>
#include <string.h>

/* The greatest step that was passed so far. */
struct reader {
    double most;
    int n;
};

static bool take_line(void *user, const json_t *line)
{
    struct reader *r = user;
    const json_t *step = json_object_get(line, "step");
    const json_t *from = json_object_get(line, "from");
    r->n++;
    if (json_is_integer(json_object_get(line, "segment")) &&
        json_is_number(from)) {
        QN_ASSERT(r->most <= json_number_value(from));
    }
    if (json_is_number(step) && json_number_value(step) > r->most) {
        r->most = json_number_value(step);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct reader r = {.most = -1e308};
    struct qn_err err = {{0}};
    struct qn_bytes copy = {qn_xmalloc(len), len};
    if (len > 0) {
        memcpy(copy.data, bytes, len);
    }
    if (qn_lines_parse(&copy, take_line, &r, &err) == QN_OK) {
        int n_lines = 0;
        for (size_t i = 0; i < len; i++) {
            n_lines += bytes[i] == '\n';
        }
        QN_ASSERT(r.n <= n_lines);
    } else {
        QN_ASSERT(err.text[0] != '\0');
    }
    free(copy.data);
    return 0;
}
