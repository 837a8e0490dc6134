// libspe2's calls on a simulated PPE. Each waits where the hardware or the system software would.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/ppe/ppu.hpp"

#include <algorithm>
#include <utility>

#include "cell/faults.hpp"
#include "cell/ppe/ppe.hpp"
#include "cell/spe/spe.hpp"

namespace corewise::cell {
namespace {

/// Fields of the mailbox status register (CBEA, SPU_Mbox_Stat).
int out_words(std::uint32_t status) {
  return static_cast<int>(status & 0xff);
}
int in_space(std::uint32_t status) {
  return static_cast<int>(status >> 8 & 0xff);
}
int intr_words(std::uint32_t status) {
  return static_cast<int>(status >> 16 & 0xff);
}

}  // namespace

int Ppu::chip() const {
  return ppe_.chip();
}
sim::Engine& Ppu::engine() const {
  return system_.engine();
}
sim::Time Ppu::now() const {
  return engine().now();
}
void Ppu::cycles(std::int64_t count, const Where& where) {
  ppe_.compute(count, where);
}

void Ppu::fail(const Violation& violation, const char* call, const Where& where) const {
  engine().fail(fault_status(violation, call, engine().current()->name(), where, engine()));
}

void Ppu::check(const SpeContext* context, const char* call, const Where& where) const {
  if (context != nullptr && !context->destroyed()) return;
  const char* const found = context == nullptr ? "no context" : "a context that was destroyed";
  fail({Fault::invalid_command, std::string(found) + ", allowed: one from spe_context_create"}, call, where);
}

void Ppu::check_memory(EffectiveAddress ea, std::uint64_t bytes, bool write, const char* call,
                       const Where& where) const {
  const Access access = write ? Access::write : Access::read;
  const EffectiveAddress end = ea + (bytes == 0 ? 0 : bytes - 1);
  const Location first = locate(ea), last = locate(end);
  for (const EffectiveAddress at : {ea, end}) {
    // A register is accessed as a whole; of everything else both ends must exist.
    const bool whole = first.kind == Location::Kind::registers;
    const auto size = whole ? static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, kMaxDmaBytes)) : 1;
    const Violation found = system_.addresses().check(at, size, access);
    if (found.any()) fail(found, call, where);
    if (whole) return;
  }
  if (end >= ea && first.kind == last.kind && first.index == last.index) return;
  fail({Fault::data_segment, std::to_string(bytes) + " bytes at effective address " + hex_text(ea) +
                                 ", allowed: inside one memory or one local store"},
       call, where);
}

void Ppu::check_reservable(EffectiveAddress ea, bool write, const char* call, const Where& where) const {
  const std::string found = "effective address " + hex_text(ea);
  if (ea % sizeof(std::uint32_t) != 0) {
    fail({Fault::invalid_command, found + ", allowed: a multiple of 4"}, call, where);
  }
  check_memory(ea, sizeof(std::uint32_t), write, call, where);
  if (locate(ea).kind == Location::Kind::memory) return;
  fail({Fault::data_storage, found + ", allowed: a word of main memory"}, call, where);
}

// ---- threads and contexts ----

std::shared_ptr<PpuThread> Ppu::thread(std::string name, PpuProgram program) {
  auto made = std::make_shared<PpuThread>();
  engine().spawn(std::move(name), [made, text = std::move(program), &ppe = ppe_, &system = system_,
                                   &contexts = contexts_, &on = engine()] {
    Ppu ppu(ppe, system, contexts);
    text(ppu);
    made->ended = true;
    made->joiners.wake_all(on);
  });
  return made;
}

void Ppu::join(PpuThread& thread, const Where& where) {
  while (!thread.ended) thread.joiners.wait(engine(), {"the end of a thread", 0, 0, where});
}

SpeContext* Ppu::spe_context_create(int spe, bool map_ps) {
  ppe_.compute(system_.parameters().ppe_proxy_service_cycles);
  return contexts_.create(spe, chip(), map_ps);
}

void Ppu::spe_program_load(SpeContext* context, std::string name, SpuProgram program, const Where& where) {
  check(context, "spe_program_load", where);
  if (context->running_) {
    fail({Fault::invalid_command, "a context that runs, allowed: one whose program has ended"}, "spe_program_load",
         where);
  }
  context->name_ = std::move(name);
  context->program_ = std::move(program);
}

void Ppu::spe_context_run(SpeContext* context, const Where& where) {
  check(context, "spe_context_run", where);
  if (context->program_ == nullptr || context->running_) {
    fail({Fault::invalid_command,
          std::string(context->running_ ? "a context that runs" : "a context without program") +
              ", allowed: one with a program that does not run"},
         "spe_context_run", where);
  }
  context->running_ = true;
  context->ended_ = false;
  ppe_.compute(system_.parameters().ppe_context_start_cycles, where);
  system_.spe(context->spe_).set_context(context);
  system_.run_on_spe(context->spe_, context->name_, [context](Spu& spu) {
    context->program_(spu);
    context->ended_ = true;
    context->proxy_.wake_all(spu.engine());
  });
  while (!context->ended_) {
    if (context->request_) {
      serve(*context, where);
    } else {
      context->proxy_.wait(engine(), {"SPE {} to stop or signal", context->spe_, 0, where});
    }
  }
  system_.spe(context->spe_).set_context(nullptr);
  context->running_ = false;
  engine().sleep(system_.parameters().ppe_proxy_wake_cycles, where);
}

void Ppu::serve(SpeContext& context, const Where& where) {
  engine().sleep(system_.parameters().ppe_proxy_wake_cycles, where);
  ppe_.compute(system_.parameters().ppe_proxy_service_cycles, where);
  const auto callback = context.callbacks_.find(context.signal_);
  if (callback == context.callbacks_.end()) {
    fail({Fault::invalid_command, "signal " + std::to_string(context.signal_) +
                                      " of the SPE program, allowed: one with a registered callback"},
         "spe_context_run", where);
  }
  LocalStore& store = system_.spe(context.spe_).local_store();
  const std::uint32_t room = kLocalStoreBytes - context.message_;
  const SpeCallback handler = callback->second;  // which may register another one for its own signal
  const int error = handler(*this, store.at(context.message_, room));
  store.written(context.message_, room);
  if (error != 0) {
    fail({Fault::invalid_command,
          "error " + std::to_string(error) + " from the callback of signal " + std::to_string(context.signal_)},
         "spe_context_run", where);
  }
  ++context.served_;
  context.request_ = false;
  context.spu_.wake_all(engine());
}

std::shared_ptr<PpuThread> Ppu::spe_context_start(SpeContext* context) {
  const std::string name = "proxy of " + (context == nullptr ? std::string("nobody") : context->name());
  return thread(name, [context](Ppu& ppu) { ppu.spe_context_run(context); });
}

void Ppu::spe_context_destroy(SpeContext* context, const Where& where) {
  check(context, "spe_context_destroy", where);
  if (context->running_) {
    fail({Fault::invalid_command, "a context that runs, allowed: one whose program has ended"},
         "spe_context_destroy", where);
  }
  ppe_.compute(system_.parameters().ppe_proxy_service_cycles, where);
  contexts_.destroy(*context);
}

void Ppu::spe_callback_handler_register(SpeContext* context, std::uint32_t signal, SpeCallback callback,
                                        const Where& where) {
  check(context, "spe_callback_handler_register", where);
  context->callbacks_[signal] = std::move(callback);
}

int Ppu::spe_phys_id(const SpeContext* context, const Where& where) {
  check(context, "spe_phys_id", where);
  ppe_.compute(system_.parameters().ppe_proxy_service_cycles, where);
  return context->phys_id();
}

EffectiveAddress Ppu::spe_ls_area_get(const SpeContext* context, const Where& where) const {
  check(context, "spe_ls_area_get", where);
  return ls_address(context->phys_id());
}
EffectiveAddress Ppu::spe_ps_area_get(const SpeContext* context, const Where& where) const {
  check(context, "spe_ps_area_get", where);
  return register_address(context->phys_id(), 0);
}

// ---- mailboxes and signals ----

void Ppu::pay_mailbox(const SpeContext& context, const Where& where) {
  if (!context.map_ps()) ppe_.compute(system_.parameters().ppe_mailbox_syscall_cycles, where);
}

std::uint32_t Ppu::mailbox_status(SpeContext* context, const Where& where) {
  return load<std::uint32_t>(register_address(context->phys_id(), kMboxStat), where);
}

int Ppu::spe_in_mbox_write(SpeContext* context, std::span<const std::uint32_t> words, MboxBehavior behavior,
                           const Where& where) {
  check(context, "spe_in_mbox_write", where);
  pay_mailbox(*context, where);
  std::size_t written = 0;
  while (written < words.size()) {
    int space = in_space(mailbox_status(context, where));
    if (space == 0) {
      const bool enough =
          behavior == MboxBehavior::any_nonblocking || (behavior == MboxBehavior::any_blocking && written > 0);
      if (enough) break;
      system_.spe(context->phys_id())
          .in_mbox()
          .wait_for_space({"room in the inbound mailbox of SPE {}", context->phys_id(), 0, where});
    }
    for (; space > 0 && written < words.size(); --space, ++written) {
      store(register_address(context->phys_id(), kInMbox), words[written], where);
    }
  }
  return static_cast<int>(written);
}

int Ppu::spe_in_mbox_status(SpeContext* context, const Where& where) {
  check(context, "spe_in_mbox_status", where);
  pay_mailbox(*context, where);
  return in_space(mailbox_status(context, where));
}

int Ppu::spe_out_mbox_read(SpeContext* context, std::span<std::uint32_t> words, const Where& where) {
  check(context, "spe_out_mbox_read", where);
  pay_mailbox(*context, where);
  int count = 0;
  for (std::uint32_t& word : words) {
    if (out_words(mailbox_status(context, where)) == 0) break;
    word = load<std::uint32_t>(register_address(context->phys_id(), kOutMbox), where);
    ++count;
  }
  return count;
}

int Ppu::spe_out_mbox_status(SpeContext* context, const Where& where) {
  check(context, "spe_out_mbox_status", where);
  pay_mailbox(*context, where);
  return out_words(mailbox_status(context, where));
}

std::uint32_t Ppu::spe_out_mbox_wait(SpeContext* context, const Where& where) {
  std::uint32_t word = 0;
  while (spe_out_mbox_read(context, {&word, 1}, where) == 0) {
    system_.spe(context->phys_id())
        .out_mbox()
        .wait_for_word({"a word in the outbound mailbox of SPE {}", context->phys_id(), 0, where});
  }
  return word;
}

int Ppu::spe_out_intr_mbox_read(SpeContext* context, std::span<std::uint32_t> words, MboxBehavior behavior,
                                const Where& where) {
  check(context, "spe_out_intr_mbox_read", where);
  // The register is privileged: always a call of the system software, which an interrupt wakes.
  ppe_.compute(
      std::max(system_.parameters().ppe_mailbox_syscall_cycles, system_.parameters().ppe_proxy_service_cycles),
      where);
  Mailbox& mailbox = system_.spe(context->phys_id()).out_intr_mbox();
  int count = 0;
  for (std::uint32_t& word : words) {
    if (mailbox.count() == 0) {
      if (behavior == MboxBehavior::any_nonblocking || (behavior == MboxBehavior::any_blocking && count > 0)) break;
      mailbox.wait_for_word({"a word in the outbound interrupt mailbox of SPE {}", context->phys_id(), 0, where});
      engine().sleep(system_.parameters().ppe_proxy_wake_cycles, where);
      // Another thread may have taken it meanwhile.
      while (mailbox.count() == 0) {
        mailbox.wait_for_word({"a word in the outbound interrupt mailbox of SPE {}", context->phys_id(), 0, where});
      }
    }
    word = mailbox.read();
    ++count;
  }
  return count;
}

int Ppu::spe_out_intr_mbox_status(SpeContext* context, const Where& where) {
  check(context, "spe_out_intr_mbox_status", where);
  pay_mailbox(*context, where);
  return intr_words(mailbox_status(context, where));
}

void Ppu::spe_signal_write(SpeContext* context, int which, std::uint32_t value, const Where& where) {
  check(context, "spe_signal_write", where);
  if (which != 1 && which != 2) {
    fail({Fault::invalid_command, "signal register " + std::to_string(which) + ", allowed: 1, 2"},
         "spe_signal_write", where);
  }
  pay_mailbox(*context, where);
  store(register_address(context->phys_id(), which == 1 ? kSignal1 : kSignal2), value, where);
}

// ---- proxy DMA ----

void Ppu::proxy_command(SpeContext* context, bool put, LsAddress ls, EffectiveAddress ea, std::uint32_t size,
                        std::uint32_t tag, const Where& where) {
  const char* const call = put ? "spe_mfcio_put" : "spe_mfcio_get";
  check(context, call, where);
  Violation found = check_tag(tag);
  if (!found.any()) found = check_shape(ls, ea, size);
  if (!found.any()) found = system_.addresses().check(ea, size, put ? Access::write : Access::read);
  if (found.any()) fail(found, call, where);
  const Parameters& p = system_.parameters();
  // Local store address, effective address, size with tag, command; then the status tells whether there was room.
  engine().sleep(4 * p.ppe_mmio_write_cycles + p.ppe_mmio_read_cycles, where);
  Mfc& mfc = system_.spe(context->phys_id()).mfc();
  while (mfc.free_proxy_entries() == 0) engine().sleep(p.ppe_mmio_read_cycles, where);
  Command command;
  command.opcode = put ? Opcode::put : Opcode::get;
  command.tag = static_cast<std::uint8_t>(tag);
  command.ls = ls;
  command.ea = ea;
  command.size = size;
  command.where = where;
  mfc.enqueue_proxy(command);
}

void Ppu::spe_mfcio_put(SpeContext* context, LsAddress ls, EffectiveAddress ea, std::uint32_t size,
                        std::uint32_t tag, const Where& where) {
  proxy_command(context, true, ls, ea, size, tag, where);
}

void Ppu::spe_mfcio_get(SpeContext* context, LsAddress ls, EffectiveAddress ea, std::uint32_t size,
                        std::uint32_t tag, const Where& where) {
  proxy_command(context, false, ls, ea, size, tag, where);
}

std::uint32_t Ppu::spe_mfcio_tag_status_read(SpeContext* context, std::uint32_t mask, TagBehavior behavior,
                                             const Where& where) {
  check(context, "spe_mfcio_tag_status_read", where);
  const Mfc& mfc = system_.spe(context->phys_id()).mfc();
  for (;;) {
    engine().sleep(system_.parameters().ppe_mmio_read_cycles, where);
    const std::uint32_t complete = mfc.complete_proxy_tags() & mask;
    const bool enough =
        behavior == TagBehavior::immediate || complete == mask || (behavior == TagBehavior::any && complete != 0);
    if (enough) return complete;
  }
}

// ---- its own accesses ----

void Ppu::load_bytes(EffectiveAddress ea, std::span<std::byte> bytes, const Where& where) {
  check_memory(ea, bytes.size(), false, "load", where);
  ppe_.load(ea, bytes, where);
}

void Ppu::store_bytes(EffectiveAddress ea, std::span<const std::byte> bytes, const Where& where) {
  check_memory(ea, bytes.size(), true, "store", where);
  ppe_.store(ea, bytes, where);
}

void Ppu::memcpy(EffectiveAddress to, EffectiveAddress from, std::uint64_t bytes, const Where& where) {
  if (bytes == 0) return;
  check_memory(from, bytes, false, "memcpy", where);
  check_memory(to, bytes, true, "memcpy", where);
  ppe_.copy(to, from, bytes, where);
}

std::uint32_t Ppu::lwarx(EffectiveAddress ea, const Where& where) {
  check_reservable(ea, false, "lwarx", where);
  return ppe_.load_reserve(ea, where);
}

bool Ppu::stwcx(EffectiveAddress ea, std::uint32_t value, const Where& where) {
  check_reservable(ea, true, "stwcx", where);
  return ppe_.store_conditional(ea, value, where);
}

}  // namespace corewise::cell
