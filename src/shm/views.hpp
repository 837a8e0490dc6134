// Views: own user data that do not lie in one piece, under addresses as if they did. The addresses are of no
// memory: a port that meets one asks the view for the bytes, or hands them to it, so that data are laid out anew on
// their way to a stage or out of one and not in copies of their own.
//
// Contract: addresses of a view may be moved within its bytes, and by their difference to any other address; nobody
// but the port may look behind one. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace corewise::shm {

/// Who lays data out: `read` brings `bytes` of them, from byte `from` on, to `to`; `write` brings them from there.
struct View {
  void* context = nullptr;
  void (*read)(void* context, std::uint64_t from, std::byte* to, std::uint64_t bytes) = nullptr;
  void (*write)(void* context, std::uint64_t from, const std::byte* data, std::uint64_t bytes) = nullptr;
};

/// The views of a rank's call, the last one made the first to go.
class Views {
 public:
  static constexpr std::size_t kMost = 256;

  /// Whether an address is a view's. The kernel gives no process such addresses, and no processor ignores all of
  /// the bits that tell.
  static bool is(const void* address) { return reinterpret_cast<std::uintptr_t>(address) >> kTagShift == kTag; }

  /// Where the view's first byte is; null where there is no room for more.
  std::byte* add(const View& view) {
    if (views_.size() == kMost) return nullptr;
    views_.push_back(view);
    return reinterpret_cast<std::byte*>(kTag << kTagShift | (views_.size() - 1) << kIndexShift);
  }
  /// The last one ends.
  void drop() { views_.pop_back(); }

  /// A copy in which one of both addresses, or both, are a view's.
  [[gnu::noinline]] void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    if (!is(to)) return read(from, to, bytes);
    if (!is(from)) return write(to, from, bytes);
    std::array<std::byte, 4096> between;
    for (std::uint64_t done = 0; done < bytes;) {
      const std::uint64_t part = std::min<std::uint64_t>(between.size(), bytes - done);
      read(from + done, between.data(), part);
      write(to + done, between.data(), part);
      done += part;
    }
  }

 private:
  static constexpr unsigned kTagShift = 48, kIndexShift = 40;
  static constexpr std::uintptr_t kTag = 0xC0DE;

  [[nodiscard]] const View& of(const void* address) const {
    const auto index = reinterpret_cast<std::uintptr_t>(address) >> kIndexShift & (kMost - 1);
    assert(index < views_.size());
    return views_[index];
  }
  static std::uint64_t byte_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) & ((std::uintptr_t{1} << kIndexShift) - 1);
  }
  void read(const std::byte* from, std::byte* to, std::uint64_t bytes) const {
    const View& view = of(from);
    view.read(view.context, byte_of(from), to, bytes);
  }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    const View& view = of(to);
    view.write(view.context, byte_of(to), from, bytes);
  }

  std::vector<View> views_;
};

}  // namespace corewise::shm
