// The rules: one function per kind of argument, then the constructors as lists of rules. Contract in the header.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/checked.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace corewise::kernels::checked {
namespace {

std::string place(std::string_view field, std::size_t i) {
  return std::string(field) + "[" + std::to_string(i) + "]";
}

Status at_least(std::string_view field, std::int64_t value, std::int64_t least) {
  return value >= least ? Status{}
                        : bad_field("", field, std::to_string(value), std::to_string(least) + " or more");
}

Status each_at_least(std::string_view field, std::span<const std::int64_t> values, std::int64_t least) {
  const auto wrong =
      std::find_if(values.begin(), values.end(), [least](std::int64_t value) { return value < least; });
  return wrong == values.end()
             ? Status{}
             : at_least(place(field, static_cast<std::size_t>(wrong - values.begin())), *wrong, least);
}

Status between(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most
             ? Status{}
             : bad_field("", field, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
}

Status as_many(std::string_view field, std::size_t found, std::size_t wanted) {
  return found == wanted ? Status{}
                         : bad_field("", field, std::to_string(found) + " entries", std::to_string(wanted));
}

Status some(std::string_view field, std::size_t found) {
  return found > 0 ? Status{} : bad_field("", field, "no entries", "1 or more");
}

// Reach: how far from an item's address anything of it is. In floating point, which does not overflow. -----------

double magnitude(std::int64_t value) {
  return std::abs(static_cast<double>(value));
}

double reach_of(const Datatype& type) {
  const double bounds = std::max(magnitude(type.lb), magnitude(type.extent) + magnitude(type.lb));
  const double data = magnitude(type.true_lb) + magnitude(type.true_extent);
  return std::max({bounds, data, static_cast<double>(type.size)});
}

Status within_reach(std::string_view field, double reach) {
  return reach < static_cast<double>(kFarthestByte)
             ? Status{}
             : bad_field("", field, "a type that reaches or counts 2^60 bytes or more", "less");
}

double farthest(std::span<const std::int64_t> values) {
  double most = 0;
  for (const std::int64_t value : values) {
    most = std::max(most, magnitude(value));
  }
  return most;
}

double sum(std::span<const std::int64_t> values) {
  double total = 0;
  for (const std::int64_t value : values) {
    total += magnitude(value);
  }
  return total;
}

double product(std::span<const std::int64_t> values) {
  double total = 1;
  for (const std::int64_t value : values) {
    total *= magnitude(value);
  }
  return total;
}

/// The first rule that is broken; all are computed before, so none may depend on another.
Status first_broken(std::initializer_list<Status> rules) {
  for (const Status& rule : rules) {
    if (!rule.ok()) {
      return rule;
    }
  }
  return {};
}

Status check_blocks(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                    double unit, const Datatype& old) {
  return first_broken({as_many("displacements", displacements.size(), blocklengths.size()),
                       each_at_least("blocklengths", blocklengths, 0),
                       within_reach("displacements", farthest(displacements) * unit + reach_of(old)),
                       within_reach("blocklengths", sum(blocklengths) * reach_of(old))});
}

/// One block at least: products of the arguments are formed whether there are blocks or not.
double blocks_of(std::int64_t count) {
  return std::max(magnitude(count), 1.0);
}

Status check_equal_blocks(std::int64_t blocklength, std::span<const std::int64_t> displacements, double unit,
                          const Datatype& old) {
  const double blocks = blocks_of(static_cast<std::int64_t>(displacements.size()));
  return first_broken({at_least("blocklength", blocklength, 0),
                       within_reach("displacements", farthest(displacements) * unit + reach_of(old)),
                       within_reach("blocklength", blocks * magnitude(blocklength) * reach_of(old))});
}

Status check_vector(std::int64_t count, std::int64_t blocklength, double stride, const Datatype& old) {
  return first_broken({at_least("count", count, 0), at_least("blocklength", blocklength, 0),
                       within_reach("stride", blocks_of(count) * stride + reach_of(old)),
                       within_reach("count", blocks_of(count) * magnitude(blocklength) * reach_of(old))});
}

Status check_share(std::size_t i, std::int64_t gsize, Distribution distribution, std::int64_t darg,
                   std::int64_t processes) {
  if (distribution == Distribution::none) {
    return between(place("psizes", i), processes, 1, 1);
  }
  if (darg == kDefaultDarg) {
    return {};
  }
  const std::int64_t least = distribution == Distribution::block ? (gsize + processes - 1) / processes : 1;
  return between(place("dargs", i), darg, least, kFarthestByte / processes);
}

}  // namespace

Status check_count(std::int64_t count, const Datatype& type) {
  return first_broken({at_least("count", count, 0), within_reach("count", magnitude(count) * reach_of(type))});
}

Result<Datatype> basic(std::int64_t bytes, std::int64_t alignment) {
  const bool power = alignment >= 0 && (alignment & (alignment - 1)) == 0;
  const Status status = first_broken(
      {between("bytes", bytes, 0, kFarthestByte / 2), between("alignment", alignment, 0, kFarthestByte / 2),
       power ? Status{} : bad_field("", "alignment", std::to_string(alignment), "a power of two, or 0")});
  return status.ok() ? Result<Datatype>(kernels::basic(bytes, alignment)) : status;
}

Result<Datatype> pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent) {
  constexpr std::int64_t kMost = 1 << 20;
  Status status = first_broken({between("first", first, 1, kMost), between("second", second, 1, kMost)});
  if (status.ok()) status = between("second_at", second_at, first, kMost);
  if (status.ok()) status = between("extent", extent, second_at + second, 4 * kMost);
  return status.ok() ? Result<Datatype>(basic_pair(first, second_at, second, extent)) : status;
}

Result<Datatype> contiguous(std::int64_t count, const Datatype& old) {
  const Status status = check_count(count, old);
  return status.ok() ? Result<Datatype>(kernels::contiguous(count, old)) : status;
}

Result<Datatype> vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Datatype& old) {
  const Status status = check_vector(count, blocklength, magnitude(stride) * magnitude(old.extent), old);
  return status.ok() ? Result<Datatype>(kernels::vector(count, blocklength, stride, old)) : status;
}

Result<Datatype> hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes,
                         const Datatype& old) {
  const Status status = check_vector(count, blocklength, magnitude(stride_bytes), old);
  return status.ok() ? Result<Datatype>(kernels::hvector(count, blocklength, stride_bytes, old)) : status;
}

Result<Datatype> indexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                         const Datatype& old) {
  const Status status = check_blocks(blocklengths, displacements, magnitude(old.extent), old);
  return status.ok() ? Result<Datatype>(kernels::indexed(blocklengths, displacements, old)) : status;
}

Result<Datatype> hindexed(std::span<const std::int64_t> blocklengths,
                          std::span<const std::int64_t> byte_displacements, const Datatype& old) {
  const Status status = check_blocks(blocklengths, byte_displacements, 1, old);
  return status.ok() ? Result<Datatype>(kernels::hindexed(blocklengths, byte_displacements, old)) : status;
}

Result<Datatype> indexed_block(std::int64_t blocklength, std::span<const std::int64_t> displacements,
                               const Datatype& old) {
  const Status status = check_equal_blocks(blocklength, displacements, magnitude(old.extent), old);
  return status.ok() ? Result<Datatype>(kernels::indexed_block(blocklength, displacements, old)) : status;
}

Result<Datatype> hindexed_block(std::int64_t blocklength, std::span<const std::int64_t> byte_displacements,
                                const Datatype& old) {
  const Status status = check_equal_blocks(blocklength, byte_displacements, 1, old);
  return status.ok() ? Result<Datatype>(kernels::hindexed_block(blocklength, byte_displacements, old)) : status;
}

Result<Datatype> structure(std::span<const std::int64_t> blocklengths,
                           std::span<const std::int64_t> byte_displacements, std::span<const Datatype> types) {
  Status status = first_broken({as_many("displacements", byte_displacements.size(), blocklengths.size()),
                                as_many("types", types.size(), blocklengths.size()),
                                each_at_least("blocklengths", blocklengths, 0)});
  if (!status.ok()) {
    return status;
  }
  double items = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    items += magnitude(blocklengths[i]) * reach_of(types[i]);
  }
  status = within_reach("displacements", farthest(byte_displacements) + items);
  return status.ok() ? Result<Datatype>(kernels::structure(blocklengths, byte_displacements, types)) : status;
}

Result<Datatype> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                          std::span<const std::int64_t> starts, Order order, const Datatype& old) {
  Status status = first_broken({some("sizes", sizes.size()), as_many("subsizes", subsizes.size(), sizes.size()),
                                as_many("starts", starts.size(), sizes.size()), each_at_least("sizes", sizes, 1),
                                within_reach("sizes", product(sizes) * reach_of(old))});
  for (std::size_t i = 0; status.ok() && i < sizes.size(); ++i) {
    status = between(place("subsizes", i), subsizes[i], 1, sizes[i]);
    if (status.ok()) status = between(place("starts", i), starts[i], 0, sizes[i] - subsizes[i]);
  }
  return status.ok() ? Result<Datatype>(kernels::subarray(sizes, subsizes, starts, order, old)) : status;
}

Result<Datatype> darray(std::int64_t size, std::int64_t rank, std::span<const std::int64_t> gsizes,
                        std::span<const Distribution> distributions, std::span<const std::int64_t> dargs,
                        std::span<const std::int64_t> psizes, Order order, const Datatype& old) {
  Status status =
      first_broken({some("gsizes", gsizes.size()), as_many("distributions", distributions.size(), gsizes.size()),
                    as_many("dargs", dargs.size(), gsizes.size()), as_many("psizes", psizes.size(), gsizes.size()),
                    at_least("size", size, 1), between("rank", rank, 0, std::max<std::int64_t>(size - 1, 0)),
                    each_at_least("gsizes", gsizes, 1), each_at_least("psizes", psizes, 1),
                    within_reach("gsizes", product(gsizes) * std::max(reach_of(old), 1.0)),
                    within_reach("psizes", product(psizes))});
  if (status.ok() && product(psizes) != static_cast<double>(size)) {
    status = bad_field("", "size", std::to_string(size), "the product of psizes");
  }
  for (std::size_t i = 0; status.ok() && i < gsizes.size(); ++i) {
    status = check_share(i, gsizes[i], distributions[i], dargs[i], psizes[i]);
  }
  return status.ok()
             ? Result<Datatype>(kernels::darray(size, rank, gsizes, distributions, dargs, psizes, order, old))
             : status;
}

Result<Datatype> resized(const Datatype& old, std::int64_t lb, std::int64_t extent) {
  const Status status = within_reach("extent", magnitude(lb) + magnitude(extent));
  return status.ok() ? Result<Datatype>(kernels::resized(old, lb, extent)) : status;
}

}  // namespace corewise::kernels::checked
