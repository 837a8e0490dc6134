// Blocks: parts of a trace file, one behind the other in memory (trace/format.hpp has their layout).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.hpp"

namespace corewise::simmpi {

class Blocks {
 public:
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

  /// `record_bytes` of records, the first at `first` of the stream, as `payload`.
  void chunk(std::uint64_t first, std::uint32_t record_bytes, const std::byte* payload, std::uint32_t payload_bytes,
             bool encoded);
  /// Names and mappings.
  void text(trace::BlockKind kind, const std::string& text);
  /// `created_by`: number of a procedure, negative where it is there from the start.
  void communicator(std::uint32_t index, const std::vector<int>& world, int rank, int world_size,
                    const std::string& name, int created_by);
  void datatype(std::uint32_t index, const std::string& name, std::int64_t size, std::int64_t extent, bool derived);
  /// Buffers that are empty: all that was in them is in chunks.
  void thread(const trace::ThreadHeader& header, std::uint32_t half_bytes);
  /// The next block begins at a multiple of `to` in a file that has `before` bytes before these.
  void align_to(std::uint64_t to, std::uint64_t before);

 private:
  void append(const void* data, std::size_t bytes);
  template <class Header>
  void begin(Header& header, trace::BlockKind kind, std::uint32_t index, std::size_t payload_bytes);
  void end();

  std::vector<std::byte> bytes_;
};

/// Cut where it does not fit.
template <std::size_t room>
void copy_text(char (&to)[room], std::string_view text) {
  for (std::size_t i = 0; i + 1 < room && i < text.size(); ++i) to[i] = text[i];
}

}  // namespace corewise::simmpi
