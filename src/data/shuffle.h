/* shuffle.h - an order drawn by a key. */
#ifndef QN_DATA_SHUFFLE_H
#define QN_DATA_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* Every order of n items is as likely; it depends on the key only. */
void qn_shuffle(uint64_t key, size_t *items, size_t n);

#endif
