// SPDX-License-Identifier: BSD-3-Clause
#include "step.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
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

void fill(std::span<char> memory, int rank) {
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
  if (direction == Direction::pack || direction == Direction::unpack) return direction == Direction::pack;
  return direction != Direction::receive && way != "contiguous";
}
/// The same of receiving.
bool unpacks(const std::string& way, Direction direction) {
  if (direction == Direction::pack || direction == Direction::unpack) return direction == Direction::unpack;
  return direction != Direction::send && way != "contiguous";
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// How far a rank has come with messages that are copied straight, in front of its mapped items.
struct alignas(kLine) Progress {
  std::atomic<std::uint32_t> ready;                 ///< its messages that may be read
  alignas(kLine) std::atomic<std::uint32_t> given;  ///< its messages of which it has copied its part
  alignas(kLine) std::atomic<std::uint32_t> open;   ///< the other rank's for which its items may be written
  alignas(kLine) std::atomic<std::uint32_t> taken;  ///< the other rank's of which it has copied its part
};
static_assert(sizeof(Progress) <= kPage);

}  // namespace

// ---- meeting ---------------------------------------------------------------------------------------------

SharedMemory::SharedMemory(std::size_t bytes) {
  void* base = nullptr;
  MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window_);
}

SharedMemory::~SharedMemory() {
  MPI_Win_free(&window_);
}

char* SharedMemory::of(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  void* part = nullptr;
  MPI_Win_shared_query(window_, rank, &size, &unit, &part);
  return static_cast<char*>(part);
}

void wait_for(const std::atomic<std::uint32_t>& stored, std::uint32_t number) {
  int spins = 0;
  while (static_cast<std::int32_t>(stored.load(std::memory_order_acquire) - number) < 0) {
    relax();
    if (++spins > kSpinsBeforeYield) sched_yield();
  }
}

Meeting::Meeting() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  mine_ = new (memory_.of(rank_)) Place{};
  peer_ = reinterpret_cast<Place*>(memory_.of(1 - rank_));
  MPI_Barrier(MPI_COMM_WORLD);
}

void Meeting::meet() {
  mine_->arrived.store(++epoch_, std::memory_order_release);
  wait_for(peer_->arrived, epoch_);  // the peer may be one meeting ahead
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

Bench::Bench(Case& c, Meeting& meeting, bool mapped)
    : case_(c),
      meeting_(meeting),
      peer_(1 - meeting.rank()),
      own_source_(mapped ? 0 : c.send_span),
      own_target_(mapped ? 0 : c.receive_span),
      source_(own_source_),
      target_(own_target_),
      packed_out_(c.bytes),
      packed_in_(c.bytes),
      plain_out_(c.bytes),
      plain_in_(c.bytes),
      lines_(touched_lines(c)) {
  if (mapped) map_items();
  fill(source_, meeting_.rank());
  fill(plain_out_, meeting_.rank());
}

std::size_t Bench::target_at() const {
  return kPage + whole_pages(case_.send_span);
}

void Bench::map_items() {
  mapped_ = std::make_unique<SharedMemory>(target_at() + whole_pages(case_.receive_span));
  char* const mine = mapped_->of(meeting_.rank());
  new (mine) Progress{};
  source_ = {mine + kPage, case_.send_span};
  target_ = {mine + target_at(), case_.receive_span};
  if (straight_copy != nullptr) straight_ = straight_copy(case_);
  meeting_.meet();
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

Bench::Sides Bench::straight_sides(bool shared) {
  char* const theirs = mapped_->of(peer_);
  auto* const mine = reinterpret_cast<Progress*>(mapped_->of(meeting_.rank()));
  auto* const peer = reinterpret_cast<Progress*>(theirs);
  const std::size_t bytes = case_.bytes, first = shared ? bytes / 2 : bytes;
  const auto next = [](const std::atomic<std::uint32_t>& number) {
    return number.load(std::memory_order_relaxed) + 1;
  };
  return {[=, this] {
            const std::uint32_t number = next(mine->ready);
            mine->ready.store(number, std::memory_order_release);
            if (shared) {
              wait_for(peer->open, number);
              straight_(source_.data(), theirs + target_at(), first, bytes - first);
            }
            mine->given.store(number, std::memory_order_release);
            wait_for(peer->taken, number);
          },
          [=, this] {
            const std::uint32_t number = next(mine->taken);
            if (shared) mine->open.store(number, std::memory_order_release);
            wait_for(peer->ready, number);
            straight_(theirs + kPage, target_.data(), 0, first);
            mine->taken.store(number, std::memory_order_release);
            if (shared) wait_for(peer->given, number);
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
  const int tag = tag_of(way, direction), peer = peer_;
  const Step send = [=] {
    if (work.pack) work.pack();
    MPI_Send(out.data, out.count, out.type, peer, tag, MPI_COMM_WORLD);
  };
  if (direction == Direction::mapped) {
    const Step receive = [=] {
      MPI_Recv(in.data, in.count, in.type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (work.unpack) work.unpack();
    };
    const bool ours = way == "straight" || way == "halves", first = meeting_.rank() == 0;
    const Sides sides = ours ? straight_sides(way == "halves") : Sides{send, receive};
    return [one = first ? sides.send : sides.receive, other = first ? sides.receive : sides.send] {
      one();
      other();
    };
  }
  return [=] {
    MPI_Request request;
    MPI_Irecv(in.data, in.count, in.type, peer, tag, MPI_COMM_WORLD, &request);
    send();
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
  return meeting_.larger(now_ns() - begin) / (direction == Direction::mapped ? 2 : 1);
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
    good = std::ranges::equal(expected, target_);
  }
  return meeting_.larger(good ? 0 : 1) == 0;
}
