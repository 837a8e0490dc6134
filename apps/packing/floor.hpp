// What no packing can do without: each line of memory that holds data is touched once, and the packed buffer once,
// with the widest vectors. Nothing is arranged. It is timed like a way, and says how quick a way could be at best.
//
// Contract: packing loads every line of the items that holds data and stores as many bytes as are packed; what it
// stores is an OR of what it loaded, so that no load can be left out. Unpacking loads the packed bytes, and loads
// and stores every line that data go to, with the value that it has. Only lines that lie in the buffers as a whole
// are touched: a few fewer than packing must touch.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

/// Lines of a buffer that lie side by side, and how many lines of the packed buffer go with them; several times, at
/// one distance.
struct LineRun {
  std::size_t first = 0;  ///< offset in the buffer, bytes; the address is a multiple of a line
  std::size_t lines = 0, packed_lines = 0;
  std::size_t count = 1, stride = 0;
};

/// Every whole line of `items` in which a byte of data lies; `is_data` has a place for every byte of it.
std::vector<LineRun> data_lines(const std::vector<bool>& is_data, const std::vector<char>& items,
                                const std::vector<char>& packed);

void touch_as_packing(const std::vector<LineRun>& runs, const std::vector<char>& items, std::vector<char>& packed);
void touch_as_unpacking(const std::vector<LineRun>& runs, const std::vector<char>& packed,
                        std::vector<char>& items);
