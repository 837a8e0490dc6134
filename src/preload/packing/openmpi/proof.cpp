// The proof; see proof.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/packing/packing.hpp"

#ifdef OPEN_MPI

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "preload/packing/openmpi/proof.hpp"

namespace corewise::preload::packing::engine {
namespace {

// The type: two runs of words, at 1 and 4 of 7.
constexpr std::size_t kWord = 4;
constexpr std::size_t kItem = 7;       ///< words of extent
constexpr std::size_t kItemWords = 3;  ///< words of data
constexpr std::array<std::size_t, kItemWords> kPlaces{1, 2, 4};
constexpr std::size_t kMostItems = 11;

using Memory = std::array<std::uint32_t, kItem * kMostItems>;
using Stream = std::array<std::uint32_t, kItemWords * kMostItems>;

/// What a call of this proof is known to be about.
struct Known {
  const Behind* behind = nullptr;
  Advance* advance = nullptr;
  std::uint64_t datatype = 0;
  std::byte* base = nullptr;
  std::size_t items = 0;
  std::size_t first = 0;   ///< bytes that the MPI moves at first
  std::size_t second = 0;  ///< bytes that we move then
  bool packing = false;
  bool seen = false;
  bool good = false;

  std::size_t size() const { return items * kItemWords * kWord; }
};

thread_local Known known_call;

/// Word `i` of the stream of items at `base`.
std::byte* place_of(std::byte* base, std::size_t i) {
  return base + kWord * (i / kItemWords * kItem + kPlaces[i % kItemWords]);
}

/// The fields of a convertor at `position`.
bool is_at(const Convertor& convertor, const Known& call, std::size_t position) {
  const bool sends = (convertor.flags & kSend) != 0;
  return convertor.datatype == call.datatype && convertor.base == call.base && convertor.count == call.items &&
         convertor.local_size == call.size() && convertor.remote_size == call.size() &&
         convertor.position == position && convertor.advance == call.advance && sends == call.packing &&
         is_plain(convertor) == (position < call.size()) &&
         ((convertor.flags & kCompleted) != 0) == (position == call.size());
}

/// One piece through the MPI's function.
bool moved(Convertor* convertor, const Known& call, std::byte* memory, std::size_t bytes, bool last) {
  iovec piece{memory, bytes};
  std::uint32_t count = 1;
  std::size_t sum = 0;
  Advance* const theirs = call.packing ? call.behind->pack : call.behind->unpack;
  const std::int32_t done = theirs(convertor, &piece, &count, &sum);
  return done == (last ? 1 : 0) && count == 1 && sum == bytes && piece.iov_len == bytes;
}

/// As the engine moves words [from, to), and leaves the MPI's place in the type where it was.
void move_words(const Known& call, std::byte* stream, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i, stream += kWord) {
    std::byte* const item = place_of(call.base, i);
    if (call.packing)
      std::memcpy(stream, item, kWord);
    else
      std::memcpy(item, stream, kWord);
  }
}

/// As the engine gives a convertor back.
bool follows(Convertor* convertor, const Known& call, std::size_t position) {
  std::size_t to = 0;
  call.behind->set_position(convertor, &to);
  if (!is_at(*convertor, call, 0)) return false;
  to = position;
  call.behind->set_position(convertor, &to);
  return to == position && is_at(*convertor, call, position);
}

/// The MPI, we, and the MPI again.
bool moved_by_turns(Convertor* convertor, const Known& call, iovec& piece) {
  auto* const stream = static_cast<std::byte*>(piece.iov_base);
  const std::size_t middle = call.first + call.second;
  if (!moved(convertor, call, stream, call.first, false) || !is_at(*convertor, call, call.first)) return false;
  move_words(call, stream + call.first, call.first / kWord, middle / kWord);
  convertor->position = middle;
  if (!follows(convertor, call, middle)) return false;
  return moved(convertor, call, stream + middle, call.size() - middle, true) &&
         is_at(*convertor, call, call.size());
}

/// One call of MPI_Pack or MPI_Unpack: it goes as expected, and every byte of both sides is right.
bool proves(Known call, MPI_Datatype type, Memory& memory) {
  Stream stream{};
  memory.fill(0);
  if (call.packing)
    std::iota(memory.begin(), memory.end(), 1u);
  else
    std::iota(stream.begin(), stream.end(), 1u);
  const auto bytes = static_cast<int>(call.size());
  const auto items = static_cast<int>(call.items);
  int at = 0;
  known_call = call;
  const int code = call.packing
                       ? CW_NEXT(MPI_Pack)(memory.data(), items, type, stream.data(), bytes, &at, MPI_COMM_SELF)
                       : CW_NEXT(MPI_Unpack)(stream.data(), bytes, &at, memory.data(), items, type, MPI_COMM_SELF);
  const Known after = std::exchange(known_call, {});
  bool good = code == MPI_SUCCESS && at == bytes && after.seen && after.good;
  for (std::size_t i = 0; good && i < call.items * kItemWords; ++i)
    good = std::memcmp(place_of(call.base, i), &stream[i], kWord) == 0;
  const auto between = static_cast<std::ptrdiff_t>(call.packing ? 0 : memory.size() - call.items * kItemWords);
  return good && std::count(memory.begin(), memory.end(), 0u) == between;  // where nothing belongs
}

MPI_Datatype make_type() {
  const int lengths[] = {2, 1};
  const int places[] = {1, 4};
  MPI_Datatype inner = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  CW_NEXT(MPI_Type_indexed)(2, lengths, places, MPI_INT, &inner);
  CW_NEXT(MPI_Type_create_resized)(inner, 0, kItem * kWord, &type);
  CW_NEXT(MPI_Type_free)(&inner);
  CW_NEXT(MPI_Type_commit)(&type);
  return type;
}

}  // namespace

bool is_proving_here() {
  return known_call.behind != nullptr;
}

std::int32_t observe(bool packing, Convertor* convertor, iovec* pieces, std::uint32_t* count, std::size_t* bytes) {
  Known& call = known_call;
  const bool expected = call.packing == packing && !call.seen && *count == 1 && pieces[0].iov_len >= call.size() &&
                        is_at(*convertor, call, 0);
  call.seen = true;
  call.good = expected && moved_by_turns(convertor, call, pieces[0]);
  if (call.good) {
    pieces[0].iov_len = *bytes = call.size();
    return 1;
  }
  // Of no use to anybody but this proof, which has failed; what was not touched is moved as ever.
  const Behind& behind = *call.behind;
  return (packing ? behind.pack : behind.unpack)(convertor, pieces, count, bytes);
}

bool convertors_are_known(const Behind& behind, Advance* pack, Advance* unpack) {
  struct Parts {
    std::size_t items, first, second;  ///< words
  };
  constexpr std::array<Parts, 3> kParts{{{3, 2, 4}, {11, 15, 1}, {7, 4, 16}}};
  MPI_Datatype type = make_type();
  std::array<Memory, 2> memory{};  // two, so that one address is not like another
  bool good = true;
  for (std::size_t i = 0; good && i < 2 * kParts.size(); ++i) {
    const Parts& parts = kParts[i / 2];
    Memory& items = memory[i / 2 % 2];
    Known call;
    call.behind = &behind;
    call.packing = i % 2 == 0;
    call.advance = call.packing ? pack : unpack;
    call.datatype = handle_key(type);
    call.base = reinterpret_cast<std::byte*>(items.data());
    call.items = parts.items;
    call.first = parts.first * kWord;
    call.second = parts.second * kWord;
    good = proves(call, type, items);
  }
  CW_NEXT(MPI_Type_free)(&type);
  return good;
}

}  // namespace corewise::preload::packing::engine

#endif
