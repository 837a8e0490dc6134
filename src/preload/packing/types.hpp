// Datatypes of the program, as packing knows them: read through their envelope once, compiled, kept as an attribute
// on the datatype and freed with it. A small cache of each thread answers for handles it has met: a handle may be
// used again for another type, so every entry has a generation, which ends when a type that it may mean is freed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "kernels/packing/plans/pack.hpp"
#include "preload/handles.hpp"
#include "preload/packing/packing.hpp"

namespace corewise::preload::packing {

using kernels::PackingUse;

/// Open MPI's engine pays so much for a block that how little of a line it holds makes no difference: of 4-byte
/// runs it takes 1.4 to 10 times as long.
#ifdef OPEN_MPI
inline constexpr bool kEngine = true;
#else
inline constexpr bool kEngine = false;
#endif

/// A committed type: attached to its handle when it is committed, read and compiled when it has been used often
/// enough. Shared by the attribute and by messages under way.
struct Type {
  enum class State : std::uint8_t { unread, packed, passed };

  State state = State::unread;
  std::optional<kernels::PackPlan> plan_;  ///< and what follows: of a packed one
  std::int64_t size = 0;                   ///< data bytes of an item; not 0
  std::int64_t true_lb = 0;                ///< first byte of data of an item
  bool plain = false;        ///< any number of items is one run: its bytes can be sent and received where they lie
  std::uint32_t uses = 0;    ///< while it is unread
  std::uint64_t handle = 0;  ///< where a thread may know it
  std::atomic<int> holders{1};
  std::atomic<std::uint32_t> messages{0};

  std::int64_t element = 0;        ///< see Described (openmpi)
  std::atomic<bool> ready{false};  ///< there is a plan

  /// By use, the last size that was decided about, twice, and 1 more where it is ours: a program sends few sizes,
  /// and the table is several lines away.
  mutable std::array<std::atomic<std::int64_t>, kernels::kPackingUses.size()> decided{};

  const kernels::PackPlan& plan() const { return *plan_; }
  /// Whether a message, or a part of one, of so many bytes is ours: all are, or the table says so.
  bool pays(PackingUse use, std::int64_t bytes) const {
    if (mode() == Mode::always) return true;
    std::atomic<std::int64_t>& last = decided[static_cast<std::size_t>(use)];
    const std::int64_t seen = last.load(std::memory_order_relaxed);
    if (seen / 2 == bytes && seen != 0) return seen % 2 == 1;
    const bool by_engine = kEngine && (use == PackingUse::send || use == PackingUse::receive);
    const double density = by_engine ? 1 : plan_->line_density();
    const kernels::PackedMessage message{bytes, plan_->mean_run(), density, plan_->pages_per_line()};
    const bool ours = kernels::packed_by_us(table(), use, message);
    last.store(2 * bytes + (ours ? 1 : 0), std::memory_order_relaxed);
    return ours;
  }
  bool in_one_run(std::int64_t count) const {
    return plain || (count == 1 && plan().mean_run() >= static_cast<double>(size));
  }
};

inline void hold(Type& type) {
  type.holders.fetch_add(1, std::memory_order_relaxed);
}
void release(Type* type);

inline constexpr std::size_t kSlots = 256;
/// Handles with the types behind them; null where messages of it are passed through.
extern constinit thread_local KnownHandles<Type, kSlots> known __attribute__((tls_model("initial-exec")));
extern constinit Generations<kSlots> generations;

/// The slow half of `packed_type`.
Type* find_type(MPI_Datatype datatype, std::uint64_t handle);

extern std::atomic<std::int64_t> freed_requests;  ///< see requests.hpp
void test_all_freed();
/// A call has returned in which MPI may make progress.
inline void progressed() {
  if (freed_requests.load(std::memory_order_relaxed) != 0) [[unlikely]]
    test_all_freed();
}

/// The type behind a handle; null where it is to be passed through.
inline Type* packed_type(MPI_Datatype datatype) {
  const std::uint64_t handle = handle_key(datatype);
  progressed();
  if (const auto* entry = known.find(handle, generations)) return entry->object;
  return find_type(datatype, handle);
}

/// Whether there is a plan of a type, or can be made now. Calls nothing that waits, or that sends.
bool try_to_read(Type& type, MPI_Datatype datatype);

/// A type has been committed: from here on it may be packed.
void committed(MPI_Datatype datatype);

/// A type has been duplicated: so may a duplicate of a committed one.
void duplicated(MPI_Datatype datatype);

/// What is known of a handle ends: its type is being freed.
inline void forget(std::uint64_t handle) {
  generations.end(handle);
}

/// The key of our attribute ends with MPI.
void end_types();

}  // namespace corewise::preload::packing
