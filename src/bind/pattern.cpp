// Room pattern for Python: Pattern and Phase with NumPy arrays in and out, the file formats' texts, the generators
// and the recogniser. Arrays are coordinate lists (sender, receiver, bytes, messages) or dense uint64 matrices.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/pattern.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "pattern/files.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using pattern::Message;
using pattern::Pattern;
using pattern::Phase;

/// What `Pattern.from_phases` takes per phase.
struct Coordinates {
  ArrayIn<std::int32_t> senders;
  ArrayIn<std::int32_t> receivers;
  ArrayIn<std::uint64_t> bytes;
  ArrayIn<std::uint64_t> messages;
};

Phase to_phase(std::string name, const Coordinates& from) {
  const std::size_t count = from.senders.size();
  if (from.receivers.size() != count || from.bytes.size() != count || from.messages.size() != count) {
    raise(invalid_input("phase '" + name + "': senders, receivers, bytes and messages differ in length"));
  }
  Phase phase{std::move(name), {}};
  phase.messages.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    phase.messages.push_back(
        {from.senders.data()[i], from.receivers.data()[i], from.bytes.data()[i], from.messages.data()[i]});
  }
  return phase;
}

Pattern checked(Pattern made) {
  require(pattern::check(made, made.name));
  return made;
}

Pattern from_coordinates(std::string name, int ranks, ArrayIn<std::int32_t> senders,
                         ArrayIn<std::int32_t> receivers, ArrayIn<std::uint64_t> bytes,
                         ArrayIn<std::uint64_t> messages) {
  Phase phase = to_phase("all", {senders, receivers, bytes, messages});
  return checked({std::move(name), ranks, {std::move(phase)}});
}

Pattern from_phases(std::string name, int ranks, const nb::list& phases) {
  Pattern made{std::move(name), ranks, {}};
  for (const nb::handle item : phases) {
    const auto part = nb::cast<nb::tuple>(item);
    if (part.size() != 5) raise(invalid_input("a phase is (name, senders, receivers, bytes, messages)"));
    made.phases.push_back(to_phase(
        nb::cast<std::string>(part[0]),
        {nb::cast<ArrayIn<std::int32_t>>(part[1]), nb::cast<ArrayIn<std::int32_t>>(part[2]),
         nb::cast<ArrayIn<std::uint64_t>>(part[3]), nb::cast<ArrayIn<std::uint64_t>>(part[4])}));
  }
  return checked(std::move(made));
}

Pattern from_dense(std::string name, MatrixIn<std::uint64_t> bytes) {
  const std::size_t rows = bytes.shape(0);
  if (rows != bytes.shape(1) || rows == 0) {
    raise(bad_field(name, "matrix", std::to_string(rows) + " rows and " + std::to_string(bytes.shape(1)) + " columns",
                    "a square matrix"));
  }
  Phase phase{"all", {}};
  for (std::size_t i = 0; i < rows * rows; ++i) {
    const std::uint64_t size_bytes = bytes.data()[i];
    if (size_bytes > 0) phase.messages.push_back({static_cast<int>(i / rows), static_cast<int>(i % rows), size_bytes, 1});
  }
  return checked({std::move(name), static_cast<int>(rows), {std::move(phase)}});
}

Pattern from_text(const std::string& text, const std::string& source) {
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return pattern::from_text(text, source);
  }());
}

template <class T>
ArrayOut<T> column(const std::vector<Message>& messages, T (*field)(const Message&)) {
  std::vector<T> values;
  values.reserve(messages.size());
  for (const Message& message : messages) values.push_back(field(message));
  return to_array(std::move(values));
}

/// (senders int32, receivers int32, bytes uint64, messages uint64)
nb::tuple coordinates(const std::vector<Message>& messages) {
  return nb::make_tuple(
      column<std::int32_t>(messages, [](const Message& message) { return message.from; }),
      column<std::int32_t>(messages, [](const Message& message) { return message.to; }),
      column<std::uint64_t>(messages, [](const Message& message) { return message.bytes; }),
      column<std::uint64_t>(messages, [](const Message& message) { return message.count; }));
}

MatrixOut<std::uint64_t> dense_bytes(const Pattern& given) {
  const auto ranks = static_cast<std::size_t>(given.ranks);
  return to_matrix(pattern::sum(given).dense_bytes(), ranks, ranks);
}

MatrixOut<std::uint64_t> dense_messages(const Pattern& given) {
  const auto ranks = static_cast<std::size_t>(given.ranks);
  std::vector<std::uint64_t> table(ranks * ranks, 0);
  for (const Message& message : pattern::sum(given).entries) {
    table[static_cast<std::size_t>(message.from) * ranks + static_cast<std::size_t>(message.to)] = message.count;
  }
  return to_matrix(std::move(table), ranks, ranks);
}

void bind_class(nb::module_& module) {
  const char* arrays =
      "senders, receivers : ndarray of int32, shape (n,)\n"
      "bytes, messages : ndarray of uint64, shape (n,)";
  nb::class_<Phase>(module, "Phase", "Messages that a program exchanges in one step; their order has no meaning.")
      .def_ro("name", &Phase::name)
      .def("coordinates", [](const Phase& phase) { return coordinates(phase.messages); }, arrays);
  nb::class_<Pattern>(module, "Pattern", "Who sends how many bytes to whom, in ordered phases.")
      .def_static("from_coordinates", &from_coordinates, "name"_a, "ranks"_a, "senders"_a, "receivers"_a, "bytes"_a,
                  "messages"_a, "A pattern of one phase from coordinate arrays of equal length.")
      .def_static("from_phases", &from_phases, "name"_a, "ranks"_a, "phases"_a,
                  "Ordered phases, each a tuple (name, senders, receivers, bytes, messages).")
      .def_static("from_dense", &from_dense, "name"_a, "matrix"_a,
                  "A pattern of one phase from bytes sent by row to column: ndarray of uint64, shape (ranks, ranks).")
      .def_static("from_text", &from_text, "text"_a, "source"_a,
                  "Reads JSON, CSV or Matrix Market, told apart by how the text begins; `source` names it in errors.")
      .def_ro("name", &Pattern::name)
      .def_ro("ranks", &Pattern::ranks)
      .def_ro("phases", &Pattern::phases, "The phases in order (a fresh list).")
      .def("summed", [](const Pattern& given) { return pattern::as_pattern(pattern::sum(given), given.name); },
           "The same messages in one phase.")
      .def("coordinates", [](const Pattern& given) { return coordinates(pattern::sum(given).entries); },
           "All phases summed, sorted by sender and receiver, as four arrays:\n\n"
           "senders, receivers : ndarray of int32, shape (n,)\nbytes, messages : ndarray of uint64, shape (n,)")
      .def("matrix", &dense_bytes, "Bytes from row to column, phases summed: ndarray of uint64, shape (ranks, ranks).")
      .def("message_matrix", &dense_messages,
           "Messages from row to column, phases summed: ndarray of uint64, shape (ranks, ranks).")
      .def("to_json", &pattern::to_json, "The pattern as JSON text: exact, phases included.")
      .def("to_csv", &pattern::to_csv, "The pattern as CSV text.")
      .def("to_matrix_market", [](const Pattern& given) { return pattern::to_matrix_market(pattern::sum(given)); },
           "The summed bytes in Matrix Market coordinate format; counts and phases are lost.")
      .def("__repr__", [](const Pattern& given) {
        return "Pattern('" + given.name + "', " + std::to_string(given.ranks) + " ranks)";
      });
}

}  // namespace

void bind_pattern(nb::module_& module) { bind_class(module); }

}  // namespace corewise::bind
