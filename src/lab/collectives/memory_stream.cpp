// Streams handed out to SPEs. SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/memory_stream.hpp"

#include <algorithm>
#include <string>

#include "cell/spe/spu.hpp"
#include "cell/system.hpp"

namespace corewise::lab {
namespace {

constexpr std::uint32_t kCommandBytes = 16 * 1024;
constexpr std::uint32_t kUnderWay = 4;
constexpr cell::LsAddress kBuffers = 0x10000;

/// Which command is next: reads and writes as evenly mixed as their numbers allow.
class Mix {
 public:
  explicit Mix(const MemoryStream& asked) : reads_(asked.reads), total_(asked.reads + asked.writes) {}
  [[nodiscard]] bool empty() const { return next_ == total_; }
  /// True for a read. Command `next()` of all.
  bool take() {
    const bool read = (next_ + 1) * reads_ / total_ > next_ * reads_ / total_;
    ++next_;
    return read;
  }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  std::uint64_t reads_, total_;
  std::uint64_t next_ = 0;
};

void stream(cell::Spu& spu, Mix& mix, cell::EffectiveAddress memory, std::uint64_t places) {
  for (std::uint32_t turn = 0; !mix.empty(); ++turn) {
    const std::uint32_t slot = turn % kUnderWay;
    spu.mfc_write_tag_mask(1U << slot);
    spu.mfc_read_tag_status_all();
    if (mix.empty()) break;
    const cell::EffectiveAddress at = memory + mix.next() % places * kCommandBytes;
    const cell::LsAddress buffer = kBuffers + slot * kCommandBytes;
    if (mix.take()) {
      spu.mfc_get(buffer, at, kCommandBytes, slot);
    } else {
      spu.mfc_put(buffer, at, kCommandBytes, slot);
    }
  }
  spu.mfc_write_tag_mask((1U << kUnderWay) - 1);
  spu.mfc_read_tag_status_all();
}

}  // namespace

Result<double> stream_memory_gb_per_s(const cell::Parameters& parameters, const MemoryStream& asked) {
  if (asked.spes.empty()) return bad_field("", "spes", "none", "1 or more");
  if (asked.reads + asked.writes == 0) return bad_field("", "reads, writes", "0", "1 or more together");
  if (asked.memory < 0 || asked.memory >= parameters.chips) {
    return bad_field("", "memory", std::to_string(asked.memory), "0.." + std::to_string(parameters.chips - 1));
  }
  cell::System system(parameters);
  constexpr std::uint64_t kMostPlaces = 1024;
  const std::uint64_t places = std::min(kMostPlaces, asked.reads + asked.writes);
  const cell::EffectiveAddress memory = system.allocate(places * kCommandBytes, cell::kLineBytes, asked.memory);
  Mix mix(asked);
  sim::Time end = 0;
  for (const int spe : asked.spes) {
    system.run_on_spe(spe, "stream " + std::to_string(spe), [&mix, &end, memory, places](cell::Spu& spu) {
      stream(spu, mix, memory, places);
      end = std::max(end, spu.now());
    });
  }
  if (Status status = system.run(); !status.ok()) return status;
  const double bytes = static_cast<double>(asked.reads + asked.writes) * kCommandBytes;
  return bytes / (static_cast<double>(end) / parameters.core_clock_ghz);
}

}  // namespace corewise::lab
