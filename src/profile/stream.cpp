// Merging the slots of all ranks by the ends of their records; see stream.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/stream.hpp"

#include <queue>
#include <utility>
#include <vector>

namespace corewise::profile {
namespace {

class Merge {
 public:
  Merge(std::span<const trace::Reader* const> ranks, std::span<const RankClock> clocks,
        std::span<RecordListener* const> listeners)
      : listeners_(listeners) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t slot = 0; slot < ranks[rank]->slots().size(); ++slot)
        heads_.push_back({rank, slot, clocks[rank], ranks[rank]->records(ranks[rank]->slots()[slot]), {}, 0});
  }

  void run() {
    for (std::size_t at = 0; at < heads_.size(); ++at)
      if (advance(heads_[at])) waiting_.emplace(heads_[at].end_ns, at);
    while (!waiting_.empty()) {
      const std::size_t at = waiting_.top().second;
      waiting_.pop();
      deliver(heads_[at]);
    }
  }

 private:
  using Place = std::pair<double, std::size_t>;  ///< end of the next record, position in heads_

  struct Head {
    std::size_t rank;
    std::size_t slot;
    const RankClock& clock;
    trace::RecordStream stream;
    trace::Record record;
    double end_ns;
  };

  /// Hands on the slot's records as long as none of another slot comes first.
  void deliver(Head& head) {
    const auto at = static_cast<std::size_t>(&head - heads_.data());
    do {
      const StreamedRecord streamed{head.rank, head.slot, head.record, head.clock.ns(head.record.start_ticks),
                                    head.end_ns};
      for (RecordListener* listener : listeners_) listener->take(streamed);
      if (!advance(head)) return;
    } while (waiting_.empty() || Place(head.end_ns, at) < waiting_.top());
    waiting_.emplace(head.end_ns, at);
  }

  bool advance(Head& head) {
    if (head.stream.next(head.record)) {
      head.end_ns = head.clock.ns(head.record.start_ticks + head.record.duration_ticks);
      return true;
    }
    for (RecordListener* listener : listeners_)
      listener->end_slot(head.rank, head.slot, head.stream.damaged_bytes());
    return false;
  }

  std::span<RecordListener* const> listeners_;
  std::vector<Head> heads_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting_;
};

}  // namespace

void stream_records(std::span<const trace::Reader* const> ranks, std::span<const RankClock> clocks,
                    std::span<RecordListener* const> listeners) {
  Merge(ranks, clocks, listeners).run();
}

}  // namespace corewise::profile
