// What may be minimised and how, by the names that users give.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace corewise::place {

/// Bottleneck and hop-bytes are link loads; the other one chooses among equals. A given cost comes from outside.
enum class Objective { bottleneck, hop_bytes, distance, given };

/// Automatic: the first that is within reach, in this order. Not every objective has every method.
enum class Method { automatic, exhaustive, branch_and_bound, multilevel, local, portfolio };

/// "auto", "exhaustive", "branch-and-bound", "multilevel", "local", "portfolio".
std::string_view name_of(Method method);

/// Refuses a name that is none.
Result<Method> method_of(const std::string& name);

/// Refuses a method that the objective does not have; `name` is the objective's, for the message.
Status check_method(Objective objective, Method method, const std::string& name);

/// The objective's other methods, for a message: "auto, branch-and-bound, local".
std::string other_methods(Objective objective, Method method);

}  // namespace corewise::place
