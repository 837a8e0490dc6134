// Type: a datatype: its layout (room kernels), how it packs, and what MPI may be asked about it. Owns the table of
// the predefined types.
//
// Contract: a derived type is made with one reference; a message under way takes another. Handles below
// kPredefinedHandles are numbers of the table, the same on all ranks. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/plans/pack.hpp"
#include "kernels/reduce/reduce.hpp"
#include "simmpi/include/mpi.h"
#include "simmpi/objects/attributes.hpp"

namespace corewise::simmpi {

inline constexpr std::intptr_t kPredefinedHandles = 4096;

/// What MPI_Type_get_envelope and MPI_Type_get_contents say.
struct Construction {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
};

/// The basic elements of one item, in order: runs of (bytes of one, how many).
using Signature = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Type {
  kernels::Datatype shape;
  Signature signature;
  std::string name;
  bool committed = false;
  int references = 1;
  std::optional<kernels::Element> element;  ///< of a predefined type
  kernels::TypeClass kind = kernels::TypeClass::byte;
  Construction construction;
  Attributes attributes;

  [[nodiscard]] std::int64_t bytes(std::int64_t count) const { return shape.size * count; }
  [[nodiscard]] bool predefined() const { return construction.combiner == MPI_COMBINER_NAMED; }
  const kernels::PackPlan& plan();
  [[nodiscard]] bool contiguous();

 private:
  std::unique_ptr<kernels::PackPlan> plan_;
  int contiguous_ = -1;
};

/// Null for MPI_DATATYPE_NULL and for what is no handle.
Type* type_of(MPI_Datatype handle);
MPI_Datatype handle_of(Type& type);
/// One reference less; deletes with the last one. Predefined types stay.
void release(Type& type);
inline void retain(Type& type) {
  ++type.references;
}
/// The predefined type of bytes.
Type& byte_type();

/// The first byte of data of `count` items at `items`, where the type is contiguous.
std::byte* first_byte(void* items, const Type& type);
const std::byte* first_byte(const void* items, const Type& type);
/// Bytes [0, bytes) of the packed stream of `count` items.
void pack(const void* items, std::int64_t count, Type& type, std::byte* packed, std::int64_t bytes);
void unpack(void* items, std::int64_t count, Type& type, const std::byte* packed, std::int64_t bytes);
/// From items to items; as many bytes as both have.
void copy_items(const void* from, std::int64_t from_count, Type& from_type, void* to, std::int64_t to_count,
                Type& to_type);
/// Basic elements in the first `bytes` of a stream of items; -1 where they end inside one.
std::int64_t elements_in(const Type& type, std::int64_t bytes);

}  // namespace corewise::simmpi
