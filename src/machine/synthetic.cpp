// Machines from a short text, so that a test or a curious user can invent one: the shape is stated, the speeds are
// nominal. One word before the colon per level, "mesh:6x4 core:2"; the first word says which family it is (table at
// the bottom).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "machine/fabric.hpp"
#include "machine/nominal.hpp"

namespace corewise::machine {
namespace {

constexpr std::string_view kExamples =
    "ring:8, mesh:6x4 core:2, torus:4x4, flat:16, or tree levels from outermost such as pack:2 l3:4 core:8";

/// "mesh:6x4" as {"mesh", {6, 4}}.
struct Word {
  std::string name;
  std::vector<int> numbers;
};

/// The text being read; `fail` makes its errors.
struct Text {
  std::string source;  ///< "synthetic machine 'ring:8'"
  std::vector<Word> words;

  [[nodiscard]] Status fail(std::string_view field, std::string_view found, std::string_view allowed) const {
    return bad_field(source, field, found, allowed);
  }
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || value < 1 || value > kMaxUnits) return std::nullopt;
  return value;
}

Result<Word> parse_word(const Text& text, std::string_view piece) {
  const std::size_t colon = piece.find(':');
  if (colon == std::string_view::npos) return text.fail(piece, "no ':'", kExamples);
  Word word{std::string(piece.substr(0, colon)), {}};
  for (const std::string_view number : split(piece.substr(colon + 1), 'x')) {
    const auto value = parse_count(number);
    if (!value) {
      return text.fail(word.name, "'" + std::string(number) + "'",
                       "whole numbers from 1 to " + std::to_string(kMaxUnits));
    }
    word.numbers.push_back(*value);
  }
  return word;
}

Result<Text> parse_text(std::string_view text) {
  Text parsed{"synthetic machine '" + std::string(text) + "'", {}};
  for (const std::string_view piece : split(text, ' ')) {
    if (piece.empty()) continue;
    auto word = parse_word(parsed, piece);
    if (!word.ok()) return word.status();
    parsed.words.push_back(std::move(word).value());
  }
  if (parsed.words.empty()) return parsed.fail("text", "nothing", kExamples);
  return parsed;
}

/// The most units of the family that the first word names.
int most_units(const Text& text) {
  const std::string& family = text.words[0].name;
  return family == "ring" || family == "mesh" || family == "torus" ? kMaxTabledUnits : kMaxUnits;
}

/// Numbers per word and in all, before anything of that size is built.
Status check_size(const Text& text) {
  const int most = most_units(text);
  std::int64_t units = 1;
  for (const Word& word : text.words) {
    for (const int number : word.numbers) {
      units *= number;
      if (units > most) {
        return text.fail(word.name, "more than " + std::to_string(most) + " units",
                         "at most " + std::to_string(most));
      }
    }
  }
  return {};
}

/// The first word has 1 to `most` numbers; a second may only be "core:N", the units per stop.
Status check_shape(const Text& text, std::size_t most) {
  const Word& first = text.words[0];
  if (first.numbers.size() > most) {
    return text.fail(first.name, std::to_string(first.numbers.size()) + " numbers",
                     "at most " + std::to_string(most));
  }
  if (text.words.size() == 1) return {};
  const Word& second = text.words[1];
  const bool per_stop = second.name == "core" && second.numbers.size() == 1 && text.words.size() == 2;
  return per_stop ? Status{} : text.fail(second.name, "after '" + first.name + "'", "core:N, the units per stop");
}

int units_per_stop(const Text& text) {
  return text.words.size() == 2 ? text.words[1].numbers[0] : 1;
}

Result<Fabric> ring(const Text& text) {
  if (Status status = check_shape(text, 1); !status.ok()) return status;
  const int size = text.words[0].numbers[0];
  if (size < 2) return text.fail("ring", std::to_string(size), "at least 2 stops");
  RingSpec spec;
  spec.link = kNominalRing;
  for (int stop = 0; stop < size; ++stop) {
    spec.stops.push_back(numbered("stop", stop));
    for (int k = 0; k < units_per_stop(text); ++k) {
      Unit unit;
      unit.name = numbered("core", static_cast<int>(spec.units.size()));
      unit.stop = stop;
      spec.units.push_back(std::move(unit));
    }
  }
  return build_ring(std::move(spec));
}

Result<Fabric> grid(const Text& text, bool closed) {
  if (Status status = check_shape(text, 3); !status.ok()) return status;
  MeshSpec spec;
  spec.dims = text.words[0].numbers;
  spec.torus.assign(spec.dims.size(), closed);
  spec.units_per_tile = units_per_stop(text);
  spec.unit_name = "core";
  spec.link = kNominalMesh;
  return build_mesh(spec);
}

Result<Fabric> mesh(const Text& text) {
  return grid(text, false);
}
Result<Fabric> torus(const Text& text) {
  return grid(text, true);
}

Result<Fabric> flat(const Text& text) {
  const Word& word = text.words[0];
  if (text.words.size() > 1) return text.fail(text.words[1].name, "after 'flat'", "nothing after flat:N");
  if (word.numbers.size() > 1) return text.fail("flat", std::to_string(word.numbers.size()) + " numbers", "one");
  FlatSpec spec;
  spec.count = word.numbers[0];
  spec.unit_name = "core";
  spec.port = kNominalPort;
  return build_flat(spec);
}

/// Position in kNominalLevels, or its size.
std::size_t level_rank(std::string_view name) {
  const auto* at = std::find_if(kNominalLevels.begin(), kNominalLevels.end(),
                                [&](const NominalLevel& level) { return level.synthetic == name; });
  return static_cast<std::size_t>(at - kNominalLevels.begin());
}

std::string level_names(std::size_t from) {
  std::string names;
  for (std::size_t i = from; i < kNominalLevels.size(); ++i) {
    names.append(names.empty() ? "" : ", ").append(kNominalLevels[i].synthetic);
  }
  return names.empty() ? "no further level" : names;
}

/// Where hwloc would number the PUs of the same text: one after the other.
void number_pus(const Text& text, TreeSpec& spec) {
  const std::size_t words = text.words.size();
  const bool pus = text.words.back().name == "pu";
  const bool cores = pus && words > 1 && text.words[words - 2].name == "core";
  for (std::size_t u = 0; u < spec.units.size(); ++u) {
    spec.units[u].os_index = static_cast<int>(u);
    if (cores && text.words.back().numbers[0] == 1) spec.units[u].logical_core = static_cast<int>(u);
  }
}

Result<Fabric> tree(const Text& text) {
  std::vector<TreeLevel> levels;
  std::size_t least = 0;
  std::string above;
  for (const Word& word : text.words) {
    const std::size_t rank = level_rank(word.name);
    if (rank < least || rank == kNominalLevels.size()) {
      return text.fail(word.name, "'" + word.name + "' after '" + above + "'", level_names(least));
    }
    if (word.numbers.size() != 1) return text.fail(word.name, "several numbers", "one");
    const NominalLevel& level = kNominalLevels[rank];
    levels.push_back({std::string(level.name), word.numbers[0], level.link, level.link});
    least = rank + 1;
    above = word.name;
  }
  TreeSpec spec = tree_of_levels(levels);
  number_pus(text, spec);
  return build_tree(std::move(spec));
}

struct Family {
  std::string_view name;
  Result<Fabric> (*build)(const Text&);
};

constexpr Family kFamilies[] = {{"ring", ring}, {"mesh", mesh}, {"torus", torus}, {"flat", flat}};

Result<Fabric> build(const Text& text) {
  const std::string& first = text.words[0].name;
  for (const Family& family : kFamilies) {
    if (first == family.name) return family.build(text);
  }
  if (level_rank(first) < kNominalLevels.size()) return tree(text);
  return text.fail(first, "an unknown word", "ring, mesh, torus, flat, " + level_names(0));
}

}  // namespace

Result<Machine> from_synthetic(std::string_view text) {
  auto parsed = parse_text(text);
  if (!parsed.ok()) return parsed.status();
  if (Status status = check_size(parsed.value()); !status.ok()) return status;
  auto fabric = build(parsed.value());
  if (!fabric.ok()) return fabric.status();
  return finish(std::string(text), "invented from a synthetic text, speeds nominal", std::move(fabric).value(),
                parsed.value().source);
}

}  // namespace corewise::machine
