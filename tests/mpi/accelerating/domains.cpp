// Which kinds of domains make levels for ranks that may run on the CPUs of the arguments (a list for each rank, as
// 0,1), by the files under the first argument. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/domains.hpp"

#include <cstdio>
#include <cstdlib>

using corewise::preload::accelerating::Domains;

int main(int count, char** words) {
  std::vector<Domains> ranks;
  for (int i = 2; i < count; ++i) {
    std::uint64_t mask[2] = {};
    for (char* at = words[i]; *at != '\0'; at += *at == ',' ? 1 : 0) {
      const unsigned long cpu = std::strtoul(at, &at, 10);
      mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
    ranks.push_back(corewise::preload::accelerating::domains_of(mask, words[1]));
  }
  for (const std::size_t kind : corewise::preload::accelerating::useful_kinds(ranks)) std::printf("%zu\n", kind);
}
