// The entry that libFuzzer calls, for the target that the build names. SPDX-License-Identifier: BSD-3-Clause
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  corewise::fuzz::COREWISE_FUZZ_TARGET({data, size});
  return 0;
}
