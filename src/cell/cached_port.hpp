// CachedPort: the port of a rank on a simulated SPE whose user memory is main memory behind a software cache in its
// local store (paper 001, section 3). Control lines, the stage and transfers between stages are CellPort's.
//
// Contract: port/port.hpp. Copies between user memory and the stage go through the cache, line by line, and are
// complete at return. What a peer has in its cache is not in main memory, so this port has none of the capabilities
// by which a rank reaches another one's user memory: algorithms that need them have no `run` on it. User memory of
// two ranks must not share a line of the cache. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cell/port.hpp"

namespace corewise::cell {

class SoftwareCache;
struct SoftwareCacheShape;

class CachedPort : public CellPort {
 public:
  /// `cache` must outlive the port.
  CachedPort(Spu& spu, const PortJob& job, int rank, SoftwareCache& cache)
      : CellPort(spu, job, rank), cache_(cache) {}

  [[nodiscard]] SoftwareCache& cache() { return cache_; }

  void copy_in(EffectiveAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
               const Where& where = Where::current());
  void copy_out(port::StageOffset from, EffectiveAddress to, std::uint32_t bytes, port::Tag tag,
                const Where& where = Where::current());
  void copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                    const Where& where = Where::current());
  void copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                     const Where& where = Where::current());

  void read_user() = delete;
  void write_user() = delete;
  void in_place() = delete;

 private:
  SoftwareCache& cache_;
};

static_assert(port::Port<CachedPort> && port::DmaLists<CachedPort> && port::SignalRegister<CachedPort> &&
              port::AtomicWords<CachedPort> && port::Mailboxes<CachedPort>);
static_assert(!port::DirectRead<CachedPort> && !port::DirectWrite<CachedPort> &&
              !port::UserMemoryInPlace<CachedPort>);

/// As run_ranks, each rank with a cache of its own, empty, at `at` in its local store. At its end it is flushed.
void run_cached_ranks(System& system, const PortJob& job, LsAddress at, const SoftwareCacheShape& shape,
                      const std::function<void(CachedPort&)>& program);

}  // namespace corewise::cell
