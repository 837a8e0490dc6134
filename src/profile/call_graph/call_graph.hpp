// The call graph: which function called which, how often and for how long, with the MPI calls and their messages
// below the functions that made them (paper 003, section 4.2.2 and figure 10). A tree of calling contexts, built
// while the records stream by.
//
// Contract: every slot's records are read once; memory is bounded by CallGraphLimits and by the depth of the call
// stack, never by the number of records. Nodes stand in the order of a walk through the tree, parents first; node 0
// is the root and stands for everything recorded. Times are nanoseconds. `inclusive_ns` of a node counts a time
// once however often the function is open in it, so a node's inclusive time is its exclusive time and that of its
// children (up to rounding), recursion folded into it included.
//
// What an incomplete stream means: a function that is still open at the end of its thread's records (a kill) ends
// with them; leaving an outer function leaves the inner ones (longjmp); a function that is left but was never
// entered had been open from the beginning where nothing is open (a flight recorder, a recorder that started late),
// and is counted in `unmatched_exits` elsewhere; while recording is switched off (MPI_Pcontrol) no time passes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profile/addresses.hpp"
#include "profile/stream.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

enum class CallKind : std::uint8_t {
  root,
  function,   ///< `what` indexes CallGraph::places
  region,     ///< `what` indexes CallGraph::names
  procedure,  ///< an MPI procedure: `what` indexes CallGraph::names
  message,    ///< messages of one size between two ranks, under their procedure, whose `what` it repeats
  other,      ///< what found no room: further messages of a procedure, further functions below a function
};

/// One calling context.
struct CallNode {
  CallKind kind = CallKind::root;
  int parent = -1;
  int what = 0;
  int source = 0;               ///< messages: world rank that the bytes come from
  int destination = 0;          ///< messages: world rank that they go to; kOutside (format.hpp) for another world's
  std::uint64_t bytes = 0;      ///< messages: of one; other nodes: sent, received or contributed here, in all
  std::uint64_t count = 0;      ///< calls; messages for a message
  std::uint64_t recursive = 0;  ///< of these, calls from below the node itself
  double inclusive_ns = 0;
  double exclusive_ns = 0;  ///< without what was called and recorded; for MPI all of it
};

struct CallGraph {
  std::vector<CallNode> nodes;
  std::vector<Place> places;
  std::vector<std::string> names;
  std::vector<int> ranks;       ///< that it sums, in order
  std::uint64_t functions = 0;  ///< function records read
  std::uint64_t unmatched_exits = 0;
  std::uint64_t closed_at_end = 0;  ///< functions that were still open when their thread's records ended
  std::uint64_t without_room = 0;   ///< calls that are summed in a node `other`
};

struct CallGraphLimits {
  int nodes = 1 << 16;  ///< of the whole graph; beyond, each function gets at most one more child, `other`
  int messages = 256;   ///< different (source, destination, bytes) of one procedure in one place
  int recursion = 3;    ///< a function appears this often on a path; deeper recursion is folded into the last
  int open_functions = 1 << 16;  ///< deeper ones are not looked at
};

/// One thread slot's calling contexts. `nodes` as those of CallGraph, with ticks in the place of nanoseconds.
struct SlotCalls {
  std::uint64_t functions = 0;
  std::uint64_t unmatched_exits = 0;
  std::uint64_t closed_at_end = 0;
  std::uint64_t without_room = 0;
  std::vector<CallNode> nodes;
};

/// One rank's calling contexts, before ranks are brought together.
struct RankCalls {
  int rank = 0;
  std::vector<Place> places;
  std::vector<std::string> names;
  std::vector<SlotCalls> slots;
};

/// Takes one rank's records, while whoever streams them streams them.
class RankCallsListener : public RecordListener {
 public:
  /// Once, after the last record.
  virtual RankCalls finish() = 0;
};

/// The reader must outlive the listener.
std::unique_ptr<RankCallsListener> rank_calls_listener(const trace::Reader& reader, const CallGraphLimits& limits);

/// A rank's clock and the host whose counter it reads.
struct HostClock {
  std::string host;
  trace::Calibration clock;
};

/// Nanoseconds of a tick for the ranks of a world, in their order. A rank whose own clock was not measured for long
/// enough counts with the best-measured rate of its host.
std::vector<double> tick_lengths(std::span<const HostClock> world);

/// Sums ranks of one world. Nodes come in the order in which ranks are added.
class CallGraphSum {
 public:
  explicit CallGraphSum(const CallGraphLimits& limits);
  ~CallGraphSum();

  void add(const RankCalls& calls, double ns_per_tick);
  CallGraph finish();

 private:
  class Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace corewise::profile
