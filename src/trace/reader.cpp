// The reader: mapping a rank's file, walking its blocks, and putting every slot's records in order.
// SPDX-License-Identifier: BSD-3-Clause
#include "trace/reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/io_error.hpp"
#include "base/utf8.hpp"
#include "trace/bundle.hpp"
#include "trace/codec.hpp"

namespace corewise::trace {
namespace {

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

/// Up to its first NUL, in UTF-8: programs name things in other encodings, and files are damaged.
std::string until_nul(const char* text, std::size_t size) {
  return as_utf8({text, strnlen(text, size)});
}

/// A record's first word, the one that its writer stores last.
std::uint64_t start_word(const std::byte* record) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(record), __ATOMIC_ACQUIRE);
}

void decode_message(const std::byte* at, std::uint32_t version, Record& record) {
  MessageRecord message;
  std::memcpy(&message, at, sizeof message);
  record.bytes = volume_bytes(message.volume);
  record.comm = volume_comm(message.volume);
  record.tag = message.tag;
  record.peer = version >= 3 ? target_peer(message.target) : static_cast<std::int32_t>(message.target);
  if (version >= 3) record.type = static_cast<std::uint8_t>(target_type(message.target));
}

Record decode(const CallRecord& head, const std::byte* at, std::uint32_t version) {
  Record record;
  record.start_ticks = head.start;
  record.duration_ticks = unpack_duration(head.duration);
  record.procedure = procedure_of(head.call);
  record.site = head.site;
  record.role = role_of(head.call);
  switch (record.role) {
    case Role::function_enter:
    case Role::function_exit:
      record.address = std::uint64_t{head.duration} | std::uint64_t{head.site} << 32;
      record.duration_ticks = 0;
      record.site = 0;
      break;
    case Role::region_enter:
    case Role::region_exit:
    case Role::phase:
    case Role::recording:
      record.name = head.duration;
      record.duration_ticks = 0;
      break;
    default:
      break;
  }
  if (record_bytes(head.call) == sizeof(MessageRecord)) decode_message(at, version, record);
  return record;
}

Record decode(const MessageRecord& message) {
  return decode(message.head, reinterpret_cast<const std::byte*>(&message), kVersion);
}

/// Nothing where the thread was in no call.
std::optional<OpenRecord> decode_open(const OpenCall& open) {
  if (open.call.head.start == 0) return std::nullopt;
  OpenRecord out{decode(open.call), open.requests, {}};
  for (std::uint32_t i = 0; i < std::min(open.listed, kListedRequests); ++i)
    out.pending.push_back(decode(open.pending[i]));
  return out;
}

bool known_kind(BlockKind kind) {
  return kind == BlockKind::thread || kind == BlockKind::chunk || kind == BlockKind::names ||
         kind == BlockKind::comm || kind == BlockKind::maps || kind == BlockKind::region ||
         kind == BlockKind::clock || kind == BlockKind::type;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < text.size() && names.size() <= kCallMask) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

Communicator describe(const CommHeader& header) {
  Communicator comm;
  comm.index = header.block.index;
  comm.size = header.size;
  comm.remote_size = header.remote_size;
  comm.my_rank = header.my_rank;
  comm.identity = header.identity != 0;
  comm.created_by = header.created_by;
  comm.parent = header.parent;
  comm.created_ticks = header.created_ticks;
  return comm;
}

/// Copies `count` ranks from `at` and returns what follows.
const std::byte* copy_ranks(const std::byte* at, std::uint64_t count, std::vector<std::int32_t>& ranks) {
  ranks.resize(count);
  if (count > 0) std::memcpy(ranks.data(), at, count * sizeof(std::int32_t));
  return at + count * sizeof(std::int32_t);
}

/// Unmaps when the last owner goes.
std::shared_ptr<const void> own_mapping(void* address, std::size_t bytes) {
  return {address, [bytes](const void* at) { ::munmap(const_cast<void*>(at), bytes); }};
}

/// Where a rank file of `folder` that is not there was packed to, "" where nowhere.
std::string packed_path(const std::string& folder, const std::string& name) {
  const Result<std::vector<std::string>> files = rank_files(folder.empty() ? "." : folder);
  if (!files.ok()) return "";
  for (const std::string& file : files.value())
    if (file.ends_with("/" + name)) return file;
  return "";
}

}  // namespace

double Calibration::time_ns(std::uint64_t ticks) const {
  return ticks >= start_ticks ? duration_ns(ticks - start_ticks) : -duration_ns(start_ticks - ticks);
}

Calibration calibrate(const FileHeader& header) {
  Calibration result;
  result.start_ticks = header.start_ticks;
  if (header.clock == Clock::monotonic_raw_ns || header.clock == Clock::simulated) {
    result.known = result.precise = true;
    if (header.clock == Clock::simulated) result.ns_per_tick = kSimulatedTick_ns;
    return result;
  }
  if (header.latest_ticks <= header.start_ticks || header.latest_ns <= header.start_ns) return result;
  // Unsigned on purpose: a damaged header must not overflow a signed subtraction.
  const auto span = static_cast<std::uint64_t>(header.latest_ns) - static_cast<std::uint64_t>(header.start_ns);
  const double rate = static_cast<double>(span) / static_cast<double>(header.latest_ticks - header.start_ticks);
  if (rate < 0.01 || rate > 100) return result;  // no processor counts outside 10 MHz to 100 GHz
  result.ns_per_tick = rate;
  result.span_ns = static_cast<std::int64_t>(std::min(span, std::uint64_t{INT64_MAX}));
  result.known = true;
  result.precise = result.span_ns >= Calibration::kPreciseSpan_ns;
  return result;
}

// ---- one slot's stream -----------------------------------------------------------------------------------

bool RecordStream::next(Record& record) {
  for (; index_ < segments_.size(); ++index_, opened_ = false) {
    if (!opened_) open_segment(segments_[index_]);
    if (next_in_segment(segments_[index_], record)) return true;
  }
  return false;
}

void RecordStream::open_segment(const Segment& segment) {
  opened_ = true;
  at_ = 0;
  data_ = segment.data;
  bytes_ = segment.bytes;
  if (segment.encoded == 0) return;
  decoded_.resize(segment.bytes);
  data_ = decoded_.data();
  bytes_ = trace::decode(segment.data, segment.encoded, decoded_.data(), segment.bytes);
  damaged_ += segment.bytes - bytes_;
}

bool RecordStream::next_in_segment(const Segment& segment, Record& record) {
  const std::uint64_t floor = std::max(segment.floor, position_);
  while (bytes_ - at_ >= sizeof(CallRecord)) {
    const std::byte* at = data_ + at_;
    CallRecord head;
    head.start = start_word(at);
    if (head.start == 0) return false;
    std::memcpy(reinterpret_cast<std::byte*>(&head) + 8, at + 8, 8);
    const std::uint32_t size = record_bytes(head.call);
    if (bytes_ - at_ < size) return false;
    const std::uint64_t offset = segment.first + at_;
    at_ += size;
    if (offset < floor) continue;
    position_ = offset + size;
    record = decode(head, at, version_);
    return true;
  }
  return false;
}

// ---- the file --------------------------------------------------------------------------------------------

struct Reader::Chunk {
  std::uint32_t bytes;    ///< of records
  std::uint32_t encoded;  ///< of their encoding, 0: as they are
  std::uint64_t first;
  std::uint64_t offset;  ///< of the payload in the file
};

struct Reader::ThreadBlock {
  ThreadHeader header;
  std::uint64_t offset;  ///< of half 0 in the file
};

struct Reader::Index {
  std::map<std::uint32_t, ThreadBlock> threads;
  std::map<std::uint32_t, std::vector<Chunk>> chunks;
  bool in_garbage = false;
};

template <class T>
T Reader::load(std::uint64_t offset) const {
  T value;
  std::memcpy(&value, file_.data() + offset, sizeof value);
  return value;
}

Result<Reader> Reader::open(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = path.substr(slash + 1);
  if (!parent.ends_with(kBundleSuffix)) {
    const std::string packed = ::access(path.c_str(), F_OK) == 0 ? "" : packed_path(parent, name);
    return packed.empty() ? open_at(path, path, 0, 0) : open(packed);
  }
  Result<std::vector<Member>> members = read_bundle(parent);
  if (!members.ok()) return members.status();
  for (const Member& member : members.value())
    if (member.name == name && member.bytes > 0) return open_at(path, parent, member.offset, member.bytes);
  return invalid_input(path + ": not a trace file: the bundle holds nothing of that name");
}

/// `bytes` at `offset` of `file`; 0: all of it.
Result<Reader> Reader::open_at(const std::string& path, const std::string& file_path, std::uint64_t offset,
                               std::uint64_t length) {
  // A pipe would block the opening until somebody writes.
  const int file = ::open(file_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return io_error(path, "open");
  struct stat about{};
  const bool regular = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const auto bytes = static_cast<std::size_t>(length > 0 ? length : regular ? about.st_size : 0);
  if (!regular || bytes == 0) {
    ::close(file);
    return invalid_input(path + ": not a trace file: " + (regular ? "it is empty" : "not a regular file"));
  }
  const std::size_t before = offset % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* address = ::mmap(nullptr, before + bytes, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset - before));
  const int mapped_errno = errno;
  ::close(file);
  errno = mapped_errno;
  if (address == MAP_FAILED) return io_error(path, "map");
  Reader reader;
  reader.mapping_ = own_mapping(address, before + bytes);
  reader.file_ = {static_cast<const std::byte*>(address) + before, bytes};
  if (Status status = reader.read(path); !status.ok()) return status;
  return reader;
}

Result<Reader> Reader::from_memory(std::span<const std::byte> file, const std::string& source) {
  Reader reader;
  reader.file_ = file;
  if (Status status = reader.read(source); !status.ok()) return status;
  return reader;
}

Status Reader::read(const std::string& source) {
  if (Status status = read_header(source); !status.ok()) return status;
  clock_ = calibrate(header_);
  walk();
  return {};
}

Status Reader::read_header(const std::string& source) {
  if (file_.size() < sizeof kMagic || std::memcmp(file_.data(), kMagic, sizeof kMagic) != 0)
    return invalid_input(source + ": not a corewise trace (it does not start with CWTRACE)");
  if (file_.size() < kFirstBlock)
    return invalid_input(source + ": truncated: " + std::to_string(file_.size()) + " bytes, a trace has at least " +
                         std::to_string(kFirstBlock));
  header_ = load<FileHeader>(0);
  if (header_.version < kOldestVersion || header_.version > kVersion)
    return bad_field(source, "version", std::to_string(header_.version), "1 to 3");
  if (header_.header_bytes != kHeaderBytes)
    return bad_field(source, "header_bytes", std::to_string(header_.header_bytes), std::to_string(kHeaderBytes));
  if (header_.half_bytes < sizeof(MessageRecord) || header_.half_bytes % sizeof(CallRecord) != 0)
    return bad_field(source, "half_bytes", std::to_string(header_.half_bytes), "a multiple of 16 from 32");
  return {};
}

void Reader::walk() {
  Index index;
  for (std::uint64_t offset = kFirstBlock; offset + sizeof(BlockHeader) <= file_.size();)
    offset = take_block(offset, index);
  for (const auto& [slot, thread] : index.threads) build_slot(thread, index.chunks[slot]);
  for (const auto& [slot, chunks] : index.chunks)
    if (!index.threads.contains(slot)) damage_.blocks += chunks.size();
  note_cut(index.threads.size());
}

/// Compares the file's end with what the rank had claimed.
void Reader::note_cut(std::size_t threads) {
  if (header_.lost_bytes > 0) return;  // a full file system: what was claimed could not be written
  // Never written behind the last block: its padding, and what aligning a thread's block left over.
  std::uint64_t unwritten = kThreadAlign;
  // A kill may come between claiming a block and writing it, in each thread and in one that is just starting.
  const std::uint64_t largest =
      align_up(thread_header_bytes() + std::uint64_t{header_.half_bytes} * 2, kThreadAlign);
  if (header_.state != State::finalized) unwritten += (threads + 1) * (largest + kThreadAlign);
  const std::uint64_t there = file_.size() + unwritten;
  if (header_.tail > there) damage_.cut_bytes = header_.tail - file_.size();
}

/// Returns where the next block may start.
std::uint64_t Reader::take_block(std::uint64_t offset, Index& index) {
  const auto block = load<BlockHeader>(offset);
  if (static_cast<std::uint32_t>(block.kind) == 0) return offset + kBlockAlign;
  if (!known_kind(block.kind) || block.block_bytes < kLeastBlock ||
      block.block_bytes > align_up(file_.size() - offset, kBlockAlign)) {
    // Its end is unknown: cut short by a kill when it is the last, damaged otherwise. The search goes on behind.
    // A thread's block had its room before its kind was stored: no kill can leave it longer than the file.
    if (!index.in_garbage) ++(block.kind == BlockKind::thread ? damage_.blocks : damage_.uncommitted);
    index.in_garbage = true;
    return offset + kBlockAlign;
  }
  index.in_garbage = false;
  if (!take_known(block, offset, index)) ++damage_.blocks;
  return align_up(offset + block.block_bytes, kBlockAlign);
}

/// False for a block whose content is impossible.
bool Reader::take_known(const BlockHeader& block, std::uint64_t offset, Index& index) {
  if (block.kind == BlockKind::thread) return take_thread(block, offset, index);
  if (block.kind == BlockKind::chunk) return take_chunk(block, offset, index);
  if (block.kind == BlockKind::clock) return take_clock(block, offset);
  if (!committed(block, offset)) {
    ++damage_.uncommitted;
    return true;
  }
  if (block.kind == BlockKind::type) return take_type(block, offset);
  return block.kind == BlockKind::comm ? take_comm(block, offset) : take_text(block, offset);
}

bool Reader::committed(const BlockHeader& block, std::uint64_t offset) const {
  return block.block_bytes >= sizeof(TextHeader) + 8 && block.block_bytes <= file_.size() - offset &&
         load<std::uint64_t>(offset + block.block_bytes - 8) == kCommit;
}

bool Reader::take_thread(const BlockHeader& block, std::uint64_t offset, Index& index) {
  const std::uint64_t room = std::min(block.block_bytes, file_.size() - offset);
  const std::uint32_t bytes = thread_header_bytes();
  if (room < bytes + std::uint64_t{header_.half_bytes} * 2) return false;
  ThreadHeader header{};
  std::memcpy(&header, file_.data() + offset, bytes);
  return index.threads.emplace(block.index, ThreadBlock{header, offset + bytes}).second;
}

std::uint32_t Reader::thread_header_bytes() const {
  return header_.version >= 3 ? sizeof(ThreadHeader) : kLeastBlock;
}

bool Reader::take_chunk(const BlockHeader& block, std::uint64_t offset, Index& index) {
  // The padding behind a chunk's records is never written: a file may end without it.
  const std::uint64_t room = std::min(block.block_bytes, file_.size() - offset);
  if (room < sizeof(ChunkHeader)) return false;
  const auto chunk = load<ChunkHeader>(offset);
  if (chunk.payload_bytes > room - sizeof(ChunkHeader) || chunk.payload_bytes == 0) return false;
  const std::uint64_t bytes =
      header_.version == 1 || chunk.record_bytes == 0 ? chunk.payload_bytes : chunk.record_bytes;
  const bool delta = chunk.encoding == kDelta;
  if (delta ? bytes > std::min<std::uint64_t>(header_.half_bytes,
                                              std::uint64_t{chunk.payload_bytes} * kLargestExpansion)
            : chunk.encoding != kRaw || bytes != chunk.payload_bytes)
    return false;
  index.chunks[block.index].push_back({static_cast<std::uint32_t>(bytes), delta ? chunk.payload_bytes : 0,
                                       chunk.first, offset + sizeof(ChunkHeader)});
  return true;
}

/// Written by one call and small enough to lie in one page: whole or not there.
bool Reader::take_clock(const BlockHeader& block, std::uint64_t offset) {
  if (block.block_bytes < sizeof(ClockSync) || offset + sizeof(ClockSync) > file_.size()) return false;
  clock_syncs_.push_back(load<ClockSync>(offset));
  return true;
}

bool Reader::take_text(const BlockHeader& block, std::uint64_t offset) {
  const auto header = load<TextHeader>(offset);
  if (header.payload_bytes > block.block_bytes - sizeof(TextHeader) - 8) return false;
  const std::string text =
      as_utf8({reinterpret_cast<const char*>(file_.data() + offset + sizeof(TextHeader)), header.payload_bytes});
  if (block.kind == BlockKind::names)
    names_ = split_names(text);
  else if (block.kind == BlockKind::region)
    region_names_[block.index] = text;
  else
    maps_.append(text);
  return true;
}

bool Reader::take_comm(const BlockHeader& block, std::uint64_t offset) {
  const auto header = load<CommHeader>(offset);
  const std::uint64_t room = block.block_bytes - sizeof(CommHeader) - 8;
  if (header.size < 0 || header.remote_size < 0 || header.name_bytes > room) return false;
  if (header.identity != 0 && header.size > header_.world_size) return false;  // its ranks are the world's
  const std::uint64_t name_bytes = align_up(header.name_bytes, 8);
  const auto local = header.identity != 0 ? 0 : static_cast<std::uint64_t>(header.size);
  const auto remote = static_cast<std::uint64_t>(header.remote_size);
  if (name_bytes + (local + remote) * sizeof(std::int32_t) > room) return false;
  Communicator comm = describe(header);
  const std::byte* at = file_.data() + offset + sizeof(CommHeader);
  comm.name = until_nul(reinterpret_cast<const char*>(at), header.name_bytes);
  at = copy_ranks(at + name_bytes, local, comm.ranks);
  copy_ranks(at, remote, comm.remote_ranks);
  communicators_[block.index] = std::move(comm);
  return true;
}

bool Reader::take_type(const BlockHeader& block, std::uint64_t offset) {
  const auto header = load<TypeHeader>(offset);
  if (header.name_bytes > block.block_bytes - sizeof(TypeHeader) - 8) return false;
  const auto* name = reinterpret_cast<const char*>(file_.data() + offset + sizeof(TypeHeader));
  datatypes_[block.index] = {header.size_bytes, header.extent_bytes, header.derived != 0,
                             until_nul(name, header.name_bytes)};
  return true;
}

void Reader::build_slot(const ThreadBlock& thread, std::vector<Chunk>& chunks) {
  Slot slot;
  slot.index = thread.header.block.index;
  if (header_.mode == Mode::flight_recorder)
    slot.overwritten_bytes = thread.header.drained;
  else
    add_chunks(slot, thread.header.drained, chunks);
  add_halves(slot, thread);
  if (header_.version >= 3) slot.open = decode_open(thread.header.open);
  slots_.push_back(std::move(slot));
}

void Reader::add_chunks(Slot& slot, std::uint64_t drained, std::vector<Chunk>& chunks) {
  std::sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    return std::pair(a.first, a.offset) < std::pair(b.first, b.offset);
  });
  std::uint64_t end = 0;
  for (const Chunk& chunk : chunks) {
    // Beyond `drained`: the rank ended between writing the chunk and publishing it; a half still has the records.
    if (chunk.first > drained || chunk.bytes > drained - chunk.first) continue;
    if (chunk.first < end) {
      ++damage_.blocks;
      continue;
    }
    damage_.missing_bytes += chunk.first - end;
    end = chunk.first + chunk.bytes;
    slot.segments.push_back({file_.data() + chunk.offset, chunk.bytes, chunk.first, 0, chunk.encoded});
  }
  damage_.missing_bytes += drained - end;
}

void Reader::add_halves(Slot& slot, const ThreadBlock& thread) {
  std::uint32_t order[2] = {0, 1};
  if (thread.header.half_first[1] < thread.header.half_first[0]) std::swap(order[0], order[1]);
  for (const std::uint32_t half : order) {
    const std::uint64_t first = thread.header.half_first[half];
    if (first == kClosedHalf) continue;
    if (first > UINT64_MAX - header_.half_bytes) {
      ++damage_.blocks;
      continue;
    }
    const std::uint64_t offset = thread.offset + std::uint64_t{half} * header_.half_bytes;
    slot.segments.push_back({file_.data() + offset, header_.half_bytes, first, thread.header.drained, 0});
  }
}

// ---- what a user asks for --------------------------------------------------------------------------------

std::string Reader::host() const {
  return until_nul(header_.host, sizeof header_.host);
}

std::string Reader::library() const {
  return until_nul(header_.library, sizeof header_.library);
}

std::string Reader::procedure_name(std::uint16_t procedure) const {
  if (procedure < names_.size() && !names_[procedure].empty()) return names_[procedure];
  return "procedure " + std::to_string(procedure);
}

std::string Reader::region_name(std::uint32_t name) const {
  const auto found = region_names_.find(name);
  return found != region_names_.end() ? found->second : "region " + std::to_string(name);
}

std::vector<std::uint64_t> Reader::crash_stack() const {
  if (header_.version < 3 || header_.crash.signal == 0) return {};
  const std::uint32_t bytes = std::min(header_.crash.stack_bytes, kHeaderBytes - kCrashStack);
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), file_.data() + kCrashStack, words.size() * sizeof words.front());
  return words;
}

std::string Reader::node() const {
  const std::string named = header_.version >= 2 ? until_nul(header_.node, sizeof header_.node) : std::string();
  return named.empty() ? host() : named;
}

std::uint64_t Reader::site_address(std::uint16_t site) const {
  if (site == 0 || site > kSiteCapacity) return 0;
  return load<std::uint64_t>(kHeaderBytes + (std::uint64_t{site} - 1) * 8);
}

}  // namespace corewise::trace
