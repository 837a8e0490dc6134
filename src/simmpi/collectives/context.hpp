// Context: one call of a collective on one rank: who runs it, on which communicator, and the messages inside it.
// The algorithms are written on it, with the peers of room pattern's schedules.
//
// Contract: all members of a communicator call the same collectives in the same order (the standard's demand), so
// the number of a call is the tag of its messages and calls do not mix. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simmpi/rank.hpp"

namespace corewise::simmpi {

/// Items in memory: a pointer, a number, a type.
struct Data {
  const void* at = nullptr;
  std::int64_t count = 0;
  Type* type = nullptr;

  [[nodiscard]] void* to() const { return const_cast<void*>(at); }
  [[nodiscard]] std::int64_t bytes() const { return type->bytes(count); }
  /// The part that begins `items` extents further on.
  [[nodiscard]] Data part(std::int64_t items, std::int64_t wanted) const {
    return {static_cast<const std::byte*>(at) + items * type->shape.extent, wanted, type};
  }
};

/// Packed bytes as data.
Data bytes_at(const std::byte* at, std::int64_t bytes);
/// From one to the other.
void copy(const Data& from, const Data& to);

struct Context {
  Actor& actor;
  Comm& comm;
  int tag = 0;
  int error = MPI_SUCCESS;
  const std::vector<int>* members = nullptr;  ///< the ranks of the communicator among which it is; null: all
  int place = 0;                              ///< of this rank among them

  [[nodiscard]] int rank() const { return members != nullptr ? place : comm.rank; }
  [[nodiscard]] int size() const { return members != nullptr ? static_cast<int>(members->size()) : comm.size(); }
  void send(const Data& data, int to);
  void receive(const Data& data, int from);
  /// Both at once; a peer of schedule::nobody is left out.
  void exchange(const Data& out, int to, const Data& in, int from);
  /// Starts one; `request` is the caller's and stays until wait.
  void start_send(Request& request, const Data& data, int to);
  void start_receive(Request& request, const Data& data, int from);
  void wait(std::vector<Request>& requests);

 private:
  void prepare(Request& request, const Data& data, int peer);
};

}  // namespace corewise::simmpi
