// Paper 003's overhead study (section 4.1): programs on the SPEs of one Cell, with the profiler and without it.
//
// The worst case is the communication of Sweep3D without its computation: a grid of SPEs, wave fronts from its four
// corners in turn, blocks one behind the other; every SPE sends as many messages as it receives. The application is
// molecular dynamics as its SPE program sees it: a declared time of computation per step, several small functions,
// and an exchange with the neighbours of a periodic grid.
//
// Contract: a run is a pure function of its fields. One round goes before, untimed and not recorded, in which every
// MFC meets its peers' local stores for the first time. Messages carry data, and a wrong one ends the run.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "lab/profiling/spe_recorder.hpp"

namespace corewise::lab {

enum class ProfiledProgram : std::uint8_t { sweep, dynamics };

struct OverheadRun {
  cell::Parameters machine;
  ProfiledProgram program = ProfiledProgram::sweep;
  int columns = 3, rows = 2;           ///< the grid; its SPEs are the machine's first usable ones
  std::int64_t rounds = 10;            ///< blocks of the sweep, steps of the dynamics
  std::uint32_t message_bytes = 4800;  ///< a multiple of 16 up to 16384
  std::int64_t call_cycles = 0;        ///< of software in every call with a message
  std::int64_t compute_cycles = 0;     ///< per step of the dynamics
  int small_functions = 4;             ///< per step of the dynamics
  bool recorded = true;
  RecorderSettings recorder;
  std::uint64_t memory_limit_bytes = 0;  ///< of the event pages of all SPEs; 0: no limit but the memory's
  bool keep_traces = false;              ///< fills OverheadResult::traces

  /// Errors name the field.
  [[nodiscard]] Status check() const;
};

struct OverheadResult {
  double time_us = 0;        ///< from when all SPEs had begun to when the last had ended, before its last dump
  std::int64_t calls = 0;    ///< with a message, of all SPEs
  std::uint64_t events = 0;  ///< recorded, of all SPEs
  std::uint64_t lost_bytes = 0;
  std::int64_t pages = 0;                      ///< dumped, of all SPEs
  std::int64_t pages_bytes = 0;                ///< allotted in main memory
  double waited_us = 0;                        ///< for the dump before, of all SPEs together
  std::int64_t page_faults = 0;                ///< of all MFCs
  std::vector<std::vector<std::byte>> traces;  ///< a trace file per rank
};

Result<OverheadResult> run_profiled(const OverheadRun& run);

/// Calls with a message in one round of the program on such a grid.
std::int64_t calls_per_round(ProfiledProgram program, int columns, int rows);

}  // namespace corewise::lab
