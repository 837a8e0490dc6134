// The rules: one function per kind of argument, then the constructors as lists of rules. Contract in the header.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/checked.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

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

// Reach: how far from an item's address anything of it is. In floating point, which does not overflow.

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
  return std::transform_reduce(
      values.begin(), values.end(), 0.0, [](double a, double b) { return std::max(a, b); }, magnitude);
}

double product(std::span<const std::int64_t> values) {
  return std::transform_reduce(values.begin(), values.end(), 1.0, std::multiplies<>{}, magnitude);
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

/// What `make` makes, unless a rule is broken.
template <class Make>
Result<Datatype> made_if(const Status& rules, const Make& make) {
  return rules.ok() ? Result<Datatype>(make()) : Result<Datatype>(rules);
}

/// Displacements in extents as bytes; the products are formed whether there are blocks or not.
Result<std::vector<std::int64_t>> in_bytes(std::string_view field, std::span<const std::int64_t> values,
                                           const Datatype& old) {
  if (const Status rule = within_reach(field, farthest(values) * magnitude(old.extent)); !rule.ok()) {
    return rule;
  }
  std::vector<std::int64_t> bytes(values.begin(), values.end());
  for (std::int64_t& value : bytes) {
    value *= old.extent;
  }
  return bytes;
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
  return made_if(status, [&] { return kernels::basic(bytes, alignment); });
}

Result<Datatype> pair(std::int64_t first, std::int64_t second_at, std::int64_t second, std::int64_t extent) {
  constexpr std::int64_t kMost = 1 << 20;
  Status status = first_broken({between("first", first, 1, kMost), between("second", second, 1, kMost)});
  if (status.ok()) status = between("second_at", second_at, first, kMost);
  if (status.ok()) status = between("extent", extent, second_at + second, 4 * kMost);
  return made_if(status, [&] { return basic_pair(first, second_at, second, extent); });
}

Result<Datatype> contiguous(std::int64_t count, const Datatype& old) {
  return made_if(check_count(count, old), [&] { return kernels::contiguous(count, old); });
}

Result<Datatype> vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, const Datatype& old) {
  const auto bytes = in_bytes("stride", std::span(&stride, 1), old);
  return bytes.ok() ? checked::hvector(count, blocklength, bytes.value().front(), old)
                    : Result<Datatype>(bytes.status());
}

Result<Datatype> hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride_bytes,
                         const Datatype& old) {
  // One block at least: products of the arguments are formed whether there are blocks or not.
  const double blocks = std::max(magnitude(count), 1.0);
  return made_if(first_broken({at_least("count", count, 0), at_least("blocklength", blocklength, 0),
                               within_reach("stride", blocks * magnitude(stride_bytes) + reach_of(old)),
                               within_reach("count", blocks * magnitude(blocklength) * reach_of(old))}),
                 [&] { return kernels::hvector(count, blocklength, stride_bytes, old); });
}

Result<Datatype> indexed(std::span<const std::int64_t> blocklengths, std::span<const std::int64_t> displacements,
                         const Datatype& old) {
  const auto bytes = in_bytes("displacements", displacements, old);
  return bytes.ok() ? checked::hindexed(blocklengths, bytes.value(), old) : Result<Datatype>(bytes.status());
}

Result<Datatype> hindexed(std::span<const std::int64_t> blocklengths,
                          std::span<const std::int64_t> byte_displacements, const Datatype& old) {
  const double items =
      std::transform_reduce(blocklengths.begin(), blocklengths.end(), 0.0, std::plus<>{}, magnitude);
  return made_if(first_broken({as_many("displacements", byte_displacements.size(), blocklengths.size()),
                               each_at_least("blocklengths", blocklengths, 0),
                               within_reach("displacements", farthest(byte_displacements) + reach_of(old)),
                               within_reach("blocklengths", items * reach_of(old))}),
                 [&] { return kernels::hindexed(blocklengths, byte_displacements, old); });
}

Result<Datatype> indexed_block(std::int64_t blocklength, std::span<const std::int64_t> displacements,
                               const Datatype& old) {
  const auto bytes = in_bytes("displacements", displacements, old);
  return bytes.ok() ? checked::hindexed_block(blocklength, bytes.value(), old) : Result<Datatype>(bytes.status());
}

Result<Datatype> hindexed_block(std::int64_t blocklength, std::span<const std::int64_t> byte_displacements,
                                const Datatype& old) {
  const double blocks = std::max(static_cast<double>(byte_displacements.size()), 1.0);
  return made_if(first_broken({at_least("blocklength", blocklength, 0),
                               within_reach("displacements", farthest(byte_displacements) + reach_of(old)),
                               within_reach("blocklength", blocks * magnitude(blocklength) * reach_of(old))}),
                 [&] { return kernels::hindexed_block(blocklength, byte_displacements, old); });
}

Result<Datatype> structure(std::span<const std::int64_t> blocklengths,
                           std::span<const std::int64_t> byte_displacements, std::span<const Datatype> types) {
  Status status = first_broken({as_many("displacements", byte_displacements.size(), blocklengths.size()),
                                as_many("types", types.size(), blocklengths.size()),
                                each_at_least("blocklengths", blocklengths, 0)});
  double items = 0;
  for (std::size_t i = 0; status.ok() && i < types.size(); ++i) {
    items += magnitude(blocklengths[i]) * reach_of(types[i]);
  }
  if (status.ok()) status = within_reach("displacements", farthest(byte_displacements) + items);
  return made_if(status, [&] { return kernels::structure(blocklengths, byte_displacements, types); });
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
  return made_if(status, [&] { return kernels::subarray(sizes, subsizes, starts, order, old); });
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
  return made_if(status,
                 [&] { return kernels::darray(size, rank, gsizes, distributions, dargs, psizes, order, old); });
}

Result<Datatype> resized(const Datatype& old, std::int64_t lb, std::int64_t extent) {
  return made_if(within_reach("extent", magnitude(lb) + magnitude(extent)),
                 [&] { return kernels::resized(old, lb, extent); });
}

}  // namespace corewise::kernels::checked
