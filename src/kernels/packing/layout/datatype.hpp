// MPI's datatype constructors as pure functions: what a type's envelope says, turned into a layout.
//
// Contract: arguments are those of the MPI procedures of the same name; nothing here knows an MPI handle. A failure
// is `bad_field` with the name of MPI's argument. Beyond MPI's own rules, every offset, bound and size of a type
// stays below `kFarthestByte`, so that nothing computed from it overflows. Counts and displacements are 64 bits
// wide, as in the large-count procedures. A layout is as constructed, not simplified, unless it would be deeper
// than `kDeepest`. Libraries differ in the padding at the end of a type (alignment of its predefined types);
// whoever has a handle sets `extent` and `lb` to what the library says before building on the type. Source:
// MPI-4.1, sections 5.1.2 (constructors), 5.1.3 (subarray), 5.1.4 (darray), 5.1.6 and 5.1.7 (bounds).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels {

struct Datatype {
  Layout layout;                 ///< of one item
  std::int64_t size = 0;         ///< data bytes (MPI_Type_size)
  std::int64_t lb = 0;           ///< lower bound (MPI_Type_get_extent)
  std::int64_t extent = 0;       ///< upper bound minus lower bound; may be negative where a program resized it so
  std::int64_t true_lb = 0;      ///< first byte of data (MPI_Type_get_true_extent); 0 without data
  std::int64_t true_extent = 0;  ///< from the first byte of data to behind the last
  std::int64_t alignment = 1;    ///< the largest of its predefined types: unmarked extents are rounded up to it
  bool marked = false;           ///< bounds set by resized, subarray or darray: types built from it inherit them
};

enum class Order : std::uint8_t { c, fortran };
enum class Distribution : std::uint8_t { none, block, cyclic };

/// `darg` of a dimension that has none (MPI_DISTRIBUTE_DFLT_DARG).
inline constexpr std::int64_t kDefaultDarg = -1;

inline constexpr std::int64_t kFarthestByte = std::int64_t{1} << 60;

/// Whether `count` items of a type stay below `kFarthestByte`; 0 items and more.
Status check_count(std::int64_t count, const Datatype& type);

/// A predefined type without a gap. `alignment`: of its C type; 0: the largest power of two that divides `bytes`,
/// at most 16 (a complex number has that of its parts).
Result<Datatype> basic(std::int64_t bytes, std::int64_t alignment = 0);
/// A predefined pair (MPI_DOUBLE_INT and kin): `first` bytes at 0, `second` bytes at `second_at`.
Result<Datatype> basic_pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent);
Result<Datatype> contiguous(std::int64_t count, const Datatype& old);
Result<Datatype> vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Datatype& old);
Result<Datatype> hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes,
                         const Datatype& old);
Result<Datatype> indexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                         const Datatype& old);
Result<Datatype> hindexed(std::span<const std::int64_t> blocklengths,
                          std::span<const std::int64_t> byte_displacements, const Datatype& old);
Result<Datatype> indexed_block(std::int64_t blocklength, std::span<const std::int64_t> displacements,
                               const Datatype& old);
Result<Datatype> hindexed_block(std::int64_t blocklength, std::span<const std::int64_t> byte_displacements,
                                const Datatype& old);
Result<Datatype> structure(std::span<const std::int64_t> blocklengths,
                           std::span<const std::int64_t> byte_displacements, std::span<const Datatype> types);
Result<Datatype> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                          std::span<const std::int64_t> starts, Order order, const Datatype& old);
Result<Datatype> darray(std::int64_t size, std::int64_t rank, std::span<const std::int64_t> gsizes,
                        std::span<const Distribution> distributions, std::span<const std::int64_t> dargs,
                        std::span<const std::int64_t> psizes, Order order, const Datatype& old);
Result<Datatype> resized(const Datatype& old, std::int64_t lb, std::int64_t extent);

/// `count` items of a type, `extent` bytes apart, as one layout (not simplified).
Layout layout_of(const Datatype& type, std::int64_t count);

}  // namespace corewise::kernels
