// Facts of room profile, and what only a replay asks. SPDX-License-Identifier: BSD-3-Clause
#include "replay/procedures.hpp"

#include <string_view>

#include "trace/format.hpp"

namespace corewise::replay {
namespace {

Completes completes_of(std::string_view row) {
  if (row == "waitall" || row == "testall") return Completes::all;
  const bool one = row == "wait" || row == "waitany" || row == "waitsome" || row == "test" || row == "testany" ||
                   row == "testsome";
  return one ? Completes::one : Completes::none;
}

simmpi::Mode mode_of(std::string_view stem) {
  if (stem.starts_with("bsend") || stem.starts_with("ibsend")) return simmpi::Mode::buffered;
  if (stem.starts_with("ssend") || stem.starts_with("issend")) return simmpi::Mode::synchronous;
  return simmpi::Mode::standard;
}

Procedure describe(const std::string& name) {
  Procedure made;
  made.name = name;
  made.facts = profile::procedure_facts(name);
  made.completes = completes_of(made.facts.row);
  made.mode = mode_of(made.facts.stem);
  const bool collective = made.facts.sort == profile::ProcedureSort::collective;
  made.in_background = collective && made.facts.stem != made.facts.row;
  made.ends = made.facts.stem == "finalize";
  return made;
}

}  // namespace

const Procedures& ProcedureLists::of(const std::vector<std::string>& names) {
  std::unique_ptr<Procedures>& list = lists_[names];
  if (list) return *list;
  list = std::make_unique<Procedures>();
  for (const std::string& name : names) list->push_back(describe(name));
  for (std::size_t number = names.size(); number <= trace::kCallMask; ++number) {
    list->push_back(describe("procedure " + std::to_string(number)));
  }
  return *list;
}

}  // namespace corewise::replay
