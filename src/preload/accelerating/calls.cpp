// What each collective makes of its arguments; contract in calls.hpp, arrangements of data in coll/call.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/calls.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "preload/accelerating/blocks.hpp"
#include "preload/accelerating/looks.hpp"
#include "preload/accelerating/operands.hpp"
#include "preload/accelerating/types.hpp"

namespace corewise::preload::accelerating {
namespace {

using Call = coll::Call<Port>;

constexpr Outcome kWrong{Fate::arguments};
constexpr Outcome kLeft{Fate::table};

bool in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}
int own_rank(const Communicator& on) {
  return on.team->port.rank();
}
bool is_rank(const Communicator& on, int root) {
  return root >= 0 && root < on.ranks;
}
std::uint64_t bytes_of(const Items& items, const Type& type) {
  return static_cast<std::uint64_t>(items.count * type.size);
}

/// Data that MPI would take: a buffer where there is something in it, a type that can be read.
bool readable(const Items& items, ReadType& type) {
  if (items.count == 0 && items.datatype == MPI_DATATYPE_NULL) {  // MPICH takes it for no data
    type.be_nothing();
    return true;
  }
  if (items.count < 0 || !type.read(items.datatype)) return false;
  return items.at != nullptr || items.count == 0 || type->size == 0 || !type->named;
}

/// Whether the table has anything for a collective: else its arguments need not be read.
bool has_choices(const Communicator& on, Collective collective) {
  return !on.team->offers[static_cast<std::size_t>(collective)].empty();
}

/// The row for a call, which is said to the other ranks: only once nothing can be wrong with its arguments any
/// more, since a call that is refused is none. Null: the MPI's.
const Choice* choice_for(const Communicator& on, Collective collective, int root, std::uint64_t bytes,
                         std::uint32_t element_bytes = 1, bool commutative = true) {
  on.team->board.say(collective, root, bytes);
  const auto& offers = on.team->offers[static_cast<std::size_t>(collective)];
  return choose(offers, bytes, element_bytes, commutative);
}

/// From so many bytes on it costs next to nothing to look at the end whether the neighbours had the same.
constexpr std::uint64_t kCompared = 65536;

/// A rank whose peers are always there never waits: in one of so many calls the MPI makes progress all the same,
/// for who waits for something else of this rank. A probe takes some 100 ns.
constexpr std::uint64_t kCallsWithoutProgress = 256;

/// The communicator is the MPI's from then on, and nobody waits for this rank.
[[gnu::cold]] int broken(Communicator& on, int code) {
  on.fate = Fate::broken;
  on.team->board.fail(error_class(code));
  return code;
}

/// Runs the algorithm. A peer that dies or is in another call is an error of the communicator, which is the MPI's
/// from then on. The program's handler is for who gets the outcome: it may free all that is here.
[[gnu::noinline]] int run(Communicator& on, const Choice& choice, const Call& call) {
  int code = MPI_SUCCESS;
  on.team->look_for_windows();
  looks_become_due(on.ranks);
  if (on.team->board.is_one_in(kCallsWithoutProgress)) [[unlikely]]
    on.team->waiting.progress();
  try {
    choice.row->run(on.team->rank, call, choice.parameters);
    if (on.team->board.bytes_now() >= kCompared) code = on.team->board.judge_neighbours();
  } catch (const CallFailed& failed) {
    code = failed.code;
  }
  if (code != MPI_SUCCESS) [[unlikely]]
    return broken(on, code);
  return code;
}

/// The same of a rank that may not have what it is to give, by the code of its packing: then it takes no part, and
/// its peers are told.
int run(Communicator& on, const Choice& choice, const Call& call, int packed) {
  return packed == MPI_SUCCESS ? run(on, choice, call) : broken(on, packed);
}

/// The first error of two.
int first_error(int first, int second) {
  return first != MPI_SUCCESS ? first : second;
}

/// How data that are not plain go: laid out on their way to stages and from them, where each byte goes that way
/// once (`once`; two ranks forward nothing), and in a copy where ranks reach into each other's memory or forward.
Through through(const Communicator& on, const Choice& choice, bool once) {
  const bool views = on.ranks == 2 || (once && (choice.row->needs & coll::kPeerMemory) == 0);
  return {on.handle, views ? &on.team->port.views() : nullptr};
}
constexpr bool kOnce = true, kForwarded = false;

/// Whether a program gives one buffer for two, which MPI forbids.
bool aliased(const void* send, const void* receive, std::int64_t count) {
  return send == receive && send != nullptr && count > 0;
}

}  // namespace

int told(const Communicator& on, int code) {
  CW_NEXT(MPI_Comm_call_errhandler)(on.handle, code);
  return code;
}

[[gnu::flatten]] Outcome do_barrier(Communicator& on) {
  const Choice* const choice = choice_for(on, Collective::barrier, 0, 0);
  if (choice == nullptr) return kLeft;
  return {Fate::taken, run(on, *choice, on.team->call)};
}

[[gnu::flatten]] Outcome do_broadcast(Communicator& on, Items data, int root) {
  ReadType type;
  if (!is_rank(on, root) || !readable(data, type)) return kWrong;
  Call& call = on.team->call;
  call.bytes = bytes_of(data, *type);
  call.root = root;
  const Choice* const choice = choice_for(on, Collective::broadcast, root, call.bytes);
  if (choice == nullptr) return kLeft;
  if (own_rank(on) == root) {
    const Source source(data, *type, through(on, *choice, kOnce));
    call.send = source.at();
    return {Fate::taken, run(on, *choice, call, source.code)};
  }
  Target target(data, *type, through(on, *choice, kOnce));
  call.receive = target.at();
  const int code = run(on, *choice, call);
  return {Fate::taken, first_error(code, target.finish())};
}

// ---- reductions ----

namespace {

/// A reduction that this rank reads from `send` and, where it has a result, writes to `receive`.
struct Reducing {
  Collective collective;
  Items send, receive;
  std::uint64_t bytes = 0;    ///< of Call::bytes
  coll::Blocks blocks;        ///< of Call::receive_blocks
  std::uint64_t longest = 0;  ///< of Facts::bytes
  int root = 0;
  bool has_result = true;
  bool replaces = false;  ///< the algorithm may be given one buffer for both
};

/// One buffer for both: the operand stays whole until the end, since peers may read it where it is.
[[gnu::noinline]] int reduce_replacing(Communicator& on, const Reducing& what, const Choice& choice, Call& call,
                                       std::int64_t extent) {
  Scratch result;
  std::byte* const in_place = call.receive;
  const auto bytes = static_cast<std::size_t>(what.receive.count * extent);
  call.receive = result.take(bytes);
  const int code = run(on, choice, call);
  if (code == MPI_SUCCESS) std::memcpy(in_place, call.receive, bytes);
  return code;
}

/// A reduction of items that lie side by side, where they are.
inline int reduce_plain(Communicator& on, const Reducing& what, const Choice& choice, Call& call,
                        std::int64_t extent) {
  call.send = address(what.send.at);
  call.receive = what.has_result ? address(what.receive.at) : nullptr;
  if (what.replaces || call.send != call.receive) return run(on, choice, call);
  return reduce_replacing(on, what, choice, call, extent);
}

[[gnu::noinline]] int reduce_spread(Communicator& on, const Reducing& what, const Choice& choice, Call& call,
                                    const Type& type) {
  Operand send(what.send, type, on.handle);
  std::optional<Operand> receive;
  if (what.has_result) receive.emplace(what.receive, type, on.handle);
  const int read = send.read();
  call.send = send.at();
  call.receive = receive ? receive->at() : nullptr;
  const int code = run(on, choice, call, read);
  return first_error(code, receive ? receive->finish() : MPI_SUCCESS);
}

inline Outcome reduce_by(Communicator& on, const Reducing& what, const Type& type, const Reduction& reduction) {
  const coll::Operation& operation = reduction.operation();
  const Choice* const choice =
      choice_for(on, what.collective, what.root, what.longest, operation.element_bytes, operation.commutative);
  if (choice == nullptr) return kLeft;
  Call& call = on.team->call;
  call.operation = &operation;
  call.bytes = what.bytes;
  call.receive_blocks = what.blocks;
  call.root = what.root;
  const bool plain = type.plain || what.send.count == 0;
  return {Fate::taken, plain ? reduce_plain(on, what, *choice, call, type.extent)
                             : reduce_spread(on, what, *choice, call, type)};
}

/// What all reductions check, and then do.
template <class Fill>
Outcome reducing(Communicator& on, Items operand, MPI_Op op, Fill fill) {
  ReadType type;
  if (operand.count < 0 || !type.read(operand.datatype)) return kWrong;
  const Reduction reduction(op, operand.datatype, *type);
  if (!reduction.is_known()) return {Fate::operands};
  Reducing what{};
  if (!fill(what, *type)) return kWrong;
  return reduce_by(on, what, *type, reduction);
}

/// One operand on every rank.
bool fill_whole(Reducing& what, const Type& type, const void* send, void* receive, Items operand) {
  if (!in_place(send) && aliased(send, receive, operand.count)) return false;
  what.send = {in_place(send) ? receive : send, operand.count, operand.datatype};
  what.receive = {receive, operand.count, operand.datatype};
  what.bytes = static_cast<std::uint64_t>(operand.count * type.extent);
  what.longest = what.bytes;
  what.replaces = true;
  return what.send.at != nullptr || operand.count == 0 || !type.named;
}

}  // namespace

[[gnu::flatten]] Outcome do_reduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op,
                                   int root) {
  if (!is_rank(on, root)) return kWrong;
  const bool at_root = own_rank(on) == root;
  if (!at_root && in_place(send)) return kWrong;
  return reducing(on, operand, op, [&](Reducing& what, const Type& type) {
    what.collective = Collective::reduce;
    what.root = root;
    const bool fine = fill_whole(what, type, send, at_root ? receive : nullptr, operand);
    what.has_result = at_root;
    return fine && (!at_root || receive != nullptr || operand.count == 0 || !type.named);
  });
}

[[gnu::flatten]] Outcome do_allreduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op) {
  return reducing(on, operand, op, [&](Reducing& what, const Type& type) {
    what.collective = Collective::allreduce;
    return fill_whole(what, type, send, receive, operand) &&
           (receive != nullptr || operand.count == 0 || !type.named);
  });
}

Outcome do_scan(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op, bool inclusive) {
  return reducing(on, operand, op, [&](Reducing& what, const Type& type) {
    what.collective = inclusive ? Collective::scan : Collective::exscan;
    const bool fine = fill_whole(what, type, send, receive, operand);
    what.has_result = inclusive || own_rank(on) > 0;  // rank 0's result of an exclusive scan is left alone
    return fine && (receive != nullptr || !what.has_result || operand.count == 0 || !type.named);
  });
}

Outcome do_reduce_scatter_block(Communicator& on, const void* send, void* receive, Items block, MPI_Op op) {
  return reducing(on, block, op, [&](Reducing& what, const Type& type) {
    if (!in_place(send) && aliased(send, receive, block.count)) return false;
    what.collective = Collective::reduce_scatter_block;
    what.send = {in_place(send) ? receive : send, block.count * on.ranks, block.datatype};
    what.receive = {receive, block.count, block.datatype};
    what.blocks.equal = static_cast<std::uint64_t>(block.count * type.extent);
    what.longest = what.blocks.equal;
    return (what.send.at != nullptr && receive != nullptr) || block.count == 0 || !type.named;
  });
}

Outcome do_reduce_scatter(Communicator& on, const void* send, void* receive, Numbers counts, MPI_Datatype datatype,
                          MPI_Op op) {
  if (!counts.given()) return kWrong;
  std::uint64_t offsets[coll::kMostRanks];
  std::uint64_t sizes[coll::kMostRanks];
  return reducing(on, {nullptr, 0, datatype}, op, [&](Reducing& what, const Type& type) {
    std::int64_t total = 0;
    for (int rank = 0; rank < on.ranks; ++rank) {
      if (counts[rank] < 0) return false;
      offsets[rank] = static_cast<std::uint64_t>(total * type.extent);
      sizes[rank] = static_cast<std::uint64_t>(counts[rank] * type.extent);
      what.longest = std::max(what.longest, sizes[rank]);
      total += counts[rank];
    }
    const std::int64_t own = counts[own_rank(on)];
    if (!in_place(send) && aliased(send, receive, own)) return false;
    what.collective = Collective::reduce_scatter;
    what.send = {in_place(send) ? receive : send, total, datatype};
    what.receive = {receive, own, datatype};
    what.blocks = {0, offsets, sizes};
    return what.send.at != nullptr || total == 0 || !type.named;
  });
}

// ---- gather and scatter ----

namespace {

/// Item `index` of a buffer.
const void* item_at(const Items& items, const Type& type, std::int64_t index) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(items.at) +
                                       static_cast<std::uintptr_t>(index * type.extent));
}

/// Gathers to `receive`, blocks of `items.count` items for every rank; what the root of a gather and every rank of
/// an all-gather do.
int gather_into(Communicator& on, const Choice& choice, Call& call, const Items& receive, const Type& type,
                const Source* own, bool once) {
  const Items all{receive.at, receive.count * on.ranks, receive.datatype};
  Target target(all, type, through(on, choice, once), receive.count);
  const std::uint64_t block = bytes_of(receive, type);
  std::byte* const mine = target.at() + static_cast<std::uint64_t>(own_rank(on)) * block;
  int packed = MPI_SUCCESS;
  if (own == nullptr && target.is_copied()) {
    const void* const kept = item_at(receive, type, receive.count * own_rank(on));
    packed = pack(kept, receive.count, receive.datatype, type, mine, on.handle);
  }
  if (own != nullptr) packed = own->code;
  call.send = own == nullptr ? mine : own->at();
  call.receive = target.at();
  call.receive_blocks = {block};
  const int code = run(on, choice, call, packed);
  return first_error(code, target.finish());
}

/// The same with a list.
int gather_into(Communicator& on, const Choice& choice, Call& call, BlockLists& receive, const Source* own) {
  const int packed = own == nullptr ? receive.load(own_rank(on)) : own->code;
  call.send = own == nullptr ? receive.place(own_rank(on)) : own->at();
  call.receive = receive.base();
  call.receive_blocks = receive.blocks();
  const int code = run(on, choice, call, packed);
  return first_error(code, receive.finish());
}

}  // namespace

namespace {

/// The arguments of a gather or of a scatter: a block on every rank, and all of them at the root.
struct Rooted {
  bool at_root = false;
  bool kept = false;  ///< the root's block stays where it is
  ReadType one, all;
  std::uint64_t bytes = 0;  ///< of a block
};

/// False where MPI is to judge.
bool read_rooted(const Communicator& on, const Items& one, const Items& all, int root, Rooted& found) {
  found.at_root = own_rank(on) == root;
  found.kept = in_place(one.at);
  if (!is_rank(on, root) || (found.kept && !found.at_root)) return false;
  if (!found.kept && !readable(one, found.one)) return false;
  if (found.at_root && !readable(all, found.all)) return false;
  found.bytes = found.kept ? bytes_of(all, *found.all) : bytes_of(one, *found.one);
  return !found.at_root || (bytes_of(all, *found.all) == found.bytes && !aliased(one.at, all.at, one.count));
}

}  // namespace

[[gnu::flatten]] Outcome do_gather(Communicator& on, Items send, Items receive, int root) {
  Rooted is;
  if (!read_rooted(on, send, receive, root, is)) return kWrong;
  Call& call = on.team->call;
  call.bytes = is.bytes;
  call.root = root;
  const Choice* const choice = choice_for(on, Collective::gather, root, call.bytes);
  if (choice == nullptr) return kLeft;
  if (is.kept) return {Fate::taken, gather_into(on, *choice, call, receive, *is.all, nullptr, kOnce)};
  const Source source(send, *is.one, through(on, *choice, kOnce));
  call.send = source.at();
  return {Fate::taken, is.at_root ? gather_into(on, *choice, call, receive, *is.all, &source, kOnce)
                                  : run(on, *choice, call, source.code)};
}

Outcome do_gatherv(Communicator& on, Items send, const ItemLists& receive, int root) {
  if (!has_choices(on, Collective::gatherv)) return kLeft;
  if (!is_rank(on, root)) return kWrong;
  const bool at_root = own_rank(on) == root;
  const bool kept = in_place(send.at);
  if (kept && !at_root) return kWrong;
  ReadType type;
  if (!kept && !readable(send, type)) return kWrong;
  Call& call = on.team->call;
  call.root = root;
  if (!at_root) {
    const Choice* const choice = choice_for(on, Collective::gatherv, root, 0);
    if (choice == nullptr) return kLeft;
    const Source source(send, *type, through(on, *choice, kOnce));
    call.bytes = bytes_of(send, *type);
    call.send = source.at();
    return {Fate::taken, run(on, *choice, call, source.code)};
  }
  BlockLists lists(receive, on.ranks, false);
  if (!lists.fine()) return kWrong;
  call.bytes = lists.bytes(root);
  if (!kept && bytes_of(send, *type) != call.bytes) return kWrong;
  const Choice* const choice = choice_for(on, Collective::gatherv, root, 0);
  if (choice == nullptr) return kLeft;
  const Through way = through(on, *choice, kOnce);
  lists.place_blocks(way);
  if (kept) return {Fate::taken, gather_into(on, *choice, call, lists, nullptr)};
  const Source source(send, *type, way);
  return {Fate::taken, gather_into(on, *choice, call, lists, &source)};
}

namespace {

/// A scatter in which this rank receives its block; the root has packed all blocks with the code `packed`.
int scatter_to(Communicator& on, const Choice& choice, Call& call, const Items& receive, const Type& type,
               int packed = MPI_SUCCESS) {
  Target target(receive, type, through(on, choice, kOnce));
  call.receive = target.at();
  const int code = run(on, choice, call, packed);
  return first_error(code, target.finish());
}

}  // namespace

[[gnu::flatten]] Outcome do_scatter(Communicator& on, Items send, Items receive, int root) {
  Rooted is;
  if (!read_rooted(on, receive, send, root, is)) return kWrong;
  Call& call = on.team->call;
  call.bytes = is.bytes;
  call.root = root;
  const Choice* const choice = choice_for(on, Collective::scatter, root, call.bytes);
  if (choice == nullptr) return kLeft;
  if (!is.at_root) return {Fate::taken, scatter_to(on, *choice, call, receive, *is.one)};
  const Items all{send.at, send.count * on.ranks, send.datatype};
  const Source source(all, *is.all, through(on, *choice, kOnce), send.count);
  call.send = source.at();
  call.send_blocks = {call.bytes};
  if (!is.kept) return {Fate::taken, scatter_to(on, *choice, call, receive, *is.one, source.code)};
  call.receive = address(call.send) + static_cast<std::uint64_t>(root) * call.bytes;
  return {Fate::taken, run(on, *choice, call, source.code)};
}

Outcome do_scatterv(Communicator& on, const ItemLists& send, Items receive, int root) {
  if (!has_choices(on, Collective::scatterv)) return kLeft;
  if (!is_rank(on, root)) return kWrong;
  const bool at_root = own_rank(on) == root;
  const bool kept = in_place(receive.at);
  if (kept && !at_root) return kWrong;
  ReadType type;
  if (!kept && !readable(receive, type)) return kWrong;
  Call& call = on.team->call;
  call.root = root;
  call.bytes = kept ? 0 : bytes_of(receive, *type);
  if (!at_root) {
    const Choice* const choice = choice_for(on, Collective::scatterv, root, 0);
    if (choice == nullptr) return kLeft;
    return {Fate::taken, scatter_to(on, *choice, call, receive, *type)};
  }
  BlockLists lists(send, on.ranks, false);
  if (!lists.fine()) return kWrong;
  if (!kept && lists.bytes(root) != call.bytes) return kWrong;
  const Choice* const choice = choice_for(on, Collective::scatterv, root, 0);
  if (choice == nullptr) return kLeft;
  lists.place_blocks(through(on, *choice, kOnce));
  const int packed = lists.load();
  call.bytes = lists.bytes(root);
  call.send = lists.base();
  call.send_blocks = lists.blocks();
  if (!kept) return {Fate::taken, scatter_to(on, *choice, call, receive, *type, packed)};
  call.receive = lists.place(root);
  return {Fate::taken, run(on, *choice, call, packed)};
}

// ---- all to all ----

[[gnu::flatten]] Outcome do_allgather(Communicator& on, Items send, Items receive) {
  ReadType type;
  ReadType receive_type;
  const bool kept = in_place(send.at);
  if (!readable(receive, receive_type) || (!kept && !readable(send, type))) return kWrong;
  Call& call = on.team->call;
  call.bytes = bytes_of(receive, *receive_type);
  if (!kept && (bytes_of(send, *type) != call.bytes || aliased(send.at, receive.at, send.count))) return kWrong;
  const Choice* const choice = choice_for(on, Collective::allgather, 0, call.bytes);
  if (choice == nullptr) return kLeft;
  if (kept) return {Fate::taken, gather_into(on, *choice, call, receive, *receive_type, nullptr, kForwarded)};
  const Source source(send, *type, through(on, *choice, kForwarded));
  return {Fate::taken, gather_into(on, *choice, call, receive, *receive_type, &source, kForwarded)};
}

Outcome do_allgatherv(Communicator& on, Items send, const ItemLists& receive) {
  ReadType type;
  const bool kept = in_place(send.at);
  if (!has_choices(on, Collective::allgatherv)) return kLeft;
  if (!kept && !readable(send, type)) return kWrong;
  BlockLists lists(receive, on.ranks, false);
  if (!lists.fine()) return kWrong;
  Call& call = on.team->call;
  call.bytes = lists.bytes(own_rank(on));
  if (!kept && bytes_of(send, *type) != call.bytes) return kWrong;
  const Choice* const choice = choice_for(on, Collective::allgatherv, 0, lists.longest());
  if (choice == nullptr) return kLeft;
  const Through way = through(on, *choice, kForwarded);
  lists.place_blocks(way);
  if (kept) return {Fate::taken, gather_into(on, *choice, call, lists, nullptr)};
  const Source source(send, *type, way);
  return {Fate::taken, gather_into(on, *choice, call, lists, &source)};
}

[[gnu::flatten]] Outcome do_alltoall(Communicator& on, Items send, Items receive) {
  ReadType type;
  ReadType receive_type;
  const bool kept = in_place(send.at);
  if (!readable(receive, receive_type) || (!kept && !readable(send, type))) return kWrong;
  const std::uint64_t block = bytes_of(receive, *receive_type);
  if (!kept && (bytes_of(send, *type) != block || aliased(send.at, receive.at, send.count))) return kWrong;
  const Choice* const choice = choice_for(on, Collective::alltoall, 0, block);
  if (choice == nullptr) return kLeft;
  const Items all{receive.at, receive.count * on.ranks, receive.datatype};
  const Through way = through(on, *choice, kOnce);
  // In place what is sent is overwritten, so it is copied first.
  const Source source(kept ? all : Items{send.at, send.count * on.ranks, send.datatype},
                      kept ? *receive_type : *type, kept ? Through{on.handle, nullptr, true} : way, send.count);
  Target target(all, *receive_type, way, receive.count);
  Call& call = on.team->call;
  call.send = source.at();
  call.receive = target.at();
  call.send_blocks = {block};
  call.receive_blocks = {block};
  const int code = run(on, *choice, call, source.code);
  return {Fate::taken, first_error(code, target.finish())};
}

Outcome do_alltoallv(Communicator& on, const ItemLists& send, const ItemLists& receive) {
  if (!has_choices(on, Collective::alltoallv)) return kLeft;
  const bool kept = in_place(send.at);
  BlockLists out(kept ? receive : send, on.ranks, kept);
  BlockLists in(receive, on.ranks, false);
  if (!out.fine() || !in.fine()) return kWrong;
  const Choice* const choice = choice_for(on, Collective::alltoallv, 0, 0);
  if (choice == nullptr) return kLeft;
  const Through way = through(on, *choice, kOnce);
  out.place_blocks(way);
  in.place_blocks(way);
  const int packed = out.load();
  Call& call = on.team->call;
  call.send = out.base();
  call.receive = in.base();
  call.send_blocks = out.blocks();
  call.receive_blocks = in.blocks();
  const int code = run(on, *choice, call, packed);
  return {Fate::taken, first_error(code, in.finish())};
}

}  // namespace corewise::preload::accelerating
