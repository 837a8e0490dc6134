// Encoding and decoding of a chunk; the layout is described in codec.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "trace/codec.hpp"

#include <bit>
#include <cstring>

#include "trace/format.hpp"

namespace corewise::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they lie in memory");

constexpr std::uint32_t kTemplates = 64;
constexpr std::uint32_t kRecent = 16;
constexpr std::uint64_t kHash = 0x9e3779b97f4a7c15ULL;

constexpr std::uint32_t kMiss = 1U << 6;
constexpr std::uint32_t kBackwards = 1U << 7;
constexpr int kDistanceShift = 8;
constexpr int kDurationShift = 10;
constexpr int kLowShift = 12;
constexpr std::uint32_t kLongestDistance = 3;  ///< code of 8 bytes

/// The most that one record can take, and the widest store behind it.
constexpr std::uint32_t kLargestRecord = 2 + 8 + 4 + 2 + 4 + 8 + 4 + 4;
constexpr std::uint32_t kMargin = kLargestRecord + 8;

/// What records of one kind of call have in common.
struct Template {
  std::uint64_t head = 0;  ///< call and site
  std::uint64_t volume = 0;
  std::uint64_t ends = 0;  ///< peer and tag
};

struct Dictionary {
  Template templates[kTemplates];
  Template recent[kRecent];
};

std::uint64_t load_word(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

void store_word(std::byte* at, std::uint64_t word) {
  std::memcpy(at, &word, sizeof word);
}

/// Records that carry something else in the place of the duration.
constexpr bool has_duration(std::uint16_t call) {
  return (call & kLongRecord) != 0 || role_of(call) < Role::function_enter;
}

/// 1 in the bit of each role whose start is an earlier call's.
constexpr std::uint32_t kEarlier =
    1U << static_cast<unsigned>(Role::arrival) | 1U << static_cast<unsigned>(Role::cancel);

constexpr bool moves_clock(std::uint16_t call) {
  return (call & kLongRecord) == 0 || (kEarlier >> static_cast<unsigned>(role_of(call)) & 1U) == 0;
}

std::uint32_t template_index(std::uint64_t head, std::uint64_t volume, std::uint64_t ends) {
  return static_cast<std::uint32_t>(((volume ^ std::rotl(ends, 23) ^ std::rotl(head, 43)) * kHash) >> 58);
}

constexpr std::uint32_t distance_bytes(std::uint32_t code) {
  return code + 1 + (code == kLongestDistance ? 4 : 0);
}

std::uint32_t recent_index(std::uint64_t head) {
  return static_cast<std::uint32_t>((head * kHash) >> 60);
}

std::uint32_t byte_length(std::uint64_t value) {
  return (static_cast<std::uint32_t>(std::bit_width(value)) + 7) / 8;
}

std::byte* put_bytes(std::byte* out, std::uint64_t value, std::uint32_t bytes) {
  store_word(out, value);
  return out + bytes;
}

/// A record, taken apart. Three words of template stay in registers where a call is inlined.
struct Parts {
  std::uint64_t distance;
  std::uint32_t token;  ///< index, sign and the distance's low bits
  std::uint32_t duration;
  bool timed;  ///< it has a duration
  Template common;
};

/// A template that the dictionary does not hold, against the recent one of its call.
std::byte* put_template(Dictionary& book, std::byte* out, const Template& made) {
  const std::uint32_t which = recent_index(made.head);
  Template& recent = book.recent[which];
  const std::uint64_t head = made.head ^ recent.head;
  const std::uint64_t volume = made.volume ^ recent.volume;
  const auto peer = static_cast<std::uint32_t>(made.ends ^ recent.ends);
  const auto tag = static_cast<std::uint32_t>((made.ends ^ recent.ends) >> 32);
  const std::uint32_t word = which | (head != 0 ? 1U << 4 : 0) | byte_length(volume) << 6 |
                             byte_length(peer) << 10 | byte_length(tag) << 13;
  recent = made;
  out = put_bytes(out, word, 2);
  if (head != 0) out = put_bytes(out, head, 4);
  out = put_bytes(out, volume, byte_length(volume));
  out = put_bytes(out, peer, byte_length(peer));
  return put_bytes(out, tag, byte_length(tag));
}

/// Any record; for those that are not short and known.
[[gnu::noinline]] std::byte* put_any(Dictionary& book, std::byte* out, Parts parts) {
  const std::uint64_t rest = parts.distance >> 4;
  const std::uint32_t far = byte_length(rest) <= 1 ? 0 : byte_length(rest) <= 3 ? byte_length(rest) - 1 : 3;
  const std::uint32_t more = byte_length(parts.duration) <= 1 ? 0 : byte_length(parts.duration) - 1;
  Template& found = book.templates[parts.token % kTemplates];
  const bool known =
      found.head == parts.common.head && found.volume == parts.common.volume && found.ends == parts.common.ends;
  if (!known) parts.token |= kMiss;
  out = put_bytes(out, parts.token | far << kDistanceShift | more << kDurationShift, 2);
  out = put_bytes(out, rest, distance_bytes(far));
  if (!known) out = put_template(book, out, found = parts.common);
  return parts.timed ? put_bytes(out, parts.duration, more + 1) : out;
}

/// One record. What is short and known leaves in one store, without a branch that its values decide.
[[gnu::always_inline]] inline std::byte* put_record(Dictionary& book, std::byte* out, std::uint64_t step,
                                                    std::uint32_t duration, bool timed, std::uint64_t head,
                                                    std::uint64_t volume, std::uint64_t ends) {
  const auto sign = static_cast<std::uint64_t>(static_cast<std::int64_t>(step) >> 63);
  const std::uint64_t distance = (step ^ sign) - sign;
  const std::uint64_t rest = distance >> 4;
  const std::uint32_t index = template_index(head, volume, ends);
  const Template& found = book.templates[index];
  const std::uint64_t news = (found.head ^ head) | (found.volume ^ volume) | (found.ends ^ ends);
  const std::uint32_t token = index | (static_cast<std::uint32_t>(sign) & kBackwards) |
                              static_cast<std::uint32_t>(distance & 15) << kLowShift;
  if ((news | rest >> 24 | duration >> 24) != 0) [[unlikely]]
    return put_any(book, out, {distance, token, duration, timed, {head, volume, ends}});
  const std::uint32_t far = (rest > 0xff) + (rest > 0xffff);
  const std::uint32_t more = (duration > 0xff) + (duration > 0xffff);
  store_word(out, token | far << kDistanceShift | more << kDurationShift | rest << 16 |
                      std::uint64_t{duration} << (24 + 8 * far));
  return out + far + (timed ? 4 + more : 3);
}

// ---- back ------------------------------------------------------------------------------------------------

/// Bytes that are not trusted.
class Input {
 public:
  Input(const std::byte* at, std::uint32_t bytes) : at_(at), end_(at + bytes) {}

  [[nodiscard]] bool empty() const { return at_ == end_; }
  [[nodiscard]] bool failed() const { return failed_; }

  /// The next `bytes` bytes, at most 8, as a word; 0 and failed() where there are not that many.
  std::uint64_t take(std::uint32_t bytes) {
    std::uint64_t word = 0;
    if (bytes > 8 || static_cast<std::size_t>(end_ - at_) < bytes) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&word, at_, bytes);
    at_ += bytes;
    return word;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool failed_ = false;
};

Template take_template(Input& input, Dictionary& book) {
  const auto word = static_cast<std::uint32_t>(input.take(2));
  Template& made = book.recent[word & (kRecent - 1)];
  if ((word >> 4 & 3U) != 0) made.head ^= input.take(4);
  made.volume ^= input.take(word >> 6 & 15U);
  made.ends ^= input.take(word >> 10 & 7U) & UINT32_MAX;
  made.ends ^= (input.take(word >> 13 & 7U) & UINT32_MAX) << 32;
  return made;
}

/// The next record at `out`; its size, 0 where the input is damaged or `room` too small.
std::uint32_t take_record(Input& input, Dictionary& book, std::uint64_t& last, std::byte* out, std::uint32_t room) {
  const auto token = static_cast<std::uint32_t>(input.take(2));
  const std::uint32_t code = token >> kDistanceShift & 3U;
  const std::uint64_t rest = input.take(distance_bytes(code));
  const std::uint64_t distance = rest << 4 | token >> kLowShift;
  const std::uint64_t start = (token & kBackwards) != 0 ? last - distance : last + distance;
  Template& common = book.templates[token & (kTemplates - 1)];
  if ((token & kMiss) != 0) common = take_template(input, book);
  const auto call = static_cast<std::uint16_t>(common.head);
  const std::uint64_t low = has_duration(call) ? input.take((token >> kDurationShift & 3U) + 1) : common.volume;
  const std::uint32_t bytes = record_bytes(call);
  if (input.failed() || bytes > room) return 0;
  if (moves_clock(call)) last = start;
  store_word(out, start);
  store_word(out + 8, (low & UINT32_MAX) | common.head << 32);
  if (bytes == sizeof(CallRecord)) return bytes;
  store_word(out + 16, common.volume);
  store_word(out + 24, common.ends);
  return bytes;
}

}  // namespace

std::uint32_t encode(const std::byte* records, std::uint32_t bytes, std::byte* out, std::uint32_t room) {
  if (room < kMargin) return 0;
  Dictionary book;
  std::uint64_t last = 0;  ///< start that distances count from
  std::byte* const begin = out;
  const std::byte* const limit = out + room - kMargin;
  const std::byte* const end = records + bytes;
  while (records != end) {
    if (out > limit || end - records < static_cast<std::ptrdiff_t>(sizeof(CallRecord))) return 0;
    const std::uint64_t word = load_word(records + 8);
    const auto call = static_cast<std::uint16_t>(word >> 32);
    const std::uint64_t head = word >> 32;
    const auto low = static_cast<std::uint32_t>(word);
    const std::uint64_t start = load_word(records);
    if ((call & kLongRecord) != 0) {
      if (end - records < static_cast<std::ptrdiff_t>(sizeof(MessageRecord))) return 0;
      out = put_record(book, out, start - last, low, true, head, load_word(records + 16), load_word(records + 24));
      last = moves_clock(call) ? start : last;
      records += sizeof(MessageRecord);
      continue;
    }
    out = has_duration(call) ? put_record(book, out, start - last, low, true, head, 0, 0)
                             : put_record(book, out, start - last, 0, false, head, low, 0);
    last = start;
    records += sizeof(CallRecord);
  }
  return static_cast<std::uint32_t>(out - begin);
}

std::uint32_t decode(const std::byte* encoded, std::uint32_t size, std::byte* records, std::uint32_t bytes) {
  Dictionary book;
  std::uint64_t last = 0;  ///< start that distances count from
  Input input(encoded, size);
  std::uint32_t done = 0;
  while (!input.empty()) {
    const std::uint32_t taken = take_record(input, book, last, records + done, bytes - done);
    if (taken == 0) return done;
    done += taken;
  }
  return done;
}

}  // namespace corewise::trace
