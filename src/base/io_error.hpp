// How a room says that the operating system refused. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "base/status.hpp"

namespace corewise {

/// "PATH: cannot WHAT: REASON", the reason from errno.
inline Status io_error(const std::string& path, const char* what) {
  return {Code::io, path + ": cannot " + what + ": " + std::strerror(errno)};
}

}  // namespace corewise
