// What the profiler on an SPE records: the event types of paper 003, table 1, and further ones; the paper's record
// of 80 bytes, and how it becomes one of ours.
//
// Invariant: an event type's number is its place in `event_names()`, which a trace file carries as procedure names.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/format.hpp"

namespace corewise::lab {

/// Table 1 has profile_start to mfc_get32, in this order. Lists and waits are ours.
enum class Event : std::uint8_t {
  profile_start,
  profile_stop,
  enter,
  exit,
  mpi_send,
  mpi_recv,
  mpi_allreduce,
  mpi_reduce,
  mpi_barrier,
  mpi_bcast,
  mfc_put,
  mfc_put64,
  mfc_get64,
  mfc_put32,
  mfc_get32,
  mfc_putl,
  mfc_getl,
  mfc_wait,
};

struct EventRow {
  std::string_view name;    ///< in a trace file, as MPI or the SDK spell it
  std::string_view table1;  ///< in the paper's table; empty where it is not there
  trace::Role role;         ///< of our record
};

/// A row per Event.
inline constexpr std::array<EventRow, 18> kEventRows = {{
    {"PROFILE_START", "PROFILE_START", trace::Role::plain},
    {"PROFILE_STOP", "PROFILE_STOP", trace::Role::plain},
    {"E", "E", trace::Role::function_enter},
    {"X", "X", trace::Role::function_exit},
    {"MPI_Send", "MPI_SEND", trace::Role::send},
    {"MPI_Recv", "MPI_RECV", trace::Role::receive},
    {"MPI_Allreduce", "MPI_ALLREDUCE", trace::Role::collective},
    {"MPI_Reduce", "MPI_REDUCE", trace::Role::collective},
    {"MPI_Barrier", "MPI_BARRIER", trace::Role::collective},
    {"MPI_Bcast", "MPI_BCAST", trace::Role::collective},
    {"MFC_PUT", "MFC_PUT", trace::Role::rma_put},
    {"MFC_PUT64", "MFC_PUT64", trace::Role::rma_put},
    {"MFC_GET64", "MFC_GET64", trace::Role::rma_get},
    {"MFC_PUT32", "MFC_PUT32", trace::Role::rma_put},
    {"MFC_GET32", "MFC_GET32", trace::Role::rma_get},
    {"MFC_PUTL", "", trace::Role::rma_put},
    {"MFC_GETL", "", trace::Role::rma_get},
    {"MFC_WAIT", "", trace::Role::plain},
}};

constexpr const EventRow& row_of(Event event) {
  return kEventRows[static_cast<std::size_t>(event)];
}
/// How many bytes our record of the event takes.
constexpr std::uint32_t record_bytes_of(Event event) {
  return trace::is_short(row_of(event).role) ? 16 : 32;
}

/// Everything that an event may say. Times are ticks of the recorder's clock.
struct EventFields {
  Event type = Event::profile_start;
  std::uint64_t start = 0;
  std::uint64_t ticks = 0;
  std::uint64_t bytes = 0;
  std::int32_t peer = trace::kNoPeer;
  std::int32_t tag = 0;
  std::uint64_t function = 0;  ///< address of the function that is entered or left
};

/// event_record_t of table 1: one form for all events, 80 bytes.
struct alignas(16) PaperEvent {
  double time_stamp;
  double duration;
  std::uint32_t type;
  std::uint64_t enx;  ///< address of the called function
  std::uint64_t exx;  ///< and of its caller
  std::int16_t output_flag;
  alignas(16) std::array<std::int32_t, 8> data;  ///< peer, bytes, tag
};
static_assert(sizeof(PaperEvent) == 80 && offsetof(PaperEvent, data) == 48);

/// The events of one of the paper's event pages.
inline constexpr std::uint32_t kPaperPageEvents = 64;
static_assert(kPaperPageEvents * sizeof(PaperEvent) == 5120);

PaperEvent paper_event(const EventFields& fields);
EventFields fields_of(const PaperEvent& event);

/// Our record of the event at `place`, which has room for record_bytes_of(fields.type); how many bytes it took. Its
/// first word is stored last.
std::uint32_t put_record(std::byte* place, const EventFields& fields);

}  // namespace corewise::lab
