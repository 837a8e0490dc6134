// SPDX-License-Identifier: BSD-3-Clause
#include "step.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t kLine = 64;
constexpr int kSpinsBeforeYield = 4000;
constexpr int kTurnSteps = 8;
constexpr int kLeastSteps = 9, kMostSteps = 1000;
constexpr int kFewSteps = 3;                           // of a step that is slow, and takes kLong budgets
constexpr std::int64_t kLong = 20, kSlow = 5'000'000;  // budgets; ns
constexpr char kGap = static_cast<char>(0xa5);

std::int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Byte `at` of a rank's memory: differs from its neighbours, from what lies a power of two further, and by rank.
char pattern(std::size_t at, int rank) {
  const std::uint64_t mixed = (at + 1 + static_cast<std::uint64_t>(rank) * 0x51ed27U) * 0x9e3779b97f4a7c15U;
  return static_cast<char>(mixed >> 56);
}

void fill(std::vector<char>& memory, int rank) {
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i, rank);
}

/// Offset in the sent item of every packed byte: the loop packs addresses.
std::vector<std::uint32_t> packed_offsets(const Case& c) {
  std::vector<char> items(c.send_span), packed(c.bytes);
  std::vector<std::uint32_t> offsets(c.bytes, 0);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = static_cast<char>(i >> shift);
    c.hands.front().pack(items.data(), packed.data());
    for (std::size_t i = 0; i < c.bytes; ++i) {
      offsets[i] |= std::uint32_t{static_cast<unsigned char>(packed[i])} << shift;
    }
  }
  return offsets;
}

/// A byte of data in each line that the packing loop reads, in packing order.
std::vector<std::uint32_t> touched_lines(const Case& c) {
  std::vector<bool> seen(c.send_span / kLine + 1, false);
  std::vector<std::uint32_t> lines;
  for (const std::uint32_t offset : packed_offsets(c)) {
    if (seen[offset / kLine]) continue;
    seen[offset / kLine] = true;
    lines.push_back(offset);
  }
  return lines;
}

/// Ways are different exchanges of a program: what is learnt of one says nothing of another.
int tag_of(const std::string& way, Direction direction) {
  const int kind = way == "contiguous" ? 0 : way == "datatype" ? 1 : way == "mpi-pack" ? 2 : 3;
  return 3 * kind + static_cast<int>(direction);
}

/// Whether a way sends, or packs, the items; else it sends contiguous bytes.
bool packs(const std::string& way, Direction direction) {
  if (direction == Direction::send || direction == Direction::both) return way != "contiguous";
  return direction == Direction::pack;
}
/// The same of receiving.
bool unpacks(const std::string& way, Direction direction) {
  if (direction == Direction::receive || direction == Direction::both) return way != "contiguous";
  return direction == Direction::unpack;
}

}  // namespace

// ---- meeting ---------------------------------------------------------------------------------------------

Meeting::Meeting() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  void* base = nullptr;
  MPI_Win_allocate_shared(sizeof(Place), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window_);
  mine_ = new (base) Place{};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Aint size = 0;
  int unit = 0;
  void* other = nullptr;
  MPI_Win_shared_query(window_, 1 - rank_, &size, &unit, &other);
  peer_ = static_cast<Place*>(other);
}

Meeting::~Meeting() {
  MPI_Win_free(&window_);
}

void Meeting::meet() {
  mine_->arrived.store(++epoch_, std::memory_order_release);
  int spins = 0;
  // The peer may be one meeting ahead.
  while (static_cast<std::int32_t>(peer_->arrived.load(std::memory_order_acquire) - epoch_) < 0) {
    relax();
    if (++spins > kSpinsBeforeYield) sched_yield();
  }
}

std::int64_t Meeting::larger(std::int64_t mine) {
  mine_->number.store(mine, std::memory_order_relaxed);
  meet();
  const std::int64_t result = std::max(mine, peer_->number.load(std::memory_order_relaxed));
  meet();  // nobody stores the next number before both have read this one
  return result;
}

std::int64_t Meeting::latency_ns() {
  constexpr int kMeetings = 200, kTries = 5;
  std::int64_t best = 0;
  for (int i = 0; i < kTries; ++i) {
    meet();
    const std::int64_t begin = now_ns();
    // In a meeting each rank's word goes to the other, both at once.
    for (int i_met = 0; i_met < kMeetings; ++i_met) meet();
    const std::int64_t took = (now_ns() - begin) / kMeetings;
    best = i == 0 ? took : std::min(best, took);
  }
  return larger(best);
}

// ---- ways ------------------------------------------------------------------------------------------------

Bench::Bench(Case& c, Meeting& meeting)
    : case_(c),
      meeting_(meeting),
      peer_(1 - meeting.rank()),
      source_(c.send_span),
      target_(c.receive_span),
      packed_out_(c.bytes),
      packed_in_(c.bytes),
      plain_out_(c.bytes),
      plain_in_(c.bytes),
      lines_(touched_lines(c)) {
  fill(source_, meeting_.rank());
  fill(plain_out_, meeting_.rank());
}

/// What a way does with the items on either side: nothing where the MPI gets its datatype.
Bench::Work Bench::work_of(const std::string& way) {
  const auto hand =
      std::find_if(case_.hands.begin(), case_.hands.end(), [&](const Hand& each) { return each.name == way; });
  if (hand != case_.hands.end()) {
    return {[this, &pack = hand->pack] { pack(source_.data(), packed_out_.data()); },
            [this, &unpack = hand->unpack] { unpack(packed_in_.data(), target_.data()); }};
  }
  if (way != "mpi-pack") return {};
  const auto bytes = static_cast<int>(case_.bytes);
  return {[this, bytes] {
            int position = 0;
            MPI_Pack(source_.data(), 1, case_.send_type, packed_out_.data(), bytes, &position, MPI_COMM_WORLD);
          },
          [this, bytes] {
            int position = 0;
            MPI_Unpack(packed_in_.data(), bytes, &position, target_.data(), 1, case_.receive_type, MPI_COMM_WORLD);
          }};
}

Bench::Step Bench::step_of(const std::string& way, Direction direction) {
  struct Message {
    void* data;
    int count;
    MPI_Datatype type;
  };
  Work work = work_of(way);
  if (direction == Direction::pack) return work.pack;
  if (direction == Direction::unpack) return work.unpack;
  const auto bytes = static_cast<int>(case_.bytes);
  const MPI_Datatype wire = way == "mpi-pack" ? MPI_PACKED : MPI_BYTE;
  Message out{plain_out_.data(), bytes, wire}, in{plain_in_.data(), bytes, wire};
  if (packs(way, direction)) {
    out = work.pack ? Message{packed_out_.data(), bytes, wire} : Message{source_.data(), 1, case_.send_type};
  } else {
    work.pack = nullptr;
  }
  if (unpacks(way, direction)) {
    in = work.unpack ? Message{packed_in_.data(), bytes, wire} : Message{target_.data(), 1, case_.receive_type};
  } else {
    work.unpack = nullptr;
  }
  return [=, tag = tag_of(way, direction), peer = peer_] {
    MPI_Request request;
    MPI_Irecv(in.data, in.count, in.type, peer, tag, MPI_COMM_WORLD, &request);
    if (work.pack) work.pack();
    MPI_Send(out.data, out.count, out.type, peer, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (work.unpack) work.unpack();
  };
}

// ---- time ------------------------------------------------------------------------------------------------

void Bench::rewrite(const std::string& way, Direction direction) {
  const auto stamp = static_cast<char>(++stamp_);
  if (direction == Direction::unpack) return;
  if (packs(way, direction)) {
    for (const std::uint32_t offset : lines_) source_[offset] = stamp;
    return;
  }
  for (std::size_t at = 0; at < plain_out_.size(); at += kLine) plain_out_[at] = stamp;
}

std::int64_t Bench::timed(const Step& step, const std::string& way, Direction direction) {
  rewrite(way, direction);
  meeting_.meet();
  const std::int64_t begin = now_ns();
  step();
  return meeting_.larger(now_ns() - begin);
}

std::vector<std::vector<std::int64_t>> Bench::measure(const std::vector<std::string>& ways, Direction direction,
                                                      std::int64_t budget_ns) {
  const std::size_t count = ways.size();
  std::vector<Step> steps;
  std::vector<int> wanted;
  for (const std::string& way : ways) {
    steps.push_back(step_of(way, direction));
    if (budget_ns == 0) {
      wanted.push_back(1);
      continue;
    }
    timed(steps.back(), way, direction);
    const std::int64_t first = timed(steps.back(), way, direction), second = timed(steps.back(), way, direction);
    const std::int64_t least = std::max<std::int64_t>(1, std::min(first, second));
    const int fewest = least > kSlow && least > kLong * budget_ns ? kFewSteps : kLeastSteps;
    wanted.push_back(static_cast<int>(std::clamp<std::int64_t>(budget_ns / least, fewest, kMostSteps)));
  }
  std::vector<std::vector<std::int64_t>> times(count);
  for (std::size_t turn = 0, open = count; open > 0; ++turn) {
    open = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t way = (k + turn) % count;
      const auto left = static_cast<int>(wanted[way] - static_cast<int>(times[way].size()));
      if (left <= 0) continue;
      if (budget_ns > 0) timed(steps[way], ways[way], direction);  // the caches are another way's
      for (int i = 0; i < std::min(left, kTurnSteps); ++i) {
        times[way].push_back(timed(steps[way], ways[way], direction));
      }
      open += left > kTurnSteps ? 1 : 0;
    }
  }
  return times;
}

bool Bench::correct(const std::string& way, Direction direction) {
  std::vector<char> theirs(case_.send_span), sent(case_.bytes);
  fill(source_, meeting_.rank());
  fill(plain_out_, meeting_.rank());
  fill(packed_in_, meeting_.rank());
  std::fill(target_.begin(), target_.end(), kGap);
  std::fill(plain_in_.begin(), plain_in_.end(), kGap);
  // What should arrive: the peer's message, known from its rank.
  const bool alone = direction == Direction::pack || direction == Direction::unpack;
  const bool from_items = packs(way, direction);
  fill(from_items ? theirs : sent, alone ? meeting_.rank() : peer_);
  if (from_items) case_.hands.front().pack(theirs.data(), sent.data());
  meeting_.meet();
  step_of(way, direction)();
  bool good = sent == (direction == Direction::pack ? packed_out_ : plain_in_);
  if (unpacks(way, direction)) {
    std::vector<char> expected(case_.receive_span, kGap);
    case_.hands.front().unpack(sent.data(), expected.data());
    good = expected == target_;
  }
  return meeting_.larger(good ? 0 : 1) == 0;
}
