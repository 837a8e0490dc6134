// Reductions into a third place and into a fourth: against the reference, against the kernel in place bit by bit,
// and between pages that nobody may touch; by every instruction set. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/reduction_reference.hpp"
#include "kernels/walled.hpp"

namespace corewise::kernels {
namespace {

class EverySetInto : public ::testing::TestWithParam<std::string_view> {
 protected:
  static ReductionKernels kernels(Operator operation, Element element) {
    return reduction_kernels(operation, element, GetParam());
  }

  /// Calls `run(operation, shape, kernels)` for all that there are.
  template <class Run>
  static void for_all(Run&& run) {
    for (const Shape& shape : shapes()) {
      if (!here(shape.element)) continue;
      for (const Operator operation : operators()) {
        if (mpi_allows(operation, shape)) run(operation, shape, kernels(operation, shape.element));
      }
    }
  }
};

std::string name_of(const ::testing::TestParamInfo<std::string_view>& set) {
  return std::string(set.param);
}

INSTANTIATE_TEST_CASE_P(Reduce, EverySetInto, ::testing::ValuesIn(reduction_sets()), name_of);

/// Four blocks, each at a place of its own in its line, and bytes around them.
struct Places {
  Bytes in, other, to, too;
  std::size_t first;

  Places(const Shape& shape, std::size_t count, std::size_t start, Rng& random)
      : in(60 + count * shape.extent), other(in.size()), to(in.size()), too(in.size()), first(start) {
    for (Bytes* block : {&in, &other, &to, &too}) fill(*block, at(block), count, shape, random);
  }
  std::size_t at(const Bytes* block) const {
    return block == &in ? first : block == &other ? 11 - first : block == &to ? 2 * first + 1 : 19;
  }
  std::byte* begin(Bytes& block) const { return block.data() + at(&block); }
};

/// What `target` holds when the reference has put the result there.
Bytes expected(Operator operation, const Shape& shape, std::size_t count, Places& places, Bytes& target) {
  Bytes wanted = target;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t each = i * shape.extent;
    const std::byte* const low = places.begin(places.in) + each;
    const std::byte* const high = places.begin(places.other) + each;
    std::byte* const to = wanted.data() + places.at(&target) + each;
    if (operation == Operator::no_operation) {
      reference(Operator::replace, shape, high, high, to);
    } else {
      reference(operation, shape, low, high, to);
    }
  }
  return wanted;
}

TEST_P(EverySetInto, TheResultGoesToOneOrTwoOtherPlacesAndNowhereElse) {
  for_all([](Operator operation, const Shape& shape, const ReductionKernels& run) {
    Rng random(29);
    for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 9U, 17U, 33U, 67U, 131U}) {
      for (const std::size_t start : {0U, 1U, 3U, 8U}) {
        Places places(shape, count, start, random);
        const Bytes in = places.in;
        const Bytes other = places.other;
        const Bytes wanted = expected(operation, shape, count, places, places.to);
        const Bytes wanted_too = expected(operation, shape, count, places, places.too);
        const Bytes to = places.to;
        run.into(places.begin(places.in), places.begin(places.other), places.begin(places.to), count);
        ASSERT_EQ(places.to, wanted) << name(operation) << " of " << count << ' ' << name(shape.element);
        places.to = to;
        run.into_both(places.begin(places.in), places.begin(places.other), places.begin(places.to),
                      places.begin(places.too), count);
        ASSERT_EQ(places.to, wanted) << name(operation) << " of " << count << ' ' << name(shape.element);
        ASSERT_EQ(places.too, wanted_too) << name(operation) << " of " << count << ' ' << name(shape.element);
        ASSERT_EQ(places.in, in);
        ASSERT_EQ(places.other, other);
      }
    }
  });
}

/// Any bits: what rounds, overflows or is no number. Where both operands were NaN it is not said which stays, so at
/// most one is; in a complex product none.
Bytes drawn(std::size_t bytes, bool finite, Rng& random) {
  Bytes block(bytes);
  for (std::byte& byte : block) byte = static_cast<std::byte>(random.next() & (finite ? 0xbf : 0xff));
  return block;
}

bool any_bits(const Shape& shape) {  // those of a long double may be no number at all
  return std::ranges::none_of(shape.parts, [](const Part& part) { return part.form == Form::long_double; });
}

TEST_P(EverySetInto, EveryKernelLeavesTheBytesOfTheBaseInPlace) {
  for_all([](Operator operation, const Shape& shape, const ReductionKernels& run) {
    if (!any_bits(shape)) return;
    Rng random(31);
    const std::size_t count = 203;
    const Bytes in = drawn(count * shape.extent, true, random);
    const Bytes other = drawn(count * shape.extent, shape.kind == Shape::Kind::complex, random);
    Bytes wanted = other;
    reduction_kernels(operation, shape.element, "base").combine(in.data(), wanted.data(), count);
    Bytes own = other;
    run.combine(in.data(), own.data(), count);
    EXPECT_EQ(own, wanted) << name(operation) << ' ' << name(shape.element);
    // The gaps keep what the targets held.
    Bytes to = other;
    Bytes too = other;
    run.into(in.data(), other.data(), to.data(), count);
    EXPECT_EQ(to, wanted) << name(operation) << ' ' << name(shape.element);
    to = other;
    run.into_both(in.data(), other.data(), to.data(), too.data(), count);
    EXPECT_EQ(to, wanted) << name(operation) << ' ' << name(shape.element);
    EXPECT_EQ(too, wanted) << name(operation) << ' ' << name(shape.element);
  });
}

TEST_P(EverySetInto, TheTargetMayBeAnOperand) {
  for_all([](Operator operation, const Shape& shape, const ReductionKernels& run) {
    if (!any_bits(shape)) return;
    Rng random(37);
    const std::size_t count = 101;
    const Bytes in = drawn(count * shape.extent, true, random);
    const Bytes other = drawn(count * shape.extent, true, random);
    Bytes wanted = in;
    run.into(in.data(), other.data(), wanted.data(), count);
    Bytes over = in;
    run.into(over.data(), other.data(), over.data(), count);
    EXPECT_EQ(over, wanted) << name(operation) << ' ' << name(shape.element);
  });
}

TEST_P(EverySetInto, ReadsAndWritesNothingBesideTheBlocks) {
  const Walled in(1);
  const Walled other(1);
  const Walled to(1);
  const Walled too(1);
  for (const Walled* block : {&in, &other, &to, &too}) std::memset(block->begin(), 1, 4096);
  for_all([&](Operator /*operation*/, const Shape& shape, const ReductionKernels& run) {
    const auto at_end = [](const Walled& block, std::size_t bytes) {
      return reinterpret_cast<std::byte*>(block.end() - bytes);
    };
    const auto at_begin = [](const Walled& block) { return reinterpret_cast<std::byte*>(block.begin()); };
    for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 15U, 31U, 63U, 67U}) {
      const std::size_t bytes = count * shape.extent;
      run.into(at_end(in, bytes), at_end(other, bytes), at_end(to, bytes), count);
      run.into(at_begin(in), at_begin(other), at_begin(to), count);
      run.into_both(at_end(in, bytes), at_end(other, bytes), at_end(to, bytes), at_end(too, bytes), count);
      run.into_both(at_begin(in), at_begin(other), at_begin(to), at_begin(too), count);
      run.combine(at_end(in, bytes), at_end(other, bytes), count);
    }
  });
}

TEST(ReductionSets, EveryProcessorHasTheBaseAndItsOwnFirst) {
  const std::vector<std::string_view> sets = reduction_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), "base");
#if defined(__x86_64__)
  EXPECT_EQ(std::ranges::count(sets, "avx2"), __builtin_cpu_supports("avx2") ? 1 : 0);
  EXPECT_EQ(std::ranges::count(sets, "avx512"), __builtin_cpu_supports("avx512bw") ? 1 : 0);
#endif
  const auto sum = [](std::string_view set) { return reduction_kernels(Operator::sum, Element::float64, set); };
  for (const std::string_view set : sets) {
    ASSERT_NE(sum(set).into, nullptr) << set;
    EXPECT_EQ(sum(set).into == sum("base").into, set == "base") << set;
  }
  EXPECT_EQ(reduction_kernels(Operator::sum, Element::float64).into, sum(sets.front()).into);
  EXPECT_EQ(sum("no_such_set").into, nullptr);
}

}  // namespace
}  // namespace corewise::kernels
