// Status and Result: how every room reports an error.
//
// Contract for all rooms: the function that first decides an error writes the message, callers pass it on
// unchanged; an output exists only on success; nothing here prints, exits or throws. A message about user
// input names the source (file), the field, the value found and the values allowed (`bad_field`).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace corewise {

enum class Code {
  ok,
  invalid_input,  ///< what the user gave is wrong: the command line exits with 2
  io,             ///< the operating system refused: the command line exits with 1
  unsupported,    ///< a capability that this host or build lacks
};

/// Outcome of an operation that returns nothing else.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const { return code_ == Code::ok; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {}

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  /// Requires ok().
  [[nodiscard]] T& value() & { return std::get<T>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<T>(state_); }
  [[nodiscard]] T&& value() && { return std::get<T>(std::move(state_)); }
  /// The failure; an ok Status when a value is held.
  [[nodiscard]] Status status() const { return ok() ? Status{} : std::get<Status>(state_); }

 private:
  std::variant<T, Status> state_;
};

inline Status invalid_input(std::string message) {
  return {Code::invalid_input, std::move(message)};
}

/// A text that came from the user, without its middle where it is longer than `most` bytes; cut between characters.
inline std::string shortened(std::string_view text, std::size_t most = 80) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  std::size_t head = most / 2;
  while (head > 0 && continues(head)) --head;
  std::size_t tail = text.size() - most / 2;
  while (tail < text.size() && continues(tail)) ++tail;
  return std::string(text.substr(0, head)).append("...").append(text.substr(tail));
}

/// "SOURCE: field 'FIELD': found FOUND, allowed: ALLOWED". An empty source is left out. Short, whatever was found.
inline Status bad_field(std::string_view source, std::string_view field, std::string_view found,
                        std::string_view allowed) {
  std::string text;
  if (!source.empty()) text.append(source).append(": ");
  text.append("field '").append(shortened(field)).append("': found ").append(shortened(found));
  text.append(", allowed: ").append(shortened(allowed, 400));
  return invalid_input(std::move(text));
}

}  // namespace corewise
