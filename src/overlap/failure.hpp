// Why a flow ended before all was done.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

namespace corewise::overlap {

/// `what()` names the stage, the block and the cause.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// `caught` is the exception that is being handled.
inline Failure failure_of(const std::string& stage, int block) {
  const std::string where = "stage '" + stage + "', block " + std::to_string(block) + ": ";
  try {
    throw;
  } catch (const std::exception& cause) {
    return Failure(where + cause.what());
  } catch (...) {
    return Failure(where + "an exception of unknown type");
  }
}

}  // namespace detail
}  // namespace corewise::overlap
