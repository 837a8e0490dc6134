// Which kinds of domains make levels for ranks that may run on the CPUs of the arguments (a list for each rank, as
// 0,1), by the first argument: cpus: and a text of domains, groups: and sizes of groups, or a folder of the
// kernel's files. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/domains.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace corewise::preload::accelerating;

Domains domains_by(std::string_view how, std::span<const std::uint64_t> mask, int rank) {
  if (how.starts_with("cpus:")) return told_domains_of(mask, how.substr(5));
  if (how.starts_with("groups:")) return groups_of(rank, how.substr(7));
  return domains_of(mask, std::string(how));
}

}  // namespace

int main(int count, char** words) {
  std::vector<Domains> ranks;
  for (int i = 2; i < count; ++i) {
    std::uint64_t mask[2] = {};
    for (char* at = words[i]; *at != '\0'; at += *at == ',' ? 1 : 0) {
      const unsigned long cpu = std::strtoul(at, &at, 10);
      mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
    ranks.push_back(domains_by(words[1], mask, i - 2));
  }
  for (const std::size_t kind : useful_kinds(ranks)) std::printf("%zu\n", kind);
}
