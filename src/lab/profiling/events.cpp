// Events as the paper's records and as ours. SPDX-License-Identifier: BSD-3-Clause
#include "lab/profiling/events.hpp"

#include <cstring>

#include "trace/recorder.hpp"

namespace corewise::lab {

PaperEvent paper_event(const EventFields& fields) {
  PaperEvent event{};
  event.time_stamp = static_cast<double>(fields.start);
  event.duration = static_cast<double>(fields.ticks);
  event.type = static_cast<std::uint32_t>(fields.type);
  event.enx = fields.function;
  event.output_flag = 1;
  event.data[0] = fields.peer;
  event.data[1] = static_cast<std::int32_t>(fields.bytes);
  event.data[2] = fields.tag;
  return event;
}

EventFields fields_of(const PaperEvent& event) {
  EventFields fields;
  fields.type = static_cast<Event>(event.type);
  fields.start = static_cast<std::uint64_t>(event.time_stamp);
  fields.ticks = static_cast<std::uint64_t>(event.duration);
  fields.function = event.enx;
  fields.peer = event.data[0];
  fields.bytes = static_cast<std::uint32_t>(event.data[1]);
  fields.tag = event.data[2];
  return fields;
}

std::uint32_t put_record(std::byte* place, const EventFields& fields) {
  const trace::Role role = row_of(fields.type).role;
  const auto procedure = static_cast<std::uint64_t>(fields.type);
  const bool function = role == trace::Role::function_enter || role == trace::Role::function_exit;
  if (function) {
    trace::store_head(place, static_cast<std::uint32_t>(fields.function), trace::call_word(0, role),
                      fields.function >> 32 & 0xffffU);
  } else if (trace::is_short(role)) {
    trace::store_head(place, trace::pack_duration(fields.ticks), trace::call_word(procedure, role), 0);
  } else {
    trace::MessageWords words =
        trace::words_of({fields.start, fields.ticks, fields.bytes, fields.peer, fields.tag, procedure, 0, 0, role});
    words.head |= trace::pack_duration(fields.ticks);
    std::memcpy(place + 8, &words.head, sizeof words.head);
    std::memcpy(place + 16, &words.volume, sizeof words.volume);
    std::memcpy(place + 24, &words.ends, sizeof words.ends);
  }
  trace::commit(place, fields.start);
  return record_bytes_of(fields.type);
}

}  // namespace corewise::lab
