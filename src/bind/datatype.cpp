// MPI datatypes for Python: constructors, bounds, runs, the stages of simplification, and packing of NumPy bytes.
// Every item must lie inside the buffer it is packed from; that is checked here, because the core cannot know.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/datatype.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "kernels/packing/plans/cost.hpp"
#include "kernels/packing/plans/pack.hpp"
#include "kernels/packing/simplification/simplify.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using kernels::Datatype;
using kernels::PackPlan;
using Integers = std::vector<std::int64_t>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstBytes = ArrayIn<std::uint8_t>;

constexpr std::int64_t kMostRuns = 1 << 26;

/// A type and, from its first use on, its plan.
struct Type {
  Datatype type;
  std::shared_ptr<const PackPlan> compiled;

  const PackPlan& plan() {
    if (!compiled) compiled = std::make_shared<const PackPlan>(PackPlan::compile(type));
    return *compiled;
  }
};

Type made(Result<Datatype> type) {
  return {unwrap(std::move(type)), nullptr};
}

// Words
// --------------------------------------------------------------------------------------------------------------

kernels::Order order_of(const std::string& word) {
  if (word == "c") return kernels::Order::c;
  if (word == "fortran") return kernels::Order::fortran;
  raise(bad_field("", "order", "'" + word + "'", "c, fortran"));
}

kernels::Distribution distribution_of(const std::string& word) {
  if (word == "none") return kernels::Distribution::none;
  if (word == "block") return kernels::Distribution::block;
  if (word == "cyclic") return kernels::Distribution::cyclic;
  raise(bad_field("", "distributions", "'" + word + "'", "block, cyclic, none"));
}

Type structure(const Integers& blocklengths, const Integers& displacements, const std::vector<Type>& types) {
  std::vector<Datatype> all;
  for (const Type& each : types) all.push_back(each.type);
  return made(kernels::structure(blocklengths, displacements, all));
}

Type darray(std::int64_t size, std::int64_t rank, const Integers& gsizes, const std::vector<std::string>& words,
            const Integers& dargs, const Integers& psizes, const std::string& order, const Type& old) {
  std::vector<kernels::Distribution> distributions;
  for (const std::string& word : words) distributions.push_back(distribution_of(word));
  return made(kernels::darray(size, rank, gsizes, distributions, dargs, psizes, order_of(order), old.type));
}

// Layouts
// -------------------------------------------------------------------------------------------------------------

void require_items(std::int64_t count, const Datatype& type) {
  require(kernels::check_count(count, type));
}

kernels::Layout items(const Datatype& type, std::int64_t count, bool simplified) {
  require_items(count, type);
  return simplified ? kernels::simplify(kernels::layout_of(type, count)) : kernels::layout_of(type, count);
}

MatrixOut<std::int64_t> runs(const Type& self, std::int64_t count, bool simplified) {
  const kernels::Layout layout = items(self.type, count, simplified);
  Integers table;
  if (kernels::size_of(layout) > 0) {
    if (kernels::count_runs(layout) > kMostRuns)
      raise(bad_field("", "count", "more than 2^26 runs", "at most as many"));
    kernels::for_each_run(layout, 0, [&table](std::int64_t offset, std::int64_t bytes) {
      table.push_back(offset);
      table.push_back(bytes);
    });
  }
  const std::size_t rows = table.size() / 2;
  return to_matrix(std::move(table), rows, 2);
}

std::int64_t run_count(const Type& self, std::int64_t count) {
  return kernels::count_runs(items(self.type, count, true));
}

std::vector<std::pair<std::string, std::string>> simplified(const Type& self, std::int64_t count) {
  kernels::Layout layout = items(self.type, count, false);
  if (count == 1) layout = self.type.layout;
  std::vector<std::pair<std::string, std::string>> texts = {{"constructed", kernels::to_text(layout)}};
  std::vector<kernels::Stage> stages;
  kernels::simplify(std::move(layout), &stages);
  for (const kernels::Stage& stage : stages) texts.emplace_back(stage.pass, kernels::to_text(stage.layout));
  return texts;
}

// Packing
// -------------------------------------------------------------------------------------------------------------

/// Refuses items of which a byte of data would lie outside the buffer.
void require_inside(const Datatype& type, std::int64_t count, std::int64_t offset, std::size_t buffer) {
  require_items(count, type);
  if (count == 0 || type.size == 0) return;
  const auto bytes = static_cast<std::int64_t>(buffer);
  if (std::abs(offset) > kernels::kFarthestByte) {
    raise(bad_field("", "offset", std::to_string(offset), "less than 2^60"));
  }
  const std::int64_t last = (count - 1) * type.extent;
  const std::int64_t from = offset + type.true_lb + std::min<std::int64_t>(last, 0);
  const std::int64_t to = offset + type.true_lb + type.true_extent + std::max<std::int64_t>(last, 0);
  if (from < 0 || to > bytes) {
    raise(bad_field("", "buffer", std::to_string(bytes) + " bytes",
                    "one with bytes " + std::to_string(from) + " to " + std::to_string(to)));
  }
}

/// The address of an item; it may lie outside the buffer that its data lie in.
template <class Byte>
Byte* address(Byte* buffer, std::int64_t offset) {
  return reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(offset));
}

void require_part(std::int64_t first, std::int64_t bytes, std::int64_t whole) {
  if (first < 0 || first > whole)
    raise(bad_field("", "first", std::to_string(first), "0 to " + std::to_string(whole)));
  if (bytes < 0 || bytes > whole - first) {
    raise(bad_field("", "bytes", std::to_string(bytes), "0 to " + std::to_string(whole - first)));
  }
}

ArrayOut<std::uint8_t> pack_part(Type& self, const ConstBytes& buffer, std::int64_t count, std::int64_t offset,
                                 std::int64_t first, std::int64_t bytes) {
  require_inside(self.type, count, offset, buffer.size());
  require_part(first, bytes, count * self.type.size);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(bytes));
  if (bytes > 0) self.plan().pack(address(buffer.data(), offset), count, first, packed.data(), packed.size());
  return to_array(std::move(packed));
}

ArrayOut<std::uint8_t> pack(Type& self, const ConstBytes& buffer, std::int64_t count, std::int64_t offset) {
  require_items(count, self.type);
  return pack_part(self, buffer, count, offset, 0, count * self.type.size);
}

void unpack(Type& self, const ConstBytes& packed, const Bytes& buffer, std::int64_t count, std::int64_t offset,
            std::int64_t first) {
  require_inside(self.type, count, offset, buffer.size());
  require_part(first, static_cast<std::int64_t>(packed.size()), count * self.type.size);
  if (packed.size() > 0)
    self.plan().unpack(address(buffer.data(), offset), count, first, packed.data(), packed.size());
}

void copy_items(const ConstBytes& source, Type& source_type, std::int64_t source_count, const Bytes& target,
                Type& target_type, std::int64_t target_count, std::int64_t source_offset,
                std::int64_t target_offset) {
  require_inside(source_type.type, source_count, source_offset, source.size());
  require_inside(target_type.type, target_count, target_offset, target.size());
  if (source_count * source_type.type.size == 0 || target_count * target_type.type.size == 0) return;
  kernels::copy_items(source_type.plan(), address(source.data(), source_offset), source_count, target_type.plan(),
                      address(target.data(), target_offset), target_count);
}

/// Whether the packing library packs a message, by a table as its knob has it, and the row that says so.
std::pair<bool, std::string> packing_decision(const std::string& knob, const std::string& use, std::int64_t bytes,
                                              double mean_run, double line_density, double pages_per_line) {
  const auto table = kernels::parse_packing_table(knob);
  if (!table) raise(bad_field("", "knob", "'" + knob + "'", "USE=BYTES:RUNS,...;USE=..."));
  const auto found = std::find(kernels::kPackingUses.begin(), kernels::kPackingUses.end(), use);
  if (found == kernels::kPackingUses.end()) {
    raise(bad_field("", "use", "'" + use + "'", "send, receive, pack, unpack"));
  }
  const auto which = static_cast<kernels::PackingUse>(found - kernels::kPackingUses.begin());
  const kernels::PackedMessage message{bytes, mean_run, line_density, pages_per_line};
  return {kernels::packed_by_us(*table, which, message), kernels::packing_reason(*table, which, message)};
}

// The class
// ------------------------------------------------------------------------------------------------------------

void bind_regular(nb::class_<Type>& type) {
  type.def_static(
          "basic",
          [](std::int64_t bytes, std::int64_t alignment) { return made(kernels::basic(bytes, alignment)); },
          "bytes"_a, "alignment"_a = 0, "A predefined type of so many bytes; alignment 0: from its size.")
      .def_static(
          "pair",
          [](std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent) {
            return made(kernels::basic_pair(first, second_at, second, extent));
          },
          "first"_a, "second_at"_a, "second"_a, "extent"_a,
          "A predefined pair: first bytes at 0, second bytes at second_at (MPI_DOUBLE_INT: 8, 8, 4, 16).")
      .def_static(
          "contiguous",
          [](std::int64_t count, const Type& old) { return made(kernels::contiguous(count, old.type)); }, "count"_a,
          "old"_a, "MPI_Type_contiguous.")
      .def_static(
          "vector",
          [](std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Type& old) {
            return made(kernels::vector(count, blocklength, stride, old.type));
          },
          "count"_a, "blocklength"_a, "stride"_a, "old"_a, "MPI_Type_vector: stride in extents of the old type.")
      .def_static(
          "hvector",
          [](std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Type& old) {
            return made(kernels::hvector(count, blocklength, stride, old.type));
          },
          "count"_a, "blocklength"_a, "stride_bytes"_a, "old"_a, "MPI_Type_create_hvector: stride in bytes.")
      .def_static(
          "subarray",
          [](const Integers& sizes, const Integers& subsizes, const Integers& starts, const std::string& order,
             const Type& old) {
            return made(kernels::subarray(sizes, subsizes, starts, order_of(order), old.type));
          },
          "sizes"_a, "subsizes"_a, "starts"_a, "order"_a, "old"_a, "MPI_Type_create_subarray: order c or fortran.")
      .def_static("darray", &darray, "size"_a, "rank"_a, "gsizes"_a, "distributions"_a, "dargs"_a, "psizes"_a,
                  "order"_a, "old"_a,
                  "MPI_Type_create_darray: distributions of block, cyclic, none; dargs of -1 for the default.")
      .def_static(
          "resized",
          [](const Type& old, std::int64_t lb, std::int64_t extent) {
            return made(kernels::resized(old.type, lb, extent));
          },
          "old"_a, "lb"_a, "extent"_a, "MPI_Type_create_resized.");
}

void bind_indexed(nb::class_<Type>& type) {
  type.def_static(
          "indexed",
          [](const Integers& lengths, const Integers& displacements, const Type& old) {
            return made(kernels::indexed(lengths, displacements, old.type));
          },
          "blocklengths"_a, "displacements"_a, "old"_a,
          "MPI_Type_indexed: displacements in extents of the old type.")
      .def_static(
          "hindexed",
          [](const Integers& lengths, const Integers& displacements, const Type& old) {
            return made(kernels::hindexed(lengths, displacements, old.type));
          },
          "blocklengths"_a, "displacements"_a, "old"_a, "MPI_Type_create_hindexed: displacements in bytes.")
      .def_static(
          "indexed_block",
          [](std::int64_t length, const Integers& displacements, const Type& old) {
            return made(kernels::indexed_block(length, displacements, old.type));
          },
          "blocklength"_a, "displacements"_a, "old"_a, "MPI_Type_create_indexed_block.")
      .def_static(
          "hindexed_block",
          [](std::int64_t length, const Integers& displacements, const Type& old) {
            return made(kernels::hindexed_block(length, displacements, old.type));
          },
          "blocklength"_a, "displacements"_a, "old"_a, "MPI_Type_create_hindexed_block: displacements in bytes.")
      .def_static("structure", &structure, "blocklengths"_a, "displacements"_a, "types"_a,
                  "MPI_Type_create_struct: displacements in bytes.");
}

void bind_bounds(nb::class_<Type>& type) {
  type.def_prop_ro(
          "size", [](const Type& self) { return self.type.size; }, "Data bytes of one item.")
      .def_prop_ro(
          "lb", [](const Type& self) { return self.type.lb; }, "Lower bound in bytes.")
      .def_prop_ro(
          "ub", [](const Type& self) { return self.type.lb + self.type.extent; }, "Upper bound in bytes.")
      .def_prop_ro(
          "extent", [](const Type& self) { return self.type.extent; }, "From one item to the next, in bytes.")
      .def_prop_ro(
          "true_lb", [](const Type& self) { return self.type.true_lb; }, "First byte of data.")
      .def_prop_ro(
          "true_extent", [](const Type& self) { return self.type.true_extent; },
          "Bytes from the first byte of data to behind the last.")
      .def_prop_ro(
          "alignment", [](const Type& self) { return self.type.alignment; },
          "Largest alignment of its predefined types, in bytes.")
      .def_prop_ro(
          "marked", [](const Type& self) { return self.type.marked; },
          "Whether its bounds were set: by resized, subarray, darray, or in a type it is built from.");
}

void bind_plan(nb::class_<Type>& type) {
  type.def(
          "plan", [](Type& self) { return self.plan().describe(); }, "The packing plan: a line per loop.")
      .def_prop_ro(
          "is_contiguous", [](Type& self) { return self.plan().contiguous(); },
          "Whether any number of items is one run.")
      .def_prop_ro(
          "mean_run", [](Type& self) { return self.plan().mean_run(); },
          "Mean length of an item's contiguous runs, in bytes.")
      .def_prop_ro(
          "line_density", [](Type& self) { return self.plan().line_density(); },
          "Data bytes per byte of the 64-byte lines in which they lie.")
      .def_prop_ro(
          "pages_per_line", [](Type& self) { return self.plan().pages_per_line(); },
          "Pages of 4096 bytes in which they lie, per 64 bytes of data.")
      .def("pack", &pack, "buffer"_a, "count"_a = 1, "offset"_a = 0,
           "The packed bytes of count items, the first at byte offset of the buffer (uint8).")
      .def("pack_part", &pack_part, "buffer"_a, "count"_a, "offset"_a, "first"_a, "bytes"_a,
           "Bytes [first, first + bytes) of what pack returns.")
      .def("unpack", &unpack, "packed"_a, "buffer"_a, "count"_a = 1, "offset"_a = 0, "first"_a = 0,
           "Puts packed bytes (uint8), from byte first of the packed stream on, into count items in the buffer.");
}

}  // namespace

void bind_datatype(nb::module_& module) {
  nb::class_<Type> type(module, "Datatype", "An MPI datatype: its layout in memory, its bounds, its packing plan.");
  bind_regular(type);
  bind_indexed(type);
  bind_bounds(type);
  type.def("runs", &runs, "count"_a = 1, "simplified"_a = false,
           "Contiguous runs of count items in packing order: an int64 array, a row (offset, bytes) per run.")
      .def("run_count", &run_count, "count"_a = 1, "How many runs the canonical form of count items has.")
      .def("simplified", &simplified, "count"_a = 1,
           "Pairs (pass, layout as text): as constructed, then after every pass that changed something.");
  bind_plan(type);
  module.def("packing_decision", &packing_decision, "knob"_a, "use"_a, "bytes"_a, "mean_run"_a,
             "line_density"_a = 1.0, "pages_per_line"_a = 0.0,
             "Whether the packing library packs a message (use: send, receive, pack, unpack) by the costs in knob, "
             "the text of COREWISE_PACKING, and the row that decides.");
  module.def("copy_items", &copy_items, "source"_a, "source_type"_a, "source_count"_a, "target"_a, "target_type"_a,
             "target_count"_a, "source_offset"_a = 0, "target_offset"_a = 0,
             "Copies items of one type into items of another, as many bytes as both have; buffers are uint8.");
}

}  // namespace corewise::bind
