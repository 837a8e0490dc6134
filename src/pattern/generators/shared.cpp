// What several families share: the grid from the `dims` and `ranks` parameters.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {

Result<Grid> grid_of(const Values& values, std::size_t axes, std::string_view family) {
  const int ranks = values.integer("ranks");
  std::vector<int> dims = values.dims("dims");
  const std::string source = "pattern " + std::string(family);
  const std::string found = dims_text(dims);
  if (dims.empty()) dims.assign(axes, 0);
  if (dims.size() != axes) return bad_field(source, "dims", found, std::to_string(axes) + " dimensions");
  dims = filled_dims(ranks, std::move(dims));
  if (dims.empty()) {
    return bad_field(source, "dims", found,
                     "dimensions whose product is " + std::to_string(ranks) + " (ranks), 0 = derived");
  }
  return Grid{std::move(dims)};
}

}  // namespace corewise::pattern::generators
