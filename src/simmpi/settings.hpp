// Settings: what the parts of MPI that no network model knows cost: calls, copies, the switch from eager to
// rendezvous, the speed of a core; the software cache and the overlays of a rank that is an SPE, and ranks that
// share one. Plain data and one table of rows, from which the command line takes names, units and bounds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"

namespace corewise::simmpi {

struct Settings {
  double send_ns = 100;             ///< of the sender, per message
  double receive_ns = 100;          ///< of the receiver, per message
  double call_ns = 20;              ///< of a call that only looks: MPI_Test, MPI_Iprobe, MPI_Wtime
  double copy_gb_per_s = 8;         ///< of each of the two copies of an eager message
  double eager_bytes = 4096;        ///< the longest message that is sent before its receive is known
  double receiver_initiated = 0;    ///< 1: no message is sent before its receive is known, whatever its length
  double header_bytes = 32;         ///< of every message, beside its data; the size of a control message
  double cpu_ghz = 1;               ///< cycles per ns of cw_compute
  double operations_per_cycle = 1;  ///< of cw_operations
  double cache_line_bytes = 0;      ///< of the software cache before data in main memory; 0: there is none
  double cache_sets = 64;           ///< of that cache
  double cache_ways = 4;            ///< lines in each of its sets
  double overlay_bytes = 0;         ///< of the area for code that cw_overlay brings; 0: all code is there
  double overlay_ns = 300;          ///< of every load of code
  double overlay_gb_per_s = 7;      ///< how fast it comes
  double tasks_per_unit = 1;        ///< ranks that may share a unit of the machine, and take turns on it
  double context_bytes = 262144;    ///< of a rank that another one takes turns with: stored, and loaded again
  double context_ns = 300;          ///< of every store and every load
  double context_gb_per_s = 7;      ///< how fast a context, or a message of ranks that share a unit, moves
  double record_ns = 0;             ///< of a recorded call, and of a function's entry or exit
  double collective_level = 0;      ///< level of the machine by which collectives group ranks; 0: none
  double forward_level = 0;         ///< level of the machine between whose parts PPEs forward messages; 0: none
  double forward_ns = 1000;         ///< what forwarding a message takes each of its two PPEs
  double forward_gb_per_s = 1;      ///< and how fast its bytes pass there
};

struct SettingRow {
  std::string_view name;
  double Settings::* field;
  std::string_view unit;
  double least;
  double most;
  std::string_view meaning;
};

std::span<const SettingRow> setting_rows();

/// Sets one by its name; refuses a name that is not in the table and a value out of its bounds.
Status set(Settings& settings, std::string_view name, double value);

}  // namespace corewise::simmpi
