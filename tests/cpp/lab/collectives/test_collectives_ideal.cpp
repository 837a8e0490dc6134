// Every algorithm of every collective against the serial reference, on ideal ranks (issue 4, "what it must show",
// 1).
//
// The tests walk the tables: a new row is tested without a new line here. For each row, number of ranks, setting of
// its parameters and shape of the stage, one run makes many calls back to back: sizes around every boundary, roots,
// operators, blocks with gaps, in place or not, at any alignment; with no barrier between calls but the algorithm's
// own. Every run is made calmly and under an adversary, with ranks that arrive late. Ranks reuse their memory as
// soon as a call returns.
//
// A part of the runs is made, a smaller one under a sanitizer (share()). SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/rank.hpp"
#include "coll/table.hpp"
#include "collective_reference.hpp"
#include "effort.hpp"
#include "lab/collectives/ideal_port.hpp"
#include "lab/collectives/ppe_service.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;
using coll::Parameters;
using coll::Shape;
using reference::CallCase;
using reference::OperatorCase;
using reference::Spec;
using test::effort;
using Row = coll::Row<IdealPort>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kShare = 8;
#else
constexpr std::uint64_t kShare = 2;
#endif

/// Of so many runs one is made, drawn by its number; the environment's COREWISE_IDEAL_SHARE says otherwise (1:
/// all).
std::uint64_t share() {
  static const std::uint64_t chosen = [] {
    const char* text = std::getenv("COREWISE_IDEAL_SHARE");
    return std::max<std::uint64_t>(1, text == nullptr ? kShare : std::strtoull(text, nullptr, 10));
  }();
  return chosen;
}

constexpr std::array kRanks{1, 2, 3, 4, 5, 7, 8, 11, 12, 16};

// ---- one run ----

bool strided(const Spec& spec) {
  return !spec.send_stride.contiguous() || !spec.receive_stride.contiguous();
}

/// A call of all ranks.
struct Plan {
  const Row* row = nullptr;
  Parameters parameters;
  Spec spec;
};

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a * 0x9e3779b97f4a7c15U + b;
  return splitmix64(state);
}

constexpr std::uint32_t kLocalBytes = 64 * 1024;

/// Makes runs and keeps what they need for the next.
class Runner {
 public:
  /// What was wrong first; empty: nothing.
  std::string run(const Shape& shape, std::uint64_t seed, std::span<const Plan> plans, bool local = false) {
    plans_ = plans;
    local_ = local;
    seed_ = seed;
    wrong_.clear();
    apart_ = 0;
    entered_.assign(static_cast<std::size_t>(shape.ranks), 0);
    for (auto& [number, data] : open_) spare_.push_back(std::move(data));
    open_.clear();
    IdealJob job;
    job.ranks = shape.ranks;
    job.layout = shape.layout();
    job.seed = seed;
    job.far_ranks = static_cast<std::uint32_t>(mix(seed, plans.size()));
    job.local_bytes = local ? kLocalBytes : 0;
    const bool serves = std::any_of(plans.begin(), plans.end(),
                                    [](const Plan& plan) { return (plan.row->needs & coll::kPpe) != 0; });
    const Status status = system_.run(
        job,
        [&](IdealPort& port) {
          program(port, shape);
          if (serves) coll::leave_ppe(port);
        },
        serves ? ideal_ppe(shape.ranks) : IdealSystem::Coordinator{});
    if (!wrong_.empty()) return wrong_;
    return status.message();
  }
  /// How many calls the fastest rank was ahead of the slowest, at most, in the last run.
  [[nodiscard]] int apart() const { return apart_; }

 private:
  void program(IdealPort& port, const Shape& shape) {
    coll::Rank<IdealPort> me(port, shape);
    for (std::size_t number = 0; number < plans_.size() && wrong_.empty(); ++number) {
      if (seed_ != 0)
        port.pause(static_cast<int>(mix(seed_ + number, static_cast<std::uint64_t>(port.rank()) + 77) % 64) - 48);
      one_call(me, number);
    }
  }

  void one_call(coll::Rank<IdealPort>& me, std::size_t number) {
    const Plan& plan = plans_[number];
    CallCase& data = open(number);
    const int rank = me.rank();
    note_entry(rank, number);
    ++data.entered;
    if (local_) {
      call_locally(me, data, plan);
    } else {
      plan.row->run(me, data.call<IdealPort>(rank), plan.parameters);
    }
    std::string wrong = data.check(rank);
    if (plan.spec.collective == Collective::barrier && data.entered < me.size())
      wrong = "left before all had entered";
    if (!wrong.empty() && wrong_.empty()) wrong_ = about(number) + "rank " + std::to_string(rank) + ": " + wrong;
    if (data.leave(rank)) close(number);
  }
  /// The rank's buffers lie in its local memory, which the next call uses again.
  static void call_locally(coll::Rank<IdealPort>& me, CallCase& data, const Plan& plan) {
    coll::Call<IdealPort> call = data.call<IdealPort>(me.rank());
    const std::span<std::byte> local = me.port.local();
    const auto [send, receive] = data.buffers(me.rank());
    std::byte* const send_at = local.data() + send.begin % 16;
    std::byte* const receive_at = local.data() + kLocalBytes / 2 + receive.begin % 16;
    const auto moved = [&](const std::byte* address) -> std::byte* {
      if (address == nullptr) return nullptr;
      return send.holds(address) ? send_at + (address - send.data()) : receive_at + (address - receive.data());
    };
    std::copy_n(send.data(), send.size, send_at);
    std::copy_n(receive.data(), receive.size, receive_at);
    call.send = moved(call.send);
    call.receive = moved(call.receive);
    plan.row->run(me, call, plan.parameters);
    std::copy_n(send_at, send.size, send.data());
    std::copy_n(receive_at, receive.size, receive.data());
    std::fill(local.begin(), local.end(), std::byte{0x5F});
  }
  void note_entry(int rank, std::size_t number) {
    entered_[static_cast<std::size_t>(rank)] = static_cast<int>(number) + 1;
    const auto [least, most] = std::minmax_element(entered_.begin(), entered_.end());
    apart_ = std::max(apart_, *most - *least);
  }

  CallCase& open(std::size_t number) {
    for (auto& [open_number, data] : open_) {
      if (open_number == number) return *data;
    }
    if (spare_.empty()) spare_.push_back(std::make_unique<CallCase>());
    open_.emplace_back(number, std::move(spare_.back()));
    spare_.pop_back();
    open_.back().second->prepare(plans_[number].spec);
    return *open_.back().second;
  }
  void close(std::size_t number) {
    const auto here =
        std::find_if(open_.begin(), open_.end(), [&](const auto& each) { return each.first == number; });
    const std::string late = here->second->late();
    if (!late.empty() && wrong_.empty()) wrong_ = about(number) + late;
    spare_.push_back(std::move(here->second));
    open_.erase(here);
  }
  [[nodiscard]] std::string about(std::size_t number) const {
    const Spec& spec = plans_[number].spec;
    return "call " + std::to_string(number) + ", " + std::string(reference::name_of(spec.collective)) + " by " +
           std::string(plans_[number].row->name) + ", " + std::to_string(spec.bytes) + " bytes" +
           (spec.operation != nullptr ? ", " + std::string(spec.operation->name) : std::string()) + ", root " +
           std::to_string(spec.root) + (spec.in_place ? ", in place" : "") + (spec.unaligned ? ", unaligned" : "") +
           (strided(spec) ? ", strided" : "") + ": ";
  }

  IdealSystem system_;
  std::vector<std::unique_ptr<CallCase>> spare_;
  std::vector<std::pair<std::size_t, std::unique_ptr<CallCase>>> open_;
  std::span<const Plan> plans_;
  std::uint64_t seed_ = 0;
  bool local_ = false;
  std::string wrong_;
  std::vector<int> entered_;
  int apart_ = 0;
};

Runner& runner() {
  static Runner one;
  return one;
}

// ---- what is run ----

std::string text_of(const Parameters& p) {
  return "degree " + std::to_string(p.degree) + ", min_piece " + std::to_string(p.min_piece) + ", shift " +
         std::to_string(p.shift) + ", piece " + std::to_string(p.piece_bytes) + ", buffering " +
         std::to_string(p.buffering) + ", far_percent " + std::to_string(p.far_percent) +
         (p.ahead ? ", ahead" : "") + (p.list ? ", list" : "") + (p.fenced ? ", fenced" : "") +
         (p.waits ? ", waits" : "") + (p.closing == coll::Closing::counters ? ", counters" : "");
}
std::string text_of(const Shape& shape) {
  return std::to_string(shape.ranks) + " ranks, " + std::to_string(shape.buffers) + " buffers of " +
         std::to_string(shape.buffer_bytes) + ", " + std::to_string(shape.eager_slots) + " eager slots";
}

/// The parameters with one of those that the row takes set to its value number `which`; false beyond the last.
bool vary(std::uint32_t parameter, std::uint32_t which, Parameters& p) {
  constexpr std::array<std::uint32_t, 6> kMinPieces{16, 64, 128, 256, 512, 4096};
  constexpr std::array<std::uint32_t, 4> kShifts{16, 64, 256, 1024};
  constexpr std::array<std::uint32_t, 4> kPieces{16, 64, 128, 256};
  switch (parameter) {
    case coll::kDegree:
      p.degree = static_cast<int>(which) + 1;
      return which < 8;
    case coll::kMinPiece:
      p.min_piece = kMinPieces[which % kMinPieces.size()];
      return which < kMinPieces.size();
    case coll::kShift:
      p.shift = kShifts[which % kShifts.size()];
      return which < kShifts.size();
    case coll::kPieceBytes:
      p.piece_bytes = kPieces[which % kPieces.size()];
      return which < kPieces.size();
    case coll::kFarPercent:
      p.far_percent = which == 0 ? 10 : 60;
      return which < 2;
    case coll::kBuffering:
      p.buffering = 1;
      return which < 1;
    case coll::kList:
      p.list = true;
      return which < 1;
    case coll::kFenced:
      p.fenced = true;
      return which < 1;
    case coll::kWaits:
      p.waits = false;
      return which < 1;
    case coll::kClosing:
      p.closing = coll::Closing::counters;
      return which < 1;
    case coll::kAhead:
      p.ahead = false;
      return which < 1;
    case coll::kChildAhead:
      p.child_ahead = true;
      return which < 1;
    case coll::kFarFirst:
      p.far_first = true;
      return which < 1;
    default:
      ADD_FAILURE() << "an unknown parameter " << parameter;
      return false;
  }
}

constexpr std::array<std::uint32_t, 13> kParameters{
    coll::kFarPercent, coll::kDegree,     coll::kMinPiece, coll::kShift, coll::kPieceBytes,
    coll::kBuffering,  coll::kList,       coll::kFenced,   coll::kWaits, coll::kClosing,
    coll::kAhead,      coll::kChildAhead, coll::kFarFirst};

/// The defaults, every value of every parameter that the row takes, and `mixed` draws of them all.
std::vector<Parameters> settings_of(const Row& row, int mixed) {
  std::vector<Parameters> all(1);
  all[0].min_piece = 128;
  if (mixed < 0) return all;
  for (const std::uint32_t parameter : kParameters) {
    if ((row.takes & parameter) == 0) continue;
    Parameters one = all[0];
    for (std::uint32_t which = 0; vary(parameter, which, one); ++which) all.push_back(one);
  }
  const bool alone = all.size() <= 2;
  Rng rng(row.name.size());
  for (int i = 0; i < mixed && !alone; ++i) {
    Parameters one = all[0];
    for (const std::uint32_t parameter : kParameters) {
      if ((row.takes & parameter) == 0 || rng.below(2) == 0) continue;
      Parameters tried = one;
      if (vary(parameter, static_cast<std::uint32_t>(rng.below(8)), tried)) one = tried;
    }
    all.push_back(one);
  }
  return all;
}

Shape small_shape(int ranks) {
  Shape shape;
  shape.ranks = ranks;
  shape.buffer_bytes = 256;
  shape.eager_slots = 2;
  shape.eager_lines128 = true;
  shape.atomic_words = 2;
  return shape;
}
Shape four_buffers(int ranks) {
  Shape shape = small_shape(ranks);
  shape.buffers = 4;
  shape.eager_slots = 4;
  return shape;
}

/// Around what entries carry, and around a buffer of `buffer` bytes and its parts. A prime number of sizes. Of
/// large buffers around the buffer only.
std::vector<std::uint64_t> sizes_around(std::uint64_t buffer) {
  if (buffer >= 2048) return {0, 17, buffer - 1, buffer, buffer + 1, 2 * buffer, 3 * buffer + 17};
  std::vector<std::uint64_t> sizes{0, 1, 12, 13, 15, 16, 17, 124, 125, 136, 137};
  for (const std::uint64_t more : {buffer / 2, buffer - 1, buffer, buffer + 1, 2 * buffer, 2 * buffer + 1,
                                   3 * buffer + 17, 5 * buffer + 100}) {
    sizes.push_back(more);
  }
  return sizes;
}
/// So much data that one number of ranks less is enough.
bool is_too_much(Collective collective, int ranks, std::uint64_t bytes) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const std::uint64_t blocks = reference::exchanges(collective)        ? n * n
                               : reference::gathers_to_all(collective) ? n
                                                                       : 1;
  return bytes * blocks > 1'000'000;
}

bool is_usable(const Row& row, const Shape& shape, const Spec& spec) {
  coll::Facts facts;
  facts.bytes = CallCase::largest_of(spec);
  if (spec.operation != nullptr) facts.element_bytes = spec.operation->call.element_bytes;
  facts.commutative = spec.operation == nullptr || spec.operation->call.commutative;
  facts.contiguous = !strided(spec);
  facts.ppe = true;
  facts.workspace = true;
  return coll::usable(row, shape, facts);
}

/// A call of `row`, everything but its size and root drawn from `draw`; none where the row does not allow it.
void add_plan(Collective collective, const Row& row, const Shape& shape, const Parameters& parameters,
              std::uint64_t bytes, int root, std::uint64_t draw, std::vector<Plan>& plans) {
  Plan plan{&row, parameters, {}};
  Spec& spec = plan.spec;
  spec.collective = collective;
  spec.ranks = shape.ranks;
  spec.root = root;
  spec.bytes = bytes;
  spec.salt = mix(draw, 1);
  spec.unaligned = draw % 3 == 0;
  spec.in_place = reference::may_be_in_place(collective) && (draw >> 8) % 3 == 0;
  if (reference::combines(collective)) {
    const auto operators = reference::operator_cases();
    const bool commutes = (row.needs & coll::kCommutative) != 0;
    std::size_t which = (draw >> 16) % operators.size();
    if (commutes) which |= 1;
    spec.operation = &operators[which];
    spec.bytes = bytes / spec.operation->call.element_bytes * spec.operation->call.element_bytes;
  }
  if (reference::has_root(collective) && (row.needs & coll::kContiguous) == 0 && (draw >> 24) % 3 == 0) {
    // Sender's and receiver's may differ; those of the first kind go by lists where the port has them.
    constexpr std::array<coll::Stride, 4> kStrides{{{32, 48}, {5, 9}, {}, {16, 112}}};
    spec.send_stride = kStrides[(draw >> 32) % kStrides.size()];
    spec.receive_stride = kStrides[(draw >> 36) % kStrides.size()];
    spec.in_place = spec.in_place && !strided(spec);
  }
  if (is_usable(row, shape, spec)) plans.push_back(plan);
}

std::uint64_t seed_of(std::string_view text, int number) {
  auto seed = static_cast<std::uint64_t>(number);
  for (const char letter : text) seed = mix(seed, static_cast<unsigned char>(letter));
  return seed | 1U;
}

/// Runs the plans calmly and under `seeds` adversaries; false after a failure.
bool run_all(const Shape& shape, std::span<const Plan> plans, int seeds, const std::string& what, bool local) {
  for (int i = 0; i <= seeds; ++i) {
    const std::uint64_t seed = i == 0 ? 0 : seed_of(what, i);
    const std::string wrong = runner().run(shape, seed, plans, local);
    if (wrong.empty()) continue;
    std::string calls;
    for (const Plan& plan : plans) {
      calls += (calls.empty() ? "" : ", ") + std::string(reference::name_of(plan.spec.collective)) + " by " +
               std::string(plan.row->name) + " (" + std::to_string(plan.spec.root) + ")";
    }
    ADD_FAILURE() << what << ", seed " << seed << ": " << wrong << "\nof these calls (roots): " << calls;
    return false;
  }
  return true;
}

struct Walk {
  Collective collective;
  std::span<const Row> rows;
};

/// One row at one number of ranks: every setting (`mixed` -1: the defaults alone), every size, every root.
bool walk_row(const Walk& walk, const Row& row, const Shape& shape, int mixed, int& runs, bool local = false) {
  const std::vector<std::uint64_t> sizes = sizes_around(shape.buffer_bytes);
  std::uint64_t draw = mix(static_cast<std::uint64_t>(shape.ranks), row.name.size());
  bool first = true;
  for (const Parameters& parameters : settings_of(row, mixed)) {
    if (mix(static_cast<std::uint64_t>(++runs), row.name.size()) % share() != 0) continue;
    std::vector<Plan> plans;
    const int roots = reference::has_root(walk.collective) ? shape.ranks : 1;
    const std::size_t least = first || shape.ranks <= 8 ? sizes.size() : sizes.size() / 3;
    const std::size_t calls = std::max(least, static_cast<std::size_t>(roots));
    first = false;
    for (std::size_t i = 0; i < calls; ++i) {
      draw = mix(draw, i);
      const std::size_t turn = i + static_cast<std::size_t>(runs);
      const int root = static_cast<int>(turn % static_cast<std::size_t>(roots));
      const std::uint64_t bytes = sizes[(4 * i + turn) % sizes.size()];
      if (is_too_much(walk.collective, shape.ranks, bytes)) continue;
      add_plan(walk.collective, row, shape, parameters, bytes, root, draw, plans);
    }
    constexpr std::uint64_t kFitsLocally = 1500;
    if (local) {
      std::erase_if(plans, [&](const Plan& plan) {
        return strided(plan.spec) && plan.spec.bytes * static_cast<std::uint64_t>(shape.ranks) > kFitsLocally;
      });
    }
    const std::string what = std::string(reference::name_of(walk.collective)) + " by " + std::string(row.name) +
                             ": " + text_of(shape) + "; " + text_of(parameters);
    if (!plans.empty() && !run_all(shape, plans, 1, what, local)) return false;
  }
  return true;
}

void walk(Collective collective) {
  const Walk here{collective, rows_on_ideal(collective)};
  EXPECT_FALSE(here.rows.empty());
  int runs = 0;
  for (const Row& row : here.rows) {
    EXPECT_NE(row.run, nullptr) << row.name << ": the ideal port has every capability";
    if (row.run == nullptr) continue;
    std::uint32_t unknown = row.takes;
    for (const std::uint32_t parameter : kParameters) unknown &= ~parameter;
    EXPECT_EQ(unknown, 0U) << row.name << " takes a parameter that this test does not vary";
    bool right = true;
    for (const int ranks : kRanks) {
      right = right && walk_row(here, row, small_shape(ranks), 8, runs);
      if (ranks % 4 == 3 || ranks == 2 || ranks == 16) {
        right = right && walk_row(here, row, four_buffers(ranks), 2, runs);
      }
    }
  }
  ::testing::Test::RecordProperty("runs", runs);
}

constexpr std::array kCollectives{
    Collective::barrier,   Collective::broadcast,  Collective::reduce,         Collective::allreduce,
    Collective::gather,    Collective::gatherv,    Collective::scatter,        Collective::scatterv,
    Collective::allgather, Collective::allgatherv, Collective::alltoall,       Collective::alltoallv,
    Collective::scan,      Collective::exscan,     Collective::reduce_scatter, Collective::reduce_scatter_block};

class CollectivesIdeal : public ::testing::TestWithParam<Collective> {};

TEST_P(CollectivesIdeal, EveryRowGivesTheRightData) {
  walk(GetParam());
}

/// The stage at its real size, and at its odd ones: few and many buffers, few and many slots.
TEST_P(CollectivesIdeal, EveryShapeOfTheStage) {
  const auto shape = [](std::uint32_t bytes, int buffers, std::uint32_t slots, bool lines128) {
    Shape made = small_shape(1);
    made.buffer_bytes = bytes;
    made.buffers = buffers;
    made.eager_slots = slots;
    made.eager_lines128 = lines128;
    return made;
  };
  int runs = 0;
  for (const Row& row : rows_on_ideal(GetParam())) {
    for (Shape each : {Shape::paper(1), Shape::eager(1), shape(128, 4, 1, true), shape(512, 1, 2, false),
                       shape(384, 3, 8, false), shape(8192, 4, 2, true)}) {
      bool right = true;
      for (const int ranks : {1, 2, 5, 8, 16}) {
        each.ranks = ranks;
        each.atomic_words = 2;
        if (!cell::PortLayout::make(each.layout()).ok()) continue;
        right = right && walk_row({GetParam(), {}}, row, each, -1, runs);
      }
    }
  }
}

/// Numbers of ranks that the walk leaves out.
TEST_P(CollectivesIdeal, EveryNumberOfRanks) {
  int runs = 0;
  for (const Row& row : rows_on_ideal(GetParam())) {
    bool right = true;
    for (const int ranks : {6, 9, 10, 13, 14, 15}) {
      right = right && walk_row({GetParam(), {}}, row, small_shape(ranks), -1, runs);
    }
  }
}

/// Data in the ranks' local memory (paper 001's future work): peers may take them from there.
TEST_P(CollectivesIdeal, DataInLocalMemory) {
  int runs = 0;
  for (const Row& row : rows_on_ideal(GetParam())) {
    if ((row.needs & coll::kPpe) != 0) continue;  // the PPE's copies are between main memories
    bool right = true;
    for (const int ranks : {1, 2, 3, 8, 11, 16}) {
      right = right && walk_row({GetParam(), {}}, row, small_shape(ranks), 2, runs, true);
    }
  }
}

/// `shape` with lines between partners alone (coll/building/partners.hpp).
Shape with_partners(Shape shape) {
  shape.lines = coll::Lines::partners;
  return shape;
}

/// Every root once, sizes in turn; what the shape does not allow is left out.
std::vector<Plan> plans_over_roots(Collective collective, const Row& row, const Shape& shape) {
  const std::vector<std::uint64_t> sizes = sizes_around(shape.buffer_bytes);
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < std::max(sizes.size(), static_cast<std::size_t>(shape.ranks)); ++i) {
    const std::uint64_t bytes = sizes[4 * i % sizes.size()];
    if (is_too_much(collective, shape.ranks, bytes)) continue;
    Parameters parameters;
    parameters.closing = coll::Closing::counters;
    parameters.degree = 1 + static_cast<int>(i % 4);
    add_plan(collective, row, shape, parameters, bytes, static_cast<int>(i) % shape.ranks, mix(i, 7), plans);
  }
  return plans;
}

/// Rows that do not ask for lines between all ranks keep to partners, from every root; a line that is not there
/// fails the run.
TEST_P(CollectivesIdeal, RowsKeepToPartnersUnlessTheySayOtherwise) {
  for (const Row& row : rows_on_ideal(GetParam())) {
    for (const int ranks : effort({2, 3, 5, 8, 11, 16, 23, 32}, {5, 16})) {
      const Shape shape = with_partners(small_shape(ranks));
      const std::vector<Plan> plans = plans_over_roots(GetParam(), row, shape);
      const std::string what = std::string(row.name) + ", " + text_of(shape);
      if (!plans.empty() && !run_all(shape, plans, 1, what, false)) break;
    }
  }
}

TEST_P(CollectivesIdeal, RowsThatAskForAllPairsNeedThem) {
  constexpr int kManyRanks = 23;
  for (const Row& row : rows_on_ideal(GetParam())) {
    if ((row.needs & coll::kAllPairs) == 0 || (row.needs & coll::kPpe) != 0) continue;
    const Shape all = small_shape(kManyRanks);
    const std::vector<Plan> plans = plans_over_roots(GetParam(), row, all);
    if (plans.empty()) continue;
    EXPECT_NE(runner().run(with_partners(all), 0, plans), "") << row.name;
  }
}

std::string test_name(const ::testing::TestParamInfo<Collective>& info) {
  return std::string(reference::name_of(info.param));
}
INSTANTIATE_TEST_CASE_P(All, CollectivesIdeal, ::testing::ValuesIn(kCollectives), test_name);

// ---- several calls in flight ----

/// A row of any collective, with any of its settings.
struct Choice {
  Collective collective;
  const Row* row;
  std::vector<Parameters> settings;
};
std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const Collective collective : kCollectives) {
    for (const Row& row : rows_on_ideal(collective)) {
      if (row.run == nullptr) continue;
      all.push_back({collective, &row, settings_of(row, 6)});
      for (Parameters& each : all.back().settings) each.closing = coll::Closing::counters;
    }
  }
  return all;
}

/// `calls` calls, each drawn from `choices`, of at most `most` bytes.
std::vector<Plan> mixed_plans(std::span<const Choice> choices, const Shape& shape, std::uint64_t most, int calls,
                              Rng& rng) {
  std::vector<Plan> plans;
  for (int tries = 0; static_cast<int>(plans.size()) < calls && tries < 20 * calls; ++tries) {
    const Choice& choice = choices[static_cast<std::size_t>(rng.below(choices.size()))];
    const Parameters& parameters = choice.settings[static_cast<std::size_t>(rng.below(choice.settings.size()))];
    const int root = static_cast<int>(rng.below(static_cast<std::uint64_t>(shape.ranks)));
    add_plan(choice.collective, *choice.row, shape, parameters, rng.below(most + 1), root, rng.next(), plans);
  }
  return plans;
}

/// Calls of all kinds one after the other, none with a barrier at its end where it can do without.
void mix_calls(const Shape& shape, std::span<const Choice> choices, std::uint64_t most, int runs, int& apart) {
  for (int run = 0; run < runs; ++run) {
    const auto number = static_cast<std::uint64_t>(run * 32 + shape.ranks);
    if (mix(number, 1) % share() != 0) continue;
    Rng rng(number + 1);
    const std::vector<Plan> plans = mixed_plans(choices, shape, most, 12, rng);
    const std::string what = "mixed calls " + std::to_string(run) + ", " + text_of(shape);
    if (!run_all(shape, plans, 3, what, false)) return;
    apart = std::max(apart, runner().apart());
  }
}

TEST(CollectivesInFlight, MixedCallsOfAnySize) {
  const std::vector<Choice> choices = all_choices();
  int apart = 0;
  for (const int ranks : kRanks) {
    mix_calls(small_shape(ranks), choices, 1000, 40, apart);
    mix_calls(four_buffers(ranks), choices, 1000, 20, apart);
  }
  EXPECT_GE(apart, 2);
}

TEST(CollectivesInFlight, MixedCallsInsideTheEntries) {
  std::vector<Choice> choices = all_choices();
  std::erase_if(choices, [](const Choice& choice) { return (choice.row->needs & coll::kFitsEager) == 0; });
  ASSERT_GT(choices.size(), 2U);
  int apart = 0;
  for (const int ranks : kRanks) {
    mix_calls(small_shape(ranks), choices, 136, 60, apart);
    mix_calls(four_buffers(ranks), choices, 136, 40, apart);
  }
  EXPECT_GE(apart, 2);
}

/// A root that broadcasts inside the entries is as many calls ahead of the slowest rank as there are slots, at
/// least; with a closing barrier it is one.
TEST(CollectivesInFlight, FastRanksAreSeveralCallsAhead) {
  for (const Row& row : rows_on_ideal(Collective::broadcast)) {
    if ((row.needs & coll::kFitsEager) == 0) continue;
    for (const coll::Closing closing : {coll::Closing::counters, coll::Closing::barrier}) {
      const Shape shape = four_buffers(8);
      Parameters parameters;
      parameters.closing = closing;
      std::vector<Plan> plans;
      for (std::uint64_t call = 0; call < 16; ++call) {
        add_plan(Collective::broadcast, row, shape, parameters, 8, 0, call, plans);
      }
      int apart = 0;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(runner().run(shape, seed, plans), "");
        apart = std::max(apart, runner().apart());
      }
      if (closing == coll::Closing::counters) {
        EXPECT_GE(apart, static_cast<int>(shape.eager_slots)) << row.name;
      } else {
        EXPECT_EQ(apart, 1) << row.name;
      }
    }
  }
}

/// The same bits on all ranks, in whatever order a sum of floating-point numbers is taken (they are not exact
/// here).
TEST(CollectivesIdealBits, AllreduceGivesEveryRankTheSame) {
  coll::Operation sum;
  sum.combine = kernels::combine_for(kernels::Operator::sum, kernels::Element::float32);
  sum.element_bytes = sizeof(float);
  constexpr std::size_t kCount = 345;
  IdealSystem system;
  for (const Row& row : rows_on_ideal(Collective::allreduce)) {
    for (const int ranks : {2, 3, 5, 8, 12, 16}) {
      const Shape shape = small_shape(ranks);
      const std::size_t count = (row.needs & coll::kFitsEager) != 0 ? 34 : kCount;
      std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks), std::vector<float>(count));
      std::vector<std::vector<float>> workspaces = results;
      IdealJob job;
      job.ranks = ranks;
      job.layout = shape.layout();
      job.seed = 5;
      const Status status = system.run(job, [&](IdealPort& port) {
        coll::Rank<IdealPort> me(port, shape);
        const auto rank = static_cast<std::size_t>(port.rank());
        Rng rng(rank + 1);
        std::vector<float> mine(count);
        for (float& value : mine) value = static_cast<float>(rng.uniform() - 0.5) * 1e3F;
        coll::Call<IdealPort> call;
        call.send = reinterpret_cast<const std::byte*>(mine.data());
        call.receive = reinterpret_cast<std::byte*>(results[rank].data());
        call.workspace = reinterpret_cast<std::byte*>(workspaces[rank].data());
        call.bytes = count * sizeof(float);
        call.operation = &sum;
        Parameters parameters;
        parameters.min_piece = 64;
        row.run(me, call, parameters);
      });
      EXPECT_EQ(status.message(), "");
      for (const std::vector<float>& each : results) {
        EXPECT_EQ(std::memcmp(each.data(), results[0].data(), count * sizeof(float)), 0)
            << row.name << ", " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace corewise::lab
