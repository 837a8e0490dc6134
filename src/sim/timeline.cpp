// The texts that a timeline's events share, each kept once.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/timeline.hpp"

namespace corewise::sim {

Timeline::Track Timeline::track(std::string_view group, std::string_view name) {
  const auto next = static_cast<Track>(tracks_.size());
  const auto [found, made] = track_of_.try_emplace({std::string(group), std::string(name)}, next);
  if (made) tracks_.push_back({std::string(group), std::string(name)});
  return found->second;
}

Timeline::Kind Timeline::kind(std::string_view name, std::string_view label_a, std::string_view label_b,
                              std::string_view where) {
  const auto next = static_cast<Kind>(kinds_.size());
  KindKey key{name, label_a, label_b, where};
  const auto [found, made] = kind_of_.try_emplace(std::move(key), next);
  if (made) kinds_.push_back({std::string(name), std::string(label_a), std::string(label_b), std::string(where)});
  return found->second;
}

}  // namespace corewise::sim
