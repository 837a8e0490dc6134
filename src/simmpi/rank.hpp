// Rank and Actor: a rank of the world with what belongs to it alone, and what runs on a fiber in its name: its
// program, or a helper that does a collective in the background.
//
// An actor has a clock of its own, which may be ahead of the engine's time: calls and computation only add to it,
// and a message leaves in an event of the clock's time. The actor waits for the engine where it looks at the world
// (a wait, a test, a probe). Nothing else acts on a rank in between, so that no order of events is lost.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "sim/engine.hpp"
#include "simmpi/main_memory.hpp"
#include "simmpi/messages/request.hpp"
#include "simmpi/objects/comm.hpp"
#include "simmpi/overlays.hpp"

namespace corewise::simmpi {

struct Actor {
  Rank* rank = nullptr;
  sim::Process* process = nullptr;
  sim::Time clock = 0;
  int awaited = 0;                  ///< requests whose end wakes it
  int unseen = 0;                   ///< messages sent since it last waited for the engine
  std::span<Request* const> waits;  ///< what it waits for; null entries are none
  const Request* probes = nullptr;  ///< the same for a probe
  const char* call = "";            ///< the MPI procedure it is in
  std::uint64_t call_number = 0;    ///< from 1, where calls are counted
  Path path;                        ///< of its clock
  sim::Time waited = 0;             ///< for requests, altogether
};

/// A key of attributes.
struct Keyval {
  MPI_Comm_copy_attr_function* copy_comm = nullptr;
  MPI_Comm_delete_attr_function* delete_comm = nullptr;
  MPI_Type_copy_attr_function* copy_type = nullptr;
  MPI_Type_delete_attr_function* delete_type = nullptr;
  void* extra = nullptr;
};

/// The buffer of MPI_Buffer_attach.
struct AttachedBuffer {
  void* start = nullptr;
  std::int64_t bytes = 0;
  std::int64_t used = 0;
  Actor* detaching = nullptr;  ///< who waits until nothing is in it
};

struct Rank {
  int world = 0;
  machine::UnitId unit = 0;
  Actor program;
  Comm world_comm;
  Comm self_comm;
  bool initialized = false;
  bool finalized = false;
  bool ended = false;
  int exit_status = 0;
  int thread_level = MPI_THREAD_SINGLE;
  sim::Time end = 0;
  AttachedBuffer attached;
  std::optional<MainMemory> memory;  ///< where the settings have a software cache
  std::optional<Overlays> overlays;  ///< where they have an area for code
  std::vector<Keyval> keyvals;
  std::map<int, std::string> error_texts;  ///< of the program's own codes
  std::map<int, int> error_classes;        ///< class of each of them
  int last_error_code = MPI_ERR_LASTCODE;
  std::vector<std::function<void()>> at_exit;
  void* image = nullptr;  ///< its copy of the program
};

}  // namespace corewise::simmpi
