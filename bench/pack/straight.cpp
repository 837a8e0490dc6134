// What apps/packing, with which this file is linked, copies from one rank's mapped items to the other's: parts of a
// message, by the plans of room kernels. It reads datatypes of vectors and contiguous types alone.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <memory>
#include <optional>

#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/plans/pack.hpp"
#include "step.hpp"

namespace {

namespace kernels = corewise::kernels;
using Described = std::optional<kernels::Datatype>;

Described made(const corewise::Result<kernels::Datatype>& type) {
  return type.ok() ? Described(type.value()) : std::nullopt;
}

int combiner_of(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner;
}

/// A datatype as room kernels has it; none where it is of another kind.
Described described(MPI_Datatype type) {
  const int combiner = combiner_of(type);
  if (combiner == MPI_COMBINER_NAMED) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    return made(kernels::basic(bytes));
  }
  const bool in_bytes = combiner == MPI_COMBINER_HVECTOR, dense = combiner == MPI_COMBINER_CONTIGUOUS;
  if (combiner != MPI_COMBINER_VECTOR && !in_bytes && !dense) return std::nullopt;
  std::array<int, 3> numbers{0, 1, 1};  // count, block length and stride, as far as the type has them
  MPI_Aint stride_bytes = 0;
  MPI_Datatype old = MPI_DATATYPE_NULL;
  MPI_Type_get_contents(type,
                        dense      ? 1
                        : in_bytes ? 2
                                   : 3,
                        in_bytes ? 1 : 0, 1, numbers.data(), &stride_bytes, &old);
  const Described inner = described(old);
  if (combiner_of(old) != MPI_COMBINER_NAMED) MPI_Type_free(&old);
  if (!inner) return std::nullopt;
  const auto [count, block, stride] = numbers;
  return made(in_bytes ? kernels::hvector(count, block, stride_bytes, *inner)
                       : kernels::vector(count, block, stride, *inner));
}

}  // namespace

StraightCopy straight_copy(const Case& c) {
  const Described sent = described(c.send_type), received = described(c.receive_type);
  if (!sent || !received) return nullptr;
  const auto from = std::make_shared<const kernels::PackPlan>(kernels::PackPlan::compile(*sent));
  const auto to = std::make_shared<const kernels::PackPlan>(kernels::PackPlan::compile(*received));
  return [from, to](const char* source, char* target, std::size_t at, std::size_t bytes) {
    kernels::copy_part(*from, source, 1, *to, target, 1, static_cast<std::int64_t>(at),
                       static_cast<std::int64_t>(bytes));
  };
}
