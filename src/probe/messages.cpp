// Messages from core to core.
// SPDX-License-Identifier: BSD-3-Clause
#include "probe/messages.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "base/rng.hpp"
#include "probe/threads.hpp"

namespace corewise::probe {
namespace {

/// What a line of a message begins with: another value in every message, another in every line.
Byte stamp_of(std::uint64_t message, std::size_t at) {
  return static_cast<Byte>(message * 37 + at / line);
}

/// What the two threads share. Counters count bytes of all messages so far, or messages.
class Channel {
 public:
  Channel(std::span<const MessageMethod> methods, const MessagePlan& plan)
      : methods_(methods), plan_(plan), source_(plan.bytes), slot_(plan.bytes), target_(plan.bytes) {}

  bool has_memory() const {
    return source_.data() != nullptr && slot_.data() != nullptr && target_.data() != nullptr;
  }

  void run_sender(std::vector<std::vector<double>>& times) {
    std::vector<double> round(static_cast<std::size_t>(plan_.repeats));
    each_turn([&](std::size_t method, std::uint64_t first) {
      (void)timed_send(methods_[method], first);
      for (std::size_t i = 0; i < round.size(); ++i) round[i] = timed_send(methods_[method], first + 1 + i);
      const auto middle = round.begin() + static_cast<std::ptrdiff_t>(round.size() / 2);
      std::nth_element(round.begin(), middle, round.end());
      times[method].push_back(*middle);
    });
  }

  void run_receiver() {
    each_turn([&](std::size_t method, std::uint64_t first) {
      for (int i = 0; i <= plan_.repeats; ++i) receive(methods_[method], first + static_cast<std::uint64_t>(i));
    });
  }

  std::uint64_t wrong_lines() const { return wrong_lines_; }

 private:
  /// The same turns on both sides: the method and the number of its first message.
  template <class Turn>
  void each_turn(Turn&& turn) const {
    std::vector<std::size_t> order(methods_.size());
    std::uint64_t message = 0;
    for (int round = 0; round < plan_.rounds; ++round) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      Rng(plan_.seed + static_cast<std::uint64_t>(round)).shuffle(std::span<std::size_t>(order));
      for (const std::size_t method : order) {
        turn(method, message);
        message += static_cast<std::uint64_t>(plan_.repeats) + 1;
      }
    }
  }

  double timed_send(const MessageMethod& method, std::uint64_t message) {
    for (std::size_t at = 0; at < plan_.bytes; at += line) source_.data()[at] = stamp_of(message, at);
    waiting_.await(message + 1);
    const Clock::time_point start = Clock::now();
    send(method, message * plan_.bytes);
    taken_.await(message + 1);
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

  void send(const MessageMethod& method, std::uint64_t sent) {
    if (method.way == MessageWay::direct) return ready_.set(sent + plan_.bytes);
    if (method.way == MessageWay::halves) {
      const std::size_t half = receivers_part(method);
      ready_.set(sent + half);
      method.in(target_.data() + half, source_.data() + half, plan_.bytes - half);
      return ready_.set(sent + plan_.bytes);
    }
    each_chunk(method, [&](std::size_t at, std::size_t bytes) {
      method.in(slot_.data() + at, source_.data() + at, bytes);
      ready_.set(sent + at + bytes);
    });
  }

  void receive(const MessageMethod& method, std::uint64_t message) {
    waiting_.set(message + 1);
    const bool slotted = method.way == MessageWay::slot || method.way == MessageWay::pipeline;
    const Byte* from = slotted ? slot_.data() : source_.data();
    if (method.way == MessageWay::halves) {
      const std::size_t part = receivers_part(method);
      ready_.await(message * plan_.bytes + part);
      method.out(target_.data(), from, part);
      ready_.await((message + 1) * plan_.bytes);
    } else {
      each_chunk(method, [&](std::size_t at, std::size_t bytes) {
        ready_.await(message * plan_.bytes + at + bytes);
        method.out(target_.data() + at, from + at, bytes);
      });
    }
    if (plan_.read) count_wrong_lines(message);
    taken_.set(message + 1);
    if (!plan_.read) count_wrong_lines(message);
  }

  void count_wrong_lines(std::uint64_t message) {
    for (std::size_t at = 0; at < plan_.bytes; at += line)
      if (target_.data()[at] != stamp_of(message, at)) ++wrong_lines_;
  }

  /// Whole lines: no line is written by both.
  std::size_t receivers_part(const MessageMethod& method) const {
    const std::size_t senders = method.chunk == 0 ? plan_.bytes / 2 : std::min(method.chunk, plan_.bytes);
    return (plan_.bytes - senders) / line * line;
  }

  template <class Use>
  void each_chunk(const MessageMethod& method, Use&& use) const {
    const std::size_t chunk = method.way == MessageWay::pipeline ? method.chunk : plan_.bytes;
    for (std::size_t at = 0; at < plan_.bytes; at += chunk) use(at, std::min(chunk, plan_.bytes - at));
  }

  std::span<const MessageMethod> methods_;
  const MessagePlan& plan_;
  Block source_;
  Block slot_;
  Block target_;
  std::uint64_t wrong_lines_ = 0;  ///< the receiver's, read when both are done
  Flag waiting_;                   ///< messages for which the receiver has waited
  Flag ready_;                     ///< bytes that may be read
  Flag taken_;                     ///< messages that the receiver holds
};

Status check(std::span<const MessageMethod> methods, const MessagePlan& plan) {
  if (plan.bytes == 0) return bad_field("", "bytes", "0", "1 and more");
  if (plan.rounds < 1 || plan.repeats < 1)
    return bad_field("", "rounds", "none", "1 and more, of 1 message and more");
  for (const MessageMethod& method : methods)
    if (method.way == MessageWay::pipeline && method.chunk == 0)
      return bad_field("", "chunk", "0", "1 byte and more");
  const int processors[] = {plan.sender, plan.receiver};
  return check_processors(processors);
}

}  // namespace

Result<std::vector<std::vector<double>>> time_messages(std::span<const MessageMethod> methods,
                                                       const MessagePlan& plan) {
  if (Status status = check(methods, plan); !status.ok()) return status;
  Channel channel(methods, plan);
  if (!channel.has_memory()) return Status(Code::io, "no memory for messages of that size");
  std::vector<std::vector<double>> times(methods.size());
  const auto send = [&] { channel.run_sender(times); };
  const auto receive = [&] { channel.run_receiver(); };
  const int processors[] = {plan.sender, plan.receiver};
  const std::function<void()> work[] = {send, receive};
  if (Status status = run_bound(processors, work); !status.ok()) return status;
  if (channel.wrong_lines() != 0)
    return Status(Code::io, std::to_string(channel.wrong_lines()) + " lines of messages arrived wrong");
  return times;
}

Result<double> core_to_core_ns(int one, int other) {
  const int processors[] = {one, other};
  if (Status status = check_processors(processors); !status.ok()) return status;
  constexpr std::uint64_t rounds = 300;
  constexpr int tries = 5;
  Flag there;
  Flag back;
  double least = std::numeric_limits<double>::infinity();
  const auto ask = [&] {
    for (std::uint64_t attempt = 0; attempt < tries; ++attempt) {
      const Clock::time_point start = Clock::now();
      for (std::uint64_t i = attempt * rounds + 1; i <= (attempt + 1) * rounds; ++i) {
        there.set(i);
        back.await(i);
      }
      const double took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      least = std::min(least, took / (2.0 * rounds));
    }
  };
  const auto answer = [&] {
    for (std::uint64_t i = 1; i <= tries * rounds; ++i) {
      there.await(i);
      back.set(i);
    }
  };
  const std::function<void()> work[] = {ask, answer};
  if (Status status = run_bound(processors, work); !status.ok()) return status;
  return least;
}

}  // namespace corewise::probe
