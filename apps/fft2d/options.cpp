// The command line of fft2d.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "../common/arguments.hpp"

namespace fft2d {
namespace {

using arguments::Option;
using arguments::read_number;
namespace overlap = corewise::overlap;

constexpr int largest_side = 1 << 20;
constexpr std::size_t most_at_once = 256;

bool read_size(std::string_view text, Problem& problem) {
  const auto sides = arguments::read_list(text, 'x', 1, largest_side);
  if (!sides || sides->size() != 2) return false;
  problem.rows = static_cast<std::size_t>((*sides)[0]);
  problem.columns = static_cast<std::size_t>((*sides)[1]);
  return problem.elements() <= std::size_t{1} << 30;
}

bool read_form(std::string_view text, std::string& form) {
  if (std::find(form_names.begin(), form_names.end(), text) == form_names.end()) return false;
  form = text;
  return true;
}

template <class Value, class Names>
bool read_named(std::string_view text, const Names& names, Value& out) {
  const auto value = overlap::named<Value>(names, text);
  if (value) out = *value;
  return value.has_value();
}

bool read_either(std::string_view text, std::string_view yes, std::string_view no, bool& out) {
  if (text != yes && text != no) return false;
  out = text == yes;
  return true;
}

bool read_link(std::string_view text, Options& o) {
  const std::size_t comma = text.find(',');
  return comma != std::string_view::npos && read_number(text.substr(0, comma), 0.0, 1e9, o.link_latency_us) &&
         read_number(text.substr(comma + 1), 0.0, 1e6, o.link_ns_per_byte);
}

bool read_path(std::string_view text, std::string& out) {
  out = text;
  return !text.empty();
}

std::vector<Option> problem_options(Options& o) {
  return {
      {"--size", "ROWSxCOLUMNS", "1 to 1048576 each, at most 2^30 elements (default 256x256)",
       [&o](auto text) { return read_size(text, o.problem); }},
      {"--form", "NAME", "serial, blocking, silent, nonblocking, dataflow or shared (default shared)",
       [&o](auto text) { return read_form(text, o.form); }},
      {"--order", "NAME", "order of the result: transposed (default) or natural",
       [&o](auto text) { return read_either(text, "natural", "transposed", o.problem.natural); }},
      {"--inverse", "", "the inverse transform, scaled by 1 / elements",
       [&o](auto) { return o.problem.inverse = true; }},
      {"--mask", "WIDTH", "multiply the result by a Gaussian of the distance from frequency 0: 0.01 to 1e6",
       [&o](auto text) { return read_number(text, 0.01, 1e6, o.problem.mask); }},
      {"--seed", "N", "of the input, 0 to 2^63 (default 1)",
       [&o](auto text) { return read_number<std::uint64_t>(text, 0, std::uint64_t{1} << 63, o.seed); }},
  };
}

std::vector<Option> flow_options(Options& o) {
  Settings& s = o.settings;
  return {
      {"--threads", "N", "threads of a rank that compute, 1 to 256 (default 1); dataflow and shared",
       [&o](auto text) { return read_number(text, 1, 256, o.threads); }},
      {"--role", "NAME", "dedicated: the communicator is one thread more; mixed: it is one of them (default mixed)",
       [&s](auto text) { return read_named(text, overlap::role_names, s.knobs.role); }},
      {"--shares", "NAME", "dynamic (default) or static",
       [&s](auto text) { return read_named(text, overlap::shares_names, s.knobs.shares); }},
      {"--lock", "NAME", "blocking (default) or spinning",
       [&s](auto text) { return read_named(text, overlap::lock_names, s.knobs.lock); }},
      {"--packer", "NAME", "who packs and transposes blocks: worker (default) or communicator",
       [&s](auto text) { return read_named(text, overlap::packer_names, s.knobs.packer); }},
      {"--transfers", "NAME", "dataflow: messages (default) or collectives",
       [&s](auto text) { return read_either(text, "collectives", "messages", s.collective); }},
      {"--row-blocks", "N", "dataflow: blocks of a rank's rows, 1 to 65536 (default 4 for each thread)",
       [&s](auto text) { return read_number<std::size_t>(text, 1, 65536, s.row_blocks); }},
      {"--rows-at-once", "N", "shared: rows of a pass that are turned together, 1 to 256 (default 16)",
       [&s](auto text) { return read_number<std::size_t>(text, 1, most_at_once, s.rows_at_once); }},
      {"--bind", "yes|no", "lock threads to processors (default yes)",
       [&o](auto text) { return read_either(text, "yes", "no", o.bind); }},
      {"--patience", "SECONDS", "without any progress, after which it fails; 0 (default): never",
       [&s](auto text) { return read_number(text, 0.0, 1e6, s.knobs.patience_s); }},
      {"--link", "US,NS", "a slower link: microseconds more for a message, nanoseconds more for a byte",
       [&o](auto text) { return read_link(text, o); }},
  };
}

std::vector<Option> run_options(Options& o) {
  return {
      {"--repeat", "N", "runs that are timed, 1 to 10000 (default 5), after one that is not",
       [&o](auto text) { return read_number(text, 1, 10000, o.repeat); }},
      {"--turns", "", "do a run for every line of standard input instead, until one says end, and print its time",
       [&o](auto) { return o.turns = true; }},
      {"--check", "", "the inverse gives the input again, and Parseval's sums agree",
       [&o](auto) { return o.check = true; }},
      {"--write", "FILE", "the result as complex doubles, rank after rank",
       [&o](auto text) { return read_path(text, o.write); }},
      {"--timeline", "FILE", "what rank 0 did when, as trace events for a browser's viewer",
       [&o](auto text) { return o.settings.knobs.timeline = read_path(text, o.timeline); }},
      {"--help", "", "this text", [&o](auto) { return o.help = true; }},
  };
}

std::vector<Option> table(Options& o) {
  std::vector<Option> all = problem_options(o);
  for (auto* more : {&flow_options, &run_options})
    for (Option& option : (*more)(o)) all.push_back(std::move(option));
  return all;
}

}  // namespace

std::optional<std::string> read_options(std::span<char* const> words, Options& options) {
  options.settings.knobs.role = overlap::Role::mixed;
  if (const auto error = arguments::parse(table(options), words)) return error;
  overlap::Knobs& knobs = options.settings.knobs;
  knobs.workers = options.threads - (knobs.role == overlap::Role::mixed ? 1 : 0);
  options.settings.wire = overlap::Wire(options.link_latency_us, options.link_ns_per_byte);
  if (options.check && options.problem.mask > 0) return "--check: found with --mask; allowed: one of them";
  if (options.check && options.form == "silent") return "--check: found with --form silent; its result is wrong";
  return std::nullopt;
}

std::string usage_text() {
  Options options;
  return arguments::usage("fft2d", table(options));
}

}  // namespace fft2d
