// The simulated Cell where a placement is timed on it. It is in corewise._lab, which is loaded only then.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include "lab/placement/cost.hpp"
#include "machine/machine.hpp"

namespace corewise::bind {

/// The attribute of corewise._lab that holds it.
inline constexpr const char* kCellRun = "_cell_run";

/// What runs patterns on the machine where the model simulates a whole Cell, else nullptr. Needs the GIL; throws
/// what says that the package has no simulators.
inline lab::CellRun cell_run(const machine::Machine& machine, lab::TimeModel model) {
  if (!lab::on_whole_cell(machine, model)) return nullptr;
  const nanobind::object held = nanobind::module_::import_("corewise._lab").attr(kCellRun);
  return reinterpret_cast<lab::CellRun>(nanobind::cast<nanobind::capsule>(held).data());
}

}  // namespace corewise::bind
