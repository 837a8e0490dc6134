// Transposes of matrices of complex doubles: every kernel under its own name, and the choice among them.
//
// Contract: a kernel writes `to[c * to_stride + r] = from[r * from_stride + c]` for all rows r and columns c.
// Strides count elements from row to row and are at least the elements of a row; the two matrices must not overlap.
// Nothing but elements of the two matrices is read or written, so padding keeps its content. Addresses are those of
// an element (8 bytes). Kernels never fail, allocate or block, and what they wrote is visible to whoever sees a
// later release store of the same thread: those that write past the caches end with a fence. A kernel whose
// instruction set the processor lacks must not be called (`available`).
//
// A kernel that writes past the caches does so where it can write whole lines of 64 bytes: where `to` lies on 16
// bytes and `to_stride` is a multiple of 4 elements. Elsewhere it writes through the caches.
//
// Source of `blocked` and `blocked_read_allocate`: paper 004, sections 5 and 8.3.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <string_view>

namespace corewise::kernels {

using Complex = std::complex<double>;

/// A matrix and the place of its transpose. Lengths and strides in elements.
struct Transposition {
  Complex* to = nullptr;
  std::size_t to_stride = 0;  ///< at least `rows`
  const Complex* from = nullptr;
  std::size_t from_stride = 0;  ///< at least `columns`
  std::size_t rows = 0;         ///< of `from`
  std::size_t columns = 0;      ///< of `from`
};

struct TransposeKernel {
  std::string_view name;
  std::string_view instructions;      ///< what the processor must have; "any" where nothing
  std::string_view what;              ///< in a line
  bool streams;                       ///< writes past the caches: not for a reader that comes soon
  bool (*available)();                ///< on this processor
  void (*run)(const Transposition&);  ///< null where the build is for another architecture
};

/// All kernels of all architectures, in the order in which they are shown; those of other architectures are not
/// available. `naive` is the first.
std::span<const TransposeKernel> transpose_kernels();

/// The kernel of that name, null where there is none.
const TransposeKernel* find_transpose_kernel(std::string_view name);

/// The kernel with the widest registers of this processor.
/// `streams`: the one that writes past the caches, for a target that nobody reads before it has left them.
const TransposeKernel& chosen_transpose(bool streams);

/// Transposes by `chosen_transpose`.
void transpose(const Transposition& matrix, bool streams);

}  // namespace corewise::kernels
