// The fuzzer's target for one rank's trace: whatever the bytes are, the reader gives records or an error that names
// the file, and reads nothing outside of it. The second half of the promise is the address sanitizer's to see: the
// file ends where its block of memory ends. SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "expand.hpp"
#include "trace/reader.hpp"

namespace corewise::fuzz {
namespace {

void read_slot(const trace::Reader& reader, const trace::Slot& slot) {
  trace::RecordStream stream = reader.records(slot);
  for (trace::Record record; stream.next(record);) {
    require(record.start_ticks != 0, "a record without a start");
    (void)reader.procedure_name(record.procedure);
    (void)reader.site_address(record.site);
    (void)reader.region_name(record.name);
    (void)reader.clock().time_ns(record.start_ticks);
    (void)reader.clock().duration_ns(record.duration_ticks);
  }
}

}  // namespace

void rank_file(Bytes bytes) {
  const std::vector<std::byte> file = expand(bytes);
  // operator new aligns to 16 bytes, as a mapping would.
  const auto exact = std::make_unique<std::byte[]>(file.size());
  std::copy(file.begin(), file.end(), exact.get());
  const Result<trace::Reader> opened = trace::Reader::from_memory({exact.get(), file.size()}, "fuzz.cwt");
  if (!opened.ok()) {
    require(opened.status().message().starts_with("fuzz.cwt"), "an error without its file");
    return;
  }
  const trace::Reader& reader = opened.value();
  for (const trace::Slot& slot : reader.slots()) read_slot(reader, slot);
  (void)reader.host();
  (void)reader.library();
  (void)reader.node();
  (void)reader.crash_stack();
}

}  // namespace corewise::fuzz
