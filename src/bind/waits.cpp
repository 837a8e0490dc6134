// Waits of a profile for Python: plain rows, summed per rank, cause, call site and phase.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/waits.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind/rooms.hpp"

namespace nb = nanobind;

namespace corewise::bind {
namespace {

using profile::Arrivals;
using profile::PhaseTime;
using profile::RankClockInfo;
using profile::Wait;
using profile::WaitWorld;

void bind_rows(nb::module_& module) {
  nb::class_<Wait>(module, "Wait", "Waits of one kind of a rank for another at one call site; ns.")
      .def_prop_ro("kind", [](const Wait& wait) { return profile::wait_kind_name(wait.kind); })
      .def_ro("rank", &Wait::rank, "that waited")
      .def_ro("cause", &Wait::cause, "that was late")
      .def_ro("procedure", &Wait::procedure)
      .def_ro("object", &Wait::object)
      .def_ro("offset", &Wait::offset)
      .def_ro("phase", &Wait::phase)
      .def_ro("count", &Wait::count)
      .def_ro("wait_ns", &Wait::wait_ns)
      .def_ro("longest_ns", &Wait::longest_ns);
  nb::class_<PhaseTime>(module, "PhaseTime", "A rank's share of a phase.")
      .def_ro("rank", &PhaseTime::rank)
      .def_ro("phase", &PhaseTime::phase)
      .def_ro("span_ns", &PhaseTime::span_ns)
      .def_ro("mpi_ns", &PhaseTime::mpi_ns);
  nb::class_<Arrivals>(module, "Arrivals", "How far apart ranks came to collectives of one kind.")
      .def_ro("procedure", &Arrivals::procedure)
      .def_ro("communicator", &Arrivals::communicator)
      .def_ro("count", &Arrivals::count)
      .def_ro("spread_ns", &Arrivals::spread_ns, "last minus mean arrival, summed")
      .def_ro("latest", &Arrivals::latest, "the rank that was last most often")
      .def_ro("latest_count", &Arrivals::latest_count);
  nb::class_<RankClockInfo>(module, "RankClockInfo", "What a rank's place on the common time line rests on.")
      .def_ro("rank", &RankClockInfo::rank)
      .def_ro("node", &RankClockInfo::node)
      .def_ro("source", &RankClockInfo::source, "'reference', 'compared' or 'realtime'")
      .def_ro("uncertainty_ns", &RankClockInfo::uncertainty_ns);
}

}  // namespace

void bind_waits(nb::module_& module) {
  bind_rows(module);
  nb::class_<WaitWorld>(module, "WaitWorld", "The waits of one world.")
      .def_ro("name", &WaitWorld::name)
      .def_ro("size", &WaitWorld::size)
      .def_ro("started_realtime_ns", &WaitWorld::started_realtime_ns, "of the first rank; 0: unknown")
      .def_ro("ranks", &WaitWorld::ranks)
      .def_ro("waits", &WaitWorld::waits)
      .def_ro("phases", &WaitWorld::phases)
      .def_ro("arrivals", &WaitWorld::arrivals)
      .def_ro("clocks", &WaitWorld::clocks)
      .def_ro("matched", &WaitWorld::matched)
      .def_ro("unmatched_sends", &WaitWorld::unmatched_sends)
      .def_ro("unmatched_receives", &WaitWorld::unmatched_receives)
      .def_ro("collectives", &WaitWorld::collectives)
      .def_ro("incomplete_collectives", &WaitWorld::incomplete_collectives)
      .def_ro("corrections", &WaitWorld::corrections)
      .def_ro("largest_correction_ns", &WaitWorld::largest_correction_ns)
      .def_ro("contradictions", &WaitWorld::contradictions)
      .def_ro("notes", &WaitWorld::notes);
}

}  // namespace corewise::bind
