// Plans of collectives that move data. SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <numeric>
#include <utility>

#include "simmpi/api/plans.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

bool in_place(const void* at) {
  return at == MPI_IN_PLACE;
}

int problem_of(const Buffer& buffer) {
  if (in_place(buffer.at)) return MPI_SUCCESS;
  return Demands()
      .that(buffer.count >= 0, MPI_ERR_COUNT)
      .that(usable(type_of(buffer.datatype)), MPI_ERR_TYPE)
      .code();
}

int problem_of(const Blocked& blocked, int ranks) {
  if (in_place(blocked.at)) return MPI_SUCCESS;
  Demands demands;
  demands.that(usable(type_of(blocked.datatype)), MPI_ERR_TYPE).that(blocked.counts != nullptr, MPI_ERR_ARG);
  for (int i = 0; i < ranks && demands.code() == MPI_SUCCESS; ++i)
    demands.that(blocked.counts[i] >= 0, MPI_ERR_COUNT);
  return demands.code();
}

int problem_of(const Typed& typed, int ranks) {
  if (in_place(typed.at)) return MPI_SUCCESS;
  Demands demands;
  for (int i = 0; i < ranks; ++i) {
    demands.that(typed.counts[i] >= 0, MPI_ERR_COUNT).that(usable(type_of(typed.datatypes[i])), MPI_ERR_TYPE);
  }
  return demands.code();
}

Data data_of(const Buffer& buffer) {
  if (in_place(buffer.at)) return {};
  return {buffer.at, buffer.count, type_of(buffer.datatype)};
}

Blocks typed_blocks(const Typed& typed, int ranks) {
  Blocks blocks{typed.at, {}, {}, {}};
  if (in_place(typed.at)) return blocks;
  for (int i = 0; i < ranks; ++i) {
    blocks.counts.push_back(typed.counts[i]);
    blocks.byte_offsets.push_back(typed.byte_places[i]);
    blocks.types.push_back(type_of(typed.datatypes[i]));
  }
  return blocks;
}

/// A plan for a communicator; `error` counts only where there is one.
Plan plan_on(MPI_Comm comm) {
  Plan plan;
  plan.comm = comm_of(comm);
  plan.error = plan.comm == nullptr ? int{MPI_ERR_COMM} : int{MPI_SUCCESS};
  return plan;
}

bool rooted(Plan& plan, int root) {
  if (plan.error == MPI_SUCCESS && (root < 0 || root >= plan.comm->size())) plan.error = MPI_ERR_ROOT;
  return plan.error == MPI_SUCCESS && plan.comm->rank == root;
}

void demand(Plan& plan, int error) {
  if (plan.error == MPI_SUCCESS) plan.error = error;
}

/// Without a recording nobody asks for the shares, which cost as much as the plan.
bool recorded() {
  return World::here().recording() != nullptr;
}

/// What a rank gives or takes of a buffer; nothing where it is in place.
void move(Plan& plan, const Buffer& buffer, int root = -1) {
  if (plan.error != MPI_SUCCESS) return;
  Type* type = in_place(buffer.at) ? nullptr : type_of(buffer.datatype);
  plan.moved = Moved{root, type != nullptr ? type->bytes(buffer.count) : 0, type, {}};
}

/// A share for each peer; of several datatypes the whole has none.
void move(Plan& plan, const Blocks& blocks, const std::vector<int>& peers) {
  Moved moved;
  const bool one_type = blocks.types.size() == 1;
  moved.type = one_type ? blocks.types.front() : nullptr;
  for (std::size_t i = 0; i < peers.size() && i < blocks.counts.size(); ++i) {
    const Type& type = *blocks.types[one_type ? 0 : i];
    if (peers[i] >= 0) moved.shares.emplace_back(peers[i], type.bytes(blocks.counts[i]));
  }
  plan.moved = std::move(moved);
}

std::vector<int> everybody(const Comm& comm) {
  std::vector<int> ranks(static_cast<std::size_t>(comm.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Blocks are fetched by every run of the work: kept once.
std::shared_ptr<const Blocks> kept(Blocks blocks) {
  return std::make_shared<const Blocks>(std::move(blocks));
}

}  // namespace

Blocks blocks_of(Buffer buffer, std::size_t number, bool same) {
  if (in_place(buffer.at)) return {buffer.at, {}, {}, {}};
  Blocks blocks = even_blocks(buffer.at, buffer.count, *type_of(buffer.datatype), static_cast<int>(number));
  if (same) blocks.byte_offsets.assign(number, 0);
  return blocks;
}

Blocks blocks_of(Blocked buffer, std::size_t number) {
  Blocks blocks{buffer.at, {}, {}, {}};
  if (in_place(buffer.at)) return blocks;
  Type& type = *type_of(buffer.datatype);
  blocks.types = {&type};
  for (std::size_t i = 0; i < number; ++i) {
    blocks.counts.push_back(buffer.counts[i]);
    blocks.byte_offsets.push_back(buffer.places[i] * type.shape.extent);
  }
  return blocks;
}

Plan plan_barrier(MPI_Comm comm) {
  Plan plan = plan_on(comm);
  plan.work = [](Context& call) { barrier(call); };
  plan.moved = Moved{};
  return plan;
}

Plan plan_broadcast(Buffer buffer, int root, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  rooted(plan, root);
  demand(plan, problem_of(buffer));
  move(plan, buffer, root);
  plan.work = [data = data_of(buffer), root](Context& call) { broadcast(call, data, root); };
  return plan;
}

Plan plan_gather(Buffer mine, Buffer all, int root, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  const bool here = rooted(plan, root);
  demand(plan, problem_of(mine));
  if (here) demand(plan, problem_of(all));
  const Data to = here ? data_of(all) : Data{};
  move(plan, mine, root);
  plan.work = [from = data_of(mine), to, root](Context& call) { gather_even(call, from, to, root); };
  return plan;
}

Plan plan_gather(Buffer mine, Blocked all, int root, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  const bool here = rooted(plan, root);
  demand(plan, problem_of(mine));
  if (here) demand(plan, problem_of(all, plan.comm->size()));
  if (plan.error != MPI_SUCCESS) return plan;
  auto to = kept(here ? blocks_of(all, static_cast<std::size_t>(plan.comm->size())) : Blocks{});
  move(plan, mine, root);
  plan.work = [from = data_of(mine), to, root](Context& call) { gather(call, from, *to, root); };
  return plan;
}

Plan plan_scatter(Buffer all, Buffer mine, int root, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  const bool here = rooted(plan, root);
  demand(plan, problem_of(mine));
  if (here) demand(plan, problem_of(all));
  const Data from = here ? data_of(all) : Data{};
  move(plan, mine, root);
  plan.work = [from, to = data_of(mine), root](Context& call) { scatter_even(call, from, to, root); };
  return plan;
}

Plan plan_scatter(Blocked all, Buffer mine, int root, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  const bool here = rooted(plan, root);
  demand(plan, problem_of(mine));
  if (here) demand(plan, problem_of(all, plan.comm->size()));
  if (plan.error != MPI_SUCCESS) return plan;
  auto from = kept(here ? blocks_of(all, static_cast<std::size_t>(plan.comm->size())) : Blocks{});
  move(plan, mine, root);
  plan.work = [from, to = data_of(mine), root](Context& call) { scatter(call, *from, to, root); };
  return plan;
}

Plan plan_all_gather(Buffer mine, Buffer all, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  demand(plan, problem_of(mine));
  demand(plan, problem_of(all));
  if (plan.error != MPI_SUCCESS) return plan;
  move(plan, in_place(mine.at) ? all : mine);
  auto to = kept(blocks_of(all, static_cast<std::size_t>(plan.comm->size()), false));
  plan.work = [from = data_of(mine), to](Context& call) { all_gather(call, from, *to); };
  return plan;
}

Plan plan_all_gather(Buffer mine, Blocked all, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  demand(plan, problem_of(mine));
  if (plan.error == MPI_SUCCESS) demand(plan, problem_of(all, plan.comm->size()));
  if (plan.error != MPI_SUCCESS) return plan;
  move(plan, in_place(mine.at) ? Buffer{all.at, all.counts[plan.comm->rank], all.datatype} : mine);
  auto to = kept(blocks_of(all, static_cast<std::size_t>(plan.comm->size())));
  plan.work = [from = data_of(mine), to](Context& call) { all_gather(call, from, *to); };
  return plan;
}

Plan plan_all_to_all(Buffer out, Buffer in, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  demand(plan, problem_of(out));
  demand(plan, problem_of(in));
  if (plan.error != MPI_SUCCESS) return plan;
  const auto ranks = static_cast<std::size_t>(plan.comm->size());
  move(plan, in_place(out.at) ? in : out);
  plan.work = [from = kept(blocks_of(out, ranks, false)), to = kept(blocks_of(in, ranks, false))](Context& call) {
    all_to_all(call, *from, *to);
  };
  return plan;
}

Plan plan_all_to_all(Blocked out, Blocked in, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  if (plan.error == MPI_SUCCESS) demand(plan, problem_of(out, plan.comm->size()));
  if (plan.error == MPI_SUCCESS) demand(plan, problem_of(in, plan.comm->size()));
  if (plan.error != MPI_SUCCESS) return plan;
  const auto ranks = static_cast<std::size_t>(plan.comm->size());
  if (recorded()) move(plan, blocks_of(in_place(out.at) ? in : out, ranks), everybody(*plan.comm));
  plan.work = [from = kept(blocks_of(out, ranks)), to = kept(blocks_of(in, ranks))](Context& call) {
    all_to_all(call, *from, *to);
  };
  return plan;
}

Plan plan_all_to_all(Typed out, Typed in, MPI_Comm comm) {
  Plan plan = plan_on(comm);
  if (plan.error == MPI_SUCCESS) demand(plan, problem_of(out, plan.comm->size()));
  if (plan.error == MPI_SUCCESS) demand(plan, problem_of(in, plan.comm->size()));
  if (plan.error != MPI_SUCCESS) return plan;
  const int ranks = plan.comm->size();
  if (recorded()) move(plan, typed_blocks(in_place(out.at) ? in : out, ranks), everybody(*plan.comm));
  plan.work = [from = kept(typed_blocks(out, ranks)), to = kept(typed_blocks(in, ranks))](Context& call) {
    all_to_all(call, *from, *to);
  };
  return plan;
}

Plan plan_neighbours(MPI_Comm comm, int error, Blocks out, Blocks in) {
  Plan plan = plan_on(comm);
  demand(plan, error);
  if (plan.error == MPI_SUCCESS && recorded()) move(plan, out, plan.comm->topology->destinations);
  plan.work = [from = kept(std::move(out)), to = kept(std::move(in))](Context& call) {
    neighbour_exchange(call, *from, *to);
  };
  return plan;
}

}  // namespace corewise::simmpi
