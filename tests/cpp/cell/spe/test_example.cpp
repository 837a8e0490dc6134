// The worked example of docs/simulating/cell.md, compiled and run; the page must carry the same text.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

// example begins
#include <cstdio>

#include "cell/system.hpp"
using namespace corewise::cell;

/// A word goes to and fro between two SPEs; returns the time of one way in ns, or prints why there is none.
double one_way_ns(int first, int second) {
  constexpr LsAddress kMine = 0x100, kTheirs = 0x80;
  constexpr std::uint32_t kTurns = 1000;
  const auto player = [](int peer, bool serves) {
    return [=](Spu& spu) {
      spu.mfc_write_tag_mask(1);
      for (std::uint32_t turn = 1; turn <= kTurns; ++turn) {
        const auto here = [&](auto) { return spu.load<std::uint32_t>(kTheirs) == turn; };
        if (!serves) spu.poll(kTheirs, 4, here);
        spu.store(kMine, turn);
        spu.mfc_put(kMine, ls_address(peer) + kTheirs, 16, 0);
        if (serves) spu.poll(kTheirs, 4, here);
        spu.mfc_read_tag_status_all();
      }
    };
  };
  System system{Parameters{}};
  system.run_on_spe(first, "ping", player(second, true));
  system.run_on_spe(second, "pong", player(first, false));
  const corewise::Status status = system.run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return system.engine().to_ns(system.engine().now()) / (2 * kTurns);
}
// example ends

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(COREWISE_SOURCE_DIR) + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SpuExample, PingPongOfThePageRuns) {
  EXPECT_GT(one_way_ns(0, 7), 50);
  EXPECT_LT(one_way_ns(0, 7), 100);
}

TEST(SpuExample, ThePageCarriesTheSameText) {
  const std::string source = text_of("/tests/cpp/cell/spe/test_example.cpp");
  const std::size_t begin = source.find('\n', source.find("// example begins")) + 1;
  const std::string example = source.substr(begin, source.find("// example ends") - begin);
  EXPECT_GT(example.size(), 1000u);
  EXPECT_NE(text_of("/docs/simulating/cell.md").find("```cpp\n" + example + "```\n"), std::string::npos);
}

}  // namespace
