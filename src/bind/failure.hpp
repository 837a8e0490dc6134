// Failures: a Status that is not ok becomes a Python exception. Every bound function passes its Result through
// `unwrap`, so that Python sees one class per exit status and the core's own one-line message.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/status.hpp"

namespace corewise::bind {

/// Throws corewise.InputError for invalid input, corewise.RunError for everything else. Needs the GIL.
[[noreturn]] void raise(const Status& status);

inline void require(const Status& status) {
  if (!status.ok()) raise(status);
}

template <class T>
T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.status());
  return std::move(result).value();
}

/// What `run`, a function that returns a Result, gives while other threads of Python run.
template <class Run>
auto without_gil(Run run) {
  return unwrap([&] {
    const nanobind::gil_scoped_release release;
    return run();
  }());
}

}  // namespace corewise::bind
