// Mailboxes as rings of words.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/channels.hpp"

namespace corewise::cell {

void Mailbox::write(std::uint32_t value) {
  if (space() == 0) {
    words_[(first_ + count_ - 1) % kDeepest] = value;
    return;
  }
  words_[(first_ + count_) % kDeepest] = value;
  ++count_;
  readers_.wake_all(engine_);
}

std::uint32_t Mailbox::read() {
  const std::uint32_t value = words_[first_];
  first_ = (first_ + 1) % kDeepest;
  --count_;
  writers_.wake_all(engine_);
  return value;
}

}  // namespace corewise::cell
