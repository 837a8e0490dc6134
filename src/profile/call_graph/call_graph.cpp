// From records to calling contexts; see call_graph.hpp. A Walker follows one slot of one rank in clock ticks, a
// Naming turns its addresses into places in files, and a CallGraphSum brings slots and ranks together.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/call_graph/call_graph.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "profile/call_graph/tree.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {
namespace {

using trace::Record;
using trace::Role;

constexpr std::size_t kRememberedPosts = 1 << 16;

CallKey function_key(std::uint64_t address) {
  return {.kind = CallKind::function, .what = address};
}
CallKey region_key(std::uint32_t name) {
  return {.kind = CallKind::region, .what = name};
}
CallKey procedure_key(std::uint16_t procedure) {
  return {.kind = CallKind::procedure, .what = procedure};
}

/// One slot's records.
class Walker {
 public:
  Walker(const trace::Reader& reader, const trace::Slot& slot, const CallGraphLimits& limits)
      : tree(limits), limits_(limits), me_(reader.header().rank) {
    begins_late_ = slot.overwritten_bytes > 0;
  }

  void take(const Record& record) {
    if (first_ == 0) first_ = record.start_ticks;
    switch (record.role) {
      case Role::function_enter:
        ++functions;
        return enter(function_key(record.address), record.start_ticks);
      case Role::function_exit:
        ++functions;
        return leave(function_key(record.address), record.start_ticks);
      case Role::region_enter:
        return enter(region_key(record.name), record.start_ticks);
      case Role::region_exit:
        return leave(region_key(record.name), record.start_ticks);
      case Role::recording:
        return record.name == 0 ? stop(record.start_ticks) : resume(record.start_ticks);
      case Role::arrival:
        return arrival(record);
      case Role::cancel:
        posts_.erase(record.start_ticks);
        return;
      case Role::phase:
      case Role::collective_part:
        return;
      default:
        return call(record);
    }
  }

  /// No further record comes.
  void finish() {
    if (!stopped_at_) closed_at_end += frames_.size();
    const std::uint64_t end = stopped_at_.value_or(last_);
    while (!frames_.empty()) close(end);
  }

  CallTree tree;
  std::uint64_t functions = 0;
  std::uint64_t unmatched_exits = 0;
  std::uint64_t closed_at_end = 0;

 private:
  /// A function or region under way.
  struct Frame {
    CallKey key;
    int node;
    std::uint64_t start;
    std::uint64_t below = 0;  ///< ticks of what it called
  };
  struct Post {
    int procedure_node;
    int pending;
  };

  [[nodiscard]] int here() const { return frames_.empty() ? 0 : frames_.back().node; }

  // ---- functions and regions ----

  /// Time stands still while recording is switched off; who was entered or left meanwhile is told nevertheless.
  [[nodiscard]] std::uint64_t recorded(std::uint64_t at) const {
    return stopped_at_ ? std::min(at, *stopped_at_) : std::max(at, resumed_at_);
  }

  void enter(const CallKey& key, std::uint64_t told) {
    const std::uint64_t at = recorded(told);
    last_ = std::max(last_, at);
    if (hidden_ > 0 || frames_.size() >= static_cast<std::size_t>(limits_.open_functions)) {
      ++hidden_;
      return;
    }
    const bool early = first_call_ && at < *first_call_ && !left_;
    const int node = early ? adopt(key) : tree.child(here(), key);
    TreeNode& entered = tree[node];
    ++entered.count;
    if (entered.open++ > 0 && entered.key == key) ++entered.recursive;
    frames_.push_back({key, node, at, early ? early_ticks_ : 0});
  }

  /// Functions that were open when recording began may be told after the call that began it.
  int adopt(const CallKey& key) {
    (frames_.empty() ? top_ticks_ : frames_.back().below) = 0;
    return tree.insert_above_children(here(), key);
  }

  void leave(const CallKey& key, std::uint64_t told) {
    const std::uint64_t at = recorded(told);
    last_ = std::max(last_, at);
    left_ = true;
    if (hidden_ > 0) {
      --hidden_;
      return;
    }
    const auto found =
        std::find_if(frames_.rbegin(), frames_.rend(), [&](const Frame& frame) { return frame.key == key; });
    if (found == frames_.rend()) return leave_unknown(key, at);
    const auto inner = static_cast<std::size_t>(found - frames_.rbegin());
    for (std::size_t i = 0; i <= inner; ++i) close(at);
  }

  /// Left without having been entered.
  void leave_unknown(const CallKey& key, std::uint64_t at) {
    if (begins_late_)
      while (!frames_.empty()) close(at);
    if (!frames_.empty() || !tree.has_room()) {
      ++unmatched_exits;
      return;
    }
    TreeNode& outer = tree[tree.insert_above_children(0, key)];
    outer.count = 1;
    const std::uint64_t span = at - std::min(at, first_ + pause_);
    outer.inclusive = static_cast<double>(span);
    outer.exclusive = static_cast<double>(span - std::min(span, top_ticks_));
    top_ticks_ = span;
  }

  /// Ends the innermost one.
  void close(std::uint64_t at) {
    const Frame frame = frames_.back();
    frames_.pop_back();
    const std::uint64_t ticks = at - std::min(at, frame.start);
    TreeNode& node = tree[frame.node];
    if (--node.open == 0) node.inclusive += static_cast<double>(ticks);
    node.exclusive += static_cast<double>(ticks - std::min(ticks, frame.below));
    add_below(ticks);
  }

  void add_below(std::uint64_t ticks) { (frames_.empty() ? top_ticks_ : frames_.back().below) += ticks; }

  // ---- recording switched off and on ----

  void stop(std::uint64_t at) {
    last_ = std::max(last_, at);
    if (!stopped_at_) stopped_at_ = at;
  }

  void resume(std::uint64_t at) {
    last_ = std::max(last_, at);
    if (!stopped_at_) return;
    const std::uint64_t gap = at - std::min(at, *stopped_at_);
    for (Frame& frame : frames_) frame.start += gap;
    pause_ += gap;
    resumed_at_ = at;
    stopped_at_.reset();
  }

  // ---- MPI ----

  void call(const Record& record) {
    last_ = std::max(last_, record.start_ticks + record.duration_ticks);
    const bool fresh = record.start_ticks != newest_start_;
    if (fresh) begin_call(record);
    TreeNode& procedure = tree[newest_call_];
    procedure.count += record.role == Role::miss ? record.bytes : fresh ? 1 : 0;
    procedure.inclusive += static_cast<double>(record.duration_ticks);
    add_below(record.duration_ticks);
    if (!message(record)) tree[newest_call_].exclusive += static_cast<double>(record.duration_ticks);
    if (record.role == Role::post_receive) remember(record.start_ticks);
  }

  void begin_call(const Record& record) {
    newest_start_ = record.start_ticks;
    newest_call_ = tree.child(here(), procedure_key(record.procedure));
    if (!first_call_) {
      first_call_ = record.start_ticks;
      early_ticks_ = record.duration_ticks;
    }
  }

  /// Hangs what moved below the call. False where nothing did.
  bool message(const Record& record) {
    switch (record.role) {
      case Role::send:
      case Role::rma_put:
      case Role::receive:
      case Role::rma_get:
        if (record.peer < 0 && record.peer != trace::kOutside) return false;
        moved(newest_call_, record, record.duration_ticks);
        return true;
      case Role::collective:
      case Role::file_read:
      case Role::file_write:
        tree[newest_call_].bytes += record.bytes;
        return false;
      default:
        return false;
    }
  }

  void moved(int procedure_node, const Record& record, std::uint64_t ticks) {
    const bool out = record.role == Role::send || record.role == Role::rma_put;
    const CallKey key{.kind = CallKind::message,
                      .source = out ? me_ : record.peer,
                      .destination = out ? record.peer : me_,
                      .what = tree[procedure_node].key.what,
                      .bytes = record.bytes};
    const int node = tree.child(procedure_node, key);
    tree[procedure_node].bytes += record.bytes;
    ++tree[node].count;
    if (node != procedure_node) tree[node].inclusive += static_cast<double>(ticks);
    tree[node].exclusive += static_cast<double>(ticks);
  }

  /// The arrival will be shown where the receive was posted.
  void remember(std::uint64_t start) {
    if (posts_.size() >= kRememberedPosts) return;
    Post& post = posts_.try_emplace(start, Post{newest_call_, 0}).first->second;
    ++post.pending;
  }

  void arrival(const Record& record) {
    last_ = std::max(last_, record.start_ticks + record.duration_ticks);
    if (record.peer < 0 && record.peer != trace::kOutside) return;
    const auto found = posts_.find(record.start_ticks);
    const bool known = found != posts_.end();
    const int node = known ? found->second.procedure_node : tree.child(here(), procedure_key(record.procedure));
    if (known && --found->second.pending == 0) posts_.erase(found);
    moved(node, record, 0);
  }

  CallGraphLimits limits_;
  int me_;
  bool begins_late_ = false;
  bool left_ = false;
  std::vector<Frame> frames_;
  std::uint64_t hidden_ = 0;  ///< functions open beyond the limit
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t pause_ = 0;      ///< not recorded, so far
  std::uint64_t top_ticks_ = 0;  ///< of calls at the top
  std::uint64_t resumed_at_ = 0;
  std::optional<std::uint64_t> stopped_at_;
  std::optional<std::uint64_t> first_call_;
  std::uint64_t early_ticks_ = 0;  ///< of that first call
  std::uint64_t newest_start_ = 0;
  int newest_call_ = 0;
  std::unordered_map<std::uint64_t, Post> posts_;
};

/// A rank's tree by places and names, in the order of a walk through its slots.
class Naming {
 public:
  Naming(const trace::Reader& reader, RankCalls& out) : reader_(reader), mappings_(reader.maps()), out_(out) {}

  void add(const Walker& walker) {
    SlotCalls& slot = out_.slots.emplace_back();
    slot.functions = walker.functions;
    slot.unmatched_exits = walker.unmatched_exits;
    slot.closed_at_end = walker.closed_at_end;
    slot.without_room = walker.tree.without_room();
    slot.nodes.push_back({});
    walker.tree.walk(0, [&](const TreeNode& node, int parent) {
      slot.nodes.push_back({node.key.kind, parent, what(node.key), node.key.source, node.key.destination,
                            node.key.kind == CallKind::message ? node.key.bytes : node.bytes, node.count,
                            node.recursive, node.inclusive, node.exclusive});
      return static_cast<int>(slot.nodes.size()) - 1;
    });
  }

 private:
  int what(const CallKey& key) {
    switch (key.kind) {
      case CallKind::function:
        return place(key.what);
      case CallKind::region:
        return name(reader_.region_name(static_cast<std::uint32_t>(key.what)));
      case CallKind::procedure:
      case CallKind::message:
        return name(reader_.procedure_name(static_cast<std::uint16_t>(key.what)));
      default:
        return 0;
    }
  }

  int place(std::uint64_t address) {
    const auto [known, fresh] = known_places_.try_emplace(address, 0);
    if (!fresh) return known->second;
    Place found = mappings_.find(address);
    const auto [at, made] = places_.try_emplace({found.object, found.offset}, static_cast<int>(out_.places.size()));
    if (made) out_.places.push_back(std::move(found));
    return known->second = at->second;
  }

  int name(const std::string& text) {
    const auto [at, made] = names_.try_emplace(text, static_cast<int>(out_.names.size()));
    if (made) out_.names.push_back(text);
    return at->second;
  }

  const trace::Reader& reader_;
  Mappings mappings_;
  RankCalls& out_;
  std::unordered_map<std::uint64_t, int> known_places_;
  std::map<std::pair<std::string, std::uint64_t>, int> places_;
  std::map<std::string, int> names_;
};

/// The slots of one rank.
class RankWalk : public RankCallsListener {
 public:
  RankWalk(const trace::Reader& reader, const CallGraphLimits& limits) : reader_(reader) {
    for (const trace::Slot& slot : reader.slots()) walkers_.emplace_back(reader, slot, limits);
  }
  void take(const StreamedRecord& streamed) override { walkers_[streamed.slot].take(streamed.record); }
  void end_slot(std::size_t, std::size_t slot, std::uint64_t) override { walkers_[slot].finish(); }

  RankCalls finish() override {
    RankCalls out;
    out.rank = reader_.header().rank;
    Naming naming(reader_, out);
    for (const Walker& walker : walkers_) naming.add(walker);
    return out;
  }

 private:
  const trace::Reader& reader_;
  std::vector<Walker> walkers_;
};

}  // namespace

std::unique_ptr<RankCallsListener> rank_calls_listener(const trace::Reader& reader, const CallGraphLimits& limits) {
  return std::make_unique<RankWalk>(reader, limits);
}

/// All slots of all ranks.
class CallGraphSum::Tree {
 public:
  explicit Tree(const CallGraphLimits& limits) : tree_(limits) {}

  void add(const RankCalls& calls, double ns_per_tick) {
    out_.ranks.push_back(calls.rank);
    for (const SlotCalls& slot : calls.slots) {
      out_.functions += slot.functions;
      out_.unmatched_exits += slot.unmatched_exits;
      out_.closed_at_end += slot.closed_at_end;
      out_.without_room += slot.without_room;
      merge(slot.nodes, calls, ns_per_tick);
    }
  }

  CallGraph finish() {
    out_.nodes.push_back({});
    tree_.walk(0, [&](const TreeNode& node, int parent) {
      out_.nodes.push_back({node.key.kind, parent, static_cast<int>(node.key.what), node.key.source,
                            node.key.destination, node.key.kind == CallKind::message ? node.key.bytes : node.bytes,
                            node.count, node.recursive, node.inclusive, node.exclusive});
      return static_cast<int>(out_.nodes.size()) - 1;
    });
    CallNode& root = out_.nodes.front();
    root.count = out_.ranks.size();
    for (const CallNode& node : out_.nodes)
      if (node.parent == 0) root.inclusive_ns += node.inclusive_ns;
    return std::move(out_);
  }

 private:
  /// Parents stand before their children.
  void merge(const std::vector<CallNode>& nodes, const RankCalls& calls, double ns_per_tick) {
    std::vector<int> place_of(nodes.size(), 0);
    for (std::size_t at = 1; at < nodes.size(); ++at) {
      const CallNode& node = nodes[at];
      const int above = place_of[static_cast<std::size_t>(node.parent)];
      const int to = tree_.child(above, key_of(node, calls));
      place_of[at] = to;
      TreeNode& sum = tree_[to];
      if (node.kind != CallKind::message) sum.bytes += node.bytes;
      sum.count += node.count;
      const bool folded = sum.parent != above;
      sum.recursive += folded && sum.key.kind != CallKind::other ? node.count : node.recursive;
      if (!folded) sum.inclusive += node.inclusive_ns * ns_per_tick;
      sum.exclusive += node.exclusive_ns * ns_per_tick;
    }
  }

  CallKey key_of(const CallNode& node, const RankCalls& calls) {
    const auto what = static_cast<std::size_t>(node.what);
    CallKey key{.kind = node.kind, .source = node.source, .destination = node.destination};
    if (node.kind == CallKind::message) key.bytes = node.bytes;
    if (node.kind == CallKind::function)
      key.what = place(calls.places[what]);
    else if (node.kind != CallKind::other)
      key.what = name(calls.names[what]);
    return key;
  }

  std::uint64_t place(const Place& found) {
    const auto [at, made] = places_.try_emplace({found.object, found.offset}, out_.places.size());
    if (made) out_.places.push_back(found);
    return at->second;
  }

  std::uint64_t name(const std::string& text) {
    const auto [at, made] = names_.try_emplace(text, out_.names.size());
    if (made) out_.names.push_back(text);
    return at->second;
  }

  CallTree tree_;
  CallGraph out_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> places_;
  std::map<std::string, std::uint64_t> names_;
};

CallGraphSum::CallGraphSum(const CallGraphLimits& limits) : tree_(std::make_unique<Tree>(limits)) {}

CallGraphSum::~CallGraphSum() = default;

void CallGraphSum::add(const RankCalls& calls, double ns_per_tick) {
  tree_->add(calls, ns_per_tick);
}

CallGraph CallGraphSum::finish() {
  return tree_->finish();
}

std::vector<double> tick_lengths(std::span<const HostClock> world) {
  std::map<std::string, trace::Calibration> best;  // by host, as in assemble.cpp
  for (const auto& [host, clock] : world) {
    trace::Calibration& known = best[host];
    if (clock.known && (!known.known || clock.span_ns > known.span_ns)) known = clock;
  }
  std::vector<double> lengths;
  for (const auto& [host, clock] : world) {
    const trace::Calibration& shared = best.at(host);
    lengths.push_back(clock.precise || !shared.known ? clock.ns_per_tick : shared.ns_per_tick);
  }
  return lengths;
}

}  // namespace corewise::profile
