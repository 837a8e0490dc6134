// The attribute and the cache; see communicators.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/communicators.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "preload/accelerating/levels.hpp"
#include "preload/accelerating/spawning.hpp"
#include "preload/attributes.hpp"
#include "preload/data.hpp"

namespace corewise::preload::accelerating {

constinit thread_local KnownHandles<Communicator, kSlots> known __attribute__((tls_model("initial-exec"))){};
constinit Generations<kSlots> generations;
constinit thread_local std::uint64_t freed_here __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constinit Attribute<OnCommunicators, Communicator> attribute;
std::mutex making;
/// The calls of a thread that free a communicator, with where they are on its stack: they are not kept there, since
/// a call may be left by longjmp. A callback may free another communicator.
struct UnderWay {
  struct Call {
    std::uint64_t key;
    std::uintptr_t place;
  };
  std::array<Call, 16> calls;
  std::size_t number;
};
constinit thread_local UnderWay under_way __attribute__((tls_model("initial-exec"))){};

/// Calls that lie below what the thread is in now were left by longjmp.
void forget_calls_left(std::uintptr_t place) {
  while (under_way.number > 0 && under_way.calls[under_way.number - 1].place <= place) --under_way.number;
}

/// The attribute's delete callback: MPI frees the communicator. Calls no MPI but to free what stands
/// behind a communicator of several nodes: ranks free in any order.
int freed(MPI_Comm, int, void* value, void*) {
  auto* communicator = static_cast<Communicator*>(value);
  generations.end(handle_key(communicator->handle));
  ++freed_here;
  delete communicator;
  return MPI_SUCCESS;
}

bool are_launched_together(MPI_Comm handle, int ranks) {
  std::array<int, coll::kMostRanks> here{};
  std::array<int, coll::kMostRanks> there{};
  for (int rank = 0; rank < ranks; ++rank) here[static_cast<std::size_t>(rank)] = rank;
  MPI_Group group = MPI_GROUP_NULL;
  CW_NEXT(MPI_Comm_group)(handle, &group);
  CW_NEXT(MPI_Group_translate_ranks)(group, ranks, here.data(), launched(), there.data());
  CW_NEXT(MPI_Group_free)(&group);
  return std::find(there.begin(), there.begin() + ranks, MPI_UNDEFINED) == there.begin() + ranks;
}

Communicator* attach(MPI_Comm handle) {
  auto fresh = std::unique_ptr<Communicator>(new (std::nothrow) Communicator);
  if (fresh == nullptr) return nullptr;
  static const bool packs = packs_plain_bytes(handle);
  fresh->handle = handle;
  fresh->calls_left = calls_before();
  int inter = 0;
  CW_NEXT(MPI_Comm_test_inter)(handle, &inter);
  CW_NEXT(MPI_Comm_size)(handle, &fresh->ranks);
  if (inter != 0) {
    fresh->fate = Fate::inter;
  } else if (fresh->ranks < 2 || fresh->ranks > coll::kMostRanks) {
    fresh->fate = Fate::one_rank;
  } else if (!are_launched_together(handle, fresh->ranks) && !have_library(handle)) {
    fresh->fate = Fate::other_launch;
  } else if (!packs) {
    fresh->fate = Fate::packing;
  }
  return attribute.attach(handle, fresh.get()) ? fresh.release() : nullptr;
}

}  // namespace

Communicator* find_communicator(MPI_Comm handle, std::uint64_t key) {
  if (handle == MPI_COMM_NULL || Freeing::is_under_way(key)) return nullptr;
  const std::lock_guard lock(making);
  if (!attribute.make(MPI_COMM_NULL_COPY_FN, freed)) return nullptr;
  const std::uint32_t generation = generations.of(key);
  Communicator* communicator = attribute.of(handle);
  if (communicator == nullptr) communicator = attach(handle);
  known.remember(key, communicator, generation);
  return communicator;
}

bool work_together(MPI_Comm handle) {
  int inter = 0;
  int ranks = 0;
  if (handle == MPI_COMM_NULL) return false;
  CW_NEXT(MPI_Comm_test_inter)(handle, &inter);
  CW_NEXT(MPI_Comm_size)(handle, &ranks);
  if (inter != 0 || ranks > coll::kMostRanks) return false;
  return are_launched_together(handle, ranks) || have_library(handle);
}

void arrive(Communicator& communicator) {
  if (communicator.fate != Fate::early || communicator.calls_left > 0) return;
  communicator.fate = set_up(communicator.handle, communicator.team);
  if (communicator.fate == Fate::not_one_node && goes_by_levels()) communicator.fate = set_up_levels(communicator);
  if (communicator.fate == Fate::taken && goes_by_domains()) set_up_domains(communicator);
  if (communicator.fate == Fate::taken && !group_sizes().empty()) set_up_groups(communicator, group_sizes());
}

void count_early(MPI_Comm handle, Communicator* communicator, std::uint64_t freed_before, int code) {
  constexpr std::array kOfArguments{MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,
                                    MPI_ERR_ROOT,   MPI_ERR_OP,    MPI_ERR_ARG};
  if (freed_here != freed_before) {
    const auto* const entry = known.find(handle_key(handle), generations);
    if (entry == nullptr || entry->object != communicator) return;
  }
  int kind = MPI_SUCCESS;
  if (code != MPI_SUCCESS) CW_NEXT(MPI_Error_class)(code, &kind);
  const bool refused = std::find(kOfArguments.begin(), kOfArguments.end(), kind) != kOfArguments.end();
  if (!refused) --communicator->calls_left;
}

Freeing::Freeing(const MPI_Comm* handle) : place_(reinterpret_cast<std::uintptr_t>(this)) {
  const std::uint64_t key = handle_key(handle != nullptr ? *handle : MPI_COMM_NULL);
  forget_calls_left(place_);
  if (under_way.number < under_way.calls.size()) under_way.calls[under_way.number++] = {key, place_};
  generations.end(key);  // from here on all ranks pass on, whichever attribute is deleted first
}
Freeing::~Freeing() {
  forget_calls_left(place_);
}
bool Freeing::is_under_way(std::uint64_t key) {
  forget_calls_left(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  const auto end = under_way.calls.begin() + static_cast<std::ptrdiff_t>(under_way.number);
  return std::find_if(under_way.calls.begin(), end, [key](const auto& call) { return call.key == key; }) != end;
}

void end_communicators() {
  const std::lock_guard lock(making);
  attribute.end();
  generations.end_all();
}

}  // namespace corewise::preload::accelerating
