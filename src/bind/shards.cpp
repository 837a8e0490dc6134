// The analysis of a run in parts for Python: parts are bytes, so that any executor can carry them.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/shards/shards.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/failure.hpp"
#include "bind/rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::RunQuestion;
using profile::ShardMerge;

RunQuestion question_of(std::optional<int> calls, std::int64_t ended_ns) {
  RunQuestion question;
  question.calls = calls.has_value();
  question.calls_rank = calls.value_or(profile::kEveryRank);
  question.ended_realtime_ns = ended_ns;
  return question;
}

nb::bytes to_python(const std::string& part) {
  return nb::bytes(part.data(), part.size());
}

std::string_view from_python(const nb::bytes& part) {
  return {static_cast<const char*>(part.data()), part.size()};
}

nb::bytes read_shard(const std::string& directory, const std::string& shown, const std::vector<std::string>& files,
                     std::optional<int> calls, std::int64_t ended_ns) {
  std::string part;
  {
    const nb::gil_scoped_release release;
    part = profile::read_shard({directory, shown}, files, question_of(calls, ended_ns));
  }
  return to_python(part);
}

nb::bytes read_waits(const std::string& directory, const std::string& shown, int share, int shares) {
  const auto number = [](int value) { return "'" + std::to_string(value) + "'"; };
  if (shares < 1 || shares > profile::kWaitGroups)
    require(bad_field("", "shares", number(shares), "1 to " + std::to_string(profile::kWaitGroups)));
  if (share < 0 || share >= shares)
    require(bad_field("", "share", number(share), "0 to " + std::to_string(shares - 1)));
  return to_python(without_gil([&] { return profile::read_waits({directory, shown}, {share, shares}); }));
}

}  // namespace

void bind_shards(nb::module_& module) {
  module.def(
      "cut_into_shards",
      [](const std::string& directory, std::uint64_t shard_bytes) {
        return unwrap(profile::cut_into_shards(directory, shard_bytes));
      },
      "directory"_a, "shard_bytes"_a,
      "The rank files of a profile in consecutive groups, by their paths below the folder.");
  module.def("read_shard", &read_shard, "directory"_a, "shown"_a, "files"_a, "calls"_a = nb::none(),
             "ended_ns"_a = 0,
             "The part of these files, for ShardMerge.add. `shown` is what messages call the folder; `calls` and "
             "`ended_ns` are as for read_run.");
  module.def("read_waits", &read_waits, "directory"_a, "shown"_a, "share"_a = 0, "shares"_a = 1,
             "The part that has one of `shares` shares of the waits of all worlds, for ShardMerge.add_waits.");
  module.attr("WAIT_SHARES") = profile::kWaitGroups;
  nb::class_<ShardMerge>(module, "ShardMerge", "Parts of a run, brought together to what read_run gives.")
      .def(
          "__init__",
          [](ShardMerge* self, std::optional<int> calls, std::int64_t ended_ns) {
            new (self) ShardMerge(question_of(calls, ended_ns));
          },
          "calls"_a = nb::none(), "ended_ns"_a = 0)
      .def(
          "add",
          [](ShardMerge& self, std::size_t shard, const nb::bytes& part) {
            require(self.add(shard, from_python(part)));
          },
          "shard"_a, "part"_a, "The part of shard number `shard`; one that came before counts once.")
      .def(
          "add_waits",
          [](ShardMerge& self, std::size_t share, const nb::bytes& part) {
            require(self.add_waits(share, from_python(part)));
          },
          "share"_a, "part"_a, "The part of share number `share` of the waits; one that came before counts once.")
      .def(
          "finish", [](ShardMerge& self) { return unwrap(self.finish()); },
          "What the parts say together. Once, after the last one.");
}

}  // namespace corewise::bind
