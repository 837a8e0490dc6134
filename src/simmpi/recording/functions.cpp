// What a program compiled with -finstrument-functions calls at every entry and exit of a function, inlined ones
// too. A collective in the background may run a program's operator: it has a clock of its own and leaves no record.
// SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/recording/recording.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

void record(trace::Role role, const void* function) {
  if (!World::running()) return;
  Recording* recording = World::here().recording();
  Actor& actor = World::actor();
  if (recording == nullptr || &actor != &actor.rank->program) return;
  const bool recorded = recording->rank(actor.rank->world).function(role, function, actor.clock);
  if (recorded) actor.clock += World::here().ticks(World::here().settings().record_ns);
}

}  // namespace
}  // namespace corewise::simmpi

extern "C" {

void __cyg_profile_func_enter(void* function, void*) {
  corewise::simmpi::record(corewise::trace::Role::function_enter, function);
}

void __cyg_profile_func_exit(void* function, void*) {
  corewise::simmpi::record(corewise::trace::Role::function_exit, function);
}

}  // extern "C"
