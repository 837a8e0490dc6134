// The functions that take the place of Open MPI's, and who moves what; contract in engine.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/openmpi/engine.hpp"

#ifdef OPEN_MPI

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "available.hpp"
#include "preload/packing/openmpi/convertor.hpp"
#include "preload/packing/openmpi/proof.hpp"
#include "preload/packing/types.hpp"

using corewise::preload::packing::Type;
namespace engine = corewise::preload::packing::engine;
using engine::Advance;
using engine::Convertor;

#define CW_PUBLIC __attribute__((visibility("default")))

extern "C" {
CW_PUBLIC std::int32_t opal_generic_simple_pack(Convertor*, iovec*, std::uint32_t*, std::size_t*);
CW_PUBLIC std::int32_t opal_generic_simple_unpack(Convertor*, iovec*, std::uint32_t*, std::size_t*);
CW_PUBLIC std::int32_t opal_convertor_set_position_nocheck(Convertor*, std::size_t*);
CW_PUBLIC std::int32_t opal_convertor_raw(Convertor*, iovec*, std::uint32_t*, std::size_t*);
/// For tests: 0: whether the engine is on; 1 and 2: pieces that it packed and unpacked.
CW_PUBLIC long corewise_packing_engine(int what);
}

namespace corewise::preload::packing::engine {
namespace {

enum class State : std::uint8_t { off, proving, on };

std::atomic<State> state{State::off};
std::array<std::atomic<long>, 2> moved{};

/// What a thread was told last of some handles; it holds until a type comes or goes (`changes`).
struct Told {
  std::uint64_t handle = 0, changes = 0;
  Type* type = nullptr;
};
thread_local constinit std::array<Told, 16> told __attribute__((tls_model("initial-exec")));

/// Types by their handles. Readers run inside the MPI, which the lock's holders never call. Never destroyed: what a
/// program does in its own last functions comes after ours.
class Types {
 public:
  Type* find(std::uint64_t handle) {
    Told& answer = told[(handle >> 6) % told.size()];
    const std::uint64_t changes = changes_.load(std::memory_order_acquire);
    if (answer.handle != handle || answer.changes != changes) answer = {handle, changes, look_up(handle)};
    return answer.type;
  }
  void enter(std::uint64_t handle, Type* type) {
    const std::lock_guard lock(changing_);
    types_[handle] = type;
    changes_.fetch_add(1, std::memory_order_release);
  }
  void remove(std::uint64_t handle) {
    const std::lock_guard lock(changing_);
    types_.erase(handle);
    changes_.fetch_add(1, std::memory_order_release);
  }

 private:
  Type* look_up(std::uint64_t handle) {
    const std::lock_guard lock(changing_);
    const auto found = types_.find(handle);
    return found != types_.end() ? found->second : nullptr;
  }

  std::mutex changing_;
  std::atomic<std::uint64_t> changes_{1};
  std::unordered_map<std::uint64_t, Type*> types_;
};

Types& types() {
  static Types& all = *new Types;
  return all;
}

const Behind& behind() {
  static const Behind found{next<Advance>("opal_generic_simple_pack"), next<Advance>("opal_generic_simple_unpack"),
                            next<SetPosition>("opal_convertor_set_position_nocheck"),
                            next<Advance>("opal_convertor_raw")};
  return found;
}

// ---- one direction ----

template <bool packing>
std::int32_t advance_ours(Convertor*, iovec*, std::uint32_t*, std::size_t*);

template <bool packing>
Advance* theirs() {
  return packing ? behind().pack : behind().unpack;
}

/// What the MPI puts into a convertor for its own function.
template <bool packing>
constexpr Advance* undecided() {
  return packing ? opal_generic_simple_pack : opal_generic_simple_unpack;
}

/// Whether a convertor has been ours since it was last at its beginning. The MPI's stack is where it was then. One
/// that is prepared for bytes in one run keeps our function of the message before, and never calls it.
bool is_ours(const Convertor& convertor) {
  return state.load(std::memory_order_relaxed) == State::on && (convertor.flags & kNoOperation) == 0 &&
         (convertor.advance == advance_ours<true> || convertor.advance == advance_ours<false>);
}

/// Makes it the MPI's again, at `position`.
std::int32_t hand_back(Convertor& convertor, std::size_t* position) {
  std::size_t begin = 0;
  convertor.advance = convertor.advance == advance_ours<true> ? undecided<true>() : undecided<false>();
  const std::int32_t code = behind().set_position(&convertor, &begin);
  return *position == 0 ? code : behind().set_position(&convertor, position);
}

void hand_back(Convertor& convertor) {
  std::size_t position = convertor.position;
  hand_back(convertor, &position);
}

/// Bytes that a piece takes of those that are left: packing, no element is cut in two, because Open MPI's unpacking
/// of such ones has its limits.
template <bool packing>
std::size_t part_of(const Type& type, std::size_t at, std::size_t room, std::size_t left) {
  if (room >= left) return left;
  if (!packing) return room;
  const std::size_t cut = (at + room) % static_cast<std::size_t>(type.element);
  return room - std::min(cut, room);
}

/// Pieces of a message lie where the receiver read the last ones. Taking those lines back before they are written
/// pays in messages of 32 KB, and costs in those of 1 MB, which a core's own cache does not hold.
kernels::PackedBuffer buffer_of(const Convertor& convertor) {
  constexpr std::size_t kMostShared = 1 << 19;
  return alone || convertor.local_size > kMostShared ? kernels::PackedBuffer::own : kernels::PackedBuffer::shared;
}

/// Moves a piece, and leaves the convertor as it is.
template <bool packing>
void move(const Type& type, const Convertor& convertor, std::size_t at, void* piece, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(convertor.count);
  if constexpr (packing)
    type.plan().pack(convertor.base, count, static_cast<std::int64_t>(at), piece, bytes, buffer_of(convertor));
  else
    type.plan().unpack(convertor.base, count, static_cast<std::int64_t>(at), piece, bytes);
}

/// All pieces, by us.
template <bool packing>
std::int32_t move_pieces(const Type& type, Convertor& convertor, iovec* pieces, std::uint32_t* count,
                         std::size_t* bytes) {
  const std::size_t begin = convertor.position, end = convertor.local_size;
  std::size_t at = begin;
  std::uint32_t used = 0;
  for (; used < *count && at < end; ++used) {
    iovec& piece = pieces[used];
    piece.iov_len = part_of<packing>(type, at, piece.iov_len, end - at);
    move<packing>(type, convertor, at, piece.iov_base, piece.iov_len);
    at += piece.iov_len;
  }
  moved[packing].fetch_add(used, std::memory_order_relaxed);
  *count = used;
  *bytes = at - begin;
  convertor.position = at;
  if (at < end) return 0;
  convertor.flags |= kCompleted;
  return 1;
}

/// Whether we may move these pieces: packing, each must hold the rest, or an element of the type at least.
template <bool packing>
bool may_move(const Type& type, const Convertor& convertor, const iovec* pieces, std::uint32_t count) {
  if (!packing || (count > 0 && pieces[0].iov_len >= convertor.local_size - convertor.position)) return true;
  const auto least = static_cast<std::size_t>(type.element);
  return std::all_of(pieces, pieces + count, [least](const iovec& piece) { return piece.iov_len >= least; });
}

template <bool packing>
std::int32_t advance_ours(Convertor* convertor, iovec* pieces, std::uint32_t* count, std::size_t* bytes) {
  const Type* type = types().find(convertor->datatype);
  if (type != nullptr && may_move<packing>(*type, *convertor, pieces, *count)) [[likely]]
    return move_pieces<packing>(*type, *convertor, pieces, count, bytes);
  hand_back(*convertor);
  return theirs<packing>()(convertor, pieces, count, bytes);
}

/// Goes to a place in the stream; packing, to where an element begins. At the beginning, who moves it is open
/// again.
std::int32_t go_to(Convertor& convertor, std::size_t* position) {
  const Type* type = types().find(convertor.datatype);
  const bool packing = convertor.advance == advance_ours<true>;
  if (*position == 0 || type == nullptr) return hand_back(convertor, position);
  if (packing) *position -= *position % static_cast<std::size_t>(type->element);
  convertor.position = *position;
  return 0;
}

// ---- who ----

/// Our plan of a type, where it moves a transfer.
template <bool packing>
Type* candidate(const Convertor& convertor) {
  if (convertor.advance != undecided<packing>() || !is_plain(convertor)) return nullptr;
  Type* type = types().find(convertor.datatype);
  if (type == nullptr) return nullptr;
  if (!type->ready.load(std::memory_order_acquire) &&
      (convertor.position != 0 || !try_to_read(*type, reinterpret_cast<MPI_Datatype>(convertor.datatype))))
    return nullptr;
  const PackingUse use =
      packing ? (alone ? PackingUse::pack : PackingUse::send) : (alone ? PackingUse::unpack : PackingUse::receive);
  return type->pays(use, static_cast<std::int64_t>(convertor.local_size)) ? type : nullptr;
}

template <bool packing>
std::int32_t advance(Convertor* convertor, iovec* pieces, std::uint32_t* count, std::size_t* bytes) {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::proving && is_proving_here()) return observe(packing, convertor, pieces, count, bytes);
  Type* type = now == State::on ? candidate<packing>(*convertor) : nullptr;
  if (type == nullptr || !may_move<packing>(*type, *convertor, pieces, *count))
    return theirs<packing>()(convertor, pieces, count, bytes);
  type->messages.fetch_add(1, std::memory_order_relaxed);
  convertor->advance = advance_ours<packing>;
  return move_pieces<packing>(*type, *convertor, pieces, count, bytes);
}

/// Versions whose source was read and that were tried: the generator's table (generators/packing.py).
bool is_known_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  CW_NEXT(MPI_Get_library_version)(text, &length);
  constexpr std::string_view kKnown[] = {CW_KNOWN_OPEN_MPI};
  const std::string_view version = text;
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [version](std::string_view known) { return version.starts_with(known); });
}

}  // namespace

thread_local constinit bool alone = false;

void begin() {
  if (state.load(std::memory_order_relaxed) == State::on) return;
  const Behind& found = behind();
  const bool all = found.pack != nullptr && found.unpack != nullptr && found.set_position != nullptr;
  if (!all || found.raw == nullptr || !is_known_version()) return;
  state.store(State::proving, std::memory_order_release);
  const bool proved = convertors_are_known(found, undecided<true>(), undecided<false>());
  state.store(proved ? State::on : State::off, std::memory_order_release);
}

bool is_on() {
  return state.load(std::memory_order_relaxed) == State::on;
}

void enter(std::uint64_t handle, Type& type) {
  if (is_on()) types().enter(handle, &type);
}

void leave(std::uint64_t handle) {
  types().remove(handle);
}

}  // namespace corewise::preload::packing::engine

// ---- what the MPI calls ----

std::int32_t opal_generic_simple_pack(Convertor* convertor, iovec* pieces, std::uint32_t* count,
                                      std::size_t* bytes) {
  return engine::advance<true>(convertor, pieces, count, bytes);
}

std::int32_t opal_generic_simple_unpack(Convertor* convertor, iovec* pieces, std::uint32_t* count,
                                        std::size_t* bytes) {
  return engine::advance<false>(convertor, pieces, count, bytes);
}

std::int32_t opal_convertor_set_position_nocheck(Convertor* convertor, std::size_t* position) {
  if (engine::is_ours(*convertor)) return engine::go_to(*convertor, position);
  return engine::behind().set_position(convertor, position);
}

std::int32_t opal_convertor_raw(Convertor* convertor, iovec* pieces, std::uint32_t* count, std::size_t* bytes) {
  if (engine::is_ours(*convertor)) engine::hand_back(*convertor);
  return engine::behind().raw(convertor, pieces, count, bytes);
}

long corewise_packing_engine(int what) {
  if (what == 0) return engine::state.load() == engine::State::on ? 1 : 0;
  return engine::moved[what == 1 ? 1 : 0].load();
}

#endif
