// Graph topologies, given whole or by each rank for itself (MPI-3.1, section 7.5).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <vector>

#include "simmpi/api/topologies.hpp"
#include "simmpi/collectives/collectives.hpp"

namespace corewise::simmpi {
namespace {

Comm* with_graph(MPI_Comm comm, int kind, int& code) {
  Comm* found = comm_of(comm);
  const bool graph = found != nullptr && found->topology && found->topology->kind == kind;
  code = found == nullptr ? int{MPI_ERR_COMM} : graph ? int{MPI_SUCCESS} : int{MPI_ERR_TOPOLOGY};
  return found;
}

std::vector<int> neighbours_of(const Topology& graph, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const int first = at == 0 ? 0 : graph.index[at - 1];
  return {graph.edges.begin() + first, graph.edges.begin() + graph.index[at]};
}

bool is_list(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY && weights != nullptr;
}

void give(const std::vector<int>& values, int most, int* to) {
  std::copy_n(values.begin(), std::min<std::size_t>(values.size(), static_cast<std::size_t>(std::max(most, 0))),
              to);
}

/// An edge as MPI_Dist_graph_create distributes it.
struct Edge {
  int source, destination, weight;
};

/// Everybody's edges on every rank, those of rank 0 first.
std::vector<Edge> all_edges(Context& call, const std::vector<Edge>& mine) {
  std::int64_t count = static_cast<std::int64_t>(mine.size() * sizeof(Edge));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(call.size()));
  all_gather(call, bytes_at(reinterpret_cast<const std::byte*>(&count), sizeof count),
             even_blocks(counts.data(), sizeof count, byte_type(), call.size()));
  Blocks blocks{nullptr, counts, {}, {&byte_type()}};
  std::int64_t total = 0;
  for (const std::int64_t bytes : counts) {
    blocks.byte_offsets.push_back(total);
    total += bytes;
  }
  std::vector<Edge> all(static_cast<std::size_t>(total) / sizeof(Edge));
  blocks.at = all.data();
  all_gather(call, bytes_at(reinterpret_cast<const std::byte*>(mine.data()), count), blocks);
  return all;
}

void add_edges(Topology& graph, const std::vector<Edge>& all, int rank) {
  for (const Edge& edge : all) {
    if (edge.destination == rank) {
      graph.sources.push_back(edge.source);
      graph.source_weights.push_back(edge.weight);
    }
    if (edge.source == rank) {
      graph.destinations.push_back(edge.destination);
      graph.destination_weights.push_back(edge.weight);
    }
  }
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int,
                      MPI_Comm* comm_graph) {
  Entry entry("MPI_Graph_create");
  Comm* found = comm_of(comm_old);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (comm_graph == nullptr || nnodes < 0 || nnodes > found->size()) return entry.raise(found, MPI_ERR_ARG);
  int code = MPI_SUCCESS;
  if (make_part(comm_old, nnodes, comm_graph, code)) {
    Comm& made = *comm_of(*comm_graph);
    made.topology = std::make_unique<Topology>();
    Topology& graph = *made.topology;
    graph.kind = MPI_GRAPH;
    graph.index = listed(nnodes, index);
    graph.edges = listed(nnodes > 0 ? index[nnodes - 1] : 0, edges);
    graph.sources = graph.destinations = neighbours_of(graph, made.rank);
  }
  return code;
}

int PMPI_Graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) {
  Entry entry("MPI_Graphdims_get");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  *nnodes = static_cast<int>(found->topology->index.size());
  *nedges = static_cast<int>(found->topology->edges.size());
  return MPI_SUCCESS;
}

int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]) {
  Entry entry("MPI_Graph_get");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  give(found->topology->index, maxindex, index);
  give(found->topology->edges, maxedges, edges);
  return MPI_SUCCESS;
}

int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) {
  Entry entry("MPI_Graph_neighbors_count");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  if (rank < 0 || rank >= found->size()) return entry.raise(found, MPI_ERR_RANK);
  *nneighbors = static_cast<int>(neighbours_of(*found->topology, rank).size());
  return MPI_SUCCESS;
}

int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
  Entry entry("MPI_Graph_neighbors");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  if (rank < 0 || rank >= found->size()) return entry.raise(found, MPI_ERR_RANK);
  give(neighbours_of(*found->topology, rank), maxneighbors, neighbors);
  return MPI_SUCCESS;
}

int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int[], const int[], int* newrank) {
  Entry entry("MPI_Graph_map");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (newrank == nullptr) return entry.raise(found, MPI_ERR_ARG);
  *newrank = found->rank < nnodes ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                    int outdegree, const int destinations[], const int destweights[], MPI_Info, int,
                                    MPI_Comm* comm_dist_graph) {
  Entry entry("MPI_Dist_graph_create_adjacent");
  Comm* found = comm_of(comm_old);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (comm_dist_graph == nullptr || indegree < 0 || outdegree < 0) return entry.raise(found, MPI_ERR_ARG);
  if (const int code = PMPI_Comm_split(comm_old, 0, found->rank, comm_dist_graph)) return code;
  auto graph = std::make_unique<Topology>();
  graph->kind = MPI_DIST_GRAPH;
  graph->sources = listed(indegree, sources);
  graph->destinations = listed(outdegree, destinations);
  graph->weighted = sourceweights != MPI_UNWEIGHTED || destweights != MPI_UNWEIGHTED;
  if (is_list(sourceweights)) graph->source_weights = listed(indegree, sourceweights);
  if (is_list(destweights)) graph->destination_weights = listed(outdegree, destweights);
  comm_of(*comm_dist_graph)->topology = std::move(graph);
  return MPI_SUCCESS;
}

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                           const int destinations[], const int weights[], MPI_Info, int,
                           MPI_Comm* comm_dist_graph) {
  Entry entry("MPI_Dist_graph_create");
  Comm* found = comm_of(comm_old);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (comm_dist_graph == nullptr || n < 0) return entry.raise(found, MPI_ERR_ARG);
  std::vector<Edge> mine;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < degrees[i]; ++k) {
      const std::size_t edge = mine.size();
      mine.push_back({sources[i], destinations[edge], is_list(weights) ? weights[edge] : 1});
    }
  }
  if (const int code = PMPI_Comm_split(comm_old, 0, found->rank, comm_dist_graph)) return code;
  Comm& made = *comm_of(*comm_dist_graph);
  made.topology = std::make_unique<Topology>();
  made.topology->kind = MPI_DIST_GRAPH;
  made.topology->weighted = weights != MPI_UNWEIGHTED;
  Plan plan;
  plan.comm = &made;
  plan.work = [&](Context& call) { add_edges(*made.topology, all_edges(call, mine), call.rank()); };
  return entry.now(plan);
}

int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
  Entry entry("MPI_Dist_graph_neighbors_count");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_DIST_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  *indegree = static_cast<int>(found->topology->sources.size());
  *outdegree = static_cast<int>(found->topology->destinations.size());
  *weighted = found->topology->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                              int destinations[], int destweights[]) {
  Entry entry("MPI_Dist_graph_neighbors");
  int code = MPI_SUCCESS;
  Comm* found = with_graph(comm, MPI_DIST_GRAPH, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  const Topology& graph = *found->topology;
  give(graph.sources, maxindegree, sources);
  give(graph.destinations, maxoutdegree, destinations);
  if (graph.weighted && is_list(sourceweights)) give(graph.source_weights, maxindegree, sourceweights);
  if (graph.weighted && is_list(destweights)) give(graph.destination_weights, maxoutdegree, destweights);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Graph_create);
COREWISE_ALIAS(Graphdims_get);
COREWISE_ALIAS(Graph_get);
COREWISE_ALIAS(Graph_neighbors_count);
COREWISE_ALIAS(Graph_neighbors);
COREWISE_ALIAS(Graph_map);
COREWISE_ALIAS(Dist_graph_create_adjacent);
COREWISE_ALIAS(Dist_graph_create);
COREWISE_ALIAS(Dist_graph_neighbors_count);
COREWISE_ALIAS(Dist_graph_neighbors);
