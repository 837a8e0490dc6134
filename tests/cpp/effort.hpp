// How much a test tries: everything, or under sanitizers, where a run takes many times as long, a part that goes
// through the same code. What is left out there still runs in every build without sanitizers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace corewise::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COREWISE_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(COREWISE_TEST_SANITIZED)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// How often: `full`, or `sanitized` under sanitizers.
constexpr int effort(int full, int sanitized) {
  return kSanitized ? sanitized : full;
}

/// Whether repetitions run that show the same again: where COREWISE_LONG_TESTS is set, as by `make test-long`.
inline bool runs_long() {
  return !kSanitized && std::getenv("COREWISE_LONG_TESTS") != nullptr;
}

/// What to try: the values of `full`, or under sanitizers those of `sanitized`.
template <class T>
std::vector<T> effort(std::initializer_list<T> full, std::initializer_list<std::type_identity_t<T>> sanitized) {
  return kSanitized ? sanitized : full;
}

}  // namespace corewise::test
