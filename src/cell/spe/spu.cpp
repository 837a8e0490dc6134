// The program's view of an SPE: each call pays for its channel accesses, checks the rules, and waits where the
// hardware would. SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/spu.hpp"

#include <algorithm>
#include <string>

#include "cell/spe/spe.hpp"

namespace corewise::cell {
namespace {

using Where = std::source_location;
using Until = Spe::Until;

/// LSA, EAH, EAL, size, tag and class, opcode.
constexpr std::int64_t kIssueWrites = 6;

void pay_writes(Spe& spe, std::int64_t count, const Where& where = Where::current()) {
  spe.engine().sleep(count * spe.parameters().spu_channel_write_cycles, where);
}

void pay_read(Spe& spe, const Where& where = Where::current()) {
  spe.engine().sleep(spe.parameters().spu_channel_read_cycles, where);
}

Violation check_command(Spe& spe, const Command& command) {
  if (Violation found = check_shape(command.ls, command.ea, command.size); found.any()) return found;
  const Access access = command.opcode == Opcode::get ? Access::read : Access::write;
  return spe.addresses().check(command.ea, command.size, access);
}

Violation check(Spe& spe, const Command& command) {
  switch (command.opcode) {
    case Opcode::get:
    case Opcode::put:
      return check_command(spe, command);
    case Opcode::get_list:
    case Opcode::put_list:
      return check_list(command.ls, command.list, command.size);
    case Opcode::sndsig:
      if (Violation found = check_signal(command.ls, command.ea); found.any()) return found;
      return spe.addresses().check(command.ea, 4, Access::write);
    default:
      return {};
  }
}

/// Pays for the channel writes, enforces the rules, waits for room in the queue.
void issue(Spe& spe, Command command, std::uint32_t tag, const Where& where) {
  pay_writes(spe, kIssueWrites, where);
  Violation found = check_tag(tag);
  if (!found.any()) found = check(spe, command);
  if (found.any()) spe.fail(found, name_of(command.opcode, command.order), where);
  command.tag = static_cast<std::uint8_t>(tag);
  command.where = where;
  spe.wait_for_mfc(Until::free_entry, 0, {"a free entry of its MFC command queue", 0, 0, where});
  spe.mfc().enqueue(command);
}

void transfer(Spe& spe, Opcode opcode, Order order, LsAddress ls, EffectiveAddress ea, std::uint32_t size,
              std::uint32_t tag, const Where& where) {
  Command command;
  command.opcode = opcode;
  command.order = order;
  command.ls = ls;
  command.ea = ea;
  command.size = size;
  issue(spe, command, tag, where);
}

void list_transfer(Spe& spe, Opcode opcode, Order order, LsAddress ls, EffectiveAddress ea, LsAddress at,
                   std::uint32_t size, std::uint32_t tag, const Where& where) {
  Command command;
  command.opcode = opcode;
  command.order = order;
  command.ls = ls;
  command.ea = ea;
  command.size = size;
  command.list = at;
  issue(spe, command, tag, where);
}

/// Blocks until the tag groups of the mask are complete, as far as asked.
std::uint32_t tag_status(Spe& spe, Until until, const char* call, const Where& where) {
  const std::uint32_t mask = spe.tag_mask();
  pay_writes(spe, 1, where);
  if (mask == 0) {
    spe.fail({Fault::channel_use, "the tag mask is empty, allowed: at least one tag group to wait for"}, call,
             where);
  }
  spe.wait_for_mfc(until, mask, {"its DMA (tag mask {})", static_cast<std::int64_t>(mask), 0, where});
  pay_read(spe, where);
  return spe.mfc().complete_tags() & mask;
}

std::uint32_t read_signal(Spe& spe, int which, const Where& where) {
  spe.signal(which).wait({"a signal in register {}", which, 0, where});
  pay_read(spe, where);
  return spe.signal(which).take();
}

void write_mbox(Spe& spe, Mailbox& mbox, std::uint32_t value, const char* what, const Where& where) {
  pay_writes(spe, 1, where);
  mbox.wait_for_space({what, 0, 0, where});
  mbox.write(value);
}

std::uint32_t counted(Spe& spe, std::uint32_t (*count)(Spe&)) {
  pay_read(spe);
  return count(spe);
}

void wake_poller(void* self, std::uint64_t) {
  auto& spe = *static_cast<Spe*>(self);
  spe.engine().wake(*spe.program());
}

}  // namespace

int Spu::physical_id() const {
  return spe_.id();
}
int Spu::chip() const {
  return spe_.chip();
}
sim::Engine& Spu::engine() const {
  return spe_.engine();
}
sim::Time Spu::now() const {
  return spe_.engine().now();
}

std::span<std::byte> Spu::ls(LsAddress at, std::uint32_t bytes, const Where& where) {
  if (!LocalStore::holds(at, bytes)) spe_.fail(check_local_store(at, bytes), "ls", where);
  return spe_.local_store().at(at, bytes);
}

const Parameters& Spu::parameters() const {
  return spe_.parameters();
}

void Spu::spu_cycles(std::int64_t cycles) {
  spe_.engine().sleep(std::max<std::int64_t>(cycles, 0));
}

void Spu::charge_poll() {
  spe_.engine().sleep(spe_.parameters().spu_poll_cycles);
}

/// The poll loop samples at `sampled`, `sampled` + a turn, ..: the program goes on at the first of these that is
/// not before the write, so a quiet loop costs nothing and the loop keeps its phase.
void Spu::wait_for_write(LsAddress at, std::uint32_t bytes, const char* what, const Where& where) {
  sim::Engine& engine = spe_.engine();
  const sim::Time turn = spe_.parameters().spu_poll_cycles;
  const sim::Time sampled = engine.now();
  {
    const LocalStore::Watch watch(spe_.local_store(), at, bytes, {&wake_poller, &spe_, 0});
    engine.block({what, 0, 0, where});
  }
  const sim::Time passed = engine.now() - sampled;
  const sim::Time turns = std::max<sim::Time>(1, (passed + turn - 1) / turn);
  engine.sleep(turns * turn - passed, where);
}

// ---- DMA ----

void Spu::mfc_put(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                  std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::put, Order::none, ls, ea, size, tag, where);
}
void Spu::mfc_putf(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                   std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::put, Order::fence, ls, ea, size, tag, where);
}
void Spu::mfc_putb(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                   std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::put, Order::barrier, ls, ea, size, tag, where);
}
void Spu::mfc_get(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                  std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::get, Order::none, ls, ea, size, tag, where);
}
void Spu::mfc_getf(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                   std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::get, Order::fence, ls, ea, size, tag, where);
}
void Spu::mfc_getb(LsAddress ls, EffectiveAddress ea, std::uint32_t size, std::uint32_t tag, std::uint32_t,
                   std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::get, Order::barrier, ls, ea, size, tag, where);
}
void Spu::mfc_putl(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                   std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::put_list, Order::none, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_putlf(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                    std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::put_list, Order::fence, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_putlb(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                    std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::put_list, Order::barrier, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_getl(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                   std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::get_list, Order::none, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_getlf(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                    std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::get_list, Order::fence, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_getlb(LsAddress ls, EffectiveAddress ea, LsAddress list, std::uint32_t list_size, std::uint32_t tag,
                    std::uint32_t, std::uint32_t, const Where& where) {
  list_transfer(spe_, Opcode::get_list, Order::barrier, ls, ea, list, list_size, tag, where);
}
void Spu::mfc_sndsig(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t, std::uint32_t,
                     const Where& where) {
  transfer(spe_, Opcode::sndsig, Order::none, ls, ea, 4, tag, where);
}
void Spu::mfc_sndsigf(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t, std::uint32_t,
                      const Where& where) {
  transfer(spe_, Opcode::sndsig, Order::fence, ls, ea, 4, tag, where);
}
void Spu::mfc_sndsigb(LsAddress ls, EffectiveAddress ea, std::uint32_t tag, std::uint32_t, std::uint32_t,
                      const Where& where) {
  transfer(spe_, Opcode::sndsig, Order::barrier, ls, ea, 4, tag, where);
}
void Spu::mfc_barrier(std::uint32_t tag, const Where& where) {
  transfer(spe_, Opcode::barrier, Order::none, 0, 0, 0, tag, where);
}
void Spu::mfc_eieio(std::uint32_t tag, std::uint32_t, std::uint32_t, const Where& where) {
  transfer(spe_, Opcode::eieio, Order::none, 0, 0, 0, tag, where);
}
void Spu::mfc_sync(std::uint32_t tag, const Where& where) {
  transfer(spe_, Opcode::sync, Order::none, 0, 0, 0, tag, where);
}

std::uint32_t Spu::mfc_stat_cmd_queue() {
  return counted(spe_, [](Spe& spe) { return spe.mfc().free_entries(); });
}

// ---- tag groups ----

void Spu::mfc_write_tag_mask(std::uint32_t mask) {
  pay_writes(spe_, 1);
  spe_.set_tag_mask(mask);
}

std::uint32_t Spu::mfc_read_tag_mask() const {
  return spe_.tag_mask();
}

std::uint32_t Spu::mfc_read_tag_status_immediate() {
  pay_writes(spe_, 1);
  return counted(spe_, [](Spe& spe) { return spe.mfc().complete_tags() & spe.tag_mask(); });
}

std::uint32_t Spu::mfc_read_tag_status_any(const Where& where) {
  return tag_status(spe_, Until::any_tag, "mfc_read_tag_status_any", where);
}

std::uint32_t Spu::mfc_read_tag_status_all(const Where& where) {
  return tag_status(spe_, Until::all_tags, "mfc_read_tag_status_all", where);
}

std::uint32_t Spu::mfc_read_list_stall_status(const Where& where) {
  spe_.wait_for_mfc(Until::stalled_list, 0, {"a list that stalls", 0, 0, where});
  pay_read(spe_, where);
  const std::uint32_t stalled = spe_.new_stalls();
  spe_.stalls_told(stalled);
  return stalled;
}

std::uint32_t Spu::mfc_stat_list_stall_status() {
  return counted(spe_, [](Spe& spe) { return spe.new_stalls() != 0 ? 1U : 0U; });
}

void Spu::mfc_write_list_stall_ack(std::uint32_t tag, const Where& where) {
  pay_writes(spe_, 1, where);
  if (const Violation found = check_tag(tag); found.any()) spe_.fail(found, "mfc_write_list_stall_ack", where);
  if ((spe_.mfc().stalled_tags() >> tag & 1) == 0) {
    spe_.fail({Fault::channel_use, "no list of tag " + std::to_string(tag) +
                                       " has stalled, allowed: a tag group that mfc_read_list_stall_status gave"},
              "mfc_write_list_stall_ack", where);
  }
  spe_.stall_acknowledged(tag);
  spe_.mfc().acknowledge_stall(tag);
}

// ---- signals ----

std::uint32_t Spu::spu_read_signal1(const Where& where) {
  return read_signal(spe_, 1, where);
}
std::uint32_t Spu::spu_read_signal2(const Where& where) {
  return read_signal(spe_, 2, where);
}
std::uint32_t Spu::spu_stat_signal1() {
  return counted(spe_, [](Spe& spe) { return spe.signal(1).count(); });
}
std::uint32_t Spu::spu_stat_signal2() {
  return counted(spe_, [](Spe& spe) { return spe.signal(2).count(); });
}

// ---- mailboxes ----

std::uint32_t Spu::spu_read_in_mbox(const Where& where) {
  spe_.in_mbox().wait_for_word({"a word in its inbound mailbox", 0, 0, where});
  pay_read(spe_, where);
  return spe_.in_mbox().read();
}
std::uint32_t Spu::spu_stat_in_mbox() {
  return counted(spe_, [](Spe& spe) { return spe.in_mbox().count(); });
}
void Spu::spu_write_out_mbox(std::uint32_t value, const Where& where) {
  write_mbox(spe_, spe_.out_mbox(), value, "room in its outbound mailbox", where);
}
std::uint32_t Spu::spu_stat_out_mbox() {
  return counted(spe_, [](Spe& spe) { return spe.out_mbox().space(); });
}
void Spu::spu_write_out_intr_mbox(std::uint32_t value, const Where& where) {
  write_mbox(spe_, spe_.out_intr_mbox(), value, "room in its outbound interrupt mailbox", where);
}
std::uint32_t Spu::spu_stat_out_intr_mbox() {
  return counted(spe_, [](Spe& spe) { return spe.out_intr_mbox().space(); });
}

// ---- decrementer ----

void Spu::spu_write_decrementer(std::uint32_t count) {
  pay_writes(spe_, 1);
  spe_.decrementer().write(now(), count);
}

std::uint32_t Spu::spu_read_decrementer() {
  pay_read(spe_);
  return spe_.decrementer().read(now());
}

}  // namespace corewise::cell
