// Blocks of a trace file, put one behind the other. SPDX-License-Identifier: BSD-3-Clause
#include "lab/profiling/trace_image.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "trace/format.hpp"

namespace corewise::lab {
namespace {

constexpr std::string_view kHost = "cell";
constexpr std::string_view kLibrary = "MPI calls of programs on a simulated Cell";
constexpr std::string_view kWorld = "MPI_COMM_WORLD";

class Image {
 public:
  Image() : bytes_(trace::kFirstBlock) {}

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  template <class T>
  void put(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  void append(std::span<const std::byte> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
  void align(std::size_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }
  std::vector<std::byte> finish(trace::FileHeader header) {
    header.tail = bytes_.size();
    std::memcpy(bytes_.data(), &header, sizeof header);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

void copy_text(char* to, std::size_t room, std::string_view text) {
  std::memcpy(to, text.data(), std::min(room - 1, text.size()));
}

/// The clock is the decrementer since its start; two pairs say what a tick is.
trace::FileHeader header_of(const SpeRecorder& recorder, double tick_ns, std::uint32_t half_bytes, int rank,
                            int size) {
  trace::FileHeader header{};
  std::memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.header_bytes = trace::kHeaderBytes;
  header.rank = rank;
  header.world_size = size;
  header.pid = static_cast<std::uint32_t>(rank) + 1;
  header.clock = trace::Clock::tsc;
  header.half_bytes = half_bytes;
  header.start_ticks = 1;
  header.start_ns = static_cast<std::int64_t>(static_cast<double>(recorder.began()) * tick_ns);
  header.latest_ticks = recorder.last_tick();
  header.latest_ns = static_cast<std::int64_t>(static_cast<double>(recorder.ended()) * tick_ns);
  header.exit_ticks = recorder.last_tick();
  header.state = trace::State::finalized;
  header.lost_bytes = recorder.lost_bytes();
  header.kinds = trace::kAllKinds & ~static_cast<std::uint32_t>(trace::kSites);
  header.memory_bytes = local_store_bytes(half_bytes) - kRecorderCodeBytes;
  copy_text(header.host, sizeof header.host, kHost);
  copy_text(header.library, sizeof header.library, kLibrary);
  copy_text(header.node, sizeof header.node, kHost);
  return header;
}

void put_names(Image& image) {
  std::string text;
  for (const EventRow& row : kEventRows) text.append(row.name).push_back('\0');
  const std::size_t padded = (text.size() + 7) / 8 * 8;
  const std::size_t bytes = text.size();
  text.resize(padded);
  trace::TextHeader header{};
  header.block = {trace::BlockKind::names, 0, sizeof header + padded + 8};
  header.payload_bytes = bytes;
  image.put(header);
  image.append(text);
  image.put(trace::kCommit);
  image.align(trace::kBlockAlign);
}

void put_world(Image& image, int rank, int size) {
  std::string name(kWorld);
  name.resize((name.size() + 7) / 8 * 8);
  trace::CommHeader header{};
  header.block = {trace::BlockKind::comm, 0, sizeof header + name.size() + 8};
  header.size = size;
  header.my_rank = rank;
  header.identity = 1;
  header.name_bytes = static_cast<std::uint32_t>(kWorld.size());
  header.parent = trace::kUnknownComm;
  image.put(header);
  image.append(name);
  image.put(trace::kCommit);
  image.align(trace::kBlockAlign);
}

/// One chunk, `first` in the stream.
void put_chunk(Image& image, std::uint64_t first, std::span<const std::byte> records) {
  trace::ChunkHeader header{};
  header.block = {trace::BlockKind::chunk, 0, sizeof header + records.size()};
  header.first = first;
  header.payload_bytes = static_cast<std::uint32_t>(records.size());
  header.encoding = trace::kRaw;
  header.record_bytes = records.size();
  image.put(header);
  image.append(records);
  image.align(trace::kBlockAlign);
}

/// Buffers that are empty: all that was in them is in chunks.
void put_thread(Image& image, std::uint64_t drained, std::uint32_t half_bytes) {
  image.align(trace::kThreadAlign);
  trace::ThreadHeader header{};
  header.block = {trace::BlockKind::thread, 0, sizeof header + 2 * std::uint64_t{half_bytes}};
  header.drained = drained;
  header.half_first[0] = header.half_first[1] = trace::kClosedHalf;
  image.put(header);
  image.append(std::vector<std::byte>(2 * std::size_t{half_bytes}));
}

std::uint64_t first_word(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// The bytes of a page's records: pages are zero behind them.
std::uint32_t used_bytes(std::span<const std::byte> page) {
  std::uint32_t at = 0;
  while (at + 16 <= page.size() && first_word(page.data() + at) != 0) {
    std::uint16_t call = 0;
    std::memcpy(&call, page.data() + at + offsetof(trace::CallRecord, call), sizeof call);
    at += trace::record_bytes(call);
  }
  return at;
}

std::vector<EventFields> paper_events(std::span<const std::byte> page) {
  std::vector<EventFields> events;
  for (std::size_t at = 0; at + sizeof(PaperEvent) <= page.size(); at += sizeof(PaperEvent)) {
    if (first_word(page.data() + at) == 0) break;
    PaperEvent event;
    std::memcpy(static_cast<void*>(&event), page.data() + at, sizeof event);
    events.push_back(fields_of(event));
  }
  return events;
}

/// The paper's records as ours.
std::vector<std::byte> converted(std::span<const std::byte> page) {
  std::vector<std::byte> records;
  for (const EventFields& event : paper_events(page)) {
    const std::size_t at = records.size();
    records.resize(at + record_bytes_of(event.type));
    put_record(records.data() + at, event);
  }
  return records;
}

EventFields own_event(const std::byte* at) {
  trace::CallRecord head;
  std::memcpy(&head, at, sizeof head);
  const trace::Role role = trace::role_of(head.call);
  EventFields fields;
  fields.start = head.start;
  if (role == trace::Role::function_enter || role == trace::Role::function_exit) {
    fields.type = role == trace::Role::function_enter ? Event::enter : Event::exit;
    fields.function = head.duration | std::uint64_t{head.site} << 32;
    return fields;
  }
  fields.type = static_cast<Event>(trace::procedure_of(head.call));
  fields.ticks = trace::unpack_duration(head.duration);
  if (trace::is_short(role)) return fields;
  trace::MessageRecord message;
  std::memcpy(&message, at, sizeof message);
  fields.bytes = trace::volume_bytes(message.volume);
  fields.peer = trace::target_peer(message.target);
  fields.tag = message.tag;
  return fields;
}

std::span<const std::byte> page_at(cell::System& system, const SpeRecorder& recorder, std::uint32_t page,
                                   std::uint32_t half_bytes) {
  return system.bytes(recorder.pages_at() + std::uint64_t{page} * half_bytes, half_bytes);
}

}  // namespace

std::vector<std::byte> trace_image(cell::System& system, const SpeRecorder& recorder, EventLayout layout,
                                   std::uint32_t half_bytes, int rank, int size) {
  Image image;
  put_names(image);
  put_world(image, rank, size);
  std::uint64_t first = 0;
  for (std::uint32_t page = 0; page < recorder.pages_used(); ++page) {
    const std::span<const std::byte> bytes = page_at(system, recorder, page, half_bytes);
    if (layout == EventLayout::paper) {
      const std::vector<std::byte> records = converted(bytes);
      put_chunk(image, first, records);
      first += records.size();
    } else {
      const std::uint32_t used = used_bytes(bytes);
      put_chunk(image, first, bytes.first(used));
      first += used;
    }
  }
  put_thread(image, first, half_bytes);
  return image.finish(header_of(recorder, system.engine().tick_ns(), half_bytes, rank, size));
}

std::vector<EventFields> events_in_pages(cell::System& system, const SpeRecorder& recorder, EventLayout layout,
                                         std::uint32_t half_bytes) {
  std::vector<EventFields> events;
  for (std::uint32_t page = 0; page < recorder.pages_used(); ++page) {
    const std::span<const std::byte> bytes = page_at(system, recorder, page, half_bytes);
    if (layout == EventLayout::paper) {
      for (const EventFields& event : paper_events(bytes)) events.push_back(event);
      continue;
    }
    for (std::uint32_t at = 0; at < used_bytes(bytes);) {
      events.push_back(own_event(bytes.data() + at));
      at += record_bytes_of(events.back().type);
    }
  }
  return events;
}

}  // namespace corewise::lab
