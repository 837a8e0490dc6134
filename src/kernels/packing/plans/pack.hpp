// Packing: a canonical layout compiled to a plan, which packs, unpacks, and copies from layout to layout.
//
// Contract: a plan is immutable after `compile` and may be used by many threads. The packed stream of `count` items
// is their data bytes in packing order; any part of it, [from, from + bytes), may be packed or unpacked, so
// transfers can be pipelined. Nothing outside the layout's runs is read or written, at no alignment; nothing here
// blocks, allocates while packing, or fails. Unpacking into overlapping runs writes them in packing order.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels {

/// Who had the buffer that is packed into last. Ancestor: the read-allocated destination of paper 004, section 3.
enum class PackedBuffer : std::uint8_t {
  own,     ///< this core, or nobody for long
  shared,  ///< another core: its lines are asked for ahead of the loop, except where a layout goes by tiles
};

class PackPlan {
 public:
  /// `canonical`: one item, simplified; `extent`: bytes from one item to the next.
  static PackPlan compile(const Layout& canonical, std::int64_t extent);
  /// Simplifies and compiles.
  static PackPlan compile(const Datatype& type);
  /// Compiled to loops of one instruction set alone; none where this build or this host does not have it
  /// (pack_instruction_sets).
  static std::optional<PackPlan> compile_for(std::string_view instruction_set, const Layout& canonical,
                                             std::int64_t extent);

  PackPlan(PackPlan&&) noexcept;
  PackPlan& operator=(PackPlan&&) noexcept;
  ~PackPlan();

  /// Data bytes of one item.
  std::int64_t size() const;
  /// Whether any number of items is one contiguous run from the item's first byte of data on.
  bool contiguous() const;
  /// Mean length of its contiguous runs, in bytes; 0 without data.
  double mean_run() const;
  /// Data bytes per byte of the 64-byte lines that the data of many items lie in: 1 where every line is used whole.
  double line_density() const;
  /// Pages of 4096 bytes that the data of many items lie in, per 64 bytes of data.
  double pages_per_line() const;

  /// Bytes [from, from + bytes) of the packed stream of `count` items at `items`, to `packed`.
  void pack(const void* items, std::int64_t count, std::int64_t from, void* packed, std::size_t bytes,
            PackedBuffer buffer = PackedBuffer::own) const;
  /// The same bytes from `packed` into the items.
  void unpack(void* items, std::int64_t count, std::int64_t from, const void* packed, std::size_t bytes) const;

  /// The instruction set of its loops.
  std::string_view instruction_set() const;

  /// What `corewise explain datatype` shows: a line per loop and the kernel it runs.
  std::string describe() const;

  struct Program;

 private:
  explicit PackPlan(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;

  friend void copy_part(const PackPlan&, const void*, std::int64_t, const PackPlan&, void*, std::int64_t,
                        std::int64_t, std::int64_t);
};

/// The instruction sets that this build has packing loops for and this host can run, the preferred one first.
std::vector<std::string_view> pack_instruction_sets();

/// From layout to layout without a packed stream in between: `source_count` items of one plan into `target_count`
/// of another. As many bytes as both have; the two memories must not overlap.
void copy_items(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
                void* target, std::int64_t target_count);
/// Bytes [at, at + bytes) of the stream that `copy_items` would copy, which both have.
void copy_part(const PackPlan& from, const void* source, std::int64_t source_count, const PackPlan& to,
               void* target, std::int64_t target_count, std::int64_t at, std::int64_t bytes);

}  // namespace corewise::kernels
