// The table of datatypes; see types.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/types.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace corewise::preload {
namespace {

constexpr std::uint32_t kDescribed = trace::kOtherType;

/// Held by who writes. Nobody who holds it can be interrupted by something that takes it: calls of MPI in signal
/// handlers are not allowed.
std::mutex writing;

/// What equal types have in common; the place is the index less one.
std::uint64_t described[kDescribed - 1];
std::uint32_t types_described = 0;

std::uint64_t size_of(MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  if (size != MPI_UNDEFINED) [[likely]]
    return static_cast<std::uint64_t>(size);
  MPI_Count large = 0;
  PMPI_Type_size_x(type, &large);
  return static_cast<std::uint64_t>(large);
}

const char* combiner_name(int combiner) {
  static constexpr std::pair<int, const char*> kNames[] = {{MPI_COMBINER_DUP, "dup"},
                                                           {MPI_COMBINER_CONTIGUOUS, "contiguous"},
                                                           {MPI_COMBINER_VECTOR, "vector"},
                                                           {MPI_COMBINER_HVECTOR, "hvector"},
                                                           {MPI_COMBINER_INDEXED, "indexed"},
                                                           {MPI_COMBINER_HINDEXED, "hindexed"},
                                                           {MPI_COMBINER_INDEXED_BLOCK, "indexed_block"},
                                                           {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block"},
                                                           {MPI_COMBINER_STRUCT, "struct"},
                                                           {MPI_COMBINER_SUBARRAY, "subarray"},
                                                           {MPI_COMBINER_DARRAY, "darray"},
                                                           {MPI_COMBINER_RESIZED, "resized"}};
  for (const auto& [number, name] : kNames)
    if (number == combiner) return name;
  return "derived";
}

/// What a description says, and the word by which equal ones are known.
struct Description {
  trace::TypeHeader header{};
  char name[MPI_MAX_OBJECT_NAME] = {};

  [[nodiscard]] std::uint64_t digest() const {
    std::uint64_t word = 0xcbf29ce484222325ULL;
    const auto mix = [&](std::uint64_t value) { word = (word ^ value) * 0x100000001b3ULL; };
    mix(header.size_bytes);
    mix(static_cast<std::uint64_t>(header.extent_bytes));
    for (const char* at = name; *at != '\0'; ++at) mix(static_cast<unsigned char>(*at));
    return word;
  }
};

Description look_at(MPI_Datatype type, std::uint64_t size) {
  Description out;
  MPI_Count lower = 0, extent = 0;
  int length = 0, integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_extent_x(type, &lower, &extent);
  PMPI_Type_get_name(type, out.name, &length);
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  out.header.size_bytes = size;
  out.header.extent_bytes = static_cast<std::int64_t>(extent);
  // Made by the program only where it was given types: MPI_Type_create_f90_* gives predefined ones.
  out.header.derived = types > 0 ? 1 : 0;
  if (out.name[0] == '\0') std::strncpy(out.name, combiner_name(combiner), sizeof out.name - 1);
  return out;
}

std::uint64_t append_type(const Description& description) {
  const std::uint64_t digest = description.digest();
  const auto* const known = std::find(described, described + types_described, digest);
  if (known != described + types_described) return static_cast<std::uint64_t>(known - described) + 1;
  if (types_described == std::size(described)) {
    __atomic_fetch_add(&process.file->lost_types, 1, __ATOMIC_RELAXED);
    return trace::kOtherType;
  }
  described[types_described++] = digest;
  trace::TypeHeader header = description.header;
  header.block = {trace::BlockKind::type, types_described, 0};
  header.name_bytes = static_cast<std::uint32_t>(std::strlen(description.name));
  const Part part{description.name, header.name_bytes};
  append_block(header.block, sizeof header, &part, 1);
  return types_described;
}

KnownType* slot_with(std::uint64_t wanted, std::uint64_t key) {
  const std::size_t home = TypeTable::home(key);
  for (std::size_t probe = 0; probe < TypeTable::kProbes; ++probe) {
    KnownType& slot = type_table.slots[(home + probe) % TypeTable::kSlots];
    if (__atomic_load_n(&slot.key, __ATOMIC_ACQUIRE) == wanted) return &slot;
  }
  return nullptr;
}

/// Enters a living type, not described yet. nullptr where there is no room.
KnownType* enter(std::uint64_t key, std::uint64_t size) {
  KnownType* slot = slot_with(kNoTypeKey, key);
  if (slot == nullptr) return nullptr;
  slot->size = size;
  __atomic_store_n(&slot->index, std::uint64_t{trace::kUnknownType}, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
  return slot;
}

/// What programs use; several names may be one type.
const MPI_Datatype predefined[] = {MPI_BYTE,
                                   MPI_CHAR,
                                   MPI_SIGNED_CHAR,
                                   MPI_UNSIGNED_CHAR,
                                   MPI_SHORT,
                                   MPI_UNSIGNED_SHORT,
                                   MPI_INT,
                                   MPI_UNSIGNED,
                                   MPI_LONG,
                                   MPI_UNSIGNED_LONG,
                                   MPI_LONG_LONG,
                                   MPI_UNSIGNED_LONG_LONG,
                                   MPI_FLOAT,
                                   MPI_DOUBLE,
                                   MPI_LONG_DOUBLE,
                                   MPI_WCHAR,
                                   MPI_C_BOOL,
                                   MPI_INT8_T,
                                   MPI_INT16_T,
                                   MPI_INT32_T,
                                   MPI_INT64_T,
                                   MPI_UINT8_T,
                                   MPI_UINT16_T,
                                   MPI_UINT32_T,
                                   MPI_UINT64_T,
                                   MPI_AINT,
                                   MPI_OFFSET,
                                   MPI_COUNT,
                                   MPI_C_FLOAT_COMPLEX,
                                   MPI_C_DOUBLE_COMPLEX,
                                   MPI_FLOAT_INT,
                                   MPI_DOUBLE_INT,
                                   MPI_SHORT_INT,
                                   MPI_LONG_INT,
                                   MPI_LONG_DOUBLE_INT,
                                   MPI_2INT,
                                   MPI_C_LONG_DOUBLE_COMPLEX,
                                   MPI_CXX_BOOL,
                                   MPI_CXX_FLOAT_COMPLEX,
                                   MPI_CXX_DOUBLE_COMPLEX,
                                   MPI_CXX_LONG_DOUBLE_COMPLEX,
                                   MPI_PACKED,
                                   MPI_INTEGER,
                                   MPI_INTEGER1,
                                   MPI_INTEGER2,
                                   MPI_INTEGER4,
                                   MPI_INTEGER8,
                                   MPI_REAL4,
                                   MPI_REAL8,
                                   MPI_COMPLEX8,
                                   MPI_COMPLEX16,
                                   MPI_2INTEGER,
                                   MPI_2REAL,
                                   MPI_2DOUBLE_PRECISION,
                                   MPI_REAL,
                                   MPI_DOUBLE_PRECISION,
                                   MPI_COMPLEX,
                                   MPI_DOUBLE_COMPLEX,
                                   MPI_CHARACTER,
                                   MPI_LOGICAL};

}  // namespace

TypeTable type_table;

void learn_predefined_types() {
  const std::lock_guard lock(writing);
  for (KnownType& slot : type_table.slots) slot = {kNoTypeKey, 0, trace::kUnknownType};
  for (const MPI_Datatype type : predefined) {
    int size = MPI_UNDEFINED;
    // A type that the library was built without has no size to learn.
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0) continue;
    if (slot_with(handle_key(type), handle_key(type)) == nullptr)
      enter(handle_key(type), static_cast<std::uint64_t>(size));
  }
}

void learn_type(MPI_Datatype type) {
  if (!process.recording || type == MPI_DATATYPE_NULL) return;
  const std::uint64_t key = handle_key(type);
  const std::lock_guard lock(writing);
  KnownType* known = slot_with(key, key);
  if (known == nullptr) {
    enter(key, size_of(type));
  } else {  // committed twice, or the one before was freed by PMPI_Type_free
    known->size = size_of(type);
    __atomic_store_n(&known->index, std::uint64_t{trace::kUnknownType}, __ATOMIC_RELAXED);
  }
}

void forget_type(MPI_Datatype type) {
  if (!process.recording) return;
  const std::uint64_t key = handle_key(type);
  const std::lock_guard lock(writing);
  if (KnownType* slot = slot_with(key, key)) __atomic_store_n(&slot->key, kNoTypeKey, __ATOMIC_RELEASE);
}

bool find_displaced_type(MPI_Datatype type, KnownType& found) {
  const std::uint64_t key = handle_key(type);
  KnownType* slot = slot_with(key, key);
  if (slot == nullptr) return false;
  found = {key, slot->size, __atomic_load_n(&slot->index, __ATOMIC_RELAXED)};
  if (found.index == trace::kUnknownType) found.index = describe_type(*slot, type);
  return __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) == key;
}

std::uint64_t describe_type(KnownType& slot, MPI_Datatype type) {
  const std::lock_guard lock(writing);
  if (slot.key != handle_key(type)) return trace::kUnknownType;  // freed meanwhile
  if (slot.index == trace::kUnknownType)
    __atomic_store_n(&slot.index, append_type(look_at(type, slot.size)), __ATOMIC_RELAXED);
  return slot.index;
}

KnownType ask_type(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  // MPI was given it under a handler that let the call succeed; asking would end the job by the world's handler.
  if (type == MPI_DATATYPE_NULL) return {kNoTypeKey, 0, trace::kUnknownType};
  KnownType found;
  if (find_type(type, found)) return found;
  found = {key, size_of(type), trace::kOtherType};
  {
    const std::lock_guard lock(writing);
    if (slot_with(key, key) == nullptr && enter(key, found.size) == nullptr) return found;  // the table is full
  }
  find_type(type, found);
  return found;
}

KnownType pinned_type(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  const auto* known = static_cast<const KnownType*>(this_thread.scratch);
  for (std::size_t i = 0; i < this_thread.pinned_types; ++i)
    if (known[i].key == key) return known[i];
  if (type == MPI_DATATYPE_NULL) return {kNoTypeKey, 0, trace::kUnknownType};
  __atomic_fetch_add(&process.file->lost_types, 1, __ATOMIC_RELAXED);
  return {key, 0, trace::kOtherType};
}

}  // namespace corewise::preload
