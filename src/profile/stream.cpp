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
      : listeners_(listeners), by_ticks_(ranks.size() == 1) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t slot = 0; slot < ranks[rank]->slots().size(); ++slot)
        heads_.push_back({rank, slot, clocks[rank], ranks[rank]->records(ranks[rank]->slots()[slot]), {}, 0});
  }

  void run() {
    for (std::size_t at = 0; at < heads_.size(); ++at)
      if (advance(heads_[at])) waiting_.emplace(heads_[at].key, at);
    while (!waiting_.empty()) {
      const std::size_t at = waiting_.top().second;
      waiting_.pop();
      deliver(at);
    }
  }

 private:
  using Place = std::pair<double, std::size_t>;  ///< key of the next record, position in heads_

  struct Head {
    std::size_t rank;
    std::size_t slot;
    const RankClock& clock;
    trace::RecordStream stream;
    trace::Record record;
    double key;  ///< the record's end
  };

  /// Hands on the slot's records as long as none of another slot comes first.
  void deliver(std::size_t at) {
    Head& head = heads_[at];
    do {
      const StreamedRecord streamed{head.rank, head.slot, head.record, head.clock};
      for (RecordListener* listener : listeners_) listener->take(streamed);
      if (!advance(head)) return;
    } while (waiting_.empty() || head.key <= waiting_.top().first);
    waiting_.emplace(head.key, at);
  }

  bool advance(Head& head) {
    if (head.stream.next(head.record)) {
      const std::uint64_t end = head.record.start_ticks + head.record.duration_ticks;
      head.key = by_ticks_ ? static_cast<double>(end) : head.clock.ns(end);
      return true;
    }
    for (RecordListener* listener : listeners_)
      listener->end_slot(head.rank, head.slot, head.stream.damaged_bytes());
    return false;
  }

  std::span<RecordListener* const> listeners_;
  bool by_ticks_;
  std::vector<Head> heads_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> waiting_;
};

}  // namespace

void stream_records(std::span<const trace::Reader* const> ranks, std::span<const RankClock> clocks,
                    std::span<RecordListener* const> listeners) {
  Merge(ranks, clocks, listeners).run();
}

}  // namespace corewise::profile
