// The profiler in a simulated local store: nothing is lost or reordered between the buffers and main memory, its
// size, its pages, and the trace file that comes out. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cell/system.hpp"
#include "lab/profiling/spe_recorder.hpp"
#include "lab/profiling/trace_image.hpp"
#include "trace/reader.hpp"

namespace corewise::lab {
namespace {

constexpr cell::LsAddress kRecorder = 0x10000;
constexpr std::uint64_t kNoLimit = UINT64_MAX;

/// One SPE that records, and what it left.
struct Recording {
  std::unique_ptr<cell::System> system;
  RemoteCalls calls;
  std::unique_ptr<SpeRecorder> recorder;
  RecorderSettings settings;
  Status status;

  [[nodiscard]] std::vector<EventFields> events() const {
    return events_in_pages(*system, *recorder, settings.layout, settings.half_bytes);
  }
  [[nodiscard]] std::vector<std::byte> image() const {
    return trace_image(*system, *recorder, settings.layout, settings.half_bytes, 2, 6);
  }
};

std::unique_ptr<Recording> record(const RecorderSettings& settings,
                                  const std::function<void(cell::Spu&, SpeRecorder&)>& program,
                                  std::uint64_t limit_bytes = kNoLimit,
                                  const cell::Parameters& parameters = cell::Parameters()) {
  auto made = std::make_unique<Recording>();
  made->settings = settings;
  made->system = std::make_unique<cell::System>(parameters);
  offer_pages(made->calls, *made->system, limit_bytes);
  made->calls.serve(*made->system, {0});
  made->system->run_on_spe(0, "recorded", [&made, &program](cell::Spu& spu) {
    made->recorder = std::make_unique<SpeRecorder>(spu, made->calls, made->settings, kRecorder);
    made->recorder->start();
    program(spu, *made->recorder);
    made->recorder->stop();
    made->calls.leave(spu);
  });
  made->status = made->system->run();
  EXPECT_TRUE(made->status.ok()) << made->status.message();
  return made;
}

/// `count` messages whose tags count up.
void messages(cell::Spu& spu, SpeRecorder& recorder, int count) {
  for (int i = 0; i < count; ++i) {
    const auto bytes = static_cast<std::uint64_t>(100 + i);
    recorder.record({.type = i % 2 == 0 ? Event::mpi_send : Event::mpi_recv, .bytes = bytes, .peer = 5, .tag = i},
                    [&spu] { spu.spu_cycles(320); });
  }
}

TEST(SpeRecorder, TakesTwelveKibibytesOfLocalStore) {
  EXPECT_LE(local_store_bytes(5120), 12U * 1024U);
  EXPECT_GT(local_store_bytes(5120), 2U * 5120U + kRecorderCodeBytes);
  // What lies outside of those bytes stays as it was.
  constexpr std::uint32_t kAround = 256;
  RecorderSettings settings;
  const std::uint32_t taken = local_store_bytes(settings.half_bytes) - kRecorderCodeBytes;
  record(settings, [taken](cell::Spu& spu, SpeRecorder& recorder) {
    const auto before = spu.ls(kRecorder - kAround, kAround), behind = spu.ls(kRecorder + taken, kAround);
    for (auto& area : {before, behind}) std::fill(area.begin(), area.end(), std::byte{0x5a});
    messages(spu, recorder, 1000);
    for (auto& area : {before, behind}) {
      for (const std::byte each : area) ASSERT_EQ(each, std::byte{0x5a});
    }
  });
}

class SpeRecorderLayouts : public ::testing::TestWithParam<EventLayout> {};
INSTANTIATE_TEST_CASE_P(Both, SpeRecorderLayouts, ::testing::Values(EventLayout::paper, EventLayout::specific));

TEST_P(SpeRecorderLayouts, EveryEventReachesMainMemoryInOrder) {
  for (const std::uint32_t half_bytes : {80U, 400U, 5120U, 20480U}) {
    for (const int count : {0, 1, 62, 63, 64, 500}) {
      SCOPED_TRACE(std::to_string(half_bytes) + " bytes, " + std::to_string(count) + " messages");
      RecorderSettings settings;
      settings.half_bytes = half_bytes;
      settings.layout = GetParam();
      const auto made =
          record(settings, [count](cell::Spu& spu, SpeRecorder& recorder) { messages(spu, recorder, count); });
      const std::vector<EventFields> events = made->events();
      ASSERT_EQ(events.size(), static_cast<std::size_t>(count) + 2);
      EXPECT_EQ(events.front().type, Event::profile_start);
      EXPECT_EQ(events.back().type, Event::profile_stop);
      for (int i = 0; i < count; ++i) {
        const EventFields& event = events[static_cast<std::size_t>(i) + 1];
        EXPECT_EQ(event.type, i % 2 == 0 ? Event::mpi_send : Event::mpi_recv);
        EXPECT_EQ(event.tag, i);
        EXPECT_EQ(event.peer, 5);
        EXPECT_EQ(event.bytes, static_cast<std::uint64_t>(100 + i));
        EXPECT_GE(event.start, events[static_cast<std::size_t>(i)].start);
      }
      EXPECT_EQ(made->recorder->lost_bytes(), 0U);
      EXPECT_EQ(made->recorder->events(), events.size());
    }
  }
}

/// A page of the paper holds 64 events, a dump each; ours holds more in as many bytes.
TEST(SpeRecorder, ABufferOfThePaperHoldsSixtyFourEvents) {
  RecorderSettings settings;
  settings.layout = EventLayout::paper;
  const auto program = [](cell::Spu& spu, SpeRecorder& recorder) { messages(spu, recorder, 64 * 3 - 2); };
  EXPECT_EQ(record(settings, program)->recorder->pages_used(), 3U);
  settings.layout = EventLayout::specific;
  EXPECT_EQ(record(settings, program)->recorder->pages_used(), 2U);
}

TEST(SpeRecorder, PagesAreAllottedByTheirNumberAndSize) {
  RecorderSettings settings;
  settings.pages = 10'000;
  const auto nothing = [](cell::Spu&, SpeRecorder&) {};
  EXPECT_EQ(record(settings, nothing)->recorder->pages_allotted(), 10'000U);
  // A PS3's share: fewer pages than were asked for, and of another size.
  settings.half_bytes = 10'240;
  EXPECT_EQ(record(settings, nothing, 1'000'000)->recorder->pages_allotted(), 97U);
}

TEST(SpeRecorder, WhatGoesBeyondTheLastPageIsCountedAsLost) {
  RecorderSettings settings;
  settings.layout = EventLayout::paper;
  const auto made =
      record(settings, [](cell::Spu& spu, SpeRecorder& recorder) { messages(spu, recorder, 200); }, 2 * 5120);
  EXPECT_EQ(made->recorder->pages_used(), 2U);
  EXPECT_EQ(made->events().size(), 128U);
  // Buffers that nobody takes away keep what they have, and it stays there: 200 + 2 less two pages and one buffer.
  EXPECT_EQ(made->recorder->lost_bytes(), (202U - 192U) * sizeof(PaperEvent));
}

/// The dump is not waited for until the next buffer is full (figure 1).
TEST(SpeRecorder, ADumpRunsBesideTheProgram) {
  cell::Parameters slow;
  slow.mfc_page_fault_cycles = 100'000;
  slow.mfc_hits_under_fault = 1;
  RecorderSettings settings;
  settings.layout = EventLayout::paper;
  const auto gap = [](std::int64_t cycles, int count) {
    return [cycles, count](cell::Spu& spu, SpeRecorder& recorder) {
      for (int i = 0; i < count; ++i) {
        spu.spu_cycles(cycles);
        recorder.record({.type = Event::mpi_send}, [] {});
      }
    };
  };
  // A buffer that is filled in more time than a dump takes never waits; a faster program waits for every dump. The
  // last buffer is not full, but long after the one before it.
  EXPECT_LT(record(settings, gap(5000, 630), kNoLimit, slow)->recorder->waited_cycles(), 1000);
  EXPECT_GT(record(settings, gap(10, 630), kNoLimit, slow)->recorder->waited_cycles(), 8 * 80'000);
}

TEST(SpeRecorder, DmaEventsHaveTheirForms) {
  const auto program = [](cell::Spu& spu, SpeRecorder& recorder) {
    constexpr cell::LsAddress kData = 0x4000, kList = 0x3000;
    const auto other = cell::ls_address(1) + kData;
    recorder.mfcdma64(kData, static_cast<std::uint32_t>(other >> 32), static_cast<std::uint32_t>(other), 256, 3,
                      SpeRecorder::Dma::put);
    recorder.wait(1U << 3);
    recorder.mfcdma64(kData, static_cast<std::uint32_t>(other >> 32), static_cast<std::uint32_t>(other), 128, 3,
                      SpeRecorder::Dma::get);
    const auto memory = static_cast<std::uint32_t>(recorder.pages_at() + 1024 * 1024);
    recorder.mfcdma32(kData, memory, 64, 4, SpeRecorder::Dma::put);
    recorder.mfcdma32(kData, memory, 32, 4, SpeRecorder::Dma::get);
    recorder.put_any(kData, other, 16, 5);
    spu.store(kList, cell::MfcListElement{0, 512, static_cast<std::uint32_t>(other)});
    spu.store(kList + 8, cell::MfcListElement{0, 1024, static_cast<std::uint32_t>(other) + 512});
    recorder.mfcdma_list(kData, other, kList, 16, 6, SpeRecorder::Dma::get);
    recorder.mfcdma_list(kData, other, kList, 16, 6, SpeRecorder::Dma::put);
    recorder.wait(0x78);
  };
  const std::vector<EventFields> events = record(RecorderSettings{}, program)->events();
  struct Expected {
    Event type;
    std::uint64_t bytes;
    std::int32_t peer, tag;
  };
  const std::vector<Expected> expected = {{Event::mfc_put64, 256, 1, 3},
                                          {Event::mfc_wait, 0, trace::kNoPeer, 0},
                                          {Event::mfc_get64, 128, 1, 3},
                                          {Event::mfc_put32, 64, trace::kOutside, 4},
                                          {Event::mfc_get32, 32, trace::kOutside, 4},
                                          {Event::mfc_put, 16, 1, 5},
                                          {Event::mfc_getl, 1536, 1, 6},
                                          {Event::mfc_putl, 1536, 1, 6},
                                          {Event::mfc_wait, 0, trace::kNoPeer, 0}};
  ASSERT_EQ(events.size(), expected.size() + 2);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(events[i + 1].type, expected[i].type);
    EXPECT_EQ(events[i + 1].bytes, expected[i].bytes);
    EXPECT_EQ(events[i + 1].peer, expected[i].peer);
    EXPECT_EQ(events[i + 1].tag, expected[i].tag);
  }
  RecorderSettings without;
  without.dma = false;
  EXPECT_EQ(record(without, program)->events().size(), 2U);
}

/// Paper 003, table 1: the types, and how much shorter a record is that holds what its event needs.
TEST(SpeRecorder, EventTypesAreThoseOfTableOne) {
  std::vector<std::string> named;
  for (const EventRow& row : kEventRows) {
    if (!row.table1.empty()) named.emplace_back(row.table1);
  }
  const std::vector<std::string> table1 = {
      "PROFILE_START", "PROFILE_STOP",  "E",          "X",           "MPI_SEND",
      "MPI_RECV",      "MPI_ALLREDUCE", "MPI_REDUCE", "MPI_BARRIER", "MPI_BCAST",
      "MFC_PUT",       "MFC_PUT64",     "MFC_GET64",  "MFC_PUT32",   "MFC_GET32"};
  EXPECT_EQ(named, table1);
  EXPECT_EQ(sizeof(PaperEvent), 80U);
  EXPECT_EQ(record_bytes_of(Event::enter), 16U);
  EXPECT_EQ(record_bytes_of(Event::mpi_send), 32U);
}

TEST_P(SpeRecorderLayouts, TheFileIsATraceFile) {
  RecorderSettings settings;
  settings.layout = GetParam();
  settings.half_bytes = 400;
  const auto made = record(settings, [](cell::Spu& spu, SpeRecorder& recorder) {
    recorder.enter(0x1200);
    messages(spu, recorder, 100);
    recorder.exit(0x1200);
  });
  const std::vector<std::byte> bytes = made->image();
  // The reader wants 16-byte alignment.
  struct alignas(16) Unit {
    std::byte data[16];
  };
  std::vector<Unit> aligned((bytes.size() + 15) / 16);
  std::memcpy(static_cast<void*>(aligned.data()), bytes.data(), bytes.size());
  const auto* const data = reinterpret_cast<const std::byte*>(aligned.data());
  const auto read = trace::Reader::from_memory({data, bytes.size()}, "image");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const trace::Reader& reader = read.value();
  EXPECT_EQ(reader.header().rank, 2);
  EXPECT_EQ(reader.header().world_size, 6);
  EXPECT_EQ(reader.header().state, trace::State::finalized);
  EXPECT_EQ(reader.damage().blocks + reader.damage().missing_bytes + reader.damage().cut_bytes, 0U);
  ASSERT_EQ(reader.slots().size(), 1U);
  trace::RecordStream records = reader.records(reader.slots().front());
  trace::Record record;
  std::vector<trace::Record> all;
  while (records.next(record)) all.push_back(record);
  ASSERT_EQ(all.size(), 104U);
  EXPECT_EQ(all[1].role, trace::Role::function_enter);
  EXPECT_EQ(all[1].address, 0x1200U);
  EXPECT_EQ(all[2].role, trace::Role::send);
  EXPECT_EQ(reader.procedure_name(all[2].procedure), "MPI_Send");
  EXPECT_EQ(all[2].peer, 5);
  EXPECT_EQ(all[2].bytes, 100U);
  // 320 cycles at 3.2 GHz are 100 ns; a tick of the decrementer is 70.
  EXPECT_NEAR(reader.clock().duration_ns(all[50].duration_ticks), 100, 80);
}

TEST(SpeRecorder, FunctionsCanBeTurnedOff) {
  RecorderSettings settings;
  settings.functions = false;
  const auto made = record(settings, [](cell::Spu&, SpeRecorder& recorder) {
    recorder.enter(0x1000);
    recorder.exit(0x1000);
  });
  EXPECT_EQ(made->events().size(), 2U);
}

TEST(SpeRecorder, WrongSizesAreRefused) {
  RecorderSettings settings;
  settings.half_bytes = 5000;
  EXPECT_NE(settings.check().message().find("field 'half_bytes': found 5000, allowed: multiples of 16"),
            std::string::npos);
  settings.half_bytes = 5120;
  settings.pages = 0;
  EXPECT_NE(settings.check().message().find("field 'pages': found 0"), std::string::npos);
}

}  // namespace
}  // namespace corewise::lab
