// One list of communicators for a world; see communicators.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/communicators.hpp"

#include <utility>

namespace corewise::profile {

CommunicatorTable::Key CommunicatorTable::key_of(const trace::Communicator& comm, const NameOf& name_of) {
  if (comm.remote_size == 0 && comm.size == 1) return {false, 1, {}, {}, {}, 0};
  const bool predefined = comm.parent == trace::kUnknownComm;
  Key key{comm.identity,
          comm.size,
          comm.ranks,
          comm.remote_ranks,
          predefined ? std::string() : name_of(comm.created_by & trace::kCallMask),
          0};
  if (comm.remote_size > 0 && key.remote < key.group) std::swap(key.group, key.remote);
  if (comm.remote_size > 0) key.size = 0;  // differs on the two sides
  return key;
}

Communicator CommunicatorTable::public_form(const trace::Communicator& comm, const Key& key) {
  Communicator out;
  out.name = comm.name;
  out.created_by = key.created_by;
  out.identity = key.identity;
  out.ranks = key.group;
  out.remote_ranks = key.remote;
  out.size = comm.remote_size > 0 ? static_cast<int>(key.group.size()) : comm.size;
  out.remote_size = static_cast<int>(key.remote.size());
  return out;
}

std::map<std::uint16_t, int> CommunicatorTable::add(const std::map<std::uint32_t, trace::Communicator>& own,
                                                    const NameOf& name_of) {
  std::map<std::uint16_t, int> world_index;
  std::map<Key, int> before;
  for (const auto& [index, comm] : own) {
    Key key = key_of(comm, name_of);
    if (key.size != 1) key.ordinal = before[key]++;
    const auto [at, fresh] = index_of_.emplace(key, static_cast<int>(known_.size()));
    if (fresh) known_.push_back(public_form(comm, key));
    Communicator& known = known_[static_cast<std::size_t>(at->second)];
    if (known.name.empty()) known.name = comm.name;
    world_index[static_cast<std::uint16_t>(index)] = at->second;
  }
  return world_index;
}

}  // namespace corewise::profile
