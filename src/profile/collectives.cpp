// The table of collectives.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/collectives.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace corewise::profile {
namespace {

struct Row {
  std::string_view name;
  Volume volume;
};

constexpr Row kTable[] = {
    {"allgather", Volume::to_each},
    {"allgatherv", Volume::to_each},
    {"allreduce", Volume::reduced},
    {"alltoall", Volume::to_each},
    {"alltoallv", Volume::parts},
    {"alltoallw", Volume::parts},
    {"barrier", Volume::none},
    {"bcast", Volume::from_root},
    {"exscan", Volume::from_previous},
    {"gather", Volume::to_root},
    {"gatherv", Volume::to_root},
    {"neighbor_allgather", Volume::parts},
    {"neighbor_allgatherv", Volume::parts},
    {"neighbor_alltoall", Volume::parts},
    {"neighbor_alltoallv", Volume::parts},
    {"neighbor_alltoallw", Volume::parts},
    {"reduce", Volume::to_root},
    {"reduce_scatter", Volume::from_each},
    {"reduce_scatter_block", Volume::from_each},
    {"scan", Volume::from_previous},
    {"scatter", Volume::from_root},
    {"scatterv", Volume::from_root},
};

Volume look_up(std::string_view name) {
  const auto* row =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Row& each) { return each.name == name; });
  return row == std::end(kTable) ? Volume::unknown : row->volume;
}

void drop_suffix(std::string& name, std::string_view suffix) {
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
}

}  // namespace

Volume volume_of(std::string_view procedure) {
  std::string name(procedure);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.starts_with("mpi_")) name.erase(0, 4);
  drop_suffix(name, "_c");
  drop_suffix(name, "_init");
  const Volume found = look_up(name);
  return found == Volume::unknown && name.starts_with('i') ? look_up(std::string_view(name).substr(1)) : found;
}

}  // namespace corewise::profile
