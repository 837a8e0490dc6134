// Square matrices packed by columns and unpacked into columns: the plan as it is chosen, the loops that a program
// would write (every row of the packed stream in turn), and the same in tiles of eight by eight, taking turns.
// Usage: transposes ROUNDS BLOCK:ROWS:PITCH... (PITCH elements from one row of the matrix to the next). Prints per
// case, direction and contestant `BLOCK:ROWS:PITCH pack|unpack NAME NANOSECONDS...`, one number a round.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/packing/plans/pack.hpp"
#include "rounds.hpp"

namespace {

using corewise::kernels::Layout;
using corewise::kernels::PackPlan;

/// A matrix of `rows` by `rows` elements, in bytes; the packed stream has its columns.
struct Matrix {
  long block;
  long rows;
  long pitch;
};

Layout repeated(long count, long stride, Layout child) {
  Layout layout;
  layout.kind = Layout::Kind::repeat;
  layout.count = count;
  layout.stride = stride;
  layout.children.push_back(std::move(child));
  return layout;
}

Layout columns(const Matrix& matrix) {
  Layout element;
  element.bytes = matrix.block;
  return repeated(matrix.rows, matrix.block, repeated(matrix.rows, matrix.pitch, element));
}

template <long block>
void element(bool packing, char* items, char* packed) {
  packing ? std::memcpy(packed, items, block) : std::memcpy(items, packed, block);
}

/// Columns [from, to) of rows [first, last).
template <long block>
void part(bool packing, char* items, char* packed, const Matrix& matrix, long from, long to, long first,
          long last) {
  for (long i = from; i < to; ++i) {
    for (long j = first; j < last; ++j) {
      element<block>(packing, items + j * matrix.pitch + i * block, packed + (i * matrix.rows + j) * block);
    }
  }
}

template <long block>
void by_hand(bool packing, char* items, char* packed, const Matrix& matrix, long tile) {
  for (long i = 0; i < matrix.rows; i += tile) {
    for (long j = 0; j < matrix.rows; j += tile) {
      part<block>(packing, items, packed, matrix, i, std::min(i + tile, matrix.rows), j,
                  std::min(j + tile, matrix.rows));
    }
  }
}

using Hand = void (*)(bool, char*, char*, const Matrix&, long);

Hand hand_of(long block) {
  switch (block) {
    case 4:
      return by_hand<4>;
    case 8:
      return by_hand<8>;
    case 12:
      return by_hand<12>;
    case 16:
      return by_hand<16>;
    case 24:
      return by_hand<24>;
    case 32:
      return by_hand<32>;
    default:
      return nullptr;
  }
}

void contest(bool packing, long rounds, const Matrix& matrix, Hand hand, const std::string& name) {
  constexpr long kLine = 64;
  const long bytes = matrix.block * matrix.rows * matrix.rows;
  std::vector<char> memory(static_cast<std::size_t>(matrix.pitch * matrix.rows + kLine), 1);
  std::vector<char> stream(static_cast<std::size_t>(bytes + kLine), 2);
  char* const items = memory.data();
  char* const packed = stream.data();
  const PackPlan plan = PackPlan::compile(columns(matrix), matrix.pitch * matrix.rows);
  std::vector<Contestant> all = {
      {"chosen",
       [&] {
         packing ? plan.pack(items, 1, 0, packed, static_cast<std::size_t>(bytes))
                 : plan.unpack(items, 1, 0, packed, static_cast<std::size_t>(bytes));
       },
       {}},
      {"hand", [=] { hand(packing, items, packed, matrix, matrix.rows); }, {}},
      {"tiles", [=] { hand(packing, items, packed, matrix, 8); }, {}},
      {"memcpy",
       [=] {
         packing ? std::memcpy(packed, items, static_cast<std::size_t>(bytes))
                 : std::memcpy(items, packed, static_cast<std::size_t>(bytes));
       },
       {}},
  };
  take_turns(all, rounds, std::max(1L, 200000 / bytes), name, packing);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 2; i < count; ++i) {
    Matrix matrix{};
    const int fields = std::sscanf(arguments[i], "%ld:%ld:%ld", &matrix.block, &matrix.rows, &matrix.pitch);
    const Hand hand = hand_of(matrix.block);
    if (fields != 3 || matrix.rows < 1 || matrix.pitch < matrix.rows || hand == nullptr) {
      std::fprintf(stderr, "transposes: case %s: BLOCK:ROWS:PITCH\n", arguments[i]);
      return 2;
    }
    matrix.pitch *= matrix.block;
    for (const bool packing : {true, false}) {
      contest(packing, std::atol(arguments[1]), matrix, hand, arguments[i]);
    }
  }
  return 0;
}
