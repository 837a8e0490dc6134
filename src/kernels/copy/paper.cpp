// The copy kernels of paper 004, section 3, in words of four bytes as there, and the string instruction.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstring>

#include "kernels/copy/kernels.hpp"

// A loop that a compiler turns into a call of memcpy would be another kernel.
#if defined(__clang__)
#define COREWISE_KEEP_LOOP __attribute__((no_builtin("memcpy", "memmove")))
#else
#define COREWISE_KEEP_LOOP __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

namespace corewise::kernels {
namespace {

using Word = std::uint32_t __attribute__((may_alias, aligned(1)));

/// 0, and no compiler knows.
volatile std::uint32_t zero_in_memory = 0;

void copy_tail(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) *(to + i) = *static_cast<const volatile unsigned char*>(from + i);
}

/// What is left behind the last whole word; returns `to`.
void* copy_odd_bytes(void* to, const void* from, std::size_t bytes) {
  const std::size_t whole = bytes / sizeof(Word) * sizeof(Word);
  copy_tail(static_cast<unsigned char*>(to) + whole, static_cast<const unsigned char*>(from) + whole,
            bytes - whole);
  return to;
}

}  // namespace

COREWISE_KEEP_LOOP void* copy_naive(void* to, const void* from, std::size_t bytes) {
  Word* target = static_cast<Word*>(to);  // auto would lose the alignment of 1
  const Word* source = static_cast<const Word*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) target[i] = source[i];
  return copy_odd_bytes(to, from, bytes);
}

COREWISE_KEEP_LOOP void* copy_read_allocate(void* to, const void* from, std::size_t bytes) {
  const std::uint32_t zero = zero_in_memory;
  Word* target = static_cast<Word*>(to);  // auto would lose the alignment of 1
  const Word* source = static_cast<const Word*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) target[i] = source[i] + zero * target[i];
  return copy_odd_bytes(to, from, bytes);
}

COREWISE_KEEP_LOOP void* copy_four_stream(void* to, const void* from, std::size_t bytes) {
  const std::uint32_t zero = zero_in_memory;
  Word* target = static_cast<Word*>(to);  // auto would lose the alignment of 1
  const Word* source = static_cast<const Word*>(from);
  const std::size_t words = bytes / sizeof(Word);
  const std::size_t half = words / 2;
  for (std::size_t i = 0; i < half; ++i) {
    target[i] = source[i] + zero * target[i];
    target[i + half] = source[i + half] + zero * target[i + half];
  }
  if (words % 2 != 0) target[words - 1] = source[words - 1];
  return copy_odd_bytes(to, from, bytes);
}

#if defined(__x86_64__)
void* copy_rep_movsb(void* to, const void* from, std::size_t bytes) {
  void* at = to;
  asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
  return to;
}
#endif

}  // namespace corewise::kernels
