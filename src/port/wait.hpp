// Waits built on the concept: for one line to reach a number. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <source_location>

#include "port/port.hpp"

namespace corewise::port {

/// Blocks until the own `line` holds the write numbered `wanted` or a later one.
template <class L, class P>
  requires HasLines<P, L>
inline void wait_line(P& port, L line, Sequence wanted,
                      const std::source_location& where = std::source_location::current()) {
  port.wait_lines(line, 1, [&port, line, wanted] { return reached(port.line_sequence(line), wanted); }, where);
}

}  // namespace corewise::port
