// The program's view of the atomic unit: Spu's lock-line commands and their status channel.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include "cell/memory/atomic.hpp"
#include "cell/spe/spe.hpp"
#include "cell/spe/spu.hpp"

namespace corewise::cell {
namespace {

using Where = std::source_location;

/// LSA, EAH, EAL, size, tag and class, opcode: as for a DMA command.
constexpr std::int64_t kAtomicIssueWrites = 6;

void issue_atomic(Spe& spe, AtomicOp op, const char* name, LsAddress ls, EffectiveAddress ea, const Where& where) {
  spe.engine().sleep(kAtomicIssueWrites * spe.parameters().spu_channel_write_cycles, where);
  Violation found = check_atomic(ls, ea);
  const Access access = op == AtomicOp::getllar ? Access::read : Access::write;
  if (!found.any()) found = spe.addresses().check(ea, kLineBytes, access);
  if (found.any()) spe.fail(found, name, where);
  // The command goes to the unit at once or, while it works on another, when that is done: there is no queue.
  spe.atomic().wait_idle({"the atomic command before", 0, 0, where});
  spe.atomic().start(op, ls, ea);
}

}  // namespace

void Spu::mfc_getllar(LsAddress ls, EffectiveAddress ea, std::uint32_t, std::uint32_t, const Where& where) {
  issue_atomic(spe_, AtomicOp::getllar, "mfc_getllar", ls, ea, where);
}
void Spu::mfc_putllc(LsAddress ls, EffectiveAddress ea, std::uint32_t, std::uint32_t, const Where& where) {
  issue_atomic(spe_, AtomicOp::putllc, "mfc_putllc", ls, ea, where);
}
void Spu::mfc_putlluc(LsAddress ls, EffectiveAddress ea, std::uint32_t, std::uint32_t, const Where& where) {
  issue_atomic(spe_, AtomicOp::putlluc, "mfc_putlluc", ls, ea, where);
}

void Spu::mfc_putqlluc(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t tid, std::uint32_t rid,
                       const Where& where) {
  if (const Violation found = check_atomic(ls, ea); found.any()) spe_.fail(found, "mfc_putqlluc", where);
  // Queued and tagged, unconditional, and without a status: a put of the whole line, which also takes away every
  // reservation.
  mfc_put(ls, ea, kLineBytes, tag, tid, rid, where);
}

std::uint32_t Spu::mfc_read_atomic_status(const Where& where) {
  if (!spe_.atomic().busy() && spe_.atomic().status_count() == 0) {
    spe_.fail({Fault::channel_use, "no atomic command was issued, allowed: one read for each command"},
              "mfc_read_atomic_status", where);
  }
  const std::uint32_t status = spe_.atomic().read_status({"its atomic command's status", 0, 0, where});
  spe_.engine().sleep(spe_.parameters().spu_channel_read_cycles, where);
  return status;
}

std::uint32_t Spu::mfc_stat_atomic_status() {
  spe_.engine().sleep(spe_.parameters().spu_channel_read_cycles);
  return spe_.atomic().status_count();
}

}  // namespace corewise::cell
