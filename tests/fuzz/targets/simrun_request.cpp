// The fuzzer's target for what `corewise simrun` hands to the program that runs simulated ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file.hpp"
#include "simmpi/program/request.hpp"

namespace corewise::fuzz {

void simrun_request(Bytes bytes) {
  const MemoryFile file(text_of(bytes));
  const auto request = simmpi::read_request(file.path());
  require(request.ok() || !request.status().message().empty(), "refused without a reason");
}

}  // namespace corewise::fuzz
