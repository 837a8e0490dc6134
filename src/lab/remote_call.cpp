// The word of a call, the PPE's threads, the SPE's two functions.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/remote_call.hpp"

#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace corewise::lab {
namespace {

constexpr std::uint32_t kLeave = 0;
constexpr std::uint32_t kQuadword = 16;
constexpr std::uint32_t kDone = 1;

/// 8 bits of number, 10 of quadwords, 14 of address in quadwords: all of a local store.
constexpr std::uint32_t word_of(std::uint32_t number, cell::LsAddress message, std::uint32_t bytes) {
  return number << 24 | (bytes / kQuadword) << 14 | message / kQuadword;
}
constexpr std::uint32_t number_of(std::uint32_t word) {
  return word >> 24;
}
constexpr std::uint32_t bytes_of(std::uint32_t word) {
  return (word >> 14 & 0x3ffU) * kQuadword;
}
constexpr cell::LsAddress message_of(std::uint32_t word) {
  return (word & 0x3fffU) * kQuadword;
}
static_assert(message_of(word_of(255, cell::kLocalStoreBytes - 16, 16)) == cell::kLocalStoreBytes - 16);
static_assert(bytes_of(word_of(255, 0, RemoteCalls::kMostMessageBytes)) == RemoteCalls::kMostMessageBytes);

void require(cell::Spu& spu, bool right, const char* field, std::uint32_t found, const char* allowed) {
  if (!right) spu.engine().fail(bad_field("remote call", field, std::to_string(found), allowed));
}

}  // namespace

void RemoteCalls::serve(cell::System& system, std::vector<int> spes) {
  system.run_on_ppe(0, "remote calls", [this, spes = std::move(spes)](cell::Ppu& ppu) {
    std::vector<std::shared_ptr<cell::PpuThread>> threads;
    for (const int spe : spes) {
      threads.push_back(
          ppu.thread("calls of SPE " + std::to_string(spe), [this, spe](cell::Ppu& own) { serve_one(own, spe); }));
    }
    for (const auto& thread : threads) ppu.join(*thread);
  });
}

void RemoteCalls::serve_one(cell::Ppu& ppu, int spe) {
  cell::SpeContext* const context = ppu.spe_context_create(spe, true);
  if (context == nullptr) {
    ppu.engine().fail(bad_field("remote calls", "spe", std::to_string(spe), "an SPE that has no context yet"));
  }
  while (true) {
    const std::uint32_t word = ppu.spe_out_mbox_wait(context);
    if (number_of(word) == kLeave) return;
    run(ppu, context, word);
    ++served_;
    if (answer_ == Answer::mailbox) {
      ppu.spe_in_mbox_write(context, {&kDone, 1});
    } else {
      ppu.spe_signal_write(context, 2, kDone);
    }
  }
}

void RemoteCalls::run(cell::Ppu& ppu, cell::SpeContext* context, std::uint32_t word) {
  const auto procedure = procedures_.find(number_of(word));
  if (procedure == procedures_.end()) {
    std::string allowed;
    for (const auto& [number, offered] : procedures_) {
      allowed += (allowed.empty() ? "" : ", ") + std::to_string(number);
    }
    ppu.engine().fail(bad_field("remote call", "procedure", std::to_string(number_of(word)), allowed));
  }
  std::vector<std::byte> message(bytes_of(word));
  const cell::EffectiveAddress at = ppu.spe_ls_area_get(context) + message_of(word);
  ppu.load_bytes(at, message);
  procedure->second(ppu, message);
  ppu.store_bytes(at, message);
}

void RemoteCalls::call(cell::Spu& spu, std::uint32_t number, cell::LsAddress message, std::uint32_t bytes) const {
  require(spu, number > kLeave && number <= kMostProcedures, "procedure", number, "1..255");
  require(spu, message % kQuadword == 0 && message < cell::kLocalStoreBytes, "message", message,
          "multiples of 16 in the local store");
  require(spu, bytes % kQuadword == 0 && bytes <= kMostMessageBytes && bytes <= cell::kLocalStoreBytes - message,
          "bytes", bytes, "multiples of 16 up to 16368 in the local store");
  spu.spu_write_out_mbox(word_of(number, message, bytes));
  if (answer_ == Answer::mailbox) {
    static_cast<void>(spu.spu_read_in_mbox());
  } else {
    static_cast<void>(spu.spu_read_signal2());
  }
}

void RemoteCalls::leave(cell::Spu& spu) const {
  spu.spu_write_out_mbox(word_of(kLeave, 0, 0));
}

}  // namespace corewise::lab
