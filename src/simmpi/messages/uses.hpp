// Uses: how many bytes a rank has moved since it last used the buffer of a message.
//
// Nobody knows addresses: messages with the same peer, tag and communicator are taken to use one buffer. A rank
// keeps the newest kMost of them, so that memory does not grow with the run; what is older counts as never used.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace corewise::simmpi {

class Uses {
 public:
  struct Buffer {
    const void* communicator = nullptr;
    int peer = -1;
    int tag = 0;
    bool operator==(const Buffer&) const = default;
  };

  /// Bytes since the buffer's last use, infinite where there was none; it is used now, for `bytes` in and out.
  double use(const Buffer& buffer, double bytes) {
    const auto end = uses_.begin() + static_cast<std::ptrdiff_t>(count_);
    auto at = std::find_if(uses_.begin(), end, [&](const Use& use) { return use.buffer == buffer; });
    double moved = std::numeric_limits<double>::infinity();
    if (at != end) {
      moved = moved_ - at->when;
    } else if (count_ < kMost) {
      ++count_;
    } else {
      at = std::min_element(uses_.begin(), end, [](const Use& a, const Use& b) { return a.when < b.when; });
    }
    *at = {buffer, moved_};
    moved_ += bytes;
    return moved;
  }
  void touch(double bytes) { moved_ += bytes; }

 private:
  static constexpr std::size_t kMost = 32;
  struct Use {
    Buffer buffer;
    double when = 0;
  };
  std::array<Use, kMost> uses_{};
  std::size_t count_ = 0;
  double moved_ = 0;
};

}  // namespace corewise::simmpi
