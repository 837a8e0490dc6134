// The constructors of datatype.hpp for arguments that nobody has checked yet: each says what is wrong with them, as
// an MPI library would, or returns the type.
//
// Contract: a failure is `bad_field` with the name of MPI's argument. Beyond MPI's own rules, every offset, bound
// and size of a type stays below `kFarthestByte`, so that nothing computed from it overflows. Source: MPI-4.1,
// sections 5.1.2 (constructors), 5.1.3 (subarray), 5.1.4 (darray). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "kernels/packing/layout/datatype.hpp"

namespace corewise::kernels::checked {

inline constexpr std::int64_t kFarthestByte = std::int64_t{1} << 60;

/// Whether `count` items of a type stay below `kFarthestByte`; 0 items and more.
Status check_count(std::int64_t count, const Datatype& type);

Result<Datatype> basic(std::int64_t bytes, std::int64_t alignment);
Result<Datatype> pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent);
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

}  // namespace corewise::kernels::checked
