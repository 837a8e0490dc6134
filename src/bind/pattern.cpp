// Room pattern for Python: Pattern and Phase with NumPy arrays in and out, the file formats' texts, the generators
// and the recogniser. Arrays are coordinate lists (sender, receiver, bytes, messages) or dense uint64 matrices.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/pattern.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "pattern/files/files.hpp"
#include "pattern/generators/generate.hpp"
#include "pattern/recogniser/recognise.hpp"
#include "pattern/recogniser/sequence.hpp"
#include "pattern/recogniser/structure.hpp"
#include "pattern/recogniser/superpose.hpp"

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
    made.phases.push_back(
        to_phase(nb::cast<std::string>(part[0]),
                 {nb::cast<ArrayIn<std::int32_t>>(part[1]), nb::cast<ArrayIn<std::int32_t>>(part[2]),
                  nb::cast<ArrayIn<std::uint64_t>>(part[3]), nb::cast<ArrayIn<std::uint64_t>>(part[4])}));
  }
  return checked(std::move(made));
}

Pattern from_dense(std::string name, MatrixIn<std::uint64_t> bytes) {
  const std::size_t rows = bytes.shape(0);
  if (rows != bytes.shape(1) || rows == 0) {
    raise(bad_field(name, "matrix",
                    std::to_string(rows) + " rows and " + std::to_string(bytes.shape(1)) + " columns",
                    "a square matrix"));
  }
  Phase phase{"all", {}};
  for (std::size_t i = 0; i < rows * rows; ++i) {
    const std::uint64_t size_bytes = bytes.data()[i];
    if (size_bytes > 0)
      phase.messages.push_back({static_cast<int>(i / rows), static_cast<int>(i % rows), size_bytes, 1});
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
CoordinatesOut coordinates(const std::vector<Message>& messages) {
  return nb::make_tuple(column<std::int32_t>(messages, [](const Message& message) { return message.from; }),
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
      .def_static(
          "from_dense", &from_dense, "name"_a, "matrix"_a,
          "A pattern of one phase from bytes sent by row to column: ndarray of uint64, shape (ranks, ranks).")
      .def_static(
          "from_text", &from_text, "text"_a, "source"_a,
          "Reads JSON, CSV or Matrix Market, told apart by how the text begins; `source` names it in errors.")
      .def_ro("name", &Pattern::name)
      .def_ro("ranks", &Pattern::ranks)
      .def_ro("phases", &Pattern::phases, "The phases in order (a fresh list).")
      .def(
          "summed", [](const Pattern& given) { return pattern::as_pattern(pattern::sum(given), given.name); },
          "The same messages in one phase.")
      .def(
          "coordinates", [](const Pattern& given) { return coordinates(pattern::sum(given).entries); },
          "All phases summed, sorted by sender and receiver, as four arrays:\n\n"
          "senders, receivers : ndarray of int32, shape (n,)\nbytes, messages : ndarray of uint64, shape (n,)")
      .def("matrix", &dense_bytes,
           "Bytes from row to column, phases summed: ndarray of uint64, shape (ranks, ranks).")
      .def("message_matrix", &dense_messages,
           "Messages from row to column, phases summed: ndarray of uint64, shape (ranks, ranks).")
      .def("to_json", &pattern::to_json, "The pattern as JSON text: exact, phases included.")
      .def("to_csv", &pattern::to_csv, "The pattern as CSV text.")
      .def(
          "to_matrix_market", [](const Pattern& given) { return pattern::to_matrix_market(pattern::sum(given)); },
          "The summed bytes in Matrix Market coordinate format; counts and phases are lost.")
      .def("__repr__", [](const Pattern& given) {
        return "Pattern('" + given.name + "', " + std::to_string(given.ranks) + " ranks)";
      });
}

using Given = std::map<std::string, std::string>;

Pattern generate(const std::string& family, const Given& given) {
  pattern::Parameters parameters;
  for (const auto& [name, value] : given) parameters.push_back({name, value});
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return pattern::generate(family, parameters);
  }());
}

void bind_generators(nb::module_& module) {
  using pattern::Family;
  using pattern::ParameterInfo;
  nb::class_<ParameterInfo>(module, "GeneratorParameter", "One parameter of a pattern generator.")
      .def_prop_ro("name", [](const ParameterInfo& info) { return std::string(info.name); })
      .def_prop_ro(
          "fallback", [](const ParameterInfo& info) { return std::string(info.fallback); },
          "The value when it is not given.")
      .def_prop_ro("meaning", [](const ParameterInfo& info) { return std::string(info.meaning); })
      .def_prop_ro("allowed", &pattern::allowed_values, "The values it takes, in words.");
  nb::class_<Family>(module, "Generator", "A family of patterns that `generate` makes.")
      .def_prop_ro("name", [](const Family& family) { return std::string(family.name); })
      .def_prop_ro("summary", [](const Family& family) { return std::string(family.summary); })
      .def_prop_ro("parameters", [](const Family& family) {
        return std::vector<ParameterInfo>(family.parameters.begin(), family.parameters.end());
      });
  module.def(
      "generators",
      [] {
        const auto all = pattern::families();
        return std::vector<Family>(all.begin(), all.end());
      },
      "Every generator, in the order in which they are listed to users.");
  module.def("generate", &generate, "family"_a, "parameters"_a,
             "Makes the pattern of a family; `parameters` maps names to values as a user writes them, e.g.\n"
             "``{'dims': '4x2x2', 'bytes': '64 KiB'}``. Those left out take their fallbacks.");
}

std::vector<pattern::Match> recognise(const Pattern& given, double least_degree) {
  const nb::gil_scoped_release release;
  return pattern::recognise(pattern::sum(given), least_degree);
}

void bind_recogniser(nb::module_& module) {
  using pattern::Match;
  nb::class_<Match>(module, "Match", "A template that a communication matrix resembles.")
      .def_ro("family", &Match::family, "Name of the generator.")
      .def_ro("label", &Match::label, "For people, e.g. ``3D halo 4x2x2, periodic``.")
      .def_ro("dims", &Match::dims, "Process grid, last axis fastest; empty where the family has none.")
      .def_ro("stencil", &Match::stencil, "Of a 2D or 3D halo: ``faces``, ``faces+edges``, ...; else empty.")
      .def_prop_ro(
          "periodic",
          [](const Match& match) {
            std::vector<std::string> words;
            for (const pattern::Wrap wrap : match.periodic) words.emplace_back(pattern::wrap_name(wrap));
            return words;
          },
          "Per axis of a halo: whether it wraps around.")
      .def_ro("degree", &Match::degree, "Degree of match in [0, 1].")
      .def_ro("volumes_fit", &Match::volumes_fit, "Whether pairs that should carry alike do.")
      .def_prop_ro(
          "parameters",
          [](const Match& match) {
            Given given;
            for (const pattern::Parameter& parameter : match.parameters) given[parameter.name] = parameter.value;
            return given;
          },
          "What `generate` takes to make the template.");
  module.attr("CONVINCING_DEGREE") = pattern::convincing_degree;
  module.def("recognise", &recognise, "pattern"_a, "least_degree"_a = 0.25,
             "Templates that the summed matrix resembles, best first.");
  module.def("headline", nb::overload_cast<const std::vector<Match>&>(&pattern::headline), "matches"_a,
             "The best match's label, or ``none`` where none is convincing.");
}

pattern::Naming name_pattern(const Pattern& given, int most_components) {
  const nb::gil_scoped_release release;
  const pattern::Matrix matrix = pattern::sum(given);
  return most_components == 1 ? pattern::name_one(matrix) : pattern::name(matrix, most_components);
}

std::vector<pattern::Step> name_phases(const Pattern& given) {
  const nb::gil_scoped_release release;
  return pattern::name_phases(given);
}

void bind_naming(nb::module_& module) {
  using pattern::Component;
  using pattern::Naming;
  using pattern::Step;
  nb::class_<Component>(module, "Component", "One of the templates that a matrix is made of.")
      .def_ro("match", &Component::match, "Its degree of match leaves foreign pairs out where there are several.")
      .def_ro("positions", &Component::positions,
              "Of every rank, its number in the template; empty where ranks are their own numbers.")
      .def_ro("bytes", &Component::bytes, "Bytes that it explains.")
      .def_ro("share", &Component::share, "Of all bytes between different ranks.");
  nb::class_<Naming>(module, "Naming", "What a matrix is made of.")
      .def_ro("components", &Naming::components, "Largest share first.")
      .def_ro("total_bytes", &Naming::total_bytes, "Between different ranks.")
      .def_ro("rest_bytes", &Naming::rest_bytes, "Unexplained.")
      .def_ro("random_sparse", &Naming::random_sparse, "Whether the rest is most of it and looks like chance.")
      .def_ro("mean_degree", &Naming::mean_degree, "Receivers per rank of a random sparse rest.")
      .def_prop_ro(
          "label", [](const Naming& naming) { return pattern::headline(naming); },
          "All components, joined by `` + ``; ``none`` where there is no name.");
  nb::class_<Step>(module, "Step", "One or several phases of a pattern under one name.")
      .def_ro("times", &Step::times, "How often it stands in a row.")
      .def_ro("label", &Step::label, "Empty when `parts` repeat.")
      .def_ro("degree", &Step::degree, "Least degree of match of what it holds; 0 without a name.")
      .def_ro("first", &Step::first, "Number of its first phase.")
      .def_ro("phases", &Step::phases, "Phases covered by all its times.")
      .def_ro("parts", &Step::parts, "What is repeated.");
  module.def("name_pattern", &name_pattern, "pattern"_a, "most_components"_a = 4,
             "Decomposes the summed matrix into superposed templates, relabelled ranks and noise allowed.");
  module.def("name_phases", &name_phases, "pattern"_a, "Names the phases in their order, repeats folded.");
  module.def("sequence_text", &pattern::sequence_text, "steps"_a, "The steps as one line.");
}

}  // namespace

void bind_pattern(nb::module_& module) {
  bind_class(module);
  bind_generators(module);
  bind_recogniser(module);
  bind_naming(module);
}

}  // namespace corewise::bind
