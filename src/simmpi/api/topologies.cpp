// Cartesian grids (MPI-3.1, section 7.5). Ranks keep their numbers: where they run is the placement's choice.
// SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/api/topologies.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

namespace corewise::simmpi {
namespace {

int product(const std::vector<int>& values) {
  return std::accumulate(values.begin(), values.end(), 1, std::multiplies<>());
}

std::vector<int> coords_of(const std::vector<int>& dims, int rank) {
  std::vector<int> coords(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    coords[d] = rank % dims[d];
    rank /= dims[d];
  }
  return coords;
}

/// MPI_PROC_NULL beyond an open end.
int rank_at(const Topology& grid, std::vector<int> coords) {
  int rank = 0;
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    const int extent = grid.dims[d];
    if (grid.periods[d] != 0) coords[d] = (coords[d] % extent + extent) % extent;
    if (coords[d] < 0 || coords[d] >= extent) return MPI_PROC_NULL;
    rank = rank * extent + coords[d];
  }
  return rank;
}

int shifted(const Topology& grid, std::size_t dimension, int by) {
  std::vector<int> coords = grid.coords;
  coords[dimension] += by;
  return rank_at(grid, coords);
}

std::unique_ptr<Topology> make_grid(std::vector<int> dims, std::vector<int> periods, int rank) {
  auto grid = std::make_unique<Topology>();
  grid->kind = MPI_CART;
  grid->dims = std::move(dims);
  grid->periods = std::move(periods);
  grid->coords = coords_of(grid->dims, rank);
  for (std::size_t d = 0; d < grid->dims.size(); ++d) {
    for (const int by : {-1, 1}) grid->sources.push_back(shifted(*grid, d, by));
  }
  grid->destinations = grid->sources;
  return grid;
}

bool all_positive(const std::vector<int>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int extent) { return extent > 0; });
}

/// The communicator with a grid; null and an error class in `code` where it has none.
Comm* with_grid(MPI_Comm comm, int& code) {
  Comm* found = comm_of(comm);
  const bool grid = found != nullptr && found->topology && found->topology->kind == MPI_CART;
  code = found == nullptr ? int{MPI_ERR_COMM} : grid ? int{MPI_SUCCESS} : int{MPI_ERR_TOPOLOGY};
  return found;
}

/// Prime factors, largest first.
std::vector<int> factors(int number) {
  std::vector<int> found;
  for (int factor = 2; factor * factor <= number; ++factor) {
    for (; number % factor == 0; number /= factor) found.push_back(factor);
  }
  if (number > 1) found.push_back(number);
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

bool make_part(MPI_Comm comm, int members, MPI_Comm* made, int& code) {
  const int rank = comm_of(comm)->rank;
  code = PMPI_Comm_split(comm, rank < members ? 0 : MPI_UNDEFINED, rank, made);
  return code == MPI_SUCCESS && *made != MPI_COMM_NULL;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Dims_create(int nnodes, int ndims, int dims[]) {
  Entry entry("MPI_Dims_create");
  int rest = nnodes;
  std::vector<int> free;
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 0) return entry.raise(nullptr, MPI_ERR_DIMS);
    if (dims[d] == 0) free.push_back(1);
    if (dims[d] > 0 && rest % dims[d] != 0) return entry.raise(nullptr, MPI_ERR_DIMS);
    if (dims[d] > 0) rest /= dims[d];
  }
  if (free.empty()) return rest == 1 ? MPI_SUCCESS : entry.raise(nullptr, MPI_ERR_DIMS);
  for (const int factor : factors(rest)) *std::min_element(free.begin(), free.end()) *= factor;
  std::sort(free.begin(), free.end(), std::greater<>());
  auto next = free.begin();
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] == 0) dims[d] = *next++;
  }
  return MPI_SUCCESS;
}

int PMPI_Topo_test(MPI_Comm comm, int* status) {
  Entry entry("MPI_Topo_test");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *status = found->topology ? found->topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int,
                     MPI_Comm* comm_cart) {
  Entry entry("MPI_Cart_create");
  Comm* found = comm_of(comm_old);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (comm_cart == nullptr || ndims < 0) return entry.raise(found, MPI_ERR_ARG);
  const std::vector<int> extents = listed(ndims, dims);
  if (!all_positive(extents) || product(extents) > found->size()) return entry.raise(found, MPI_ERR_DIMS);
  int code = MPI_SUCCESS;
  if (make_part(comm_old, product(extents), comm_cart, code)) {
    Comm& made = *comm_of(*comm_cart);
    made.topology = make_grid(extents, listed(ndims, periods), made.rank);
  }
  return code;
}

int PMPI_Cartdim_get(MPI_Comm comm, int* ndims) {
  Entry entry("MPI_Cartdim_get");
  int code = MPI_SUCCESS;
  const Comm* found = with_grid(comm, code);
  if (code == MPI_SUCCESS) *ndims = static_cast<int>(found->topology->dims.size());
  return entry.result(comm_of(comm), code);
}

int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
  Entry entry("MPI_Cart_get");
  int code = MPI_SUCCESS;
  const Comm* found = with_grid(comm, code);
  if (code != MPI_SUCCESS) return entry.raise(comm_of(comm), code);
  const Topology& grid = *found->topology;
  for (std::size_t d = 0; d < grid.dims.size() && std::cmp_less(d, maxdims); ++d) {
    dims[d] = grid.dims[d];
    periods[d] = grid.periods[d] != 0 ? 1 : 0;
    coords[d] = grid.coords[d];
  }
  return MPI_SUCCESS;
}

int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int* rank) {
  Entry entry("MPI_Cart_rank");
  int code = MPI_SUCCESS;
  Comm* found = with_grid(comm, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  const Topology& grid = *found->topology;
  *rank = rank_at(grid, listed(static_cast<int>(grid.dims.size()), coords));
  return *rank == MPI_PROC_NULL ? entry.raise(found, MPI_ERR_ARG) : MPI_SUCCESS;
}

int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
  Entry entry("MPI_Cart_coords");
  int code = MPI_SUCCESS;
  Comm* found = with_grid(comm, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  if (rank < 0 || rank >= found->size()) return entry.raise(found, MPI_ERR_RANK);
  const std::vector<int> all = coords_of(found->topology->dims, rank);
  for (std::size_t d = 0; d < all.size() && std::cmp_less(d, maxdims); ++d) coords[d] = all[d];
  return MPI_SUCCESS;
}

int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  Entry entry("MPI_Cart_shift");
  int code = MPI_SUCCESS;
  Comm* found = with_grid(comm, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  const Topology& grid = *found->topology;
  if (direction < 0 || std::cmp_greater_equal(direction, grid.dims.size())) return entry.raise(found, MPI_ERR_ARG);
  *rank_source = shifted(grid, static_cast<std::size_t>(direction), -disp);
  *rank_dest = shifted(grid, static_cast<std::size_t>(direction), disp);
  return MPI_SUCCESS;
}

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  Entry entry("MPI_Cart_sub");
  int code = MPI_SUCCESS;
  Comm* found = with_grid(comm, code);
  if (code != MPI_SUCCESS) return entry.raise(found, code);
  const Topology& grid = *found->topology;
  std::vector<int> dims;
  std::vector<int> periods;
  int color = 0;
  for (std::size_t d = 0; d < grid.dims.size(); ++d) {
    if (remain_dims[d] == 0) {
      color = color * grid.dims[d] + grid.coords[d];
      continue;
    }
    dims.push_back(grid.dims[d]);
    periods.push_back(grid.periods[d]);
  }
  if (const int split = PMPI_Comm_split(comm, color, found->rank, newcomm)) return split;
  Comm& made = *comm_of(*newcomm);
  made.topology = make_grid(dims, periods, made.rank);
  return MPI_SUCCESS;
}

int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int[], int* newrank) {
  Entry entry("MPI_Cart_map");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (newrank == nullptr) return entry.raise(comm_of(comm), MPI_ERR_ARG);
  *newrank = found->rank < product(listed(ndims, dims)) ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Dims_create);
COREWISE_ALIAS(Topo_test);
COREWISE_ALIAS(Cart_create);
COREWISE_ALIAS(Cartdim_get);
COREWISE_ALIAS(Cart_get);
COREWISE_ALIAS(Cart_rank);
COREWISE_ALIAS(Cart_coords);
COREWISE_ALIAS(Cart_shift);
COREWISE_ALIAS(Cart_sub);
COREWISE_ALIAS(Cart_map);
