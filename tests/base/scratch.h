/* scratch.h - a folder of its own for a test, and files in it. */
#ifndef QN_TESTS_BASE_SCRATCH_H
#define QN_TESTS_BASE_SCRATCH_H

#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>

/* cmocka fixtures: *state is the folder's path. */
static int make_scratch(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *path = qn_path_join(tmp != NULL ? tmp : "/tmp", "quern-test-XXXXXX");
    *state = path;
    return mkdtemp(path) != NULL ? 0 : -1;
}

static int remove_scratch(void **state)
{
    struct qn_err err;
    int failed = qn_remove_tree(*state, &err) != QN_OK;
    free(*state);
    return failed ? -1 : 0;
}

#endif
