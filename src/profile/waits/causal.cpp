// Forward corrections first, then the way up to each; see causal.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/causal.hpp"

#include <algorithm>
#include <utility>

namespace corewise::profile {
namespace {

constexpr double kNothing_ns = 1e-3;

}  // namespace

/// What the last jump up to `ns` leaves of itself; every one is at least what its forerunners leave.
double NodeCorrection::jumped(double ns) const {
  const auto next = std::upper_bound(jumps_.begin(), jumps_.end(), ns,
                                     [](double value, const Jump& each) { return value < each.ns; });
  if (next == jumps_.begin()) return 0;
  const Jump& last = *(next - 1);
  return std::max(0.0, last.height_ns - fall_ * (ns - last.ns));
}

/// The same just before `ns`.
double NodeCorrection::before(double ns) const {
  const auto at = std::lower_bound(jumps_.begin(), jumps_.end(), ns,
                                   [](const Jump& each, double value) { return each.ns < value; });
  if (at == jumps_.begin()) return 0;
  const Jump& last = *(at - 1);
  return std::max(0.0, last.height_ns - fall_ * (ns - last.ns));
}

double NodeCorrection::approached(double ns) const {
  double sum = 0;
  auto at = std::upper_bound(approaches_.begin(), approaches_.end(), ns,
                             [](double value, const Approach& each) { return value < each.ns; });
  for (; at != approaches_.end() && at->ns - widest_ns_ <= ns; ++at)
    sum += at->height_ns * std::max(0.0, 1 - (at->ns - ns) / at->window_ns);
  return sum;
}

/// From `ns` on the correction is at least `height_ns`, falling.
void NodeCorrection::raise(double ns, double height_ns) {
  auto at = std::lower_bound(jumps_.begin(), jumps_.end(), ns,
                             [](const Jump& each, double value) { return each.ns < value; });
  auto end = at;
  while (end != jumps_.end() && end->height_ns <= height_ns - fall_ * (end->ns - ns)) ++end;
  at = jumps_.erase(at, end);
  jumps_.insert(at, {ns, height_ns});
}

class CausalMaker {
 public:
  CausalMaker(int nodes, std::vector<Cause> causes, const CausalOptions& options)
      : causes_(std::move(causes)), options_(options) {
    out_.nodes.resize(static_cast<std::size_t>(nodes));
    for (NodeCorrection& node : out_.nodes) node.fall_ = 1 - options.pace;
    std::erase_if(causes_, [](const Cause& each) { return each.from_node == each.to_node; });
    std::sort(causes_.begin(), causes_.end(), [](const Cause& a, const Cause& b) { return a.from_ns < b.from_ns; });
  }

  Causality run() {
    for (const Cause& each : causes_) {
      if (each.from_ns - each.to_ns <= kNothing_ns) continue;
      ++out_.violated;
      out_.largest_ns = std::max(out_.largest_ns, each.from_ns - each.to_ns);
    }
    if (out_.violated == 0) return std::move(out_);
    for (std::size_t round = 0; round < options_.rounds && forward(); ++round) {
    }
    for (std::size_t node = 0; node < out_.nodes.size(); ++node) backward(static_cast<int>(node));
    for (const Cause& each : causes_) out_.left += slack(each) < -kNothing_ns ? 1 : 0;
    return std::move(out_);
  }

 private:
  NodeCorrection& node(int index) { return out_.nodes[static_cast<std::size_t>(index)]; }

  double slack(const Cause& cause) {
    return node(cause.to_node).corrected(cause.to_ns) - node(cause.from_node).corrected(cause.from_ns);
  }

  /// One round through the causes in the order of time; true when something moved.
  bool forward() {
    bool moved = false;
    for (const Cause& cause : causes_) {
      const double missing = -slack(cause);
      if (missing <= kNothing_ns / 2) continue;
      NodeCorrection& late = node(cause.to_node);
      late.raise(cause.to_ns, late.jumped(cause.to_ns) + missing);
      moved = true;
    }
    return moved;
  }

  /// The way up to each jump, as long as the messages sent meanwhile allow.
  void backward(int index) {
    NodeCorrection& own = node(index);
    std::vector<const Cause*> sent;
    for (const Cause& cause : causes_)
      if (cause.from_node == index) sent.push_back(&cause);
    for (const NodeCorrection::Jump& jump : own.jumps_) {
      const double height = jump.height_ns - own.before(jump.ns);
      if (height <= 0) continue;
      const double window = window_before(jump.ns, height, sent);
      own.approaches_.push_back({jump.ns, window, height});
      own.widest_ns_ = std::max(own.widest_ns_, window);
    }
  }

  double window_before(double ns, double height, const std::vector<const Cause*>& sent) {
    double window = options_.window_ns;
    auto at = std::lower_bound(sent.begin(), sent.end(), ns - window,
                               [](const Cause* each, double value) { return each->from_ns < value; });
    for (; at != sent.end() && (*at)->from_ns < ns; ++at) {
      const double room = std::max(0.0, slack(**at));
      if (room < height) window = std::min(window, (ns - (*at)->from_ns) / (1 - room / height));
    }
    return window;
  }

  std::vector<Cause> causes_;
  CausalOptions options_;
  Causality out_;
};

Causality make_causal(int nodes, std::vector<Cause> causes, const CausalOptions& options) {
  return CausalMaker(nodes, std::move(causes), options).run();
}

}  // namespace corewise::profile
