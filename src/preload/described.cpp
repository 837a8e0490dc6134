// Reading envelopes: from MPI's description of a type to ours; see described.hpp.
// Source: MPI-4.1, section 5.1.13 (decoding a datatype), with the order of integers, addresses and counts there.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/described.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <vector>

#include "preload/data.hpp"

namespace corewise::preload {
namespace {

using kernels::Datatype;
using Numbers = std::vector<std::int64_t>;

constexpr int kDeepest = 64;

/// An envelope's contents; large counts are brought to the places of integers and addresses.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  Numbers integers;
  Numbers addresses;
  std::vector<MPI_Datatype> types;
};

/// Handles that MPI_Type_get_contents returned are ours to free, but for predefined ones.
void free_types(const std::vector<MPI_Datatype>& types) {
  for (MPI_Datatype type : types)
    if (!is_named(type)) CW_NEXT(MPI_Type_free)(&type);
}

std::size_t addresses_in(int combiner, const Numbers& counts) {
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
      return 1;
    case MPI_COMBINER_RESIZED:
      return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
      return static_cast<std::size_t>(counts.at(0));
    default:
      return 0;
  }
}

/// Where large counts belong among integers and addresses, as the constructors without them have it.
void place_counts(Contents& contents, const Numbers& counts) {
  Numbers& integers = contents.integers;
  if (contents.combiner == MPI_COMBINER_SUBARRAY || contents.combiner == MPI_COMBINER_DARRAY) {
    const std::ptrdiff_t at = contents.combiner == MPI_COMBINER_SUBARRAY ? 1 : 3;
    integers.insert(integers.begin() + at, counts.begin(), counts.end());
    return;
  }
  const auto tail = counts.end() - static_cast<std::ptrdiff_t>(addresses_in(contents.combiner, counts));
  integers.insert(integers.end(), counts.begin(), tail);
  contents.addresses.insert(contents.addresses.end(), tail, counts.end());
}

bool read_contents(MPI_Datatype type, std::int64_t most, Contents& contents) {
  Envelope envelope;
  if (!read_envelope(type, envelope)) return false;
  contents.combiner = envelope.combiner;
  if (is_predefined(contents.combiner)) return true;
  const auto [integers, addresses, counts, types, _] = envelope;
  if (std::int64_t{integers} + addresses + counts > most || types > most) return false;
  std::vector<int> i(static_cast<std::size_t>(integers) + 1);
  std::vector<MPI_Aint> a(static_cast<std::size_t>(addresses) + 1);
  std::vector<MPI_Count> c(static_cast<std::size_t>(counts) + 1);
  std::vector<MPI_Datatype> d(static_cast<std::size_t>(types) + 1);
#ifdef CW_HAVE_MPI_Type_get_envelope_c
  const int code = CW_NEXT(MPI_Type_get_contents_c)(type, integers, addresses, counts, types, i.data(), a.data(),
                                                    c.data(), d.data());
#else
  const int code = CW_NEXT(MPI_Type_get_contents)(type, integers, addresses, types, i.data(), a.data(), d.data());
#endif
  if (code != MPI_SUCCESS) return false;
  contents.integers.assign(i.begin(), i.end() - 1);
  contents.addresses.assign(a.begin(), a.end() - 1);
  contents.types.assign(d.begin(), d.end() - 1);
  if (counts > 0) place_counts(contents, Numbers(c.begin(), c.end() - 1));
  return true;
}

/// MPI pads a struct to the alignment of its predefined types, which we do not know of all: its extent is MPI's
/// word.
Datatype padded(Datatype ours, const Bounds& theirs) {
  constexpr std::int64_t kMostAlignment = 16;
  const std::int64_t padding = theirs.extent - ours.extent;
  if (padding <= 0 || padding >= kMostAlignment || ours.lb != theirs.lb) return ours;
  ours.extent = theirs.extent;
  ours.marked = true;
  return ours;
}

bool agrees(const Datatype& ours, const Bounds& theirs) {
  if (ours.size != theirs.size || ours.lb != theirs.lb || ours.extent != theirs.extent) return false;
  return ours.size == 0 || (ours.true_lb == theirs.true_lb && ours.true_extent == theirs.true_extent);
}

std::optional<Datatype> named(MPI_Datatype type) {
  Bounds bounds;
  if (!read_bounds(type, bounds) || bounds.size <= 0) return std::nullopt;
  if (type == MPI_SHORT_INT)
    return kernels::basic_pair(sizeof(short), sizeof(int), sizeof(int), 2 * sizeof(int)).value();
  if (bounds.lb != 0 || bounds.true_lb != 0 || bounds.size != bounds.true_extent) return std::nullopt;
  Result<Datatype> basic = kernels::basic(bounds.size);
  if (!basic.ok()) return std::nullopt;
  // A pair without a gap inside may have one behind.
  basic.value().extent = bounds.extent;
  basic.value().marked = true;
  return std::move(basic).value();
}

Status not_understood() {
  return Status(Code::unsupported, {});
}

using Span = std::span<const std::int64_t>;

Span part(const Numbers& numbers, std::size_t from, std::int64_t count) {
  return Span(numbers).subspan(from, static_cast<std::size_t>(count));
}

std::optional<kernels::Order> order_of(std::int64_t word) {
  if (word == MPI_ORDER_C) return kernels::Order::c;
  if (word == MPI_ORDER_FORTRAN) return kernels::Order::fortran;
  return std::nullopt;
}

Result<Datatype> subarray(const Numbers& i, const Datatype& old) {
  const std::int64_t dims = i.at(0);
  const auto n = static_cast<std::size_t>(dims);
  const auto order = order_of(i.at(1 + 3 * n));
  if (!order) return not_understood();
  return kernels::subarray(part(i, 1, dims), part(i, 1 + n, dims), part(i, 1 + 2 * n, dims), *order, old);
}

Result<Datatype> darray(const Numbers& i, const Datatype& old) {
  const std::int64_t dims = i.at(2);
  const auto n = static_cast<std::size_t>(dims);
  const auto order = order_of(i.at(3 + 4 * n));
  std::vector<kernels::Distribution> distributions;
  Numbers dargs;
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t word = i.at(3 + n + d);
    distributions.push_back(word == MPI_DISTRIBUTE_BLOCK    ? kernels::Distribution::block
                            : word == MPI_DISTRIBUTE_CYCLIC ? kernels::Distribution::cyclic
                                                            : kernels::Distribution::none);
    const std::int64_t darg = i.at(3 + 2 * n + d);
    dargs.push_back(darg == MPI_DISTRIBUTE_DFLT_DARG ? kernels::kDefaultDarg : darg);
  }
  if (!order) return not_understood();
  return kernels::darray(i.at(0), i.at(1), part(i, 3, dims), distributions, dargs, part(i, 3 + 3 * n, dims), *order,
                         old);
}

/// A type out of one other.
Result<Datatype> derived(const Contents& from, const Datatype& old) {
  const Numbers& i = from.integers;
  const Numbers& a = from.addresses;
  switch (from.combiner) {
    case MPI_COMBINER_DUP:
      return old;
    case MPI_COMBINER_CONTIGUOUS:
      return kernels::contiguous(i.at(0), old);
    case MPI_COMBINER_VECTOR:
      return kernels::vector(i.at(0), i.at(1), i.at(2), old);
    case MPI_COMBINER_HVECTOR:
      return kernels::hvector(i.at(0), i.at(1), a.at(0), old);
    case MPI_COMBINER_INDEXED:
      return kernels::indexed(part(i, 1, i.at(0)), part(i, 1 + static_cast<std::size_t>(i.at(0)), i.at(0)), old);
    case MPI_COMBINER_HINDEXED:
      return kernels::hindexed(part(i, 1, i.at(0)), part(a, 0, i.at(0)), old);
    case MPI_COMBINER_INDEXED_BLOCK:
      return kernels::indexed_block(i.at(1), part(i, 2, i.at(0)), old);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return kernels::hindexed_block(i.at(1), part(a, 0, i.at(0)), old);
    case MPI_COMBINER_SUBARRAY:
      return subarray(i, old);
    case MPI_COMBINER_DARRAY:
      return darray(i, old);
    case MPI_COMBINER_RESIZED:
      return kernels::resized(old, a.at(0), a.at(1));
    default:
      return not_understood();
  }
}

std::int64_t numbers_in(const Contents& contents) {
  return static_cast<std::int64_t>(contents.integers.size() + contents.addresses.size() + contents.types.size());
}

/// How far a reading has come.
struct Reading {
  std::int64_t most;
  int depth = 0;
  std::int64_t numbers = 0;  ///< in the envelopes
};

std::optional<Described> read(MPI_Datatype type, Reading& reading);

/// `Described::element` of a struct; 0 where only whole items will do.
std::int64_t common_element(Span lengths, const std::vector<Datatype>& types, const Numbers& elements) {
  constexpr std::int64_t kMost = 4096;  // shorter than any piece but the last
  std::int64_t at = 0, common = 1;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::int64_t bytes = lengths[i] * types[i].size;
    if (bytes == 0) continue;
    if (at % elements[i] != 0 || elements[i] > kMost) return 0;
    common = std::lcm(common, elements[i]);
    if (common > kMost) return 0;
    at += bytes;
  }
  return at % common == 0 ? common : 0;
}

Result<Described> build(const Contents& contents, Reading& reading) {
  std::vector<Datatype> types;
  Numbers elements;
  for (const MPI_Datatype type : contents.types) {
    std::optional<Described> found = read(type, reading);
    if (!found) return not_understood();
    elements.push_back(found->element);
    types.push_back(std::move(found->type));
  }
  const bool is_struct = contents.combiner == MPI_COMBINER_STRUCT;
  if (!is_struct && types.size() != 1) return not_understood();
  const Span lengths = is_struct ? part(contents.integers, 1, contents.integers.at(0)) : Span();
  Result<Datatype> made =
      is_struct ? kernels::structure(lengths, contents.addresses, types) : derived(contents, types.front());
  if (!made.ok()) return made.status();
  return Described{std::move(made).value(),
                   is_struct ? common_element(lengths, types, elements) : elements.front()};
}

std::optional<Described> read(MPI_Datatype type, Reading& reading) {
  Contents contents;
  Bounds bounds;
  if (reading.depth > kDeepest || !read_contents(type, reading.most, contents)) return std::nullopt;
  if (is_predefined(contents.combiner)) {
    std::optional<Datatype> found = named(type);
    if (!found) return std::nullopt;
    return Described{*found, found->size};
  }
  Result<Described> made = not_understood();
  reading.numbers += numbers_in(contents);
  ++reading.depth;
  try {
    if (reading.numbers <= reading.most) made = build(contents, reading);
  } catch (const std::exception&) {
    made = not_understood();
  }
  --reading.depth;
  free_types(contents.types);
  if (!made.ok() || !read_bounds(type, bounds)) return std::nullopt;
  const Datatype whole = padded(std::move(made.value().type), bounds);
  const std::int64_t element = made.value().element;
  if (!agrees(whole, bounds)) return std::nullopt;
  return Described{whole, element != 0 ? element : std::max<std::int64_t>(whole.size, 1)};
}

}  // namespace

std::optional<Described> describe(MPI_Datatype datatype, std::int64_t most) {
  Reading reading{most};
  return read(datatype, reading);
}

}  // namespace corewise::preload
