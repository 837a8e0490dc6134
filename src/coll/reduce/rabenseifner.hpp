// Rabenseifner's reduce (paper 001, section 7.3, reference 10): a reduce-scatter by recursive halving, then the
// root gathers the parts; chunk by chunk, in local stores.
//
// The root fetches each part from the rank that has it into the same place of its own chunk: whoever has a part has
// read, or was told by ranks that have read, what lay there. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/reduce/recursive_halving.hpp"

namespace corewise::coll::reduce {

template <port::Port P>
class Rabenseifner {
 public:
  Rabenseifner(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me), root_(call.root), halving_(me, call, parameters), ahead_(loads_ahead(parameters)) {}

  void operator()() {
    const std::uint64_t count = halving_.chunks().count();
    const auto turns = static_cast<std::uint64_t>(halving_.turns_used());
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0 || !ahead_) begin(chunk);
      if (ahead_ && chunk + 1 < count) begin(chunk + 1);
      halving_.reduce_scatter(chunk, [this](int peer) { me_.acknowledgements.tell(peer); });
      gather(chunk);
    }
    for (std::uint64_t chunk = 0; chunk < std::min(count, turns); ++chunk) hear_readers();
    me_.port.wait(halving_.mask(0) | halving_.mask(1));
  }

 private:
  void begin(std::uint64_t chunk) {
    if (chunk >= static_cast<std::uint64_t>(halving_.turns_used())) hear_readers();
    halving_.load(chunk);
  }

  /// One acknowledgement of each that reads from this rank in a chunk.
  void hear_readers() {
    const Fold& fold = halving_.fold();
    if (halving_.number() < 0) {
      me_.acknowledgements.hear(fold.partner(me_.rank()));
      return;
    }
    for (int step = 0; step < fold.steps(); ++step) {
      me_.acknowledgements.hear(fold.rank(halving_.number() ^ (1 << step)));
    }
    if (me_.rank() != root_) me_.acknowledgements.hear(root_);
  }

  void gather(std::uint64_t chunk) {
    if (me_.rank() != root_) {
      if (halving_.number() >= 0) me_.announcements.tell(root_);
      return;
    }
    const Fold& fold = halving_.fold();
    for_others([&](int number) {
      const Range part = fold.range(number, fold.steps());
      const Parts parts = halving_.parts(chunk);
      me_.port.compute(cost::kPeer);
      me_.announcements.hear(fold.rank(number));
      halving_.fetch(chunk, fold.rank(number), parts.at(part.first), parts.bytes(part.first, part.last));
    });
    me_.port.wait(halving_.mask(chunk));
    for_others([&](int number) { me_.acknowledgements.tell(fold.rank(number)); });
    halving_.store(chunk);
  }

  /// Those that take part, without the root, from it on.
  template <class Visit>
  void for_others(Visit visit) {
    const Fold& fold = halving_.fold();
    const int own = halving_.number();
    for (int step = own < 0 ? 0 : 1; step < fold.numbers(); ++step) {
      visit((std::max(own, 0) + step) % fold.numbers());
    }
  }

  Rank<P>& me_;
  int root_;
  RecursiveHalving<P> halving_;
  bool ahead_;
};

template <port::Port P>
void rabenseifner(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Rabenseifner<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce
