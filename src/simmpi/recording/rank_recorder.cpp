// Records in memory, chunks and descriptions in the file. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/recording/rank_recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "sim/networks/network.hpp"
#include "simmpi/recording/blocks.hpp"
#include "trace/codec.hpp"

namespace corewise::simmpi {
namespace {

constexpr std::uint32_t kHalfBytes = 16384;
/// A time stamp counts 20 ps.
constexpr sim::Time kTicksOfStamp = sim::kTicksPerNs / 50;
static_assert(kTicksOfStamp == sim::kTicksPerNs * trace::kSimulatedTick_ns);
/// No time stamp is 0.
constexpr std::uint64_t kFirstTick = 1;
constexpr std::uint64_t kMostTypes = 254;
/// Where a rank's copy of its program is said to lie, the same in every run.
constexpr std::uint64_t kImageBase = 0x10000000;

std::uint64_t stamp(sim::Time clock) {
  return static_cast<std::uint64_t>(std::max<sim::Time>(clock, 0) / kTicksOfStamp) + kFirstTick;
}

}  // namespace

RankRecorder::RankRecorder(std::string path, int rank, int function_depth)
    : path_(std::move(path)),
      rank_(rank),
      most_depth_(function_depth),
      process_(getpid()),
      last_(kFirstTick),
      tail_(trace::kFirstBlock),
      memory_((sizeof(trace::ThreadHeader) + 2 * std::size_t{kHalfBytes}) / sizeof(std::uint64_t)) {
  auto* const header = reinterpret_cast<trace::ThreadHeader*>(memory_.data());
  header->block = {trace::BlockKind::thread, 0, sizeof(trace::ThreadHeader) + 2 * std::uint64_t{kHalfBytes}};
  trace::attach(recorder_, header, &losses_, kHalfBytes, &RankRecorder::drain, this);
}

// ---- records ---------------------------------------------------------------------------------------------

std::uint64_t RankRecorder::begin(sim::Time clock) {
  last_ = std::max(stamp(clock), last_ + 1);
  return last_;
}

std::uint64_t RankRecorder::since(std::uint64_t start, sim::Time clock) const {
  const std::uint64_t now = std::max(stamp(clock), last_);
  return now > start ? now - start : 0;
}

void RankRecorder::call(std::uint64_t start, std::uint64_t ticks, int procedure) {
  trace::put_call(recorder_, start, ticks, static_cast<std::uint64_t>(procedure), 0);
}

void RankRecorder::message(const trace::MessageFields& fields) {
  trace::put_message(recorder_, fields);
}

void RankRecorder::miss(std::uint64_t start, std::uint64_t ticks, int procedure) {
  trace::put_miss(recorder_, start, ticks, static_cast<std::uint64_t>(procedure), 0);
}

bool RankRecorder::function(trace::Role role, const void* address, sim::Time clock) {
  const std::uint64_t place = reinterpret_cast<std::uint64_t>(address) - mapping_.base;
  if (mapping_.base == 0 || place >= mapping_.bytes) return false;
  const bool enters = role == trace::Role::function_enter;
  const int depth = enters ? depth_++ : --depth_;
  if (depth >= most_depth_) return false;
  last_ = std::max(stamp(clock), last_);
  trace::put_function(recorder_, last_, role, reinterpret_cast<const void*>(kImageBase + place));
  return true;
}

// ---- what records refer to -------------------------------------------------------------------------------

RankRecorder::Described& RankRecorder::describe(const Comm& comm, int created_by) {
  const auto [at, fresh] = comms_.try_emplace(comm.shared->number);
  Described& made = at->second;
  if (fresh) {
    made.index = static_cast<std::uint16_t>(std::min<std::size_t>(comms_.size() - 1, trace::kUnknownComm));
    made.created_by = created_by;
    made.rank = comm.rank;
    made.name = comm.name;
    made.shared = comm.shared;
    if (made.index == trace::kUnknownComm) ++losses_.lost_comms;
  }
  return made;
}

std::uint16_t RankRecorder::comm_index(const Comm& comm) {
  return describe(comm, -1).index;
}

void RankRecorder::created(const Comm& comm, int created_by) {
  describe(comm, created_by);
}

void RankRecorder::renamed(const Comm& comm) {
  describe(comm, -1).name = comm.name;
}

std::uint64_t RankRecorder::type_index(const Type& type) {
  const bool derived = !type.predefined();
  const std::string name = derived && type.name.empty() ? "derived" : type.name;
  const auto key = std::tuple(name, std::int64_t{type.shape.size}, std::int64_t{type.shape.extent}, derived);
  const auto known = types_.find(key);
  if (known != types_.end()) return known->second;
  if (types_.size() == kMostTypes) {
    ++losses_.lost_types;
    return trace::kOtherType;
  }
  return types_[key] = types_.size() + 1;
}

// ---- the file --------------------------------------------------------------------------------------------

bool RankRecorder::drain(void* self, const trace::FullHalf& half) {
  return static_cast<RankRecorder*>(self)->append_chunk(half);
}

/// A child that the program forked writes nothing: the file is its parent's.
bool RankRecorder::append_chunk(const trace::FullHalf& half) {
  if (getpid() != process_) return false;
  const std::uint32_t encoded = trace::encode(half.records, half.bytes, half.scratch, half.room);
  Blocks blocks;
  blocks.chunk(half.first, half.bytes, encoded > 0 ? half.scratch : half.records,
               encoded > 0 ? encoded : half.bytes, encoded > 0);
  const Status written = write(tail_, blocks.bytes());
  if (!written.ok()) failed_ = written;
  tail_ += blocks.bytes().size();
  return written.ok();
}

/// Opened for each: a run may have more ranks than a process may have files.
Status RankRecorder::write(std::uint64_t offset, const std::vector<std::byte>& data) {
  const auto mode = std::ios::binary | std::ios::in | std::ios::out;
  std::fstream file(path_, mode);
  if (!file.is_open()) file.open(path_, mode | std::ios::trunc);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  return file.good() ? Status{} : Status(Code::io, path_ + ": cannot be written");
}

std::string RankRecorder::mappings() const {
  std::string text;
  char line[96];
  for (const Mapping::Segment& segment : mapping_.segments) {
    const auto begin = static_cast<unsigned long long>(kImageBase + segment.begin);
    std::snprintf(line, sizeof line, "%08llx-%08llx r-xp %08llx 00:00 0 ", begin,
                  begin + static_cast<unsigned long long>(segment.bytes),
                  static_cast<unsigned long long>(segment.file_offset));
    text.append(line).append(mapping_.program).push_back('\n');
  }
  return text;
}

trace::FileHeader RankRecorder::header(const Ending& ending) const {
  trace::FileHeader header = losses_;
  std::memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.header_bytes = trace::kHeaderBytes;
  header.rank = rank_;
  header.world_size = ending.world_size;
  header.pid = static_cast<std::uint32_t>(rank_) + 1;
  header.clock = trace::Clock::simulated;
  header.half_bytes = kHalfBytes;
  header.start_ticks = kFirstTick;
  header.start_realtime_ns = ending.realtime_ns;
  header.latest_ns = std::max<std::int64_t>(1, (ending.end + sim::kTicksPerNs - 1) / sim::kTicksPerNs);
  header.latest_ticks = stamp(header.latest_ns * sim::kTicksPerNs);
  header.state = ending.aborted     ? trace::State::aborted
                 : ending.finalized ? trace::State::finalized
                                    : trace::State::running;
  header.abort_code = ending.aborted ? ending.abort_code : 0;
  header.exit_ticks = ending.finalized ? header.latest_ticks : 0;
  header.kinds = trace::kCalls | trace::kMessages | trace::kCollectives | trace::kFunctions;
  header.memory_bytes = memory_.size() * sizeof(std::uint64_t);
  copy_text(header.host, ending.host);
  copy_text(header.library, ending.library);
  copy_text(header.node, ending.host);
  header.tail = tail_;
  return header;
}

Status RankRecorder::finish(const Ending& ending, const std::string& procedure_names) {
  trace::flush(recorder_);
  if (!failed_.ok()) return failed_;
  Blocks blocks;
  blocks.text(trace::BlockKind::names, procedure_names);
  if (!mapping_.segments.empty()) blocks.text(trace::BlockKind::maps, mappings());
  for (const auto& [number, comm] : comms_) {
    if (comm.index == trace::kUnknownComm) continue;
    blocks.communicator(comm.index, comm.shared->world, comm.rank, ending.world_size, comm.name, comm.created_by);
  }
  for (const auto& [type, index] : types_) {
    const auto& [name, size, extent, derived] = type;
    blocks.datatype(static_cast<std::uint32_t>(index), name, size, extent, derived);
  }
  blocks.align_to(trace::kThreadAlign, tail_);
  blocks.thread(*recorder_.header, kHalfBytes);
  Status written = write(tail_, blocks.bytes());
  tail_ += blocks.bytes().size();
  const trace::FileHeader made = header(ending);
  std::vector<std::byte> first(sizeof made);
  std::memcpy(first.data(), &made, sizeof made);
  return written.ok() ? write(0, first) : written;
}

}  // namespace corewise::simmpi
