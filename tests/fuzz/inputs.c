/* inputs.c - bytes of a fuzzer as the files that quern reads. */
#include "inputs.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *fuzz_path(const char *name)
{
    const char *tmp = getenv("TMPDIR");
    return qn_xasprintf("%s/quern-fuzz-%ld-%s", tmp != NULL ? tmp : "/tmp",
                        (long)getpid(), name);
}

/* Not qn_file_write, which waits for a disk. */
void fuzz_write(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    QN_ASSERT(f != NULL && fwrite(bytes, 1, len, f) == len);
    QN_ASSERT(fclose(f) == 0);
}

uint8_t *fuzz_safetensors(const uint8_t *bytes, size_t len, size_t *n)
{
    const uint8_t *bar = len > 0 ? memchr(bytes, '|', len) : NULL;
    uint64_t n_header = bar != NULL ? (uint64_t)(bar - bytes) : len;
    size_t n_data = bar != NULL ? len - n_header - 1 : 0;
    uint8_t *file = qn_xmalloc(sizeof n_header + len);
    memcpy(file, &n_header, sizeof n_header);
    if (len > 0) {
        memcpy(file + sizeof n_header, bytes, n_header);
    }
    if (n_data > 0) {
        memcpy(file + sizeof n_header + n_header, bar + 1, n_data);
    }
    *n = sizeof n_header + n_header + n_data;
    return file;
}
