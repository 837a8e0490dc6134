// The loops of the copy kernels, written once for any vector: private to the room.
//
// Contract: a source file of one instruction set selects it for the compiler, includes nothing after that but this
// header, once, and defines its vector and its kernels (COREWISE_COPY_KERNELS). Everything here has internal
// linkage and calls nothing of the standard library, so that no code of that instruction set can be linked into
// what runs elsewhere. A vector V has `width` (bytes, a power of two), `Register`, `load(p)` and `store(p, r)` at
// any address, `stream(p, r)` past the caches at an address that is a multiple of `width`, and `fence()`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace corewise::kernels {
namespace {

using Byte = unsigned char;
using Size = std::size_t;

constexpr Size line_bytes = 64;
constexpr Size page_bytes = 4096;

template <class V>
[[gnu::always_inline]] inline void move_vector(Byte* to, const Byte* from) {
  V::store(to, V::load(from));
}

template <class Word>
[[gnu::always_inline]] inline void move_ends(Byte* to, const Byte* from, Size bytes) {
  Word first;
  Word last;
  __builtin_memcpy(&first, from, sizeof(Word));
  __builtin_memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
  __builtin_memcpy(to, &first, sizeof(Word));
  __builtin_memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
}

/// Fewer bytes than a vector has: two overlapping words, or halves of the block.
template <class V>
[[gnu::always_inline]] inline void copy_below_vector(Byte* to, const Byte* from, Size bytes) {
  struct Sixteen {
    unsigned long long words[2];
  };
  struct ThirtyTwo {
    unsigned long long words[4];
  };
  if (V::width > 32 && bytes >= 32) return move_ends<ThirtyTwo>(to, from, bytes);
  if (V::width > 16 && bytes >= 16) return move_ends<Sixteen>(to, from, bytes);
  if (bytes >= 8) return move_ends<unsigned long long>(to, from, bytes);
  if (bytes >= 4) return move_ends<unsigned int>(to, from, bytes);
  if (bytes >= 2) return move_ends<unsigned short>(to, from, bytes);
  if (bytes == 1) *to = *from;
}

/// Four vectors at a time: all loads before the stores.
template <class V>
[[gnu::always_inline]] inline void move_four(Byte* to, const Byte* from) {
  const typename V::Register a = V::load(from);
  const typename V::Register b = V::load(from + V::width);
  const typename V::Register c = V::load(from + 2 * V::width);
  const typename V::Register d = V::load(from + 3 * V::width);
  V::store(to, a);
  V::store(to + V::width, b);
  V::store(to + 2 * V::width, c);
  V::store(to + 3 * V::width, d);
}

/// Up to four vectors: the two ends overlap.
template <class V>
[[gnu::always_inline]] inline void copy_few(Byte* to, const Byte* from, Size bytes) {
  if (bytes < V::width) return copy_below_vector<V>(to, from, bytes);
  const typename V::Register first = V::load(from);
  const typename V::Register last = V::load(from + bytes - V::width);
  if (bytes > 2 * V::width) {
    const typename V::Register second = V::load(from + V::width);
    const typename V::Register third = V::load(from + bytes - 2 * V::width);
    V::store(to + V::width, second);
    V::store(to + bytes - 2 * V::width, third);
  }
  V::store(to, first);
  V::store(to + bytes - V::width, last);
}

/// Through the caches, stores on whole vectors. `Ahead`: bytes by which the source is prefetched, 0: left to the
/// processor.
template <class V, Size Ahead>
[[gnu::always_inline]] inline void copy_forward(void* target, const void* source, Size bytes) {
  auto* to = static_cast<Byte*>(target);
  const auto* from = static_cast<const Byte*>(source);
  if (bytes <= 4 * V::width) return copy_few<V>(to, from, bytes);
  const typename V::Register first = V::load(from);
  const typename V::Register end[4] = {V::load(from + bytes - 4 * V::width), V::load(from + bytes - 3 * V::width),
                                       V::load(from + bytes - 2 * V::width), V::load(from + bytes - V::width)};
  Byte* const last = to + bytes;
  // A processor that stores half a vector a cycle is as quick as its stores: none twice.
  if (const Size skipped = -reinterpret_cast<std::uintptr_t>(to) & (V::width - 1); skipped != 0) {
    V::store(to, first);
    to += skipped;
    from += skipped;
  }
  // The last four vectors are stored from what was loaded before the loop.
  for (Byte* const stop = last - 4 * V::width; to < stop; to += 4 * V::width, from += 4 * V::width) {
    if constexpr (Ahead != 0) {
      for (Size at = 0; at < 4 * V::width; at += line_bytes) __builtin_prefetch(from + Ahead + at, 0, 3);
    }
    move_four<V>(to, from);
  }
  for (Size i = 0; i < 4; ++i) V::store(last - (4 - i) * V::width, end[i]);
}

/// The same from the end to the beginning: loads run ahead of stores downwards, so that a target shortly after the
/// source modulo the page does not look like what is loaded next.
template <class V>
[[gnu::always_inline]] inline void copy_backward(void* target, const void* source, Size bytes) {
  auto* to = static_cast<Byte*>(target);
  const auto* from = static_cast<const Byte*>(source);
  if (bytes <= 4 * V::width) return copy_few<V>(to, from, bytes);
  const typename V::Register last = V::load(from + bytes - V::width);
  const typename V::Register begin[4] = {V::load(from), V::load(from + V::width), V::load(from + 2 * V::width),
                                         V::load(from + 3 * V::width)};
  Byte* at = to + bytes;
  const Byte* read = from + bytes;
  V::store(at - V::width, last);
  const Size skipped = ((reinterpret_cast<std::uintptr_t>(at) - 1) & (V::width - 1)) + 1;
  at -= skipped;
  read -= skipped;
  for (; at > to + 4 * V::width; at -= 4 * V::width, read -= 4 * V::width)
    move_four<V>(at - 4 * V::width, read - 4 * V::width);
  for (Size i = 0; i < 4; ++i) V::store(to + i * V::width, begin[i]);
}

template <class V>
[[gnu::always_inline]] inline void stream_line(Byte* to, const Byte* from) {
  typename V::Register line[line_bytes / V::width];
  for (Size i = 0; i < line_bytes / V::width; ++i) line[i] = V::load(from + i * V::width);
  for (Size i = 0; i < line_bytes / V::width; ++i) V::stream(to + i * V::width, line[i]);
}

/// Past the caches, whole lines; what is left at both ends goes through them. `Ahead` as above.
template <class V, Size Ahead>
[[gnu::always_inline]] inline void copy_streaming(void* target, const void* source, Size bytes) {
  auto* to = static_cast<Byte*>(target);
  const auto* from = static_cast<const Byte*>(source);
  if (bytes < 2 * line_bytes) return copy_forward<V, 0>(to, from, bytes);
  const Size head = -reinterpret_cast<std::uintptr_t>(to) & (line_bytes - 1);
  copy_few<V>(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= line_bytes; bytes -= line_bytes, to += line_bytes, from += line_bytes) {
    if constexpr (Ahead != 0) __builtin_prefetch(from + Ahead, 0, 3);
    stream_line<V>(to, from);
  }
  V::fence();
  copy_few<V>(to, from, bytes);
}

/// Past the caches, a line of each of `Pages` pages in turn: more banks of the memory, and more of the processor's
/// prefetch streams, are busy at once.
template <class V, Size Pages>
[[gnu::always_inline]] inline void copy_streaming_pages(void* target, const void* source, Size bytes) {
  auto* to = static_cast<Byte*>(target);
  const auto* from = static_cast<const Byte*>(source);
  constexpr Size block = Pages * page_bytes;
  if (bytes < block + line_bytes) return copy_streaming<V, 0>(to, from, bytes);
  const Size head = -reinterpret_cast<std::uintptr_t>(to) & (line_bytes - 1);
  copy_few<V>(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= block; bytes -= block, to += block, from += block) {
    for (Size line = 0; line < page_bytes; line += line_bytes) {
      for (Size page = 0; page < Pages; ++page) {
        const Size at = page * page_bytes + line;
        stream_line<V>(to + at, from + at);
      }
    }
  }
  V::fence();
  copy_streaming<V, 0>(to, from, bytes);
}

/// What every copy does at least: loads of all whole vectors, at the source's alignment, four under way.
template <class V>
[[gnu::always_inline]] inline void read_only(void*, const void* source, Size bytes) {
  const auto* from = static_cast<const Byte*>(source);
  for (; bytes >= 4 * V::width; bytes -= 4 * V::width, from += 4 * V::width) {
    V::use(V::load(from));
    V::use(V::load(from + V::width));
    V::use(V::load(from + 2 * V::width));
    V::use(V::load(from + 3 * V::width));
  }
  for (; bytes >= V::width; bytes -= V::width, from += V::width) V::use(V::load(from));
}

/// And stores of as many whole vectors, on whole vectors: through the caches or past them.
template <class V, bool Streams>
[[gnu::always_inline]] inline void write_only(void* target, const void* source, Size bytes) {
  auto* to = static_cast<Byte*>(target);
  if (bytes < 2 * V::width) return;
  const typename V::Register value = V::load(static_cast<const Byte*>(source));
  const Size skipped = -reinterpret_cast<std::uintptr_t>(to) & (V::width - 1);
  to += skipped;
  bytes -= skipped;
#pragma GCC unroll 4
  for (; bytes >= V::width; bytes -= V::width, to += V::width) {
    if constexpr (Streams) {
      V::stream(to, value);
    } else {
      V::store(to, value);
    }
  }
  if constexpr (Streams) V::fence();
}

}  // namespace
}  // namespace corewise::kernels

// Bytes by which kernels that prefetch are ahead of what they copy.
#define COREWISE_COPY_AHEAD 512
#define COREWISE_COPY_KERNEL(name, ...)                       \
  void* name(void* to, const void* from, std::size_t bytes) { \
    __VA_ARGS__(to, from, bytes);                             \
    return to;                                                \
  }
/// The kernels of one vector, under the names that kernels.hpp declares.
#define COREWISE_COPY_KERNELS(name, Vector)                                                    \
  COREWISE_COPY_KERNEL(copy_##name, copy_forward<Vector, 0>)                                   \
  COREWISE_COPY_KERNEL(copy_##name##_prefetch, copy_forward<Vector, COREWISE_COPY_AHEAD>)      \
  COREWISE_COPY_KERNEL(copy_##name##_backward, copy_backward<Vector>)                          \
  COREWISE_COPY_KERNEL(copy_##name##_nt, copy_streaming<Vector, 0>)                            \
  COREWISE_COPY_KERNEL(copy_##name##_nt_prefetch, copy_streaming<Vector, COREWISE_COPY_AHEAD>) \
  COREWISE_COPY_KERNEL(copy_##name##_nt_pages4, copy_streaming_pages<Vector, 4>)               \
  COREWISE_COPY_KERNEL(copy_##name##_nt_pages16, copy_streaming_pages<Vector, 16>)             \
  COREWISE_COPY_KERNEL(bound_##name##_read, read_only<Vector>)                                 \
  COREWISE_COPY_KERNEL(bound_##name##_write, write_only<Vector, false>)                        \
  COREWISE_COPY_KERNEL(bound_##name##_write_nt, write_only<Vector, true>)
