// The fuzzer's target for debug information and for mappings of a process. The bytes are nine sections, each with
// its length as u16 before it, then a text as in /proc/self/maps; addresses are asked for all over the first 64
// KiB, where a small program's code lies. SPDX-License-Identifier: BSD-3-Clause
#include "profile/debug/debug_info.hpp"

#include <array>
#include <vector>

#include "fuzz.hpp"
#include "profile/addresses.hpp"

namespace corewise::fuzz {
namespace {

std::string_view take(std::string_view& text) {
  if (text.size() < 2) return {};
  const std::size_t length = static_cast<unsigned char>(text[0]) + 256U * static_cast<unsigned char>(text[1]);
  text.remove_prefix(2);
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(taken.size());
  return taken;
}

}  // namespace

void debug_info(Bytes bytes) {
  const std::string whole = text_of(bytes);
  std::string_view rest = whole;
  std::array<std::string, 9> held;  // a block of memory each: the sanitizer sees what is read beyond one
  for (std::string& each : held) each = take(rest);
  const profile::DebugInfo info({held[0], held[1], held[2], held[3], held[4], held[5], held[6], held[7], held[8]});
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t address = 0; address < 65536; address += 256) addresses.push_back(address);
  addresses.push_back(~std::uint64_t{0});
  require(info.find(addresses).size() == addresses.size(), "not a place for each address");
  const profile::Mappings mappings(rest);
  for (const std::uint64_t address : addresses) (void)mappings.find(address);
}

}  // namespace corewise::fuzz
