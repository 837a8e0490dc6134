// The programs behind dma_study.hpp. In every local store: what is put from kOwn on, what comes from kCome on, the
// elements of lists from kList on.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/dma_study.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/ppe/ppu.hpp"
#include "cell/spe/spu.hpp"
#include "cell/system.hpp"

namespace corewise::lab {
namespace {

using cell::EffectiveAddress;
using cell::LsAddress;
using cell::Parameters;
using cell::Spu;
using cell::System;

constexpr LsAddress kOwn = 0x10000;
constexpr LsAddress kCome = 0x20000;
constexpr LsAddress kList = 0x8000;
constexpr std::uint32_t kQuadword = 16;
constexpr std::uint64_t kMostCopyBytes = 16 << 20;
constexpr std::uint64_t kMostPauseCycles = 200;  // about one transfer of a line

/// What lies at byte `index` of the data that `owner` sends.
std::byte study_byte(int owner, std::uint64_t index) {
  return static_cast<std::byte>(1U + (static_cast<std::uint64_t>(owner) * 101U + index * 7U + index / 251U) % 255U);
}

void fill(std::span<std::byte> bytes, int owner) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = study_byte(owner, i);
}

Status check_data(std::span<const std::byte> bytes, int owner, const std::string& whose) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != study_byte(owner, i)) {
      return {Code::unsupported, "wrong data: byte " + std::to_string(i) + " of " + whose};
    }
  }
  return {};
}

void await(Spu& spu, std::uint32_t tag) {
  spu.mfc_write_tag_mask(1U << tag);
  spu.mfc_read_tag_status_all();
}

void command(Spu& spu, DmaWay way, LsAddress ls, EffectiveAddress ea, std::uint32_t bytes, std::uint32_t tag) {
  if (way == DmaWay::put) {
    spu.mfc_put(ls, ea, bytes, tag);
  } else {
    spu.mfc_get(ls, ea, bytes, tag);
  }
}

/// A transfer in commands of at most `each` bytes, awaited together.
void transfer(Spu& spu, DmaWay way, LsAddress ls, EffectiveAddress ea, std::uint32_t bytes, std::uint32_t each) {
  for (std::uint32_t done = 0; done < bytes; done += each) {
    command(spu, way, ls + done, ea + done, std::min(each, bytes - done), 0);
  }
  await(spu, 0);
}

// ---- what may be asked ----

Status check_size(const char* field, std::uint64_t bytes, std::uint64_t most) {
  if (bytes >= kQuadword && bytes <= most && bytes % kQuadword == 0) return {};
  return bad_field("", field, std::to_string(bytes), "multiples of 16 from 16 to " + std::to_string(most));
}

Status check_range(const char* field, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return bad_field("", field, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
}

std::vector<int> usable_spes(const Parameters& parameters) {
  std::vector<int> spes;
  for (int spe = 0; spe < parameters.chips * cell::kSpesPerChip; ++spe) {
    if (parameters.usable[static_cast<std::size_t>(spe)]) spes.push_back(spe);
  }
  return spes;
}

Status first_failure(std::initializer_list<Status> all) {
  for (const Status& status : all) {
    if (!status.ok()) return status;
  }
  return {};
}

bool crosses(DmaTarget target) {
  return target == DmaTarget::other_local_store || target == DmaTarget::other_memory;
}

Status check_case(const Parameters& parameters, const DmaCase& asked) {
  if (crosses(asked.target) && parameters.chips < 2) {
    return bad_field("", "target", "the other chip", "local_store, memory: the machine has one chip");
  }
  const int spes = static_cast<int>(usable_spes(parameters).size());
  return first_failure({check_size("bytes", asked.bytes, kMostStudyBytes),
                        check_size("command_bytes", asked.command_bytes, cell::kMaxDmaBytes),
                        check_range("spes", asked.spes, 1, spes),
                        check_range("repetitions", asked.repetitions, 1, 100000)});
}

Status check_case(const Parameters& parameters, const CopyCase& asked) {
  return first_failure({check_size("bytes", asked.bytes, kMostCopyBytes),
                        check_size("buffer_bytes", asked.buffer_bytes, cell::kMaxDmaBytes),
                        check_range("buffers", asked.buffers, 1, 2),
                        check_range("from_memory", asked.from_memory, 0, parameters.chips - 1),
                        check_range("to_memory", asked.to_memory, 0, parameters.chips - 1)});
}

Status check_case(const StridedCase& asked) {
  if (Status status = first_failure({check_size("bytes", asked.bytes, kMostStudyBytes),
                                     check_size("block_bytes", asked.block_bytes, cell::kMaxDmaBytes),
                                     check_size("stride_bytes", asked.stride_bytes, kMostStudyBytes)});
      !status.ok()) {
    return status;
  }
  if (asked.bytes % asked.block_bytes != 0) {
    return bad_field("", "bytes", std::to_string(asked.bytes),
                     "multiples of block_bytes, " + std::to_string(asked.block_bytes));
  }
  if (asked.stride_bytes < asked.block_bytes) {
    return bad_field("", "stride_bytes", std::to_string(asked.stride_bytes),
                     "at least block_bytes, " + std::to_string(asked.block_bytes));
  }
  return {};
}

// ---- figure 2, left ----

/// The SPE whose local store `spe` transfers to or from.
int partner_of(const Parameters& parameters, DmaTarget target, int spe) {
  if (target == DmaTarget::other_local_store) return (spe + cell::kSpesPerChip) % (2 * cell::kSpesPerChip);
  const int chip = spe / cell::kSpesPerChip;
  int next = spe;
  do {
    next = chip * cell::kSpesPerChip + (next + 1) % cell::kSpesPerChip;
  } while (!parameters.usable[static_cast<std::size_t>(next)]);
  return next;
}

EffectiveAddress place_of(System& system, const DmaCase& asked, int spe) {
  const int chip = spe / cell::kSpesPerChip;
  if (asked.target == DmaTarget::memory) return system.allocate(asked.bytes, cell::kLineBytes, chip);
  if (asked.target == DmaTarget::other_memory) return system.allocate(asked.bytes, cell::kLineBytes, 1 - chip);
  const int partner = partner_of(system.parameters(), asked.target, spe);
  return cell::ls_address(partner) + (asked.way == DmaWay::put ? kCome : kOwn);
}

DmaTimes summary_of(const std::vector<double>& times) {
  DmaTimes all;
  const auto count = static_cast<double>(times.size());
  for (const double time : times) all.mean_ns += time / count;
  double squares = 0;
  for (const double time : times) squares += (time - all.mean_ns) * (time - all.mean_ns);
  all.deviation_ns = times.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  const auto [least, most] = std::ranges::minmax_element(times);
  all.least_ns = *least;
  all.most_ns = *most;
  return all;
}

/// One SPE's transfer: the local store's part and the far one, and who owns what goes over.
struct Transfer {
  int spe = 0;
  EffectiveAddress far = 0;
  LsAddress near = 0;
};

std::span<std::byte> near_bytes(System& system, const Transfer& each, std::uint32_t bytes) {
  return system.bytes(cell::ls_address(each.spe) + each.near, bytes);
}

void transfer_often(Spu& spu, const DmaCase& asked, const Transfer& mine, std::vector<double>& times) {
  Rng pauses(asked.seed * 64 + static_cast<std::uint64_t>(mine.spe));
  for (int turn = 0; turn < asked.repetitions; ++turn) {
    spu.spu_cycles(static_cast<std::int64_t>(pauses.below(kMostPauseCycles)));
    const sim::Time began = spu.now();
    transfer(spu, asked.way, mine.near, mine.far, asked.bytes, asked.command_bytes);
    times.push_back(spu.engine().to_ns(spu.now() - began));
  }
}

// ---- figure 2, right ----

void copy_single(Spu& spu, const CopyCase& asked, EffectiveAddress to, EffectiveAddress from) {
  for (std::uint64_t done = 0; done < asked.bytes; done += asked.buffer_bytes) {
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.buffer_bytes, asked.bytes - done));
    spu.mfc_get(kOwn, from + done, bytes, 0);
    await(spu, 0);
    spu.mfc_put(kOwn, to + done, bytes, 0);
    await(spu, 0);
  }
}

/// Buffer b has tag b. A get is fenced behind the put that emptied its buffer.
void copy_double(Spu& spu, const CopyCase& asked, EffectiveAddress to, EffectiveAddress from) {
  const std::uint64_t pieces = (asked.bytes + asked.buffer_bytes - 1) / asked.buffer_bytes;
  const auto bytes_of = [&](std::uint64_t piece) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(asked.buffer_bytes, asked.bytes - piece * asked.buffer_bytes));
  };
  const auto tag_of = [](std::uint64_t piece) { return static_cast<std::uint32_t>(piece % 2); };
  const auto buffer_of = [&](std::uint64_t piece) { return kOwn + tag_of(piece) * asked.buffer_bytes; };
  const auto fetch = [&](std::uint64_t piece) {
    spu.mfc_getf(buffer_of(piece), from + piece * asked.buffer_bytes, bytes_of(piece), tag_of(piece));
  };
  fetch(0);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces) fetch(piece + 1);
    await(spu, tag_of(piece));
    spu.mfc_put(buffer_of(piece), to + piece * asked.buffer_bytes, bytes_of(piece), tag_of(piece));
  }
  await(spu, 0);
  await(spu, 1);
}

/// Source and destination of a copy, the source filled.
struct CopyPlaces {
  CopyPlaces(System& system, const CopyCase& asked)
      : from(system.allocate(asked.bytes, cell::kLineBytes, asked.from_memory)),
        to(system.allocate(asked.bytes, cell::kLineBytes, asked.to_memory)) {
    fill(system.bytes(from, asked.bytes), 0);
  }
  EffectiveAddress from;
  EffectiveAddress to;
};

/// Runs the machine and looks at what it left; the time that a program wrote.
Result<double> run_copy(System& system, const CopyPlaces& places, const CopyCase& asked, const double& ns) {
  if (Status status = system.run(); !status.ok()) return status;
  if (Status status = check_data(system.bytes(places.to, asked.bytes), 0, "the copy"); !status.ok()) return status;
  return ns;
}

// ---- strided buffers ----

void transfer_list(Spu& spu, const StridedCase& asked, EffectiveAddress far) {
  const std::uint32_t blocks = asked.bytes / asked.block_bytes;
  for (std::uint32_t first = 0; first < blocks; first += cell::kMaxListElements) {
    const std::uint32_t count = std::min(cell::kMaxListElements, blocks - first);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::uint32_t>(far + std::uint64_t{first + i} * asked.stride_bytes);
      spu.store(kList + i * 8, cell::MfcListElement{0, static_cast<std::uint16_t>(asked.block_bytes), at});
    }
    const LsAddress near = kOwn + first * asked.block_bytes;
    if (asked.way == DmaWay::put) {
      spu.mfc_putl(near, far, kList, count * 8, 0);
    } else {
      spu.mfc_getl(near, far, kList, count * 8, 0);
    }
    await(spu, 0);  // the elements are used again
  }
}

void transfer_blocks(Spu& spu, const StridedCase& asked, EffectiveAddress far) {
  for (std::uint32_t block = 0; block < asked.bytes / asked.block_bytes; ++block) {
    command(spu, asked.way, kOwn + block * asked.block_bytes, far + std::uint64_t{block} * asked.stride_bytes,
            asked.block_bytes, 0);
  }
  await(spu, 0);
}

/// Times `program`, which moves the strided buffer at its second argument, and checks what it moved.
Result<double> time_strided_program(const Parameters& parameters, const StridedCase& asked,
                                    const std::function<void(Spu&, EffectiveAddress)>& program) {
  System system(parameters);
  const int spe = usable_spes(parameters).front();
  const std::uint32_t blocks = asked.bytes / asked.block_bytes;
  const EffectiveAddress far =
      system.allocate(std::size_t{blocks} * asked.stride_bytes, cell::kLineBytes, spe / cell::kSpesPerChip);
  const std::span<std::byte> near = system.bytes(cell::ls_address(spe) + kOwn, asked.bytes);
  std::vector<std::byte> sent(asked.bytes);
  fill(sent, spe);
  const auto each_block = [&](const auto& act) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      act(system.bytes(far + std::uint64_t{block} * asked.stride_bytes, asked.block_bytes),
          std::size_t{block} * asked.block_bytes);
    }
  };
  if (asked.way == DmaWay::put) {
    std::ranges::copy(sent, near.begin());
  } else {
    each_block([&](std::span<std::byte> block, std::size_t at) {
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(at), block.size(), block.begin());
    });
  }
  double ns = 0;
  system.run_on_spe(spe, "strider", [&](Spu& spu) {
    const sim::Time began = spu.now();
    program(spu, far);
    ns = spu.engine().to_ns(spu.now() - began);
  });
  if (Status status = system.run(); !status.ok()) return status;
  std::vector<std::byte> seen(near.begin(), near.end());
  if (asked.way == DmaWay::put) {
    each_block([&](std::span<std::byte> block, std::size_t at) {
      std::ranges::copy(block, seen.begin() + static_cast<std::ptrdiff_t>(at));
    });
  }
  if (Status status = check_data(seen, spe, "the strided buffer"); !status.ok()) return status;
  return ns;
}

}  // namespace

Result<DmaTimes> time_dma(const Parameters& parameters, const DmaCase& asked) {
  if (Status status = check_case(parameters, asked); !status.ok()) return status;
  System system(parameters);
  std::vector<Transfer> transfers;
  for (const int spe : usable_spes(parameters)) {
    fill(system.bytes(cell::ls_address(spe) + kOwn, asked.bytes), spe);
    if (static_cast<int>(transfers.size()) == asked.spes) continue;
    const LsAddress near = asked.way == DmaWay::put ? kOwn : kCome;
    transfers.push_back({spe, place_of(system, asked, spe), near});
    const bool from_memory = asked.target == DmaTarget::memory || asked.target == DmaTarget::other_memory;
    if (asked.way == DmaWay::get && from_memory) fill(system.bytes(transfers.back().far, asked.bytes), spe);
  }
  std::vector<double> times;
  for (const Transfer& each : transfers) {
    system.run_on_spe(each.spe, "SPE " + std::to_string(each.spe),
                      [&](Spu& spu) { transfer_often(spu, asked, each, times); });
  }
  if (Status status = system.run(); !status.ok()) return status;
  for (const Transfer& each : transfers) {
    const std::span<std::byte> near = near_bytes(system, each, asked.bytes);
    const std::span<std::byte> far = system.bytes(each.far, asked.bytes);
    if (!std::ranges::equal(near, far)) {
      return Status(Code::unsupported, "wrong data: the transfer of SPE " + std::to_string(each.spe));
    }
    if (asked.way != DmaWay::put) continue;
    if (Status status = check_data(far, each.spe, "what SPE " + std::to_string(each.spe) + " put"); !status.ok()) {
      return status;
    }
  }
  return summary_of(times);
}

Result<double> time_copy_ns(const Parameters& parameters, const CopyCase& asked) {
  if (Status status = check_case(parameters, asked); !status.ok()) return status;
  System system(parameters);
  const CopyPlaces places(system, asked);
  double ns = 0;
  system.run_on_spe(usable_spes(parameters).front(), "copier", [&](Spu& spu) {
    const sim::Time began = spu.now();
    if (asked.buffers == 1) {
      copy_single(spu, asked, places.to, places.from);
    } else {
      copy_double(spu, asked, places.to, places.from);
    }
    ns = spu.engine().to_ns(spu.now() - began);
  });
  return run_copy(system, places, asked, ns);
}

Result<double> time_ppe_copy_ns(const Parameters& parameters, const CopyCase& asked) {
  if (Status status = check_case(parameters, asked); !status.ok()) return status;
  System system(parameters);
  const CopyPlaces places(system, asked);
  double ns = 0;
  system.run_on_ppe(0, "memcpy", [&](cell::Ppu& ppu) {
    const sim::Time began = ppu.now();
    ppu.memcpy(places.to, places.from, asked.bytes);
    ns = ppu.engine().to_ns(ppu.now() - began);
  });
  return run_copy(system, places, asked, ns);
}

Result<StridedTimes> time_strided(const Parameters& parameters, const StridedCase& asked) {
  if (Status status = check_case(asked); !status.ok()) return status;
  const Result<double> strided = time_strided_program(parameters, asked, [&](Spu& spu, EffectiveAddress far) {
    asked.list ? transfer_list(spu, asked, far) : transfer_blocks(spu, asked, far);
  });
  if (!strided.ok()) return strided.status();
  StridedCase whole = asked;
  whole.stride_bytes = whole.block_bytes;
  const Result<double> contiguous = time_strided_program(parameters, whole, [&](Spu& spu, EffectiveAddress far) {
    transfer(spu, asked.way, kOwn, far, asked.bytes, cell::kMaxDmaBytes);
  });
  if (!contiguous.ok()) return contiguous.status();
  return StridedTimes{strided.value(), contiguous.value()};
}

}  // namespace corewise::lab
