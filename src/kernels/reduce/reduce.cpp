// The kernels that run on every processor, and which of those of an instruction set run instead. On ARM every
// processor has NEON, so its kernels are those of every processor. Contract in reduce.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/reduce/reduce.hpp"

#include <algorithm>

#include "kernels/reduce/kernels.hpp"
#include "kernels/reduce/loops.hpp"

namespace corewise::kernels {
namespace {

template <class Value, class Index>
ReductionKernels of_pairs(Operator operation) {
  if (operation == Operator::minimum_location) return kernels_of<MinimumLocation, Pair<Value, Index>>();
  if (operation == Operator::maximum_location) return kernels_of<MaximumLocation, Pair<Value, Index>>();
  return one_sided<Pair<Value, Index>>(operation);
}

ReductionKernels of_quads(Operator operation) {
  if constexpr (std::is_void_v<Quad>) {
    return {};
  } else {
    return of_element<Quad>(of_reals<Quad>, operation);
  }
}

template <class Part>
ReductionKernels of_complex_quads(Operator operation) {
  if constexpr (std::is_void_v<Part>) {
    return {};
  } else {
    return of_element<Complex<Part>>(of_complex<Complex<Part>>, operation);
  }
}

/// Those that no vector instruction of these sets computes with.
ReductionKernels odd_real_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::float16:
      return of_element<Half>(of_reals<Half>, operation);
    case Element::long_double:
      return of_element<long double>(of_reals<long double>, operation);
    case Element::float128:
      return of_quads(operation);
    case Element::complex32:
      return of_element<Complex<Half>>(of_complex<Complex<Half>>, operation);
    case Element::complex_long_double:
      return of_element<Complex<long double>>(of_complex<Complex<long double>>, operation);
    case Element::complex256:
      return of_complex_quads<Quad>(operation);
    default:
      return {};
  }
}

/// Values with their locations.
ReductionKernels pair_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::float32_int32:
      return of_pairs<float, std::int32_t>(operation);
    case Element::float64_int32:
      return of_pairs<double, std::int32_t>(operation);
    case Element::int64_int32:
      return of_pairs<std::int64_t, std::int32_t>(operation);
    case Element::int32_int32:
      return of_pairs<std::int32_t, std::int32_t>(operation);
    case Element::int16_int32:
      return of_pairs<std::int16_t, std::int32_t>(operation);
    case Element::long_double_int32:
      return of_pairs<long double, std::int32_t>(operation);
    case Element::float32_float32:
      return of_pairs<float, float>(operation);
    case Element::float64_float64:
      return of_pairs<double, double>(operation);
    case Element::int64_int64:
      return of_pairs<std::int64_t, std::int64_t>(operation);
    default:
      return {};
  }
}

/// The kernels of every processor.
ReductionKernels base_kernels(Operator operation, Element element) {
  for (const auto& kernels : {vector_kernels, odd_real_kernel, pair_kernel}) {
    if (const ReductionKernels found = kernels(operation, element); found.combine != nullptr) return found;
  }
  return {};
}

bool always() {
  return true;
}

struct InstructionSet {
  std::string_view name;
  bool (*available)();
  ReductionKernels (*kernels)(Operator operation, Element element);
};

#if defined(__x86_64__)
bool with_avx2() {
  return __builtin_cpu_supports("avx2") != 0;
}
bool with_avx512() {
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}
#endif

/// The first that is available serves where nobody names another.
constexpr InstructionSet kSets[] = {
#if defined(__x86_64__)
    {"avx512", with_avx512, reduction_avx512},
    {"avx2", with_avx2, reduction_avx2},
#endif
    {"base", always, base_kernels},
};

ReductionKernels kernels_of_set(const InstructionSet& set, Operator operation, Element element) {
  if (element_bytes(element) == 0) return {};
  if (const ReductionKernels found = set.kernels(operation, element); found.combine != nullptr) return found;
  return base_kernels(operation, element);
}

}  // namespace

std::vector<std::string_view> reduction_sets() {
  std::vector<std::string_view> names;
  for (const InstructionSet& set : kSets) {
    if (set.available()) names.push_back(set.name);
  }
  return names;
}

ReductionKernels reduction_kernels(Operator operation, Element element) {
  return kernels_of_set(*std::ranges::find_if(kSets, [](const auto& set) { return set.available(); }), operation,
                        element);
}

ReductionKernels reduction_kernels(Operator operation, Element element, std::string_view set) {
  const auto* const named =
      std::ranges::find_if(kSets, [set](const auto& each) { return each.name == set && each.available(); });
  return named != std::end(kSets) ? kernels_of_set(*named, operation, element) : ReductionKernels{};
}

Combine combine_for(Operator operation, Element element) {
  return reduction_kernels(operation, element).combine;
}

CombineRow combine_row_for(Operator operation, Element element) {
  return reduction_kernels(operation, element).row;
}

}  // namespace corewise::kernels
