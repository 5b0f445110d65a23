/* inputs.h - bytes of a fuzzer as the files that quern reads.
 *
 * They lie below TMPDIR, which scripts/fuzz puts into memory; names hold the
 * process, so that several may run at once. */
#ifndef QN_FUZZ_INPUTS_H
#define QN_FUZZ_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* The entry that libFuzzer calls by this name. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* A path below TMPDIR of this process; the caller frees it. */
char *fuzz_path(const char *name);
/* Write a file, replacing what is there. */
void fuzz_write(const char *path, const void *bytes, size_t len);

/* A file of safetensors whose header has the right length, which chance rarely
 * finds: the header is what stands before the first '|', the rest is data. The
 * caller frees it; *n is its length. */
uint8_t *fuzz_safetensors(const uint8_t *bytes, size_t len, size_t *n);

#endif
