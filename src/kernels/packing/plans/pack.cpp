// Plans: what a compiled layout says of itself, and whose loops it gets. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/pack.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/packing/plans/program.hpp"
#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {

std::vector<const KernelSet*> usable_pack_sets() {
  static constexpr std::array all = {
#if defined(__x86_64__)
      &kPackAvx512, &kPackAvx2,
#endif
      &kPackGeneric};
  std::vector<const KernelSet*> usable;
  std::copy_if(all.begin(), all.end(), std::back_inserter(usable),
               [](const KernelSet* set) { return set->available(); });
  return usable;
}

std::vector<std::string_view> pack_instruction_sets() {
  std::vector<std::string_view> names;
  for (const KernelSet* set : usable_pack_sets()) names.push_back(set->name);
  return names;
}

PackPlan::PackPlan(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
PackPlan::PackPlan(PackPlan&&) noexcept = default;
PackPlan& PackPlan::operator=(PackPlan&&) noexcept = default;
PackPlan::~PackPlan() = default;

PackPlan PackPlan::compile(const Layout& canonical, std::int64_t extent) {
  return PackPlan(compile_program(*usable_pack_sets().front(), canonical, extent));
}

PackPlan PackPlan::compile(const Datatype& type) {
  return compile(simplify(type.layout), type.extent);
}

std::optional<PackPlan> PackPlan::compile_for(std::string_view instruction_set, const Layout& canonical,
                                              std::int64_t extent) {
  for (const KernelSet* set : usable_pack_sets())
    if (set->name == instruction_set) return PackPlan(compile_program(*set, canonical, extent));
  return std::nullopt;
}

std::int64_t PackPlan::size() const {
  return program_->size;
}
bool PackPlan::contiguous() const {
  return program_->contiguous;
}
double PackPlan::mean_run() const {
  return program_->mean_run;
}
double PackPlan::line_density() const {
  return program_->line_density;
}
double PackPlan::pages_per_line() const {
  return program_->pages_per_line;
}
std::string_view PackPlan::instruction_set() const {
  return program_->set->name;
}

std::string PackPlan::describe() const {
  if (program_->contiguous) return "contiguous: " + std::to_string(program_->size) + " bytes an item\n";
  return "instruction set: " + std::string(instruction_set()) + '\n' + to_text(program_->root);
}

}  // namespace corewise::kernels
