// The packing kernels (`chosen`: those of a plan; and each instruction set by name), a hand-written loop and memcpy
// per block on the same strided blocks, taking turns. Usage: contest ROUNDS BYTES
// BLOCK:STRIDE... Prints per case, direction and contestant `BLOCK:STRIDE pack|unpack NAME NANOSECONDS...`, one
// number a round. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "kernels/packing/plans/pack.hpp"
#include "rounds.hpp"

extern "C" int hand(int packing, char* to, const char* from, long block, long stride, long count);
extern "C" void by_memcpy(int packing, char* to, const char* from, long block, long stride, long count);

namespace {

using corewise::kernels::Layout;
using corewise::kernels::PackPlan;

Layout strided(long block, long stride, long count) {
  Layout run;
  run.bytes = block;
  Layout blocks;
  blocks.kind = Layout::Kind::repeat;
  blocks.count = count;
  blocks.stride = stride;
  blocks.children = {run};
  return blocks;
}

void contest(bool packing, long rounds, long bytes, long block, long stride) {
  const long count = std::max(1L, bytes / block);
  std::vector<char> items(static_cast<std::size_t>(count * stride), 1);
  std::vector<char> packed(static_cast<std::size_t>(count * block), 2);
  char* const to = packing ? packed.data() : items.data();
  const char* const from = packing ? items.data() : packed.data();
  std::vector<Contestant> all;
  if (hand(packing, to, from, block, stride, count) != 0) {
    all.push_back({"hand", [=] { hand(packing, to, from, block, stride, count); }, {}});
  }
  all.push_back({"memcpy", [=] { by_memcpy(packing, to, from, block, stride, count); }, {}});
  std::vector<PackPlan> plans;
  for (const std::string_view set : corewise::kernels::pack_instruction_sets()) {
    plans.push_back(std::move(*PackPlan::compile_for(set, strided(block, stride, count), count * stride)));
  }
  std::vector<std::string> names(plans.size());
  std::transform(plans.begin(), plans.end(), names.begin(),
                 [](const PackPlan& plan) { return std::string(plan.instruction_set()); });
  plans.insert(plans.begin(), PackPlan::compile(strided(block, stride, count), count * stride));
  names.insert(names.begin(), "chosen");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const PackPlan& plan = plans[i];
    const auto size = static_cast<std::size_t>(count * block);
    all.push_back({names[i],
                   [&plan, to, from, size, packing] {
                     packing ? plan.pack(from, 1, 0, to, size) : plan.unpack(to, 1, 0, from, size);
                   },
                   {}});
  }
  take_turns(all, rounds, std::max(1L, 100000 / bytes), std::to_string(block) + ":" + std::to_string(stride),
             packing);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 3; i < count; ++i) {
    long block = 0;
    long stride = 0;
    if (std::sscanf(arguments[i], "%ld:%ld", &block, &stride) != 2 || block < 1 || stride < block) {
      std::fprintf(stderr, "contest: case %s: BLOCK:STRIDE in bytes, stride at least block\n", arguments[i]);
      return 2;
    }
    for (const bool packing : {true, false}) {
      contest(packing, std::atol(arguments[1]), std::atol(arguments[2]), block, stride);
    }
  }
  return 0;
}
