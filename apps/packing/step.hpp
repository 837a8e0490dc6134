// The timed step between two ranks: both send to each other and receive, at once, each in one of several ways.
//
// Contract: before every step the sender writes into every cache line that it will send (untimed), then both ranks
// meet at a flag in shared memory, so that nobody waits for the other's preparation; the step's time is the longer
// of the two ranks'. What is measured of a way is every step; what other processes do shows as outliers.
// In mapped memory a step is a message there and then one back, and its time is half of that.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layouts.hpp"

/// What is packed: the sent message, the received one, both; or nothing is sent, and MPI_Pack or MPI_Unpack is
/// timed. `mapped`: both, and the items of both ranks lie in memory that both map.
enum class Direction { send, receive, both, pack, unpack, mapped };

/// Bytes [at, at + bytes) of a message from the sender's items to the receiver's.
using StraightCopy = std::function<void(const char* source, char* target, std::size_t at, std::size_t bytes)>;
/// Of a program that is linked with one (bench/pack), for the ways `straight` and `halves`: the receiver copies, or
/// each rank copies a half. Null where it cannot read the case's datatypes; there is no such function in
/// apps/packing.
[[gnu::weak]] StraightCopy straight_copy(const Case& c);

/// Memory of two ranks that both map; each has its own part.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] char* of(int rank) const;

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

/// Waits until the other rank has stored a number, or one behind it.
void wait_for(const std::atomic<std::uint32_t>& stored, std::uint32_t number);

/// Two ranks' flags and times, in memory that both see.
class Meeting {
 public:
  Meeting();

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
  int rank_ = 0;
  SharedMemory memory_{sizeof(Place)};
  std::uint32_t epoch_ = 0;
  Place* mine_ = nullptr;
  Place* peer_ = nullptr;
};

/// A case's memory on one rank.
class Bench {
 public:
  /// `mapped`: the items lie in memory that both ranks map, as Direction::mapped needs.
  Bench(Case& c, Meeting& meeting, bool mapped);

  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
  /// Whether the case can be copied straight from the other rank's items.
  [[nodiscard]] bool has_straight() const { return straight_ != nullptr; }

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
  struct Sides {
    Step send, receive;
  };
  [[nodiscard]] Work work_of(const std::string& way);
  [[nodiscard]] Step step_of(const std::string& way, Direction direction);
  /// `shared`: the sender copies half of its message.
  [[nodiscard]] Sides straight_sides(bool shared);
  void map_items();
  /// Where the received items are in a rank's mapped memory.
  [[nodiscard]] std::size_t target_at() const;
  std::int64_t timed(const Step& step, const std::string& way, Direction direction);
  void rewrite(const std::string& way, Direction direction);

  Case& case_;
  Meeting& meeting_;
  int peer_;
  std::vector<char> own_source_, own_target_;
  std::unique_ptr<SharedMemory> mapped_;
  std::span<char> source_, target_;  ///< the items, own or mapped
  StraightCopy straight_;
  std::vector<char> packed_out_, packed_in_;  ///< packed by hand or MPI_Pack
  std::vector<char> plain_out_, plain_in_;    ///< contiguous messages
  std::vector<std::uint32_t> lines_;          ///< a byte of data in every line of the sent item
  unsigned char stamp_ = 0;
};
