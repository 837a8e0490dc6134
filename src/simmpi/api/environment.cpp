// Start and end of a rank's program, time, and what a program declares about its computation (MPI-3.1, chapter 8).
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

constexpr double kSecondInTicks = 1e12;

void add_time(sim::Time ticks) {
  Actor& actor = World::actor();
  actor.clock = std::max(actor.clock, World::here().engine().now()) + ticks;
}

void add_time(double ns) {
  add_time(ns > 0 ? World::here().ticks(ns) : sim::Time{0});
}

/// Ends the run where the calling rank's local store or main memory refuses.
void require(const char* procedure, const Status& status) {
  if (status.ok()) return;
  const int rank = World::actor().rank->world;
  World::here().fail("rank " + std::to_string(rank) + " in " + procedure + ": " + status.message());
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Init_thread(int*, char***, int required, int* provided) {
  Entry entry("MPI_Init_thread");
  if (entry.rank().initialized) return entry.raise(nullptr, MPI_ERR_OTHER);
  entry.rank().initialized = true;
  // A rank is one fiber: other threads of it have no simulated time.
  entry.rank().thread_level = required < MPI_THREAD_FUNNELED ? required : int{MPI_THREAD_FUNNELED};
  *provided = entry.rank().thread_level;
  return MPI_SUCCESS;
}

int PMPI_Init(int* argc, char*** argv) {
  const Entry entry("MPI_Init");
  int provided = 0;
  return PMPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int PMPI_Initialized(int* flag) {
  *flag = World::actor().rank->initialized ? 1 : 0;
  return MPI_SUCCESS;
}

int PMPI_Finalized(int* flag) {
  *flag = World::actor().rank->finalized ? 1 : 0;
  return MPI_SUCCESS;
}

int PMPI_Finalize(void) {
  Entry entry("MPI_Finalize");
  if (const int code = delete_attributes(entry.rank(), entry.rank().self_comm)) return entry.raise(nullptr, code);
  entry.world().synchronize(entry.actor());
  entry.rank().finalized = true;
  return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm, int errorcode) {
  const Entry entry("MPI_Abort");
  if (Recording* recording = entry.world().recording()) recording->aborted(entry.rank().world);
  entry.world().abort(errorcode);
}

int PMPI_Query_thread(int* provided) {
  *provided = World::actor().rank->thread_level;
  return MPI_SUCCESS;
}

int PMPI_Is_thread_main(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}

double PMPI_Wtime(void) {
  Entry entry("MPI_Wtime");
  add_time(entry.world().settings().call_ns);
  return static_cast<double>(entry.actor().clock) / kSecondInTicks;
}

double PMPI_Wtick(void) {
  return 1 / kSecondInTicks;
}

int PMPI_Get_processor_name(char* name, int* resultlen) {
  Entry entry("MPI_Get_processor_name");
  *resultlen = std::snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", entry.world().machine().name.c_str());
  return MPI_SUCCESS;
}

int PMPI_Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int PMPI_Get_library_version(char* version, int* resultlen) {
  *resultlen =
      std::snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "corewise simmpi, MPI 3.1 on a simulated machine");
  return MPI_SUCCESS;
}

int PMPI_Pcontrol(const int, ...) {
  return MPI_SUCCESS;
}

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info, void* baseptr) {
  void* room = std::malloc(static_cast<std::size_t>(size));
  if (room == nullptr && size > 0) return Entry("MPI_Alloc_mem").raise(nullptr, MPI_ERR_NO_MEM);
  *static_cast<void**>(baseptr) = room;
  return MPI_SUCCESS;
}

int PMPI_Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

void cw_compute(double cycles) {
  add_time(cycles / World::here().settings().cpu_ghz);
}

void cw_compute_ns(double nanoseconds) {
  add_time(nanoseconds);
}

void cw_operations(double count) {
  cw_compute(count / World::here().settings().operations_per_cycle);
}

void cw_main_memory(const void* start, std::size_t bytes) {
  auto& memory = World::actor().rank->memory;
  if (memory) require("cw_main_memory", memory->place(start, bytes));
}

void cw_local_store(const void* start) {
  auto& memory = World::actor().rank->memory;
  if (memory) require("cw_local_store", memory->remove(start));
}

void cw_touch(const void* start, std::size_t bytes, int write) {
  auto& memory = World::actor().rank->memory;
  if (!memory) return;
  const auto cost = memory->touch(start, bytes, write != 0);
  require("cw_touch", cost.status());
  add_time(cost.value());
}

void cw_overlay(const void* code, std::size_t bytes) {
  auto& overlays = World::actor().rank->overlays;
  if (!overlays) return;
  const auto cost = overlays->use(code, bytes);
  require("cw_overlay", cost.status());
  add_time(cost.value());
}

}  // extern "C"

COREWISE_ALIAS(Init_thread);
COREWISE_ALIAS(Init);
COREWISE_ALIAS(Initialized);
COREWISE_ALIAS(Finalized);
COREWISE_ALIAS(Finalize);
COREWISE_ALIAS(Abort);
COREWISE_ALIAS(Query_thread);
COREWISE_ALIAS(Is_thread_main);
COREWISE_ALIAS(Wtime);
COREWISE_ALIAS(Wtick);
COREWISE_ALIAS(Get_processor_name);
COREWISE_ALIAS(Get_version);
COREWISE_ALIAS(Get_library_version);
COREWISE_ALIAS(Pcontrol);
COREWISE_ALIAS(Alloc_mem);
COREWISE_ALIAS(Free_mem);
