// Domains: which CPUs of this host are near each other. The kernel says it: those of a core complex share the cache
// of level 3, then come those of a NUMA node, and those of a socket. Or a text does, of any machine. Ranks that are
// bound inside one domain each can do collectives by levels (levels.hpp). Groups of successive ranks count as
// domains, too. A text that is none gives no domains. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::preload::accelerating {

/// From the smallest on. The kernel's are three; of a text's further ones nothing is known.
inline constexpr std::size_t kDomainKinds = 8;

/// Which domain of each kind has all of a rank's CPUs, as a number that is the same on all ranks; 0: they are of
/// several, or nobody says.
using Domains = std::array<std::uint64_t, kDomainKinds>;

/// Of the CPUs in `mask`, bit c of all its words being CPU c, by the files under `root`, which is
/// /sys/devices/system but in tests.
Domains domains_of(std::span<const std::uint64_t> mask, const std::string& root);

/// The same by a text: kinds between `/`, domains between `|`, their CPUs as the kernel writes them. CPUs that it
/// does not name do not count. `0-3|4-7|8-11|12-15/0-7|8-15`: complexes of 4 CPUs, and sockets of two complexes.
Domains told_domains_of(std::span<const std::uint64_t> mask, std::string_view text);

/// The groups of a rank, by how many successive ranks each has: kinds between `/`.
Domains groups_of(int rank, std::string_view sizes);

/// The kinds whose domains make levels for these ranks, from the smallest on: every rank has one, they are fewer
/// than the groups of the kind before (or than the ranks), and there are two or more. None for ranks that are not
/// bound, and on a host with one of each.
std::vector<std::size_t> useful_kinds(std::span<const Domains> ranks);

}  // namespace corewise::preload::accelerating
