// The table of names, and the lists of who has what. SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/kinds.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

namespace corewise::lab {
namespace {

using coll::Collective;

struct CollectiveName {
  Collective collective;
  std::string_view name;
};
constexpr std::array kNames = {
    CollectiveName{Collective::barrier, "barrier"},
    CollectiveName{Collective::broadcast, "broadcast"},
    CollectiveName{Collective::reduce, "reduce"},
    CollectiveName{Collective::allreduce, "allreduce"},
    CollectiveName{Collective::gather, "gather"},
    CollectiveName{Collective::gatherv, "gatherv"},
    CollectiveName{Collective::scatter, "scatter"},
    CollectiveName{Collective::scatterv, "scatterv"},
    CollectiveName{Collective::allgather, "allgather"},
    CollectiveName{Collective::allgatherv, "allgatherv"},
    CollectiveName{Collective::alltoall, "alltoall"},
    CollectiveName{Collective::alltoallv, "alltoallv"},
    CollectiveName{Collective::scan, "scan"},
    CollectiveName{Collective::exscan, "exscan"},
    CollectiveName{Collective::reduce_scatter, "reduce_scatter"},
    CollectiveName{Collective::reduce_scatter_block, "reduce_scatter_block"},
};
constexpr auto kAll = [] {
  std::array<Collective, kNames.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kNames[i].collective;
  return all;
}();

}  // namespace

std::string_view name_of(Collective collective) {
  return kNames[static_cast<std::size_t>(collective)].name;
}
std::span<const Collective> all_collectives() {
  return kAll;
}
Result<Collective> collective_named(std::string_view text) {
  std::string allowed;
  for (const CollectiveName& each : kNames) {
    if (each.name == text) return each.collective;
    allowed.append(allowed.empty() ? "" : ", ").append(each.name);
  }
  return bad_field("", "collective", std::string(1, '\'').append(text).append("'"), allowed);
}
bool has_data(Collective collective) {
  return collective != Collective::barrier;
}
bool has_root(Collective collective) {
  return any_of(collective, {Collective::broadcast, Collective::reduce, Collective::gather, Collective::gatherv,
                             Collective::scatter, Collective::scatterv});
}
bool may_be_strided(Collective collective) {
  return has_root(collective);
}
bool combines(Collective collective) {
  return any_of(collective, {Collective::reduce, Collective::allreduce, Collective::scan, Collective::exscan,
                             Collective::reduce_scatter, Collective::reduce_scatter_block});
}
bool has_uneven_blocks(Collective collective) {
  return any_of(collective, {Collective::gatherv, Collective::scatterv, Collective::allgatherv,
                             Collective::alltoallv, Collective::reduce_scatter});
}
bool may_be_in_place(Collective collective) {
  return !any_of(collective, {Collective::barrier, Collective::broadcast, Collective::alltoall,
                              Collective::alltoallv, Collective::reduce_scatter, Collective::reduce_scatter_block});
}

}  // namespace corewise::lab
