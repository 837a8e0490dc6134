// The choice and its measurement; see copies.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/memory/copies.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "kernels/copy/copy.hpp"

namespace corewise::preload::accelerating {
namespace {

/// A piece of so many bytes or more goes past the caches.
constexpr std::size_t kPastCaches = 8192;

std::atomic<bool> told_otherwise{false}, measured{false}, paid{false};

/// Null on a processor on which it was never found to pay.
const kernels::CopyKernel* past_caches() {
#if defined(__x86_64__)
  const kernels::CopyKernel* const kernel = kernels::find_copy_kernel("avx2_nt");
  if (__builtin_cpu_is("amd") != 0 && kernel != nullptr && kernel->available()) return kernel;
#endif
  return nullptr;
}

kernels::CopyTuning tuning(const kernels::CopyKernel* past) {
  kernels::CopyTuning made = kernels::CopyTuning::untuned();
  if (past == nullptr) return made;
  for (auto& row : made.rows[static_cast<std::size_t>(kernels::Audience::other_core_soon)])
    std::fill(row.begin() + std::bit_width(kPastCaches), row.end(), past);
  return made;
}

/// Between ranks that all send to one and receive from another, as far from each other as ranks get that are placed
/// in order.
class Measurement {
 public:
  explicit Measurement(coll::Rank<shm::ShmPort>& me)
      : me_(me), data_(std::make_unique<std::array<std::byte, 2 * kBytes>>()) {
    const int distance = static_cast<int>(std::bit_floor(static_cast<unsigned>(me.size()) / 2));
    to_ = (me.rank() + distance) % me.size();
    from_ = (me.rank() + me.size() - distance) % me.size();
  }

  /// Nanoseconds of the quickest exchange by each of them.
  std::array<std::int64_t, 2> by(const std::array<kernels::CopyFunction, 2>& copies) {
    std::array<std::int64_t, 2> least{};
    least.fill(std::numeric_limits<std::int64_t>::max());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const auto begun = std::chrono::steady_clock::now();
        for (std::uint32_t at = 0; at < kBytes; at += kPiece) exchange(copies[i], at);
        const auto taken = std::chrono::steady_clock::now() - begun;
        least[i] = std::min(least[i], std::int64_t{std::chrono::nanoseconds(taken).count()});
      }
    }
    return least;
  }

 private:
  static constexpr std::uint32_t kBytes = 65536, kPiece = 16384;
  static constexpr int kRounds = 8;

  /// As a piece of a collective goes: into the own stage, and a peer's out of its stage.
  void exchange(kernels::CopyFunction copy, std::uint32_t at) {
    copy(me_.port.stage().data() + at, data_->data() + at, kPiece);
    me_.announcements.tell(to_);
    me_.announcements.hear(from_);
    me_.port.get_user({from_, at}, data_->data() + kBytes + at, kPiece, coll::buffer_tag(0));
    me_.acknowledgements.tell(from_);
    me_.acknowledgements.hear(to_);
  }

  coll::Rank<shm::ShmPort>& me_;
  std::unique_ptr<std::array<std::byte, 2 * kBytes>> data_;
  int to_, from_;
};

}  // namespace

void choose_copies(std::string_view told) {
  const auto read = told.empty() ? std::nullopt : kernels::parse_copy_tuning(told);
  told_otherwise = read.has_value();
  const bool past = !measured || paid;
  kernels::set_copy_tuning(read ? *read : tuning(past ? past_caches() : nullptr));
}

bool copies_may_be_measured() {
  return !told_otherwise && past_caches() != nullptr;
}

std::string_view copies_found() {
  if (!measured) return {};
  return paid ? "past the caches" : "through the caches";
}

void measure_copies(coll::Rank<shm::ShmPort>& me) {
  const kernels::CopyKernel* const past = past_caches();
  const auto [through, around] = Measurement(me).by({kernels::find_copy_kernel("memcpy")->run, past->run});
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const bool pays = around < through || paid;
  if (!measured || pays != paid) kernels::set_copy_tuning(tuning(pays ? past : nullptr));
  paid = pays;
  measured = true;
}

}  // namespace corewise::preload::accelerating
