// A pattern from a file, so that whatever takes a generator also takes a user's own matrix.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/files/files.hpp"
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    {"path", ParameterKind::path, "", "JSON, CSV or Matrix Market file"},
};

}  // namespace

Family file() {
  return {"file", "a pattern from a file", parameters,
          [](const Values& values) { return from_file(values.text("path")); }};
}

}  // namespace corewise::pattern::generators
