// The loops that a program would write: one per block length, on doubles where they fit, for a compiler to make
// fast. SPDX-License-Identifier: BSD-3-Clause
#include <stdint.h>

#define LOOPS(BYTES, TYPE)                                                                            \
  static void pack_##BYTES(char* restrict to, const char* restrict from, long stride, long count) {   \
    TYPE* packed = (TYPE*)to;                                                                         \
    const TYPE* items = (const TYPE*)from;                                                            \
    const long step = stride / (long)sizeof(TYPE);                                                    \
    for (long i = 0; i < count; ++i) {                                                                \
      for (int j = 0; j < BYTES / (int)sizeof(TYPE); ++j) {                                           \
        packed[i * (BYTES / (int)sizeof(TYPE)) + j] = items[i * step + j];                            \
      }                                                                                               \
    }                                                                                                 \
  }                                                                                                   \
  static void unpack_##BYTES(char* restrict to, const char* restrict from, long stride, long count) { \
    TYPE* items = (TYPE*)to;                                                                          \
    const TYPE* packed = (const TYPE*)from;                                                           \
    const long step = stride / (long)sizeof(TYPE);                                                    \
    for (long i = 0; i < count; ++i) {                                                                \
      for (int j = 0; j < BYTES / (int)sizeof(TYPE); ++j) {                                           \
        items[i * step + j] = packed[i * (BYTES / (int)sizeof(TYPE)) + j];                            \
      }                                                                                               \
    }                                                                                                 \
  }

LOOPS(1, int8_t)
LOOPS(2, int16_t)
LOOPS(4, int32_t)
LOOPS(8, double)
LOOPS(16, double)
LOOPS(32, double)
LOOPS(64, double)
LOOPS(128, double)

/// Whether there is a loop for the block length; runs it.
int hand(int packing, char* to, const char* from, long block, long stride, long count) {
#define CASE(BYTES)                                                     \
  case BYTES:                                                           \
    (packing ? pack_##BYTES : unpack_##BYTES)(to, from, stride, count); \
    return 1;
  switch (block) { CASE(1) CASE(2) CASE(4) CASE(8) CASE(16) CASE(32) CASE(64) CASE(128) default : return 0; }
}
