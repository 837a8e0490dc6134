// Domains: which CPUs of this host are near each other, as the kernel says: those of a core complex share the cache
// of level 3, then come those of a NUMA node, and those of a socket. Ranks that are bound inside one domain each
// can do collectives by levels (levels.hpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace corewise::preload::accelerating {

/// From the smallest on.
inline constexpr std::size_t kDomainKinds = 3;

/// Which domain of each kind has all of a rank's CPUs, as a number that is the same on all ranks; 0: they are of
/// several, or the kernel does not say.
using Domains = std::array<std::uint64_t, kDomainKinds>;

/// Of the CPUs in `mask`, bit c of all its words being CPU c, by the files under `root`, which is
/// /sys/devices/system but in tests.
Domains domains_of(std::span<const std::uint64_t> mask, const std::string& root);

/// The kinds whose domains make levels for these ranks, from the smallest on: every rank has one, they are fewer
/// than the groups of the kind before (or than the ranks), and there are two or more. None for ranks that are not
/// bound, and on a host with one of each.
std::vector<std::size_t> useful_kinds(std::span<const Domains> ranks);

}  // namespace corewise::preload::accelerating
