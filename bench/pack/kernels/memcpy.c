// A call of memcpy per block. SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

void by_memcpy(int packing, char* to, const char* from, long block, long stride, long count) {
  for (long i = 0; i < count; ++i) {
    if (packing) {
      memcpy(to + i * block, from + i * stride, (size_t)block);
    } else {
      memcpy(to + i * stride, from + i * block, (size_t)block);
    }
  }
}
