// Room profile for Python: the records of a run as columns, batch by batch. Every batch is a tuple of arrays that
// own their memory, in the order of EVENT_COLUMNS; tables come as lists. SPDX-License-Identifier: BSD-3-Clause
#include "profile/events.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using profile::EventColumns;
using profile::EventCommunicator;
using profile::EventCursor;
using profile::EventFilter;
using profile::EventLog;
using profile::EventName;
using profile::EventProcess;
using profile::EventThread;

const char* ending_text(const EventProcess& process) {
  switch (process.ending) {
    case profile::Ending::finalized:
      return "finalized";
    case profile::Ending::aborted:
      return "aborted";
    default:
      return "running";
  }
}

EventLog open_log(const std::string& directory) {
  return unwrap([&] {
    const nb::gil_scoped_release release;
    return EventLog::open(directory);
  }());
}

std::size_t checked(const EventLog& log, std::size_t thread) {
  if (thread >= log.threads.size())
    raise(bad_field("", "thread", std::to_string(thread), "less than " + std::to_string(log.threads.size())));
  return thread;
}

std::uint64_t scan(EventLog& log, std::size_t thread) {
  checked(log, thread);
  const nb::gil_scoped_release release;
  return log.scan(thread);
}

const char* sort_text(const EventName& name) {
  switch (name.sort) {
    case EventName::Sort::function:
      return "function";
    case EventName::Sort::region:
      return "region";
    default:
      return "procedure";
  }
}

EventCursor cursor(EventLog& log, std::size_t thread, std::uint32_t roles, std::int64_t from_ns,
                   std::int64_t until_ns) {
  return EventCursor(log, checked(log, thread), EventFilter{roles, from_ns, until_ns});
}

/// In the order of EventColumns.
using BatchOut =
    nb::typed<nb::tuple, ArrayOut<std::uint8_t>, ArrayOut<std::int64_t>, ArrayOut<std::int64_t>,
              ArrayOut<std::int32_t>, ArrayOut<std::int64_t>, ArrayOut<std::int64_t>, ArrayOut<std::int32_t>,
              ArrayOut<std::int32_t>, ArrayOut<std::int32_t>, ArrayOut<std::int32_t>, ArrayOut<std::int64_t>,
              ArrayOut<std::int32_t>, ArrayOut<std::int64_t>>;

BatchOut next_batch(EventCursor& cursor, std::size_t rows) {
  EventColumns columns;
  {
    const nb::gil_scoped_release release;
    cursor.next(columns, std::max<std::size_t>(rows, 1));
  }
  return BatchOut(nb::make_tuple(to_array(std::move(columns.kind)), to_array(std::move(columns.start_ns)),
                                 to_array(std::move(columns.duration_ns)), to_array(std::move(columns.name)),
                                 to_array(std::move(columns.calls)), to_array(std::move(columns.bytes)),
                                 to_array(std::move(columns.peer)), to_array(std::move(columns.tag)),
                                 to_array(std::move(columns.comm)), to_array(std::move(columns.object)),
                                 to_array(std::move(columns.offset)), to_array(std::move(columns.datatype)),
                                 to_array(std::move(columns.elements))));
}

void bind_process(nb::module_& module) {
  nb::class_<EventProcess>(module, "EventProcess", "One rank file; times in nanoseconds.")
      .def_ro("world", &EventProcess::world)
      .def_ro("rank", &EventProcess::rank)
      .def_ro("world_size", &EventProcess::world_size)
      .def_ro("world_name", &EventProcess::world_name)
      .def_ro("file", &EventProcess::file)
      .def_ro("host", &EventProcess::host)
      .def_ro("node", &EventProcess::node)
      .def_ro("library", &EventProcess::library)
      .def_ro("pid", &EventProcess::pid)
      .def_prop_ro("ending", &ending_text, "'finalized', 'aborted', or 'running': it never finished")
      .def_ro("start_ns", &EventProcess::start_ns)
      .def_ro("started_realtime_ns", &EventProcess::started_realtime_ns)
      .def_ro("overwritten_bytes", &EventProcess::overwritten_bytes)
      .def_ro("lost_bytes", &EventProcess::lost_bytes)
      .def_ro("clock_known", &EventProcess::clock_known)
      .def_ro("kinds", &EventProcess::kinds);
  nb::class_<EventThread>(module, "EventThread", "One thread slot of a process.")
      .def_ro("process", &EventThread::process, "index into EventLog.processes")
      .def_ro("slot", &EventThread::slot);
  nb::class_<EventName>(module, "EventName", "What a row is about.")
      .def_prop_ro("sort", &sort_text, "'procedure', 'function', or 'region' (phases too)")
      .def_ro("text", &EventName::text, "empty for a function")
      .def_ro("object", &EventName::object, "of a function: index into EventLog.objects, -1 unknown")
      .def_ro("offset", &EventName::offset, "of a function: in its object, or the bare address");
  nb::class_<EventCommunicator>(module, "EventCommunicator", "A communicator and the world that it belongs to.")
      .def_ro("world", &EventCommunicator::world)
      .def_ro("communicator", &EventCommunicator::communicator);
}

}  // namespace

void bind_events(nb::module_& module) {
  bind_process(module);
  nb::class_<EventCursor>(module, "EventCursor", "The rows of one thread, forwards.")
      .def("next", &next_batch, "rows"_a,
           "Up to `rows` further rows as arrays of equal length, empty at the end: kind uint8, start_ns and "
           "duration_ns int64, name int32, calls and bytes int64, peer, tag, comm and object int32, "
           "offset int64, datatype int32, elements int64.")
      .def_prop_ro("records_read", &EventCursor::records_read);
  nb::class_<EventLog>(module, "EventLog", "The records of a run; tables grow while rows are read.")
      .def_ro("processes", &EventLog::processes)
      .def_ro("threads", &EventLog::threads)
      .def_ro("communicators", &EventLog::communicators)
      .def_ro("objects", &EventLog::objects)
      .def_ro("datatypes", &EventLog::datatypes, "Without totals.")
      .def_ro("names", &EventLog::names)
      .def_ro("problems", &EventLog::problems)
      .def("scan", &scan, "thread"_a,
           "Reads a thread through, so that the tables are complete; how many records a cursor will have read.")
      .def("cursor", &cursor, "thread"_a, "roles"_a, "from_ns"_a, "until_ns"_a, nb::keep_alive<0, 1>(),
           "Rows of one thread whose role has its bit in `roles` and that have a moment in [from_ns, until_ns).");
  module.def("open_events", &open_log, "directory"_a, "Opens every rank file of a profile's folder.");
}

}  // namespace corewise::bind
