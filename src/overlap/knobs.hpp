// What a user of the library chooses: how many threads, what the communicator does, how work is shared, how threads
// wait, and who packs. Every knob has a name and named values, so that programs can read them from their own
// options. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace corewise::overlap {

/// What the communicator, the thread that calls `Flow::run`, does between transfers.
enum class Role : unsigned char {
  dedicated,  ///< waits for transfers: paper 004, section 8.2
  mixed,      ///< takes blocks of work when no transfer needs it: paper 004, section 8.5, point 2
};
inline constexpr std::array<std::string_view, 2> role_names = {"dedicated", "mixed"};

/// Which thread does a block of work.
enum class Shares : unsigned char {
  dynamic,  ///< whoever is free: paper 004, section 8.2
  fixed,    ///< each thread has its share of every stage: paper 004, section 8.5, point 1
};
inline constexpr std::array<std::string_view, 2> shares_names = {"dynamic", "static"};

/// How threads exclude each other and wait for work.
enum class Lock : unsigned char {
  blocking,  ///< a mutex and a condition variable: an idle thread gives its core away
  spinning,  ///< an atomic flag: an idle thread looks again, and yields now and then (section 8.5, point 4)
};
inline constexpr std::array<std::string_view, 2> lock_names = {"blocking", "spinning"};

/// Who packs and unpacks what is transferred (paper 004, section 8.3).
enum class Packer : unsigned char { worker, communicator };
inline constexpr std::array<std::string_view, 2> packer_names = {"worker", "communicator"};

struct Knobs {
  int workers = 1;  ///< threads beside the communicator; 0 only where its role is mixed
  Role role = Role::dedicated;
  Shares shares = Shares::dynamic;
  Lock lock = Lock::blocking;
  Packer packer = Packer::worker;
  /// Processors that threads are bound to while a flow runs: worker i to the i-th, the communicator to the one
  /// behind the last worker's, counted round; empty: threads run where the system puts them.
  std::vector<int> processors;
  bool timeline = false;  ///< keeps when what was done
  /// Seconds without any block done, while a transfer is under way, after which a flow fails; 0: it waits for ever.
  double patience_s = 0;
};

/// The value of that name; none where there is no such name.
template <class Value, std::size_t count>
std::optional<Value> named(const std::array<std::string_view, count>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace corewise::overlap
