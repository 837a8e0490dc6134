// The recorder on an SPE: its clock, its dumps, its events. SPDX-License-Identifier: BSD-3-Clause
#include "lab/profiling/spe_recorder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace corewise::lab {
namespace {

/// What an SPE sends for its pages, and gets back.
struct alignas(16) Allotment {
  std::uint64_t base = 0;
  std::uint32_t pages = 0;
  std::uint32_t page_bytes = 0;
};
static_assert(sizeof(Allotment) == 16 && sizeof(Allotment) <= kRecorderStateBytes);

constexpr std::uint32_t kAll = 0xffffffff;
constexpr std::uint32_t kQuadword = 16;
constexpr std::uint32_t kMostHalfBytes = 64 * 1024;
/// 0 where the memory is full.
cell::EffectiveAddress allocated(cell::System& system, std::uint64_t bytes) {
  try {
    return system.allocate(bytes, cell::kPageBytes);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

constexpr auto kMemoryHigh = static_cast<std::uint32_t>(cell::kMemoryBase >> 32);

}  // namespace

Status RecorderSettings::check() const {
  const std::uint32_t least = sizeof(PaperEvent);
  if (half_bytes < least || half_bytes > kMostHalfBytes || half_bytes % kQuadword != 0) {
    return bad_field("recorder", "half_bytes", std::to_string(half_bytes), "multiples of 16 from 80 to 65536");
  }
  if (pages < 1 || pages > 1'000'000) {
    return bad_field("recorder", "pages", std::to_string(pages), "1..1000000");
  }
  return {};
}

void offer_pages(RemoteCalls& calls, cell::System& system, std::uint64_t limit_bytes) {
  const auto memory = static_cast<std::uint64_t>(system.parameters().memory_bytes);
  auto left = std::make_shared<std::uint64_t>(std::min(limit_bytes, memory));
  calls.offer(kAllotPages, [&system, left](cell::Ppu& ppu, std::span<std::byte> message) {
    Allotment asked;
    std::memcpy(&asked, message.data(), sizeof asked);
    ppu.cycles(kAllotCycles);
    asked.pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.pages, *left / asked.page_bytes));
    const std::uint64_t bytes = std::uint64_t{asked.pages} * asked.page_bytes;
    *left -= bytes;
    asked.base = asked.pages == 0 ? 0 : allocated(system, bytes);
    if (asked.base == 0) asked.pages = 0;
    std::memcpy(message.data(), &asked, sizeof asked);
  });
}

SpeRecorder::SpeRecorder(cell::Spu& spu, const RemoteCalls& calls, const RecorderSettings& settings,
                         cell::LsAddress at)
    : spu_(spu), calls_(calls), settings_(settings), message_(at), buffers_(at + kRecorderStateBytes) {
  if (Status status = settings.check(); !status.ok()) spu.engine().fail(std::move(status));
  const std::uint32_t block = sizeof(trace::ThreadHeader) + 2 * settings.half_bytes;
  auto* const header = reinterpret_cast<trace::ThreadHeader*>(spu.ls(buffers_, block).data());
  *header = trace::ThreadHeader{};
  header->block = {trace::BlockKind::thread, 0, block};
  trace::attach(recorder_, header, &losses_, settings.half_bytes, &SpeRecorder::dump, this);
}

void SpeRecorder::start() {
  spu_.store(message_, Allotment{0, settings_.pages, settings_.half_bytes});
  calls_.call(spu_, kAllotPages, message_, sizeof(Allotment));
  const auto allotted = spu_.load<Allotment>(message_);
  base_ = allotted.base;
  pages_ = allotted.pages;
  began_ = spu_.now();
  spu_.spu_write_decrementer(kAll);
  last_count_ = kAll;
  record({.type = Event::profile_start}, [] {});
}

void SpeRecorder::stop() {
  record({.type = Event::profile_stop}, [] {});
  trace::flush(recorder_);
  const std::uint32_t mask = spu_.mfc_read_tag_mask();
  spu_.mfc_write_tag_mask(1U << kTag);
  spu_.mfc_read_tag_status_all();
  spu_.mfc_write_tag_mask(mask);
  last_tick_ = clock();
  ended_ = spu_.now();
}

std::uint64_t SpeRecorder::clock() {
  const std::uint32_t count = spu_.spu_read_decrementer();
  ticks_ += last_count_ - count;  // it counts down and wraps
  last_count_ = count;
  return ticks_;
}

// ---- dumps (figure 1) ------------------------------------------------------------------------------------

bool SpeRecorder::dump(void* self, const trace::FullHalf& half) {
  return static_cast<SpeRecorder*>(self)->dump_half(half);
}

bool SpeRecorder::dump_half(const trace::FullHalf& half) {
  if (used_ == pages_) return false;
  spu_.spu_cycles(costs().swap);
  const std::uint32_t mask = spu_.mfc_read_tag_mask();
  const sim::Time begin = spu_.now();
  spu_.mfc_write_tag_mask(1U << kTag);
  spu_.mfc_read_tag_status_all();  // step 1
  waited_ += spu_.now() - begin;
  spu_.mfc_write_tag_mask(mask);
  const auto from = buffers_ + static_cast<cell::LsAddress>(half.records - spu_.ls(buffers_, 1).data());
  const cell::EffectiveAddress to = base_ + std::uint64_t{used_} * settings_.half_bytes;
  for (std::uint32_t at = 0; at < half.bytes; at += cell::kMaxDmaBytes) {
    spu_.mfc_put(from + at, to + at, std::min(half.bytes - at, cell::kMaxDmaBytes), kTag);  // step 2
  }
  ++used_;
  spu_.spu_cycles(settings_.half_bytes / kQuadword);  // step 3: the other half is cleared
  return true;
}

// ---- events ----------------------------------------------------------------------------------------------

void SpeRecorder::put(const EventFields& fields) {
  const bool paper = settings_.layout == EventLayout::paper;
  const std::uint32_t bytes = paper ? sizeof(PaperEvent) : record_bytes_of(fields.type);
  spu_.spu_cycles(paper ? costs().paper_event : bytes == 16 ? costs().short_record : costs().long_record);
  std::byte* const place = trace::reserve(recorder_, bytes);
  if (place == nullptr) return;
  if (paper) {
    const PaperEvent event = paper_event(fields);
    std::memcpy(place + 8, reinterpret_cast<const std::byte*>(&event) + 8, sizeof event - 8);
    std::uint64_t first = 0;
    std::memcpy(&first, &event, sizeof first);
    trace::commit(place, first);
  } else {
    put_record(place, fields);
  }
  recorder_.cursor = place + bytes;
  ++events_;
}

void SpeRecorder::function_event(Event event, std::uint64_t function) {
  if (!settings_.functions) return;
  spu_.spu_cycles(costs().call);
  EventFields fields{.type = event};
  fields.function = function;
  fields.start = clock();
  put(fields);
}

/// The rank whose local store it is; main memory is outside of the world.
std::int32_t SpeRecorder::peer_of(cell::EffectiveAddress ea) const {
  const cell::Location place = cell::locate(ea);
  if (place.kind != cell::Location::Kind::local_store) return trace::kOutside;
  if (settings_.spes.empty()) return place.index;
  const auto found = std::find(settings_.spes.begin(), settings_.spes.end(), place.index);
  return found == settings_.spes.end() ? trace::kOutside
                                       : static_cast<std::int32_t>(found - settings_.spes.begin());
}

void SpeRecorder::dma_event(Event event, cell::EffectiveAddress ea, std::uint64_t bytes, std::uint32_t tag,
                            const std::function<void()>& command) {
  if (!settings_.dma) return command();
  EventFields fields{.type = event, .bytes = bytes};
  fields.peer = peer_of(ea);
  fields.tag = static_cast<std::int32_t>(tag);
  record(fields, command);
}

void SpeRecorder::mfcdma64(cell::LsAddress ls, std::uint32_t eah, std::uint32_t eal, std::uint32_t size,
                           std::uint32_t tag, Dma command, const Where& where) {
  const cell::EffectiveAddress ea = cell::EffectiveAddress{eah} << 32 | eal;
  const bool put = command == Dma::put;
  dma_event(put ? Event::mfc_put64 : Event::mfc_get64, ea, size, tag, [&] {
    put ? spu_.mfc_put(ls, ea, size, tag, 0, 0, where) : spu_.mfc_get(ls, ea, size, tag, 0, 0, where);
  });
}

void SpeRecorder::mfcdma32(cell::LsAddress ls, std::uint32_t eal, std::uint32_t size, std::uint32_t tag,
                           Dma command, const Where& where) {
  const cell::EffectiveAddress ea = cell::EffectiveAddress{kMemoryHigh} << 32 | eal;
  const bool put = command == Dma::put;
  dma_event(put ? Event::mfc_put32 : Event::mfc_get32, ea, size, tag, [&] {
    put ? spu_.mfc_put(ls, ea, size, tag, 0, 0, where) : spu_.mfc_get(ls, ea, size, tag, 0, 0, where);
  });
}

void SpeRecorder::mfcdma_list(cell::LsAddress ls, cell::EffectiveAddress ea, cell::LsAddress list,
                              std::uint32_t list_size, std::uint32_t tag, Dma command, const Where& where) {
  std::uint64_t bytes = 0;
  for (std::uint32_t at = 0; at + 8 <= list_size; at += 8) {
    bytes += spu_.load<cell::MfcListElement>(list + at, where).size & 0x7fffU;
  }
  const bool put = command == Dma::put;
  dma_event(put ? Event::mfc_putl : Event::mfc_getl, ea, bytes, tag, [&] {
    put ? spu_.mfc_putl(ls, ea, list, list_size, tag, 0, 0, where)
        : spu_.mfc_getl(ls, ea, list, list_size, tag, 0, 0, where);
  });
}

void SpeRecorder::put_any(cell::LsAddress ls, cell::EffectiveAddress ea, std::uint32_t size, std::uint32_t tag,
                          const Where& where) {
  dma_event(Event::mfc_put, ea, size, tag, [&] { spu_.mfc_put(ls, ea, size, tag, 0, 0, where); });
}

void SpeRecorder::wait(std::uint32_t mask, const Where& where) {
  const auto wait = [&] {
    spu_.mfc_write_tag_mask(mask);
    spu_.mfc_read_tag_status_all(where);
  };
  if (!settings_.dma) return wait();
  record({.type = Event::mfc_wait}, wait);
}

}  // namespace corewise::lab
