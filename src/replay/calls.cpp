// From records to calls. SPDX-License-Identifier: BSD-3-Clause
#include "replay/calls.hpp"

#include <algorithm>

namespace corewise::replay {
namespace {

using trace::Record;
using trace::Role;

bool completes(Role role) {
  return role == Role::arrival || role == Role::cancel;
}

/// Functions, regions, phases, and where recording stops and begins: nothing that a rank does to another.
bool says_nothing(Role role) {
  return role >= Role::function_enter && role <= Role::recording;
}

}  // namespace

void CallReader::advance() {
  do {
    more_ = records_.next(head_);
  } while (more_ && says_nothing(head_.role));
}

bool CallReader::belongs(const Call& call) const {
  if (!completes(head_.role)) return head_.start_ticks == call.record.start_ticks;
  // A long duration is rounded down (trace::pack_duration), so its end may lie a little earlier.
  const std::uint64_t end = head_.start_ticks + head_.duration_ticks;
  const std::uint64_t rounding = (head_.duration_ticks >> 26) + (call.record.duration_ticks >> 26) + 1;
  return head_.start_ticks == call.record.start_ticks ||
         (end <= call.end_ticks() + rounding && call.end_ticks() <= end + rounding);
}

bool CallReader::next(Call& call) {
  if (!more_) return false;
  call.more.clear();
  call.completed.clear();
  call.number = ++number_;
  call.record = head_;
  if (completes(head_.role)) {  // the call that completed it left no record
    call.record.role = Role::plain;
    call.record.start_ticks = head_.start_ticks + head_.duration_ticks;
    call.record.duration_ticks = 0;
  } else {
    advance();
  }
  while (more_ && belongs(call)) {
    (completes(head_.role) ? call.completed : call.more).push_back(head_);
    advance();
  }
  return true;
}

bool Foresight::take(const Record& post, const Record& arrival) {
  const bool fits = arrival.start_ticks == post.start_ticks && (post.peer < 0 || post.peer == arrival.peer) &&
                    (post.tag < 0 || post.tag == arrival.tag);
  if (fits) found_ = arrival;
  return fits;
}

const Record* Foresight::arrival_of(const Record& post) {
  // Receives are asked for in the order of their posts: what was posted earlier is not needed any more.
  std::erase_if(met_, [&](const Record& each) { return each.start_ticks < post.start_ticks; });
  const auto known = std::find_if(met_.begin(), met_.end(), [&](const Record& each) { return take(post, each); });
  if (known != met_.end()) {
    met_.erase(known);
    return found_.role == Role::arrival ? &found_ : nullptr;
  }
  Record record;
  while (records_.next(record)) {
    if (!completes(record.role) || record.start_ticks < post.start_ticks) continue;
    if (take(post, record)) return found_.role == Role::arrival ? &found_ : nullptr;
    met_.push_back(record);
  }
  return nullptr;
}

}  // namespace corewise::replay
