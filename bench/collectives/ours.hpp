// corewise's collectives on shared memory: the tables of room coll on shm::ShmPort, an algorithm by its name.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "coll/allreduce/table.hpp"
#include "coll/barrier/table.hpp"
#include "coll/broadcast/table.hpp"
#include "coll/table.hpp"
#include "job.hpp"
#include "kernels/reduce/reduce.hpp"
#include "shm/port.hpp"

namespace corewise::bench {

/// Buffers of a host: its caches are larger than a local store.
inline coll::Shape host_shape(int ranks) {
  if (ranks > coll::kMostRanks) give_up("processes: more than " + std::to_string(coll::kMostRanks));
  coll::Shape shape = coll::Shape::eager(ranks);
  shape.buffer_bytes = 64 * 1024;
  shape.buffers = 4;
  shape.atomic_words = 2;
  return shape;
}

/// "NAME=VALUE"; false where there is none of that name.
inline bool set(coll::Parameters& parameters, const std::string& text) {
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos) return false;
  const std::string name = text.substr(0, equal);
  const auto value = static_cast<std::uint32_t>(std::strtoul(text.c_str() + equal + 1, nullptr, 10));
  if (name == "degree")
    parameters.degree = static_cast<int>(value);
  else if (name == "min_piece")
    parameters.min_piece = value;
  else if (name == "piece")
    parameters.piece_bytes = value;
  else if (name == "buffering")
    parameters.buffering = static_cast<int>(value);
  else if (name == "fenced")
    parameters.fenced = value != 0;
  else if (name == "waits")
    parameters.waits = value != 0;
  else
    return false;
  return true;
}

class Ours {
 public:
  using Port = shm::ShmPort;

  explicit Ours(coll::Rank<Port>& rank) : rank_(rank) {
    const auto kernels = kernels::reduction_kernels(kernels::Operator::sum, kernels::Element::int64);
    sum_.combine = kernels.combine;
    sum_.combine_row = kernels.row;
    sum_.combine_into = kernels.into;
    sum_.combine_into_both = kernels.into_both;
    sum_.element_bytes = 8;
    call_.operation = &sum_;
  }

  /// Which algorithm the calls after this one run. Chosen once, as a communicator's table would be.
  void use(const std::string& collective, const std::string& algorithm, const coll::Parameters& parameters) {
    parameters_ = parameters;
    if (collective == "barrier") run_ = find(coll::barrier::kRows<Port>, algorithm);
    if (collective == "broadcast") run_ = find(coll::broadcast::kRows<Port>, algorithm);
    if (collective == "allreduce") run_ = find(coll::allreduce::kRows<Port>, algorithm);
  }

  void barrier() { run_(rank_, call_, parameters_); }
  /// Rank 0 broadcasts.
  void broadcast(void* buffer, std::uint64_t bytes) { run(buffer, buffer, bytes); }
  void allreduce(const std::int64_t* send, std::int64_t* receive, std::uint64_t bytes) {
    run(send, receive, bytes);
  }

 private:
  using Run = void (*)(coll::Rank<Port>&, const coll::Call<Port>&, const coll::Parameters&);

  void run(const void* send, void* receive, std::uint64_t bytes) {
    call_.send = static_cast<const std::byte*>(send);
    call_.receive = static_cast<std::byte*>(receive);
    call_.bytes = bytes;
    run_(rank_, call_, parameters_);
  }

  template <class Rows>
  static Run find(const Rows& rows, const std::string& name) {
    for (const auto& row : rows) {
      if (row.name == name && row.run != nullptr) return row.run;
    }
    give_up("no such algorithm on shared memory: " + name);
  }

  coll::Rank<Port>& rank_;
  coll::Operation sum_;
  coll::Parameters parameters_;
  coll::Call<Port> call_;
  Run run_ = nullptr;
};

}  // namespace corewise::bench
