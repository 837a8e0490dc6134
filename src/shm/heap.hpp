// Heap: memory of this process that others may map, too: one file without a name, with a place for as much as there
// will ever be, of which only what was taken has memory behind it. Peers map the whole file once; what is taken
// later is there for them without a word, and what was given back is gone for them, too.
//
// Contract. Blocks begin on pages and hold zeros; nobody else's bytes are on their pages. Pages of a block are
// backed when they are used, as those of other memory, or all when it is taken. A child of fork() has a copy of its
// own of every block, as of other memory (a process made by a bare clone system call shares them); it takes no new
// ones. Thread-safe. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "shm/extents.hpp"

namespace corewise::shm {

class Heap {
 public:
  /// A place for `bytes` (whole pages), whose first page holds `key` and is nobody's. Null where the system
  /// refuses.
  static std::unique_ptr<Heap> make(std::size_t bytes, std::uint64_t key);
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  /// Null where there is no room or no memory, or `bytes` is 0. Backed as it is used: of what is never touched
  /// there may be more than the host has.
  std::byte* take(std::size_t bytes);
  /// False where no block begins at `at`.
  bool give_back(void* at);

  /// The same for blocks that come and go, all backed: what is put by keeps its memory for who takes as much or a
  /// little less again, kMostPutBy bytes at most, the last ones; a block that is taken again holds anything.
  std::byte* take_again(std::size_t bytes);
  bool put_by(void* at);
  static constexpr std::size_t kMostPutBy = std::size_t{64} << 20;

  /// Whether `at` is in its place; and the bytes of the block that begins at `at`, whole pages, 0 where none does.
  [[nodiscard]] bool has(const void* at) const {
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(place_.data()) < place_.size();
  }
  [[nodiscard]] std::size_t bytes_of(const void* at);

  /// The process's file, which peers open (Mapping::path_of), and where it is here.
  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] std::span<std::byte> place() const { return place_; }

 private:
  /// A block, and its content when a fork begins; null where there was no memory for it.
  struct Copy {
    std::byte* at;
    std::byte* content;
    std::size_t bytes;
  };

  struct Extent {
    std::uint64_t at;
    std::uint64_t bytes;
  };

  Heap(std::span<std::byte> place, int file);
  [[nodiscard]] std::uint64_t offset_of(const void* at) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - place_.data());
  }
  /// These with the lock held. Of a block at an offset: false where none is taken there, or it is put by.
  bool release(std::uint64_t at);
  enum class Backed : bool { by_use, at_once };
  std::byte* take_new(std::size_t whole, Backed backed);
  void release_oldest();

  /// False where the system refuses; nothing is changed then.
  bool open(std::uint64_t at, std::size_t bytes, Backed backed);
  void drop(std::uint64_t at, std::size_t bytes);

  static void watch_forks();
  static void fork_begins();
  static void fork_ends_in_parent();
  static void fork_ends_in_child();
  void copy_all();

  std::span<std::byte> place_;
  int file_;
  bool is_copy_ = false;  ///< this process is a child of the one that made it
  std::mutex mutex_;
  Extents extents_;
  std::list<Extent> put_by_;  ///< oldest first; taken, as far as extents_ knows
  std::size_t put_by_bytes_ = 0;
  std::forward_list<Copy> copies_;  ///< small pieces: while it grows this heap cannot be asked for memory
};

}  // namespace corewise::shm
