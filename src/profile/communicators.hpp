// Communicators of a world: the ranks' own indexes brought to one list.
//
// Two ranks' communicators are the same one when their groups, their constructor, and how many like it came before
// on each rank agree (constructors of one group are called in one order by all its members). Everyone's
// MPI_COMM_SELF, and every communicator of one rank, is one entry.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

class CommunicatorTable {
 public:
  /// Procedure number to name, of the rank whose communicators are added.
  using NameOf = std::function<std::string(std::uint16_t)>;

  /// Adds one rank's; the rank's own index of every communicator to the world's.
  std::map<std::uint16_t, int> add(const std::map<std::uint32_t, trace::Communicator>& own, const NameOf& name_of);

  /// The world's, in the order in which they were met.
  [[nodiscard]] const std::vector<Communicator>& known() const { return known_; }

 private:
  struct Key {
    bool identity;
    int size;
    std::vector<std::int32_t> group;  ///< for an intercommunicator the smaller of the two groups
    std::vector<std::int32_t> remote;
    std::string created_by;
    int ordinal;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  static Key key_of(const trace::Communicator& comm, const NameOf& name_of);
  static Communicator public_form(const trace::Communicator& comm, const Key& key);

  std::map<Key, int> index_of_;
  std::vector<Communicator> known_;
};

}  // namespace corewise::profile
