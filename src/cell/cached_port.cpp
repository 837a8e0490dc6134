// Copies through the cache, and ranks that have one. SPDX-License-Identifier: BSD-3-Clause
#include "cell/cached_port.hpp"

#include <string>

#include "cell/spe/software_cache.hpp"
#include "cell/system.hpp"

namespace corewise::cell {

void CachedPort::copy_in(EffectiveAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag /*tag*/,
                         const Where& where) {
  cache_.read(from, stage().subspan(to, bytes), where);
}

void CachedPort::copy_out(port::StageOffset from, EffectiveAddress to, std::uint32_t bytes, port::Tag /*tag*/,
                          const Where& where) {
  cache_.write(stage().subspan(from, bytes), to, where);
}

void CachedPort::copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                              const Where& where) {
  for (const UserPiece& piece : pieces) {
    copy_in(piece.at, to, piece.bytes, tag, where);
    to += piece.bytes;
  }
}

void CachedPort::copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                               const Where& where) {
  for (const UserPiece& piece : pieces) {
    copy_out(from, piece.at, piece.bytes, tag, where);
    from += piece.bytes;
  }
}

void run_cached_ranks(System& system, const PortJob& job, LsAddress at, const SoftwareCacheShape& shape,
                      const std::function<void(CachedPort&)>& program) {
  for (int rank = 0; rank < job.size(); ++rank) {
    system.run_on_spe(job.spes[static_cast<std::size_t>(rank)], "rank " + std::to_string(rank),
                      [&job, rank, at, shape, program](Spu& spu) {
                        SoftwareCache cache(spu, at, shape);
                        CachedPort port(spu, job, rank, cache);
                        program(port);
                        cache.flush();
                      });
  }
}

}  // namespace corewise::cell
