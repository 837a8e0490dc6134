// The fuzzer's target for pattern files, of all three formats: what is accepted passes the room's check, and
// reading back what the writers write gives the same pattern, or the same matrix. SPDX-License-Identifier:
// BSD-3-Clause
#include "fuzz.hpp"
#include "pattern/files/files.hpp"

namespace corewise::fuzz {
namespace {

void require_same_matrix(const Result<pattern::Pattern>& again, const pattern::Matrix& matrix, const char* format) {
  require(again.ok(), std::string(format) + " of a pattern is refused: " + again.status().message());
  require(pattern::sum(again.value()) == matrix, std::string(format) + " changes the matrix");
}

}  // namespace

void pattern_file(Bytes bytes) {
  const auto read = pattern::from_text(text_of(bytes), "fuzz.csv");
  if (!read.ok()) {
    require(read.status().message().starts_with("fuzz.csv"), "an error without its source");
    return;
  }
  const pattern::Pattern& pattern = read.value();
  const Status status = pattern::check(pattern);
  require(status.ok(), "a pattern that was read does not pass its check: " + status.message());
  const auto again = pattern::from_json(pattern::to_json(pattern), "again.json");
  require(again.ok() && again.value() == pattern, "JSON changes a pattern: " + again.status().message());
  require_same_matrix(pattern::from_csv(pattern::to_csv(pattern), "again.csv"), pattern::sum(pattern), "CSV");
}

}  // namespace corewise::fuzz
