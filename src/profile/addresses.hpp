// Addresses as places in files: a return address of one rank, through the mappings that its trace carries, to the
// file it was mapped from and the offset there. That is the same on every rank whatever address randomisation did.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::profile {

struct Place {
  std::string object;        ///< empty when no mapping holds the address
  std::uint64_t offset = 0;  ///< in `object`, or the address itself
};

class Mappings {
 public:
  /// `text` as in /proc/self/maps; lines that do not look like it are skipped. Later lines win over earlier ones.
  explicit Mappings(std::string_view text);
  [[nodiscard]] Place find(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t first;
    std::uint64_t end;
    std::uint64_t offset;
    std::string object;
  };
  void add(std::string_view line);

  std::vector<Range> ranges_;
};

}  // namespace corewise::profile
