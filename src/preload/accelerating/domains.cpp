// The kernel's files about caches, nodes and sockets, and texts; see domains.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/domains.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/fnv.hpp"

namespace corewise::preload::accelerating {
namespace {

constexpr int kBits = 64;
constexpr int kMostIndices = 16, kMostNodes = 256;

/// A short file's text; empty where there is none.
std::string text_of(const std::string& path) {
  std::string text(4096, '\0');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

/// The number with which a text begins, which is taken off.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// Whether `cpu` is in a list as "0-3,8-11".
bool has(std::string_view list, int cpu) {
  while (const std::optional<int> begin = take_number(list)) {
    std::optional<int> end = begin;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      end = take_number(list);
    }
    if (!end) return false;
    if (*begin <= cpu && cpu <= *end) return true;
    if (!list.starts_with(',')) return false;
    list.remove_prefix(1);
  }
  return false;
}

std::uint64_t complex_of(const std::string& cpu_folder, int cpu) {
  for (int index = 0; index < kMostIndices; ++index) {
    const std::string cache = cpu_folder + "/cache/index" + std::to_string(index);
    const std::string level = text_of(cache + "/level");
    if (level.empty()) break;
    if (!level.starts_with('3')) continue;
    const std::string list = text_of(cache + "/shared_cpu_list");
    return has(list, cpu) ? fnv(list) | 1 : 0;  // CPUs that share a cache have the same list
  }
  return 0;
}

/// Numbers of nodes may have gaps, and some nodes no CPUs.
std::uint64_t node_of(const std::string& root, int cpu) {
  for (int node = 0; node < kMostNodes; ++node) {
    if (has(text_of(root + "/node/node" + std::to_string(node) + "/cpulist"), cpu))
      return static_cast<std::uint64_t>(node) + 1;
  }
  return 0;
}

std::uint64_t socket_of(const std::string& cpu_folder) {
  const std::string number = text_of(cpu_folder + "/topology/physical_package_id");
  std::string_view text = number;
  const std::optional<int> socket = take_number(text);
  return socket ? static_cast<std::uint64_t>(*socket) + 1 : 0;
}

bool is_none(const Domains& domains) {
  return std::ranges::all_of(domains, [](std::uint64_t each) { return each == 0; });
}

/// The domains that all CPUs of a mask have in common, by those that `of` says of one.
template <class Of>
Domains common(std::span<const std::uint64_t> mask, Of of) {
  std::optional<Domains> all;
  for (int cpu = 0; cpu < static_cast<int>(mask.size()) * kBits; ++cpu) {
    if ((mask[static_cast<std::size_t>(cpu / kBits)] >> (cpu % kBits) & 1) == 0) continue;
    const std::optional<Domains> own = of(cpu);
    if (!own) continue;
    if (!all) all = own;
    for (std::size_t kind = 0; kind < kDomainKinds; ++kind)
      if ((*all)[kind] != (*own)[kind]) (*all)[kind] = 0;
    if (is_none(*all)) break;
  }
  return all.value_or(Domains{});
}

/// Calls `visit` with each part of a text and its number.
template <class Visit>
void for_parts(std::string_view text, char between, Visit visit) {
  for (std::size_t number = 0;; ++number) {
    const std::size_t end = std::min(text.find(between), text.size());
    visit(number, text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

std::optional<Domains> told_of(int cpu, std::string_view text) {
  Domains own{};
  for_parts(text, '/', [&](std::size_t kind, std::string_view domains) {
    if (kind >= kDomainKinds) return;
    for_parts(domains, '|', [&](std::size_t domain, std::string_view list) {
      if (has(list, cpu)) own[kind] = domain + 1;
    });
  });
  return is_none(own) ? std::nullopt : std::optional(own);
}

}  // namespace

Domains domains_of(std::span<const std::uint64_t> mask, const std::string& root) {
  return common(mask, [&root](int cpu) -> std::optional<Domains> {
    const std::string folder = root + "/cpu/cpu" + std::to_string(cpu);
    return Domains{complex_of(folder, cpu), node_of(root, cpu), socket_of(folder)};
  });
}

Domains told_domains_of(std::span<const std::uint64_t> mask, std::string_view text) {
  return common(mask, [text](int cpu) { return told_of(cpu, text); });
}

Domains groups_of(int rank, std::string_view sizes) {
  Domains own{};
  for_parts(sizes, '/', [&](std::size_t kind, std::string_view text) {
    const int size = take_number(text).value_or(0);
    if (kind < kDomainKinds && size > 0) own[kind] = static_cast<std::uint64_t>(rank / size) + 1;
  });
  return own;
}

std::vector<std::size_t> useful_kinds(std::span<const Domains> ranks) {
  std::vector<std::size_t> kinds;
  std::size_t before = ranks.size();
  for (std::size_t kind = 0; kind < kDomainKinds; ++kind) {
    std::vector<std::uint64_t> domains;
    for (const Domains& each : ranks) domains.push_back(each[kind]);
    if (std::ranges::count(domains, 0U) > 0) continue;
    std::ranges::sort(domains);
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    if (domains.size() < 2 || domains.size() >= before) continue;
    kinds.push_back(kind);
    before = domains.size();
  }
  return kinds;
}

}  // namespace corewise::preload::accelerating
