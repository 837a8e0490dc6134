// Matching: which receive got which message, from the records of both ends.
//
// MPI does not overtake: of two messages with one sender, receiver, communicator and tag the one sent first goes to
// the receive *posted* first. Receives are recorded when they complete, so an arrival waits here until no receive
// that was posted before it, and could take the same message, is still open.
// Contract: sends, posts and arrivals of one rank come in the order of its records, those of different ranks in any
// order. Memory is what is in flight, at most `capacity` entries; what is given up beyond is counted. `sink` gets
// every pair once, in no particular order.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace corewise::profile {

/// Of one world. `comm` is an index that is the same for all its members.
struct Channel {
  int comm = 0;
  int from = 0;
  int to = 0;
  std::int32_t tag = 0;
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// A send as its rank recorded it, times in ns on the world's line. `where` is the caller's own.
struct SentMessage {
  double start_ns = 0;
  double end_ns = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t where = 0;
  bool blocking = false;     ///< the call may have waited for the receiver
  bool synchronous = false;  ///< the call did not return before the receive was posted
};

/// A receive, posted at `post`, that was waited for between `wait_start` and `wait_end`; they are equal where no
/// call is known to have waited.
struct ReceivedMessage {
  double post_ns = 0;
  double wait_start_ns = 0;
  double wait_end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t where = 0;
  std::uint64_t group = 0;  ///< receives that one call waited for
};

/// What a non-blocking receive asked for; wildcards negative.
struct Post {
  int comm = 0;
  std::int32_t from = 0;
  std::int32_t tag = 0;
};

/// What became of the messages.
struct MatchCounts {
  std::uint64_t matched = 0;
  std::uint64_t mismatched = 0;  ///< of them, pairs of different sizes
  std::uint64_t dropped = 0;     ///< given up for want of memory
  std::uint64_t unmatched_sends = 0;
  std::uint64_t unmatched_receives = 0;

  void add(const MatchCounts& other);
};

class Matcher {
 public:
  using Sink = std::function<void(const Channel&, const SentMessage&, const ReceivedMessage&)>;

  explicit Matcher(Sink sink, std::size_t capacity = std::size_t{1} << 20)
      : sink_(std::move(sink)), capacity_(capacity) {}

  void send(const Channel& channel, const SentMessage& message);
  /// The send that began at `start_ticks` was cancelled.
  void cancel_send(const Channel& channel, std::uint64_t start_ticks);
  void post(int rank, std::uint64_t start_ticks, const Post& post);
  void cancel_post(int rank, std::uint64_t start_ticks, const Post& post);
  /// A message arrived for what was posted at `start_ticks`; a blocking receive has no post of its own.
  void arrival(const Channel& channel, std::uint64_t start_ticks, const ReceivedMessage& message);
  /// No more records: what is held back is released.
  void finish();

  [[nodiscard]] MatchCounts counts() const;
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  using Order = std::pair<std::uint64_t, std::uint64_t>;  ///< ticks, then the order of records
  struct Receiver {
    std::size_t open = 0;                      ///< posts not completed
    std::map<Order, Post> wild;                ///< those with a wildcard
    std::map<Channel, std::set<Order>> exact;  ///< the others
    std::set<Channel> waiting;                 ///< channels with arrivals that an open post may precede
  };
  struct Queue {
    std::deque<SentMessage> sends;
    std::deque<ReceivedMessage> receives;         ///< in the order of their posts
    std::map<Order, ReceivedMessage> unreleased;  ///< arrived, but perhaps not their channel's next
  };

  static bool is_wild(const Post& post) { return post.from < 0 || post.tag < 0; }
  static bool may_take(const Post& post, const Channel& channel);
  bool closed(Receiver& receiver);
  bool close(int rank, std::uint64_t start_ticks, const Post& post, Order& order);
  void release(int rank, bool all);
  static bool held_back(const Receiver& receiver, const Channel& channel, const Order& order);
  bool release_channel(const Receiver& receiver, const Channel& channel, bool all);
  void pair_up(const Channel& channel, Queue& queue);
  void make_room();

  Sink sink_;
  std::size_t capacity_;
  std::map<Channel, Queue> queues_;
  std::map<int, Receiver> receivers_;
  std::size_t held_ = 0;
  std::uint64_t sequence_ = 0;
  MatchCounts counts_;  ///< but for what is unmatched
};

}  // namespace corewise::profile
