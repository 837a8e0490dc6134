// Mapping: a block of zeroed memory that ranks share: threads of this process and the processes it forks, or
// processes that agree on a file, which may have no name. Owns it: the destructor unmaps it here (a child's copy of
// the mapping stays the child's). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace corewise::shm {

class Mapping {
 public:
  /// Of nothing.
  Mapping() = default;
  /// At least `bytes` (not 0), zeroed, on a page boundary. Fails with Code::io where the system has none to give.
  static Result<Mapping> anonymous(std::size_t bytes);

  /// A new file of `bytes` (not 0), all of it backed (so that a full /dev/shm is an error here and no SIGBUS
  /// later); fails with Code::io where `path` exists or there is no room, and leaves no file then. Whoever creates
  /// it removes the name when every rank has opened it.
  static Result<Mapping> create(const std::string& path, std::size_t bytes);
  /// What create() made, in another process.
  static Result<Mapping> open(const std::string& path, std::size_t bytes);

  /// A file without a name, all of it backed; whoever may look into this process opens it by `path_of`. The file
  /// is the caller's to close: its memory stays while it is mapped. Fails as create() does.
  static Result<Mapping> nameless(std::size_t bytes, int& file);
  /// Where open() finds file `file` of process `process`.
  static std::string path_of(int process, int file);

  Mapping(Mapping&& other) noexcept : block_(std::exchange(other.block_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::span<std::byte> block() const { return block_; }

 private:
  explicit Mapping(std::span<std::byte> block) : block_(block) {}

  std::span<std::byte> block_;
};

}  // namespace corewise::shm
