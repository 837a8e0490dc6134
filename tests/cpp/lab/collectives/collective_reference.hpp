// A serial reference for all collectives, in the words of MPI-4.1, chapter 6, and the memory to hold an algorithm
// against it: real buffers with guards around them, at any alignment, with gaps between blocks, in place or not.
//
// A CallCase is one collective call of all ranks. Its expected bytes are computed by folding the ranks' operands
// from the left and copying blocks one by one, with operators written anew here. check() compares everything:
// results, send buffers, guards, gaps, receive buffers that nobody may touch. When a rank's call has returned its
// buffers are scribbled over, as a program may do; late() says whether somebody wrote to them after that (who reads
// them then reads rubbish). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "coll/call.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise::lab::reference {

using coll::Collective;

inline std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, 16> kNames{
      "barrier", "broadcast", "reduce",         "allreduce",           "gather",   "gatherv",
      "scatter", "scatterv",  "allgather",      "allgatherv",          "alltoall", "alltoallv",
      "scan",    "exscan",    "reduce_scatter", "reduce_scatter_block"};
  return kNames[static_cast<std::size_t>(collective)];
}

constexpr bool is_one_of(Collective collective, std::initializer_list<Collective> list) {
  return std::find(list.begin(), list.end(), collective) != list.end();
}
constexpr bool scatters_blocks(Collective c) {
  return c == Collective::reduce_scatter || c == Collective::reduce_scatter_block;
}
constexpr bool combines(Collective c) {
  return is_one_of(c, {Collective::reduce, Collective::allreduce, Collective::scan, Collective::exscan}) ||
         scatters_blocks(c);
}
constexpr bool gathers_to_root(Collective c) {
  return is_one_of(c, {Collective::gather, Collective::gatherv});
}
constexpr bool scatters(Collective c) {
  return is_one_of(c, {Collective::scatter, Collective::scatterv});
}
constexpr bool gathers_to_all(Collective c) {
  return is_one_of(c, {Collective::allgather, Collective::allgatherv});
}
constexpr bool exchanges(Collective c) {
  return is_one_of(c, {Collective::alltoall, Collective::alltoallv});
}
constexpr bool has_root(Collective c) {
  return is_one_of(c, {Collective::broadcast, Collective::reduce}) || gathers_to_root(c) || scatters(c);
}
constexpr bool is_uneven(Collective c) {
  return is_one_of(c, {Collective::gatherv, Collective::scatterv, Collective::allgatherv, Collective::alltoallv,
                       Collective::reduce_scatter});
}
constexpr bool may_be_in_place(Collective c) {
  return is_one_of(c, {Collective::reduce, Collective::allreduce, Collective::scan, Collective::exscan}) ||
         gathers_to_root(c) || scatters(c) || gathers_to_all(c);
}

// ---- operators ----

/// out = left OP right for `count` elements; out may be one of them.
using Fold = void (*)(const std::byte* left, const std::byte* right, std::byte* out, std::size_t count);

struct OperatorCase {
  std::string_view name;
  coll::Operation call;
  Fold fold = nullptr;
  /// Turns any bytes into an operand whose results do not depend on the order in which they are combined.
  void (*suit)(std::byte* element) = nullptr;
};

template <class T, T (*kOne)(const T&, const T&)>
void fold_elements(const std::byte* left, const std::byte* right, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count * sizeof(T); i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, left + i, sizeof(T));
    std::memcpy(&b, right + i, sizeof(T));
    const T c = kOne(a, b);
    std::memcpy(out + i, &c, sizeof(T));
  }
}

template <class T>
T one_sum(const T& a, const T& b) {
  return static_cast<T>(a + b);
}
template <class T>
T one_xor(const T& a, const T& b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T one_min(const T& a, const T& b) {
  return b < a ? b : a;
}
using Pair = std::array<std::uint32_t, 2>;
inline Pair one_minloc(const Pair& a, const Pair& b) {
  const auto x = static_cast<std::int32_t>(a[0]);
  const auto y = static_cast<std::int32_t>(b[0]);
  if (x != y) return x < y ? a : b;
  return {a[0],
          static_cast<std::uint32_t>(std::min(static_cast<std::int32_t>(a[1]), static_cast<std::int32_t>(b[1])))};
}
/// Not commutative: x -> a x + b, the left one first; modulo 2^32, and in half bytes modulo 16.
inline Pair one_affine(const Pair& a, const Pair& b) {
  return {a[0] * b[0], a[1] * b[0] + b[1]};
}
inline std::uint8_t one_nibbles(const std::uint8_t& a, const std::uint8_t& b) {
  const unsigned slope = (a >> 4) * (b >> 4);
  const unsigned offset = (a & 15U) * (b >> 4) + (b & 15U);
  return static_cast<std::uint8_t>(slope << 4 | (offset & 15U));
}
/// Upper triangles: 12 bytes, which divide no buffer. And whole 2 x 2 matrices.
using Triangle = std::array<std::uint32_t, 3>;
inline Triangle one_triangle(const Triangle& a, const Triangle& b) {
  return {a[0] * b[0], a[0] * b[1] + a[1] * b[2], a[2] * b[2]};
}
using Matrix = std::array<std::uint32_t, 4>;
inline Matrix one_matrix(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

/// What user operators are given as context.
inline std::uint32_t user_context = 0x600D;

/// A user's operator: in OP inout, `in` on the left. Rubbish where the context did not come through.
template <Fold kFold>
void user_operator(void* context, const std::byte* in, std::byte* inout, std::size_t count) {
  if (context == &user_context) kFold(in, inout, inout, count);
}

inline Matrix one_xor_matrix(const Matrix& a, const Matrix& b) {
  return {a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]};
}

inline void small_integer(std::byte* element) {
  double value = 0;
  std::uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof(bits));
  value = bits % 1000;
  std::memcpy(element, &value, sizeof(value));
}

namespace detail {

template <class T, T (*kOne)(const T&, const T&)>
OperatorCase predefined(std::string_view name, kernels::Operator operation, kernels::Element element,
                        void (*suit)(std::byte*) = nullptr) {
  OperatorCase made{name, {}, &fold_elements<T, kOne>, suit};
  const auto kernels = kernels::reduction_kernels(operation, element);
  made.call.combine = kernels.combine;
  made.call.combine_into = kernels.into;
  made.call.combine_into_both = kernels.into_both;
  made.call.element_bytes = sizeof(T);
  return made;
}
template <class T, T (*kOne)(const T&, const T&)>
OperatorCase users(std::string_view name, bool commutative) {
  OperatorCase made{name, {}, &fold_elements<T, kOne>, nullptr};
  made.call.user = &user_operator<&fold_elements<T, kOne>>;
  made.call.context = &user_context;
  made.call.element_bytes = sizeof(T);
  made.call.commutative = commutative;
  return made;
}

}  // namespace detail

/// Predefined operators on elements of 1 to 8 bytes, and users' of 1 to 16, commutative or not. Those that are not
/// come at even places, those of 1 byte (for which any size will do) at the first two.
inline std::span<const OperatorCase> operator_cases() {
  using kernels::Element;
  using kernels::Operator;
  static const std::array<OperatorCase, 10> kCases{
      detail::users<std::uint8_t, one_nibbles>("user half bytes", false),
      detail::predefined<std::uint8_t, one_xor<std::uint8_t>>("bitwise_xor uint8", Operator::bitwise_xor,
                                                              Element::uint8),
      detail::users<Pair, one_affine>("user affine", false),
      detail::predefined<std::uint32_t, one_sum<std::uint32_t>>("sum int32", Operator::sum, Element::int32),
      detail::users<Triangle, one_triangle>("user triangle", false),
      detail::predefined<double, one_sum<double>>("sum float64", Operator::sum, Element::float64, &small_integer),
      detail::users<Matrix, one_matrix>("user matrix", false),
      detail::predefined<std::int16_t, one_min<std::int16_t>>("minimum int16", Operator::minimum, Element::int16),
      detail::users<Matrix, one_xor_matrix>("user xor", true),
      detail::predefined<Pair, one_minloc>("minimum_location int32_int32", Operator::minimum_location,
                                           Element::int32_int32),
  };
  return kCases;
}

// ---- one call ----

/// Equal on all ranks.
struct Spec {
  Collective collective = Collective::barrier;
  int ranks = 1;
  int root = 0;
  std::uint64_t bytes = 0;  ///< of the operand or of each block; of uneven blocks 0 to twice as many
  const OperatorCase* operation = nullptr;
  coll::Stride send_stride, receive_stride;  ///< in collectives with a root
  bool in_place = false;
  bool unaligned = false;  ///< every buffer begins somewhere else modulo 16
  std::uint64_t salt = 1;  ///< of data, sizes, places
};

/// Memory with guards around the part that is used.
struct Buffer {
  static constexpr std::size_t kGuard = 64;

  std::vector<std::byte> memory, expected;
  std::size_t begin = 0;
  std::size_t size = 0;

  /// `skew` bytes after a multiple of kGuard.
  void reset(std::size_t bytes, std::size_t skew) {
    memory.resize(bytes + skew + 3 * kGuard);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    begin = (kGuard - address % kGuard) % kGuard + kGuard + skew;
    size = bytes;
    std::memset(memory.data(), 0xA5, memory.size());
  }
  [[nodiscard]] std::byte* data() { return memory.data() + begin; }
  [[nodiscard]] const std::byte* data() const { return memory.data() + begin; }
  [[nodiscard]] bool holds(const std::byte* address) const {
    return address >= memory.data() && address < memory.data() + memory.size();
  }
  [[nodiscard]] std::byte* expect() { return expected.data() + begin; }
  void keep() { expected = memory; }
  [[nodiscard]] bool right() const { return memory == expected; }
  void scribble(int value) {
    std::memset(memory.data(), value, memory.size());
    expected = memory;
  }
  /// Where the first wrong byte is, counted from the beginning of the part that is used.
  [[nodiscard]] std::string first_wrong() const {
    const auto at = std::mismatch(memory.begin(), memory.end(), expected.begin()).first - memory.begin();
    const auto index = static_cast<std::size_t>(at);
    return "byte " + std::to_string(at - static_cast<std::ptrdiff_t>(begin)) + " of " + std::to_string(size) +
           " is " + std::to_string(static_cast<int>(memory[index])) + ", should be " +
           std::to_string(static_cast<int>(expected[index]));
  }
};

struct BlockList {
  std::vector<std::uint64_t> offsets, sizes;
  std::uint64_t extent = 0;
};

class CallCase {
 public:
  /// Lays out and fills all ranks' buffers and computes what they must hold afterwards.
  void prepare(const Spec& spec) {
    spec_ = spec;
    rng_state_ = spec.salt * 0x9e3779b97f4a7c15U + 1;
    left_ = spec.ranks;
    ranks_.resize(static_cast<std::size_t>(spec.ranks));
    for (int rank = 0; rank < spec.ranks; ++rank) lay_out(rank);
    for (int rank = 0; rank < spec.ranks; ++rank) expect(rank);
    for (Rank& rank : ranks_) rank.operand.clear();
  }
  [[nodiscard]] const Spec& spec() const { return spec_; }
  /// The largest operand or block.
  [[nodiscard]] static std::uint64_t largest_of(const Spec& spec) {
    std::uint64_t largest = is_uneven(spec.collective) ? 0 : spec.bytes;
    for (int from = 0; is_uneven(spec.collective) && from < spec.ranks; ++from) {
      for (int to = 0; to < spec.ranks; ++to) largest = std::max(largest, block_bytes(spec, from, to));
    }
    return largest;
  }

  template <class P>
  [[nodiscard]] coll::Call<P> call(int rank) {
    Rank& mine = ranks_[at(rank)];
    coll::Call<P> made;
    made.send = mine.has_send ? mine.send.data() : nullptr;
    made.receive = mine.has_receive ? mine.receive.data() : nullptr;
    if (mine.in_place && mine.has_receive) made.send = mine.receive.data() + mine.own_offset;
    if (mine.in_place && mine.has_send) made.receive = mine.send.data() + mine.own_offset;
    made.bytes = spec_.bytes;
    if (is_uneven(spec_.collective) && !exchanges(spec_.collective)) made.bytes = block_bytes(spec_, 0, rank);
    made.root = spec_.root;
    if (spec_.operation != nullptr) made.operation = &spec_.operation->call;
    made.send_stride = stride_of(rank, true);
    made.receive_stride = stride_of(rank, false);
    if (mine.sends_blocks) made.send_blocks = view(mine.send_blocks);
    if (mine.receives_blocks) made.receive_blocks = view(mine.receive_blocks);
    made.workspace = mine.workspace.data();
    return made;
  }

  /// What it sends from and receives into; of no bytes where it has none.
  [[nodiscard]] std::pair<Buffer&, Buffer&> buffers(int rank) {
    Rank& mine = ranks_[at(rank)];
    if (!mine.has_send) mine.send.reset(0, 0);
    if (!mine.has_receive) mine.receive.reset(0, 0);
    return {mine.send, mine.receive};
  }

  /// After the rank's call: what is wrong, or nothing.
  [[nodiscard]] std::string check(int rank) {
    Rank& mine = ranks_[at(rank)];
    if (mine.has_receive && !mine.receive.right()) return "receive: " + mine.receive.first_wrong();
    if (mine.has_send && !mine.send.right()) return "send: " + mine.send.first_wrong();
    return {};
  }
  /// The rank's program goes on and uses its memory for something else. True for the last rank.
  bool leave(int rank) {
    Rank& mine = ranks_[at(rank)];
    if (mine.has_send) mine.send.scribble(0x5C);
    if (mine.has_receive) mine.receive.scribble(0x5D);
    mine.workspace.scribble(0x5E);
    return --left_ == 0;
  }
  /// When all have left: who was written to after that, or nothing.
  [[nodiscard]] std::string late() const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Rank& each = ranks_[rank];
      const bool right = (!each.has_send || each.send.right()) && (!each.has_receive || each.receive.right()) &&
                         each.workspace.right();
      if (!right) return "memory of rank " + std::to_string(rank) + " was written after its call";
    }
    return {};
  }
  /// Entered by how many: for barriers.
  int entered = 0;

 private:
  struct Rank {
    bool has_send = false, has_receive = false, in_place = false;
    bool sends_blocks = false, receives_blocks = false;
    std::uint64_t own_offset = 0;  ///< in place: of what is sent (received, for a scatter)
    BlockList send_blocks, receive_blocks;
    Buffer send, receive, workspace;
    std::vector<std::byte> operand;  ///< what it sends, without gaps
  };

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] static std::uint64_t hash(const Spec& spec, std::uint64_t a, std::uint64_t b) {
    std::uint64_t state = spec.salt + a * 0x100000001b3U + b * 0x1000193U;
    splitmix64(state);
    return splitmix64(state);
  }
  [[nodiscard]] coll::Blocks view(const BlockList& list) const {
    const bool strided = !spec_.send_stride.contiguous() || !spec_.receive_stride.contiguous();
    if (!is_uneven(spec_.collective) && !strided) return {spec_.bytes, nullptr, nullptr};
    return {0, list.offsets.data(), list.sizes.data()};
  }

  /// Of the block that `from` has for `to`; where blocks have one owner, any `from` says the same.
  [[nodiscard]] static std::uint64_t block_bytes(const Spec& spec, int from, int to) {
    if (!is_uneven(spec.collective)) return spec.bytes;
    const std::uint64_t unit = spec.operation != nullptr ? spec.operation->call.element_bytes : 1;
    const std::uint64_t sender = exchanges(spec.collective) ? static_cast<std::uint64_t>(from) : 99;
    const std::uint64_t draw = hash(spec, 1000 + sender, static_cast<std::uint64_t>(to));
    constexpr std::array<std::uint64_t, 6> kQuarters{0, 1, 3, 4, 5, 8};
    const std::uint64_t bytes = spec.bytes * kQuarters[draw % kQuarters.size()] / 4 + (draw >> 8) % 2;
    return bytes / unit * unit;
  }
  /// The blocks of `rank`, in any order with gaps between (reductions: in order, without).
  [[nodiscard]] BlockList blocks(int rank, bool sends) const {
    const int ranks = spec_.ranks;
    std::vector<int> order(at(ranks));
    std::iota(order.begin(), order.end(), 0);
    Rng rng(hash(spec_, sends ? 5 : 6, static_cast<std::uint64_t>(rank)));
    const bool loose = is_uneven(spec_.collective) && !scatters_blocks(spec_.collective);
    if (loose) rng.shuffle(std::span(order));
    BlockList list;
    list.offsets.resize(at(ranks));
    list.sizes.resize(at(ranks));
    for (const int other : order) {
      if (loose) list.extent += rng.below(20);
      list.offsets[at(other)] = list.extent;
      list.sizes[at(other)] = sends ? block_bytes(spec_, rank, other) : block_bytes(spec_, other, rank);
      if (!sends && !exchanges(spec_.collective)) list.sizes[at(other)] = block_bytes(spec_, 0, other);
      list.extent += extent(list.sizes[at(other)], stride_of(rank, sends));
    }
    return list;
  }
  /// Each rank has layouts of its own, but in a reduction.
  [[nodiscard]] coll::Stride stride_of(int rank, bool sends) const {
    coll::Stride stride = sends ? spec_.send_stride : spec_.receive_stride;
    if (!stride.contiguous() && !combines(spec_.collective)) {
      stride.stride_bytes += static_cast<std::uint32_t>(rank % 3) * 16;
    }
    return stride;
  }
  static std::uint64_t strided(std::uint64_t place, const coll::Stride& stride) {
    if (stride.block_bytes == 0) return place;
    return place / stride.block_bytes * stride.stride_bytes + place % stride.block_bytes;
  }
  static std::uint64_t extent(std::uint64_t bytes, const coll::Stride& stride) {
    return bytes == 0 ? 0 : strided(bytes - 1, stride) + 1;
  }

  void lay_out(int rank) {
    Rank& mine = ranks_[at(rank)];
    const Collective what = spec_.collective;
    const bool is_root = rank == spec_.root;
    const std::uint64_t own = block_bytes(spec_, 0, rank);
    std::uint64_t sent = extent(own, stride_of(rank, true));
    std::uint64_t received = extent(own, stride_of(rank, false));
    mine.in_place = false;
    mine.own_offset = 0;
    mine.has_send = mine.has_receive = what != Collective::barrier;
    mine.sends_blocks = exchanges(what) || (scatters(what) && is_root);
    mine.receives_blocks =
        exchanges(what) || gathers_to_all(what) || scatters_blocks(what) || (gathers_to_root(what) && is_root);
    if (mine.sends_blocks) mine.send_blocks = blocks(rank, true);
    if (mine.receives_blocks) mine.receive_blocks = blocks(rank, false);
    if (what == Collective::broadcast) {
      mine.has_send = is_root;
      mine.has_receive = !is_root;
    } else if (what == Collective::reduce) {
      mine.has_receive = is_root;
    } else if (gathers_to_root(what)) {
      mine.has_receive = is_root;
      if (is_root) received = mine.receive_blocks.extent;
    } else if (scatters(what)) {
      mine.has_send = is_root;
      if (is_root) sent = mine.send_blocks.extent;
    } else if (gathers_to_all(what)) {
      received = mine.receive_blocks.extent;
    } else if (exchanges(what)) {
      sent = mine.send_blocks.extent;
      received = mine.receive_blocks.extent;
    } else if (scatters_blocks(what)) {
      sent = mine.receive_blocks.extent;
    }
    if (what == Collective::barrier) sent = received = 0;
    place(mine, rank, sent, received);
  }

  void place(Rank& mine, int rank, std::uint64_t sent, std::uint64_t received) {
    const std::uint64_t draw = hash(spec_, 7, static_cast<std::uint64_t>(rank));
    const auto skew = [&](int shift) -> std::size_t { return spec_.unaligned ? (draw >> shift) % 16 : 0; };
    if (mine.has_send) mine.send.reset(sent, skew(0));
    if (mine.has_receive) mine.receive.reset(received, skew(8));
    mine.workspace.reset(spec_.bytes, skew(16));
    mine.workspace.keep();
    if (mine.has_send) fill(mine.send.data(), sent);
    gather_operand(mine, rank, sent);
    if (spec_.in_place && may_be_in_place(spec_.collective)) make_in_place(mine, rank, sent);
    if (mine.has_send) mine.send.keep();
    if (mine.has_receive) mine.receive.keep();
  }
  void gather_operand(Rank& mine, int rank, std::uint64_t sent) {
    mine.operand.clear();
    if (!mine.has_send) return;
    const coll::Stride stride = mine.sends_blocks ? coll::Stride{} : stride_of(rank, true);
    for (std::uint64_t i = 0; strided(i, stride) < sent; ++i) {
      mine.operand.push_back(mine.send.data()[strided(i, stride)]);
    }
  }
  /// One buffer for both where the rank has both.
  void make_in_place(Rank& mine, int rank, std::uint64_t sent) {
    if (!mine.has_send || !mine.has_receive) return;
    mine.in_place = true;
    if (scatters(spec_.collective)) {
      mine.own_offset = mine.send_blocks.offsets[at(rank)];
      mine.has_receive = false;
      return;
    }
    if (mine.receives_blocks) mine.own_offset = mine.receive_blocks.offsets[at(rank)];
    if (sent > 0) std::memcpy(mine.receive.data() + mine.own_offset, mine.operand.data(), sent);
    mine.has_send = false;
  }
  void fill(std::byte* to, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes; done += sizeof(std::uint64_t)) {
      const std::uint64_t word = splitmix64(rng_state_);
      std::memcpy(to + done, &word, std::min<std::uint64_t>(sizeof(word), bytes - done));
    }
    if (spec_.operation == nullptr || spec_.operation->suit == nullptr) return;
    const std::uint64_t element = spec_.operation->call.element_bytes;
    for (std::uint64_t done = 0; done + element <= bytes; done += element) spec_.operation->suit(to + done);
  }

  // ---- what must come out ----

  void expect(int rank) {
    const Collective what = spec_.collective;
    if (what == Collective::barrier) return;
    if (combines(what)) return expect_combined(rank);
    Rank& mine = ranks_[at(rank)];
    if (!mine.has_receive) return;
    std::byte* const to = mine.receive.expect();
    if (what == Collective::broadcast) {
      spread(to, stride_of(rank, false), ranks_[at(spec_.root)].operand);
    } else if (scatters(what)) {
      copy_block(to, spec_.root, ranks_[at(spec_.root)].send_blocks, rank);
    } else {
      for (int other = 0; other < spec_.ranks; ++other) {
        const Rank& theirs = ranks_[at(other)];
        std::byte* const place = to + mine.receive_blocks.offsets[at(other)];
        if (exchanges(what)) {
          copy_block(place, other, theirs.send_blocks, rank);
        } else {
          spread(place, stride_of(rank, false), theirs.operand);
        }
      }
    }
  }
  static void spread(std::byte* to, const coll::Stride& stride, std::span<const std::byte> data) {
    for (std::uint64_t i = 0; i < data.size(); ++i) to[strided(i, stride)] = data[i];
  }
  /// From the sender's layout to that of rank `block`.
  void copy_block(std::byte* to, int from, const BlockList& list, int block) const {
    const coll::Stride theirs = stride_of(from, true), own = stride_of(block, false);
    const std::byte* const data = ranks_[at(from)].operand.data() + list.offsets[at(block)];
    for (std::uint64_t i = 0; i < list.sizes[at(block)]; ++i) to[strided(i, own)] = data[strided(i, theirs)];
  }
  /// The operands of ranks 0 .. last folded from the left.
  [[nodiscard]] const std::vector<std::byte>& folded(int last) {
    if (last == 0) fold_ = ranks_[0].operand;
    if (last == 0 || last == folded_) return folded_ = last, fold_;
    if (last < folded_) {
      fold_ = ranks_[0].operand;
      folded_ = 0;
    }
    while (folded_ < last) {
      ++folded_;
      const std::vector<std::byte>& next = ranks_[at(folded_)].operand;
      spec_.operation->fold(fold_.data(), next.data(), fold_.data(),
                            next.size() / spec_.operation->call.element_bytes);
    }
    return fold_;
  }
  void expect_combined(int rank) {
    Rank& mine = ranks_[at(rank)];
    if (rank == 0) static_cast<void>(folded(0));
    if (!mine.has_receive) return;
    std::uint64_t begin = 0;
    int last = spec_.ranks - 1;
    if (spec_.collective == Collective::scan) last = rank;
    if (spec_.collective == Collective::exscan) last = rank - 1;
    if (last < 0) return;
    const std::vector<std::byte>& result = folded(last);
    std::uint64_t bytes = result.size();
    if (scatters_blocks(spec_.collective)) {
      begin = mine.receive_blocks.offsets[at(rank)];
      bytes = mine.receive_blocks.sizes[at(rank)];
    }
    spread(mine.receive.expect(), stride_of(rank, false), std::span(result).subspan(begin, bytes));
  }

  Spec spec_;
  std::uint64_t rng_state_ = 0;
  int left_ = 0;
  std::vector<Rank> ranks_;
  std::vector<std::byte> fold_;
  int folded_ = 0;
};

}  // namespace corewise::lab::reference
