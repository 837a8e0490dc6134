// Names of methods, and which objective has which. See method.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/method.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace corewise::place {

namespace {

constexpr std::pair<Method, std::string_view> names[] = {{Method::automatic, "auto"},
                                                         {Method::exhaustive, "exhaustive"},
                                                         {Method::branch_and_bound, "branch-and-bound"},
                                                         {Method::multilevel, "multilevel"},
                                                         {Method::local, "local"},
                                                         {Method::portfolio, "portfolio"}};

std::string listed(const std::vector<Method>& methods) {
  std::string text;
  for (const Method each : methods) text += (text.empty() ? "" : ", ") + std::string(name_of(each));
  return text;
}

std::vector<Method> methods_of(Objective objective) {
  switch (objective) {
    case Objective::bottleneck:
      return {Method::automatic, Method::exhaustive, Method::branch_and_bound, Method::portfolio, Method::local};
    case Objective::hop_bytes:
      return {Method::automatic, Method::exhaustive, Method::branch_and_bound, Method::local};
    case Objective::distance:
      return {Method::automatic, Method::branch_and_bound, Method::multilevel, Method::local};
    case Objective::given:
      break;
  }
  return {Method::automatic, Method::exhaustive, Method::portfolio, Method::local};
}

}  // namespace

std::string_view name_of(Method method) {
  return names[static_cast<std::size_t>(method)].second;
}

Result<Method> method_of(const std::string& name) {
  std::vector<Method> all;
  for (const auto& [method, known] : names) {
    if (known == name) return method;
    all.push_back(method);
  }
  return bad_field("", "method", "'" + name + "'", listed(all));
}

Status check_method(Objective objective, Method method, const std::string& name) {
  const std::vector<Method> allowed = methods_of(objective);
  if (std::find(allowed.begin(), allowed.end(), method) != allowed.end()) return {};
  return bad_field("", "method", "'" + std::string(name_of(method)) + "' with objective " + name, listed(allowed));
}

std::string other_methods(Objective objective, Method method) {
  std::vector<Method> others = methods_of(objective);
  std::erase(others, method);
  return listed(others);
}

}  // namespace corewise::place
