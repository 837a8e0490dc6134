// The timed step between two ranks: both send to each other and receive, at once, each in one of several ways.
//
// Contract: before every step the sender writes into every cache line that it will send (untimed), then both ranks
// meet at a flag in shared memory, so that nobody waits for the other's preparation; the step's time is the longer
// of the two ranks'. What is measured of a way is every step; what other processes do shows as outliers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "layouts.hpp"

/// What is packed: the sent message, the received one, both; or nothing is sent, and MPI_Pack or MPI_Unpack is
/// timed.
enum class Direction { send, receive, both, pack, unpack };

/// Two ranks' flags and times, in memory that both see.
class Meeting {
 public:
  Meeting();
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  void meet();
  /// Publishes this rank's number and gives the larger of both, on both ranks.
  std::int64_t larger(std::int64_t mine);
  /// What a word takes from one core to the other, ns: how far they are from each other now.
  std::int64_t latency_ns();

 private:
  struct alignas(128) Place {
    std::atomic<std::uint32_t> arrived;
    std::atomic<std::int64_t> number;
  };
  MPI_Win window_ = MPI_WIN_NULL;
  int rank_ = 0;
  std::uint32_t epoch_ = 0;
  Place* mine_ = nullptr;
  Place* peer_ = nullptr;
};

/// A case's memory on one rank.
class Bench {
 public:
  Bench(Case& c, Meeting& meeting);

  /// Times of every step of every way, ns; ways take turns, and the order changes from turn to turn. About
  /// `budget_ns` for each way.
  std::vector<std::vector<std::int64_t>> measure(const std::vector<std::string>& ways, Direction direction,
                                                 std::int64_t budget_ns);

  /// Whether one step of a way moves exactly the case's bytes and leaves all others alone, on both ranks.
  bool correct(const std::string& way, Direction direction);

 private:
  using Step = std::function<void()>;
  struct Work {
    Step pack, unpack;
  };
  [[nodiscard]] Work work_of(const std::string& way);
  [[nodiscard]] Step step_of(const std::string& way, Direction direction);
  std::int64_t timed(const Step& step, const std::string& way, Direction direction);
  void rewrite(const std::string& way, Direction direction);

  Case& case_;
  Meeting& meeting_;
  int peer_;
  std::vector<char> source_, target_;         ///< the items
  std::vector<char> packed_out_, packed_in_;  ///< packed by hand or MPI_Pack
  std::vector<char> plain_out_, plain_in_;    ///< contiguous messages
  std::vector<std::uint32_t> lines_;          ///< a byte of data in every line of the sent item
  unsigned char stamp_ = 0;
};
