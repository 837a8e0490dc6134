// Reading how a rank ended; see ending.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/ending.hpp"

#include <utility>

namespace corewise::profile {
namespace {

OpenOperation operation_of(const trace::Reader& reader, const Mappings& mappings, const trace::Record& record) {
  OpenOperation out;
  out.procedure = reader.procedure_name(record.procedure);
  out.kind = record.role;
  out.peer = record.peer;
  out.tag = record.tag;
  out.bytes = record.bytes;
  out.comm = record.comm == trace::kUnknownComm ? kNoComm : record.comm;
  out.datatype = record.type == trace::kUnknownType ? kNoDatatype : record.type;
  out.from = place_of(mappings, reader.site_address(record.site));
  out.start_ticks = record.start_ticks;
  return out;
}

}  // namespace

Ending ending_of(trace::State state) {
  if (state == trace::State::finalized) return Ending::finalized;
  return state == trace::State::aborted ? Ending::aborted : Ending::running;
}

Place place_of(const Mappings& mappings, std::uint64_t address) {
  return address == 0 ? Place{} : mappings.find(address);
}

void CollectiveLog::add(const trace::Record& record) {
  Made& made = by_comm_[record.comm];
  ++made.count;
  made.newest.emplace_back(record.procedure, record.peer);
  if (made.newest.size() > kKept) made.newest.pop_front();
}

std::vector<CollectivesMade> CollectiveLog::made(const trace::Reader& reader) const {
  std::vector<CollectivesMade> out;
  for (const auto& [comm, made] : by_comm_) {
    CollectivesMade row{comm == trace::kUnknownComm ? kNoComm : comm, made.count, {}};
    std::uint64_t ordinal = made.count - made.newest.size();
    for (const auto& [procedure, root] : made.newest)
      row.newest.push_back({ordinal++, reader.procedure_name(procedure), root});
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<OpenCall> open_calls(const trace::Reader& reader, const Mappings& mappings,
                                 const std::vector<std::uint64_t>& last_start) {
  std::vector<OpenCall> out;
  for (std::size_t slot = 0; slot < reader.slots().size(); ++slot) {
    const auto& open = reader.slots()[slot].open;
    if (!open || open->call.start_ticks == last_start[slot]) continue;
    OpenCall call;
    call.thread = static_cast<int>(reader.slots()[slot].index);
    call.call = operation_of(reader, mappings, open->call);
    call.requests = open->requests;
    for (const trace::Record& record : open->pending)
      call.pending.push_back(operation_of(reader, mappings, record));
    out.push_back(std::move(call));
  }
  return out;
}

std::vector<Crash> crash_of(const trace::Reader& reader, const Mappings& mappings) {
  const trace::FileHeader& header = reader.header();
  if (header.version < 3 || header.crash.signal == 0) return {};
  Crash crash;
  crash.signal = static_cast<int>(header.crash.signal & 0xff);
  crash.code = header.crash.code;
  crash.address = header.crash.address;
  crash.at = place_of(mappings, header.crash.instruction);
  for (const std::uint64_t word : reader.crash_stack()) {
    Place place = place_of(mappings, word);
    if (!place.object.empty()) crash.stack.push_back(std::move(place));
  }
  return {std::move(crash)};
}

}  // namespace corewise::profile
