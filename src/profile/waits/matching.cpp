// First in, first out per channel, in the order of posts; see matching.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/matching.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace corewise::profile {

bool Matcher::may_take(const Post& post, const Channel& channel) {
  return post.comm == channel.comm && (post.from < 0 || post.from == channel.from) &&
         (post.tag < 0 || post.tag == channel.tag);
}

void Matcher::send(const Channel& channel, const SentMessage& message) {
  make_room();
  Queue& queue = queues_[channel];
  queue.sends.push_back(message);
  ++held_;
  pair_up(channel, queue);
}

void Matcher::cancel_send(const Channel& channel, std::uint64_t start_ticks) {
  const auto found = queues_.find(channel);
  if (found == queues_.end()) return;
  std::deque<SentMessage>& sends = found->second.sends;
  const auto sent = std::find_if(sends.begin(), sends.end(),
                                 [&](const SentMessage& each) { return each.start_ticks == start_ticks; });
  if (sent == sends.end()) return;
  sends.erase(sent);
  --held_;
}

void Matcher::post(int rank, std::uint64_t start_ticks, const Post& post) {
  make_room();
  Receiver& receiver = receivers_[rank];
  const Order order{start_ticks, sequence_++};
  if (is_wild(post))
    receiver.wild.emplace(order, post);
  else
    receiver.exact[{post.comm, post.from, rank, post.tag}].insert(order);
  ++receiver.open;
  ++held_;
}

void Matcher::cancel_post(int rank, std::uint64_t start_ticks, const Post& post) {
  Order order;
  if (close(rank, start_ticks, post, order)) release(rank, false);
}

/// Takes the first open post of that moment that could have become `post`. Posts of one moment are MPI_Startall's.
bool Matcher::close(int rank, std::uint64_t start_ticks, const Post& post, Order& order) {
  Receiver& receiver = receivers_[rank];
  const Channel channel{post.comm, post.from, rank, post.tag};
  auto wild = receiver.wild.lower_bound({start_ticks, 0});
  while (wild != receiver.wild.end() && wild->first.first == start_ticks && !may_take(wild->second, channel))
    ++wild;
  const bool some_wild = wild != receiver.wild.end() && wild->first.first == start_ticks;
  const auto exact = receiver.exact.find(channel);
  if (exact != receiver.exact.end()) {
    const auto at = exact->second.lower_bound({start_ticks, 0});
    const bool some = at != exact->second.end() && at->first == start_ticks;
    if (some && (!some_wild || *at < wild->first)) {
      order = *at;
      exact->second.erase(at);
      if (exact->second.empty()) receiver.exact.erase(exact);
      return closed(receiver);
    }
  }
  if (!some_wild) return false;
  order = wild->first;
  receiver.wild.erase(wild);
  return closed(receiver);
}

bool Matcher::closed(Receiver& receiver) {
  --receiver.open;
  --held_;
  return true;
}

/// Whether an open post that came before could take the same message.
bool Matcher::held_back(const Receiver& receiver, const Channel& channel, const Order& order) {
  const auto exact = receiver.exact.find(channel);
  if (exact != receiver.exact.end() && *exact->second.begin() < order) return true;
  for (const auto& [posted, post] : receiver.wild) {
    if (posted >= order) return false;
    if (may_take(post, channel)) return true;
  }
  return false;
}

void Matcher::arrival(const Channel& channel, std::uint64_t start_ticks, const ReceivedMessage& message) {
  make_room();
  Order order{start_ticks, sequence_++};
  close(channel.to, start_ticks, {channel.comm, channel.from, channel.tag}, order);
  queues_[channel].unreleased.emplace(order, message);
  ++held_;
  receivers_[channel.to].waiting.insert(channel);
  release(channel.to, false);
}

void Matcher::release(int rank, bool all) {
  Receiver& receiver = receivers_[rank];
  for (auto at = receiver.waiting.begin(); at != receiver.waiting.end();)
    at = release_channel(receiver, *at, all) ? receiver.waiting.erase(at) : std::next(at);
}

/// True when nothing is held back on the channel any more.
bool Matcher::release_channel(const Receiver& receiver, const Channel& channel, bool all) {
  Queue& queue = queues_[channel];
  while (!queue.unreleased.empty()) {
    const Order first = queue.unreleased.begin()->first;
    if (!all && held_back(receiver, channel, first)) return false;
    queue.receives.push_back(queue.unreleased.begin()->second);
    queue.unreleased.erase(queue.unreleased.begin());
    pair_up(channel, queue);
  }
  return true;
}

void Matcher::pair_up(const Channel& channel, Queue& queue) {
  while (!queue.sends.empty() && !queue.receives.empty()) {
    ++counts_.matched;
    if (queue.sends.front().bytes != queue.receives.front().bytes) ++counts_.mismatched;
    sink_(channel, queue.sends.front(), queue.receives.front());
    queue.sends.pop_front();
    queue.receives.pop_front();
    held_ -= 2;
  }
}

/// Gives up the oldest posts first (of requests that were freed or lost, they hold others back), then messages.
void Matcher::make_room() {
  if (held_ < capacity_) return;
  for (auto& [rank, receiver] : receivers_) {
    counts_.dropped += receiver.open;
    held_ -= receiver.open;
    receiver.open = 0;
    receiver.wild.clear();
    receiver.exact.clear();
    release(rank, true);
  }
  if (held_ < capacity_) return;
  for (auto& [channel, queue] : queues_) {
    counts_.dropped += queue.sends.size() + queue.receives.size();
    held_ -= queue.sends.size() + queue.receives.size();
    queue.sends.clear();
    queue.receives.clear();
  }
}

void Matcher::finish() {
  for (auto& [rank, receiver] : receivers_) release(rank, true);
}

MatchCounts Matcher::counts() const {
  MatchCounts counts = counts_;
  for (const auto& [channel, queue] : queues_) {
    counts.unmatched_sends += queue.sends.size();
    counts.unmatched_receives += queue.receives.size() + queue.unreleased.size();
  }
  return counts;
}

void MatchCounts::add(const MatchCounts& other) {
  matched += other.matched;
  mismatched += other.mismatched;
  dropped += other.dropped;
  unmatched_sends += other.unmatched_sends;
  unmatched_receives += other.unmatched_receives;
}

}  // namespace corewise::profile
