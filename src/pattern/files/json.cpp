// The JSON document of a pattern, the exact one of its file formats: what to_json writes, from_json returns
// unchanged, 64-bit numbers included.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/json.hpp"

#include "pattern/files/files.hpp"

namespace corewise::pattern {
namespace {

constexpr std::string_view format_name = "corewise-pattern";
constexpr int newest_version = 1;
constexpr std::string_view message_shape = "[from, to, bytes] or [from, to, bytes, count]";

Result<Message> read_message(const boost::json::value& value, const json::Fields& in, const std::string& path,
                             int ranks) {
  const bool fits = value.is_array() && (value.get_array().size() == 3 || value.get_array().size() == 4);
  if (!fits) return bad_field(in.source(), path, json::describe(value), message_shape);
  const auto& item = value.get_array();
  const auto from = json::as_integer(item[0], in.source(), json::join(path, std::size_t{0}), 0, ranks - 1);
  if (!from.ok()) return from.status();
  const auto to = json::as_integer(item[1], in.source(), json::join(path, std::size_t{1}), 0, ranks - 1);
  if (!to.ok()) return to.status();
  const auto bytes = json::as_unsigned(item[2], in.source(), json::join(path, std::size_t{2}));
  if (!bytes.ok()) return bytes.status();
  Message message{static_cast<int>(from.value()), static_cast<int>(to.value()), bytes.value(), 1};
  if (item.size() == 4) {
    const auto count = json::as_unsigned(item[3], in.source(), json::join(path, std::size_t{3}));
    if (!count.ok()) return count.status();
    message.count = count.value();
  }
  return message;
}

Result<Phase> read_phase(const boost::json::value& value, std::string_view source, const std::string& path,
                         int ranks) {
  json::Fields in(value, std::string(source), path);
  Phase phase;
  phase.name = in.text("name");
  const auto& messages = in.array("messages");
  phase.messages.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size() && in.status().ok(); ++i) {
    auto message = read_message(messages[i], in, json::join(in.path_of("messages"), i), ranks);
    in.fail(message.status());
    if (message.ok()) phase.messages.push_back(message.value());
  }
  if (auto status = in.finish(); !status.ok()) return status;
  return phase;
}

boost::json::array written(const Message& message) {
  boost::json::array item{message.from, message.to, message.bytes};
  if (message.count != 1) item.emplace_back(message.count);
  return item;
}

boost::json::object written(const Phase& phase) {
  boost::json::array messages;
  messages.reserve(phase.messages.size());
  for (const Message& message : phase.messages) messages.emplace_back(written(message));
  return {{"name", phase.name}, {"messages", std::move(messages)}};
}

}  // namespace

Result<Pattern> from_json(std::string_view text, std::string_view source) {
  const auto document = json::parse(text, source);
  if (!document.ok()) return document.status();
  json::Fields in(document.value(), std::string(source));
  in.header(format_name, newest_version);
  Pattern pattern;
  pattern.name = in.text("name");
  pattern.ranks = static_cast<int>(in.integer("ranks", 1, max_ranks));
  const auto& phases = in.array("phases");
  for (std::size_t i = 0; i < phases.size() && in.status().ok(); ++i) {
    auto phase = read_phase(phases[i], source, json::join("phases", i), pattern.ranks);
    in.fail(phase.status());
    if (phase.ok()) pattern.phases.push_back(std::move(phase).value());
  }
  if (auto status = in.finish(); !status.ok()) return status;
  if (auto status = check(pattern, std::string(source)); !status.ok()) return status;
  return pattern;
}

std::string to_json(const Pattern& pattern) {
  boost::json::array phases;
  for (const Phase& phase : pattern.phases) phases.emplace_back(written(phase));
  return json::pretty(boost::json::object{{"format", format_name},
                                          {"version", newest_version},
                                          {"name", pattern.name},
                                          {"ranks", pattern.ranks},
                                          {"phases", std::move(phases)}});
}

}  // namespace corewise::pattern
