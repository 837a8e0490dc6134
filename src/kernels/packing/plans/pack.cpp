// Plans: what a compiled layout says of itself, and whose loops it gets. Contract in pack.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/pack.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "kernels/packing/plans/program.hpp"
#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {

std::vector<const KernelSet*> usable_pack_sets() {
  static constexpr std::array all = {
#if defined(__x86_64__)
      &kPackAvx512, &kPackAvx2,
#elif defined(__aarch64__)
      &kPackNeon,
#endif
      &kPackGeneric};
  std::vector<const KernelSet*> usable;
  std::copy_if(all.begin(), all.end(), std::back_inserter(usable),
               [](const KernelSet* set) { return set->available(); });
  return usable;
}

namespace {

/// Times under a sanitizer are its own.
constexpr bool kTimesMeanSomething =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#else
    true;
#endif

std::atomic<bool>& calibrates() {
  static std::atomic<bool> on = kTimesMeanSomething;
  return on;
}

/// The choosers of this process, made once: for all sets together, and for each alone.
class Choosers {
 public:
  explicit Choosers(bool measured) {
    const std::vector<const KernelSet*> sets = usable_pack_sets();
    const auto add = [&](std::vector<const KernelSet*> some) {
      all_.push_back(
          std::make_unique<LoopChooser>(std::move(some), measured ? measuring_timer() : default_timer(), measured));
    };
    add(sets);
    for (const KernelSet* set : sets) {
      add({set});
    }
  }

  LoopChooser& host() const { return *all_.front(); }
  LoopChooser* forced(std::string_view name) const {
    const auto found =
        std::find_if(all_.begin() + 1, all_.end(), [&](const auto& one) { return one->set().name == name; });
    return found == all_.end() ? nullptr : found->get();
  }

 private:
  std::vector<std::unique_ptr<LoopChooser>> all_;
};

const Choosers& choosers() {
  // Never destroyed: the packing library is used until a program's last function has returned.
  static const Choosers& measured = *new Choosers(true);
  static const Choosers& unmeasured = *new Choosers(false);
  return calibrates().load(std::memory_order_relaxed) ? measured : unmeasured;
}

}  // namespace

void set_pack_calibration(bool on) {
  calibrates().store(on, std::memory_order_relaxed);
}

bool pack_calibration() {
  return calibrates().load(std::memory_order_relaxed);
}

std::vector<std::string_view> pack_instruction_sets() {
  std::vector<std::string_view> names;
  for (const KernelSet* set : usable_pack_sets()) {
    names.push_back(set->name);
  }
  return names;
}

PackPlan::PackPlan(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
PackPlan::PackPlan(PackPlan&&) noexcept = default;
PackPlan& PackPlan::operator=(PackPlan&&) noexcept = default;
PackPlan::~PackPlan() = default;

PackPlan PackPlan::compile(const Layout& canonical, std::int64_t extent) {
  return compile_with(choosers().host(), canonical, extent);
}

PackPlan PackPlan::compile(const Datatype& type) {
  return compile(simplify(type.layout), type.extent);
}

std::optional<PackPlan> PackPlan::compile_for(std::string_view instruction_set, const Layout& canonical,
                                              std::int64_t extent) {
  LoopChooser* const chooser = choosers().forced(instruction_set);
  if (chooser == nullptr) {
    return std::nullopt;
  }
  return compile_with(*chooser, canonical, extent);
}

PackPlan PackPlan::compile_with(LoopChooser& chooser, const Layout& canonical, std::int64_t extent) {
  return PackPlan(compile_program(chooser, canonical, extent));
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
  return program_->chooser->set().name;
}

std::string PackPlan::describe() const {
  if (program_->contiguous) {
    return "contiguous: " + std::to_string(program_->size) + " bytes an item\n";
  }
  const bool measured = program_->chooser->measured();
  return "instruction set: " + std::string(instruction_set()) +
         (measured ? ", loops chosen by timing (ns per block)\n" : ", loops not timed\n") +
         to_text(program_->root, measured);
}

}  // namespace corewise::kernels
