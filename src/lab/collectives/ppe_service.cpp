// The mailboxes of the two kinds of coordinator: a PPE's, and that of ideal ranks.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/ppe_service.hpp"

#include <cstring>

#include "cell/ppe/ppu.hpp"
#include "cell/system.hpp"

namespace corewise::lab {
namespace {

/// Contexts of the ranks' SPEs, for their mailboxes only.
class PpuMail {
 public:
  PpuMail(cell::Ppu& ppu, const cell::PortJob& job, PpeMail mail) : ppu_(ppu) {
    for (const int spe : job.spes) contexts_.push_back(ppu.spe_context_create(spe, mail == PpeMail::mapped));
  }
  std::uint32_t read(int rank) { return ppu_.spe_out_mbox_wait(context(rank)); }
  void write(int rank, std::uint32_t word) { ppu_.spe_in_mbox_write(context(rank), {&word, 1}); }
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) { ppu_.memcpy(to, from, bytes); }

 private:
  [[nodiscard]] cell::SpeContext* context(int rank) const { return contexts_[static_cast<std::size_t>(rank)]; }

  cell::Ppu& ppu_;
  std::vector<cell::SpeContext*> contexts_;
};

class IdealMail {
 public:
  explicit IdealMail(IdealCoordinator& coordinator) : coordinator_(coordinator) {}
  std::uint32_t read(int rank) { return coordinator_.read(rank); }
  void write(int rank, std::uint32_t word) { coordinator_.write(rank, word); }
  void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (bytes == 0) return;
    std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)),
                reinterpret_cast<const void*>(static_cast<std::uintptr_t>(from)), bytes);
  }

 private:
  IdealCoordinator& coordinator_;
};

}  // namespace

void serve_on_ppe(cell::System& system, const cell::PortJob& job, PpeMail mail) {
  system.run_on_ppe(0, "coordinator", [&job, mail](cell::Ppu& ppu) {
    PpuMail words(ppu, job, mail);
    const Status status = serve_ppe(words, job.size());
    if (!status.ok()) ppu.engine().fail(status);
  });
}

IdealSystem::Coordinator ideal_ppe(int ranks) {
  return [ranks](IdealCoordinator& coordinator) {
    IdealMail words(coordinator);
    const Status status = serve_ppe(words, ranks);
    if (!status.ok()) coordinator.fail(status);
  };
}

}  // namespace corewise::lab
