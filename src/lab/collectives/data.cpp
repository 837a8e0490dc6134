// Areas, values and the serial reference. Block sizes and values are drawn from a hash of who, to whom, which set.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/data.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/rng.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;

constexpr std::uint64_t kLine = 128;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kNothingYet{0x5A};

bool gathers(Collective collective) {
  return any_of(collective,
                {Collective::gather, Collective::gatherv, Collective::allgather, Collective::allgatherv});
}
bool scatters(Collective collective) {
  return any_of(collective, {Collective::scatter, Collective::scatterv});
}
bool exchanges(Collective collective) {
  return any_of(collective, {Collective::alltoall, Collective::alltoallv});
}
bool reduces_blocks(Collective collective) {
  return any_of(collective, {Collective::reduce_scatter, Collective::reduce_scatter_block});
}

// ---- strides ----

/// Where byte `at` of strided data lies.
std::uint64_t place_of(std::uint64_t at, const coll::Stride& stride) {
  if (stride.contiguous()) return at;
  return at / stride.block_bytes * stride.stride_bytes + at % stride.block_bytes;
}
/// From the first byte to the end of the last.
std::uint64_t extent(std::uint64_t bytes, const coll::Stride& stride) {
  return bytes == 0 ? 0 : place_of(bytes - 1, stride) + 1;
}
/// Contiguous bytes to where strided ones lie.
void spread(std::span<const std::byte> contiguous, std::span<std::byte> strided, const coll::Stride& stride) {
  if (stride.contiguous()) {
    std::ranges::copy(contiguous, strided.begin());
    return;
  }
  for (std::size_t at = 0; at < contiguous.size(); ++at) strided[place_of(at, stride)] = contiguous[at];
}

/// Whether two areas of one size are the same; most are, and `mismatch` goes byte by byte.
bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
  return one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0;
}

// ---- values ----

/// Which values suit an operator: the same result in every order, and no value that two types read differently.
enum Values : int { kAnyBytes, kTruth, kSmallNumbers, kUnits, kPairs, kAffine };

std::uint64_t hash_of(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d = 0) {
  std::uint64_t state = a * 0x9E3779B97F4A7C15U + b;
  state = splitmix64(state) + c;
  state = splitmix64(state) + d;
  return splitmix64(state);
}

/// The bits of a small whole number as float types have them: -8 .. 8.
template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

std::uint16_t half_bits(int value) {
  if (value == 0) return 0;
  const unsigned size = static_cast<unsigned>(value < 0 ? -value : value);
  unsigned exponent = 0;
  while ((2U << exponent) <= size) ++exponent;
  const unsigned mantissa = (size << (10 - exponent)) & 0x3FFU;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10 | mantissa);
}

using kernels::Element;

void put_number(Element element, std::byte* at, int value) {
  switch (element) {
    case Element::float16:
    case Element::complex32:
      return put(at, half_bits(value));
    case Element::float32:
    case Element::complex64:
    case Element::float32_int32:
    case Element::float32_float32:
      return put(at, static_cast<float>(value));
    case Element::float64:
    case Element::complex128:
    case Element::float64_int32:
    case Element::float64_float64:
      return put(at, static_cast<double>(value));
    case Element::long_double:
    case Element::complex_long_double:
    case Element::long_double_int32: {
      long double number = value;
      std::memset(at, 0, sizeof number);
      std::memcpy(at, &number, std::min<std::size_t>(sizeof number, 10));
      return;
    }
    case Element::float128:
    case Element::complex256: {
#if defined(__SIZEOF_FLOAT128__)
      return put(at, static_cast<__float128>(value));
#else
      return put(at, static_cast<long double>(value));
#endif
    }
    case Element::int64_int32:
    case Element::int64_int64:
      return put(at, static_cast<std::int64_t>(value));
    case Element::int16_int32:
      return put(at, static_cast<std::int16_t>(value));
    default:
      return put(at, static_cast<std::int32_t>(value));
  }
}

bool is_complex(Element element) {
  return element == Element::complex32 || element == Element::complex64 || element == Element::complex128 ||
         element == Element::complex_long_double || element == Element::complex256;
}
bool is_float(Element element) {
  return element == Element::float16 || element == Element::float32 || element == Element::float64 ||
         element == Element::long_double || element == Element::float128;
}
bool is_pair(Element element) {
  return kernels::has_class(element, kernels::TypeClass::pair);
}
/// Where the index of a pair lies.
std::size_t index_at(Element element) {
  if (element == Element::int16_int32) return 4;
  if (element == Element::long_double_int32) return sizeof(long double);
  if (element == Element::float32_int32 || element == Element::int32_int32 || element == Element::float32_float32) {
    return 4;
  }
  return 8;
}
void put_index(Element element, std::byte* at, int index) {
  if (element == Element::float32_float32) return put(at, static_cast<float>(index));
  if (element == Element::float64_float64) return put(at, static_cast<double>(index));
  if (element == Element::int64_int64) return put(at, static_cast<std::int64_t>(index));
  put(at, static_cast<std::int32_t>(index));
}

int values_for(kernels::Operator operation, Element element) {
  if (is_pair(element)) return kPairs;
  if (is_float(element) || is_complex(element)) {
    return operation == kernels::Operator::product ? kUnits : kSmallNumbers;
  }
  const bool truth = element == Element::bool8 || operation == kernels::Operator::logical_and ||
                     operation == kernels::Operator::logical_or || operation == kernels::Operator::logical_xor;
  return truth ? kTruth : kAnyBytes;
}

/// One element from 64 drawn bits.
void put_value(int values, Element element, std::byte* at, std::size_t bytes, std::uint64_t drawn, int rank) {
  const int small = static_cast<int>(drawn % 17) - 8;
  if (values == kTruth) {
    std::memset(at, 0, bytes);
    at[0] = static_cast<std::byte>(drawn & 1);
  } else if (values == kPairs) {
    std::memset(at, 0, bytes);
    put_number(element, at, small / 4);  // many are equal, so that the index decides
    put_index(element, at + index_at(element), 1 + static_cast<int>(drawn >> 32 & 7) * 16 + rank);
  } else if (values == kUnits) {
    // Of complex numbers only positive reals: the sign of a zero would depend on the order.
    std::memset(at, 0, bytes);
    put_number(element, at, is_complex(element) ? 1 + (drawn % 8 == 0) : (drawn & 1) != 0 ? 1 : -1);
    if (is_complex(element)) put_number(element, at + bytes / 2, 0);
  } else {  // kSmallNumbers
    std::memset(at, 0, bytes);
    put_number(element, at, small);
    if (is_complex(element)) put_number(element, at + bytes / 2, static_cast<int>(drawn >> 8 & 7));
  }
}

// ---- users' operators ----

/// x -> a x + b modulo 2^32, applied one after the other: associative, not commutative.
void compose(void* /*context*/, const std::byte* in, std::byte* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t first[2], then[2];
    std::memcpy(first, in + 8 * i, 8);
    std::memcpy(then, inout + 8 * i, 8);
    const std::uint32_t both[2] = {then[0] * first[0], then[0] * first[1] + then[1]};
    std::memcpy(inout + 8 * i, both, 8);
  }
}
void add(void* /*context*/, const std::byte* in, std::byte* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t a = 0, b = 0;
    std::memcpy(&a, in + 4 * i, 4);
    std::memcpy(&b, inout + 4 * i, 4);
    b += a;
    std::memcpy(inout + 4 * i, &b, 4);
  }
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& each : names) text.append(text.empty() ? "" : ", ").append(kernels::name(each));
  return text;
}

}  // namespace

Result<CollectiveData> CollectiveData::make(const CollectiveRequest& request, int sets, bool workspace) {
  CollectiveData data(request, sets, workspace);
  if (Status status = data.choose_operator(); !status.ok()) return status;
  data.lay_out_blocks();
  data.lay_out_buffers();
  std::uint64_t total = 0;
  for (int rank = 0; rank < request.ranks; ++rank) total += data.area_bytes(rank);
  if (total > kMostTotalBytes) {
    return bad_field("", "bytes", std::to_string(request.bytes),
                     "so many that all buffers together take at most " + std::to_string(kMostTotalBytes) +
                         " bytes, not " + std::to_string(total));
  }
  data.reduced_.resize(static_cast<std::size_t>(sets));
  return data;
}

Status CollectiveData::choose_operator() {
  if (!combines(request_.collective)) return {};
  coll::Operation& call = op_->call;
  if (request_.operation == "user_compose") {
    call.user = &compose;
    call.element_bytes = 8;
    call.commutative = false;
    call.cycles_per_line = 96;
    op_->kind = kAffine;
  } else if (request_.operation == "user_sum") {
    call.user = &add;
    call.element_bytes = 4;
    op_->kind = kAnyBytes;
  } else {
    const auto operation = kernels::operator_named(request_.operation_name());
    if (!operation || *operation == kernels::Operator::replace || *operation == kernels::Operator::no_operation) {
      return bad_field("", "operation", quoted(request_.operation_name()),
                       joined(kernels::operators().first(12)) + ", user_sum, user_compose");
    }
    const auto element = kernels::element_named(request_.element_name());
    if (!element) {
      return bad_field("", "element", quoted(request_.element_name()), joined(kernels::elements()));
    }
    call.combine = kernels::combine_for(*operation, *element);
    call.combine_row = kernels::combine_row_for(*operation, *element);
    if (call.combine == nullptr) {
      return bad_field("", "element", quoted(request_.element_name()),
                       "what MPI allows for the operator " + std::string(request_.operation_name()));
    }
    call.element_bytes = static_cast<std::uint32_t>(kernels::element_bytes(*element));
    op_->kind = values_for(*operation, *element);
  }
  if (request_.bytes % call.element_bytes != 0) {
    return bad_field("", "bytes", std::to_string(request_.bytes),
                     "multiples of the element's " + std::to_string(call.element_bytes) + " bytes");
  }
  return {};
}

void CollectiveData::set_operator_cycles(const cell::Parameters& machine) {
  coll::Operation& call = op_->call;
  call.set_up_cycles = static_cast<std::uint32_t>(machine.spu_operator_set_up_cycles);
  if (op_->kind != kAffine) call.cycles_per_line = static_cast<std::uint32_t>(machine.spu_operator_line_cycles);
}

// ---- where things lie ----

/// Of the block that goes from one rank to another; in scatters and gathers the root counts as rank 0, in
/// reduce_scatter `from` is of no meaning.
std::uint64_t CollectiveData::block_bytes(int from, int to) const {
  if (!request_.uneven || !has_uneven_blocks(request_.collective)) return request_.bytes;
  constexpr std::array<std::uint64_t, 6> kQuarters = {4, 2, 8, 0, 5, 3};  // of `bytes`
  const std::uint64_t drawn =
      hash_of(request_.seed, 1, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
  const std::uint64_t bytes = request_.bytes * kQuarters[drawn % kQuarters.size()] / 4;
  const std::uint64_t whole = combines(request_.collective) ? op_->call.element_bytes : 1;
  return bytes / whole * whole;
}

CollectiveData::BlockList CollectiveData::block_list(int rank, bool sends) const {
  BlockList list;
  const bool gaps = request_.uneven && has_uneven_blocks(request_.collective) && !combines(request_.collective);
  for (int other = 0; other < request_.ranks; ++other) {
    std::uint64_t bytes = 0;
    if (exchanges(request_.collective)) {
      bytes = sends ? block_bytes(rank, other) : block_bytes(other, rank);
    } else {
      bytes = block_bytes(0, other);
    }
    if (gaps)
      list.end +=
          hash_of(request_.seed, 2, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(other)) % 25;
    list.offsets.push_back(list.end);
    list.sizes.push_back(bytes);
    list.end += extent(bytes, sends ? request_.send_stride() : request_.receive_stride());
  }
  return list;
}

void CollectiveData::lay_out_blocks() {
  largest_ = request_.bytes;
  for (int rank = 0; rank < request_.ranks; ++rank) {
    sends_.push_back(block_list(rank, true));
    receives_.push_back(block_list(rank, false));
    for (const std::uint64_t bytes : sends_.back().sizes) largest_ = std::max(largest_, bytes);
  }
}

std::uint64_t CollectiveData::send_extent(int rank) const {
  const Collective collective = request_.collective;
  if (collective == Collective::barrier) return 0;
  if (scatters(collective) || exchanges(collective) || reduces_blocks(collective)) {
    return sends_[static_cast<std::size_t>(rank)].end;
  }
  return extent(bytes(rank), request_.send_stride());
}

std::uint64_t CollectiveData::receive_extent(int rank) const {
  const Collective collective = request_.collective;
  if (collective == Collective::barrier) return 0;
  if (gathers(collective) || exchanges(collective)) return receives_[static_cast<std::size_t>(rank)].end;
  return extent(bytes(rank), request_.receive_stride());
}

void CollectiveData::lay_out_buffers() {
  const auto up = [](std::uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  for (int rank = 0; rank < request_.ranks; ++rank) {
    Buffers each;
    each.send_bytes = send_extent(rank);
    each.receive_bytes = receive_extent(rank);
    const auto odd = static_cast<std::uint64_t>(rank);
    each.send_at = kLine + (request_.unaligned ? (odd * 5 + 3) % 32 : 0);
    each.receive_at = each.send_at;
    std::uint64_t end = up(each.send_at + each.send_bytes) + kLine;
    if (!request_.in_place) {
      each.receive_at = end + (request_.unaligned ? (odd * 11 + 7) % 32 : 0);
      end = up(each.receive_at + each.receive_bytes) + kLine;
    } else if (gathers(request_.collective)) {
      each.send_at =
          each.receive_at + receives_[static_cast<std::size_t>(rank)].offsets[static_cast<std::size_t>(rank)];
      end = up(each.receive_at + each.receive_bytes) + kLine;
    } else if (scatters(request_.collective)) {
      each.receive_at =
          each.send_at + sends_[static_cast<std::size_t>(rank)].offsets[static_cast<std::size_t>(rank)];
    }
    each.set_bytes = end;
    each.workspace_bytes = workspace_ ? up(request_.bytes) : 0;
    buffers_.push_back(each);
  }
}

std::uint64_t CollectiveData::area_bytes(int rank) const {
  return workspace_at(rank) + buffers_[static_cast<std::size_t>(rank)].workspace_bytes + kLine;
}
std::uint64_t CollectiveData::workspace_at(int rank) const {
  return buffers_[static_cast<std::size_t>(rank)].set_bytes * static_cast<std::uint64_t>(sets_);
}
std::uint64_t CollectiveData::send_at(int rank, int set) const {
  const Buffers& each = buffers_[static_cast<std::size_t>(rank)];
  return each.send_at + each.set_bytes * static_cast<std::uint64_t>(set);
}
std::uint64_t CollectiveData::receive_at(int rank, int set) const {
  const Buffers& each = buffers_[static_cast<std::size_t>(rank)];
  return each.receive_at + each.set_bytes * static_cast<std::uint64_t>(set);
}

std::uint64_t CollectiveData::bytes(int rank) const {
  if (has_uneven_blocks(request_.collective) && !exchanges(request_.collective)) return block_bytes(0, rank);
  return request_.bytes;
}
/// Strided blocks are as far apart as they extend.
bool CollectiveData::lists_blocks() const {
  return has_uneven_blocks(request_.collective) || !request_.contiguous();
}
coll::Blocks CollectiveData::send_blocks(int rank) const {
  const bool significant =
      exchanges(request_.collective) || (scatters(request_.collective) && rank == request_.root);
  if (!significant) return {};
  if (lists_blocks()) return sends_[static_cast<std::size_t>(rank)].view();
  return {request_.bytes, nullptr, nullptr};
}
coll::Blocks CollectiveData::receive_blocks(int rank) const {
  const bool rooted_gather = any_of(request_.collective, {Collective::gather, Collective::gatherv});
  const bool significant = exchanges(request_.collective) || reduces_blocks(request_.collective) ||
                           (gathers(request_.collective) && (!rooted_gather || rank == request_.root));
  if (!significant) return {};
  if (lists_blocks()) return receives_[static_cast<std::size_t>(rank)].view();
  return {request_.bytes, nullptr, nullptr};
}

// ---- values and the reference ----

/// Bytes `from` .. of what the rank sends, where any bytes will do.
void CollectiveData::draw_bytes(int rank, int set, std::uint64_t from, std::span<std::byte> into) const {
  const std::uint64_t key =
      hash_of(request_.seed, 3, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(set));
  const auto drawn_at = [key](std::uint64_t word) {
    std::uint64_t state = key + word * 0x9E3779B97F4A7C15U;
    return splitmix64(state);
  };
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t word = (from + done) / 8, skip = (from + done) % 8;
    const std::uint64_t drawn = drawn_at(word) >> (8 * skip);
    // A whole word has a length that the compiler knows.
    if (skip == 0 && into.size() - done >= sizeof drawn) {
      std::memcpy(into.data() + done, &drawn, sizeof drawn);
      done += sizeof drawn;
      continue;
    }
    const std::size_t count = std::min<std::size_t>(8 - skip, into.size() - done);
    std::memcpy(into.data() + done, &drawn, count);
    done += count;
  }
}

std::vector<std::byte> CollectiveData::sent(int rank, int set) const {
  std::uint64_t count = bytes(rank);
  if (scatters(request_.collective) || exchanges(request_.collective) || reduces_blocks(request_.collective)) {
    count = sends_[static_cast<std::size_t>(rank)].end;
  }
  std::vector<std::byte> values(count);
  if (!combines(request_.collective) || op_->kind == kAnyBytes || op_->kind == kAffine) {
    draw_bytes(rank, set, 0, values);
    return values;
  }
  Rng rng(hash_of(request_.seed, 3, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(set)));
  const Element element = *kernels::element_named(request_.element_name());
  const std::size_t each = op_->call.element_bytes;
  for (std::size_t at = 0; at < values.size(); at += each) {
    put_value(op_->kind, element, values.data() + at, each, rng.next(), rank);
  }
  return values;
}

std::vector<std::byte> CollectiveData::sent_block(int rank, int to, int set) const {
  const BlockList& list = sends_[static_cast<std::size_t>(rank)];
  const std::uint64_t bytes = list.sizes[static_cast<std::size_t>(to)];
  const coll::Stride stride = request_.send_stride();
  std::vector<std::byte> values(extent(bytes, stride));
  draw_bytes(rank, set, list.offsets[static_cast<std::size_t>(to)], values);
  for (std::size_t at = 0; at < bytes; ++at) values[at] = values[place_of(at, stride)];
  values.resize(bytes);
  return values;
}

/// Combines what ranks first .. last send, lower ranks on the left.
void CollectiveData::reduce_into(int first, int last, int set, std::vector<std::byte>& result) const {
  result = sent(first, set);
  for (int rank = first + 1; rank <= last; ++rank) {
    std::vector<std::byte> next = sent(rank, set);
    op_->call(result.data(), next.data(), next.size());
    result.swap(next);
  }
}

void CollectiveData::expect(int rank, int set, std::span<std::byte> receive) const {
  const Collective collective = request_.collective;
  if (collective == Collective::barrier) return;
  if (collective == Collective::broadcast) {
    if (rank == request_.root) return;
    if (const coll::Stride stride = request_.receive_stride(); !stride.contiguous()) {
      return spread(sent(request_.root, set), receive, stride);
    }
    draw_bytes(request_.root, set, 0, receive.first(bytes(request_.root)));
  } else if (gathers(collective) || scatters(collective) || exchanges(collective)) {
    expect_blocks(rank, set, receive);
  } else {
    expect_reduced(rank, set, receive);
  }
}

void CollectiveData::expect_blocks(int rank, int set, std::span<std::byte> receive) const {
  const Collective collective = request_.collective;
  if (scatters(collective)) {
    return spread(sent_block(request_.root, rank, set), receive, request_.receive_stride());
  }
  if (any_of(collective, {Collective::gather, Collective::gatherv}) && rank != request_.root) return;
  const BlockList& blocks = receives_[static_cast<std::size_t>(rank)];
  for (int from = 0; from < request_.ranks; ++from) {
    const auto block = gathers(collective) ? sent(from, set) : sent_block(from, rank, set);
    spread(block, receive.subspan(blocks.offsets[static_cast<std::size_t>(from)]), request_.receive_stride());
  }
}

void CollectiveData::expect_reduced(int rank, int set, std::span<std::byte> receive) const {
  const Collective collective = request_.collective;
  if (collective == Collective::scan || collective == Collective::exscan) {
    const int last = collective == Collective::scan ? rank : rank - 1;
    if (last < 0) return;
    std::vector<std::byte> result;
    reduce_into(0, last, set, result);
    std::ranges::copy(result, receive.begin());
    return;
  }
  if (collective == Collective::reduce && rank != request_.root) return;
  std::vector<std::byte>& result = reduced_[static_cast<std::size_t>(set)];
  if (result.empty()) reduce_into(0, request_.ranks - 1, set, result);
  const std::span<const std::byte> all(result);
  const auto index = static_cast<std::size_t>(rank);
  const BlockList& blocks = receives_[index];
  const bool own_block = reduces_blocks(collective);
  const auto mine = own_block ? all.subspan(blocks.offsets[index], blocks.sizes[index]) : all;
  spread(mine, receive, request_.receive_stride());
}

void CollectiveData::fill(int rank, std::span<std::byte> area) const {
  const Buffers& each = buffers_[static_cast<std::size_t>(rank)];
  std::ranges::fill(area, kGuard);
  for (int set = 0; set < sets_; ++set) {
    std::ranges::fill(area.subspan(receive_at(rank, set), each.receive_bytes), kNothingYet);
    const std::vector<std::byte> values = sent(rank, set);
    const std::span<std::byte> send = area.subspan(send_at(rank, set), each.send_bytes);
    // What is scattered has been drawn with the gaps within and between its blocks.
    const coll::Stride stride = scatters(request_.collective) ? coll::Stride{} : request_.send_stride();
    const std::size_t count = std::min(values.size(), send.size());
    spread(std::span(values).first(count), send, stride);
  }
}

Status CollectiveData::wrong_data(int rank, int set, const std::string& place, std::byte found,
                                  std::byte expected) const {
  const auto number = [](std::byte value) { return std::to_string(std::to_integer<int>(value)); };
  return {Code::unsupported, "wrong data: " + std::string(name_of(request_.collective)) + ", rank " +
                                 std::to_string(rank) + ", set " + std::to_string(set) + ": " + place + " is " +
                                 number(found) + ", not " + number(expected)};
}

Status CollectiveData::check_call(int rank, int set, std::span<const std::byte> area) const {
  if (request_.in_place) return {};
  std::vector<std::byte> wanted(buffers_[static_cast<std::size_t>(rank)].receive_bytes, kNothingYet);
  expect(rank, set, wanted);
  const std::span<const std::byte> receive = area.subspan(receive_at(rank, set), wanted.size());
  if (same(receive, wanted)) return {};
  const auto [found, expected] = std::ranges::mismatch(receive, wanted);
  const std::string place = "byte " + std::to_string(found - receive.begin()) + " of its receive buffer";
  return wrong_data(rank, set, place, *found, *expected);
}

void CollectiveData::forget_call(int rank, int set, std::span<std::byte> area) const {
  if (request_.in_place) return;
  const std::uint64_t bytes = buffers_[static_cast<std::size_t>(rank)].receive_bytes;
  std::ranges::fill(area.subspan(receive_at(rank, set), bytes), kNothingYet);
}

Status CollectiveData::check(int rank, std::span<const std::byte> area) const {
  std::vector<std::byte> wanted(area.size());
  fill(rank, wanted);
  for (int set = 0; set < sets_; ++set) {
    expect(
        rank, set,
        std::span(wanted).subspan(receive_at(rank, set), buffers_[static_cast<std::size_t>(rank)].receive_bytes));
  }
  const auto work = static_cast<std::ptrdiff_t>(workspace_at(rank));
  const Buffers& each = buffers_[static_cast<std::size_t>(rank)];
  std::copy_n(area.begin() + work, each.workspace_bytes, wanted.begin() + work);  // it may hold anything
  if (same(area, wanted)) return {};
  const auto [found, expected] = std::ranges::mismatch(area, wanted);
  const auto at = static_cast<std::uint64_t>(found - area.begin());
  const int set = std::min(sets_ - 1, static_cast<int>(at / each.set_bytes));
  std::string place = "outside of its buffers";
  if (at >= receive_at(rank, set) && at < receive_at(rank, set) + each.receive_bytes) {
    place = "byte " + std::to_string(at - receive_at(rank, set)) + " of its receive buffer";
  } else if (at >= send_at(rank, set) && at < send_at(rank, set) + each.send_bytes) {
    place = "byte " + std::to_string(at - send_at(rank, set)) + " of its send buffer";
  }
  return wrong_data(rank, set, place, *found, *expected);
}

}  // namespace corewise::lab
