// DirectPort: the model (model.hpp) with user memory that peers can reach. Addresses are offsets into a rank's user
// memory, so they are the same in every run of the text and can be told. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>

#include "model.hpp"

namespace corewise::coll::testing {

/// The model with user memory that peers can reach: addresses are offsets, the same in every run of the text.
class DirectPort {
 public:
  using UserAddress = std::uint64_t;
  using ConstUserAddress = std::uint64_t;
  static constexpr std::uint32_t kCopyAlignment = 1;

  /// `kept`: so many first bytes of the stage hold what the text reads and keeps (ModelPort::remember_stage).
  /// `refusal`: bit r says that rank r may not copy from or to its peers' user memory.
  explicit DirectPort(ModelPort& model, std::uint32_t kept = 0, std::uint32_t refusal = 0)
      : model_(model), kept_(kept), refused_((refusal >> model.rank() & 1U) != 0) {}

  [[nodiscard]] int rank() const { return model_.rank(); }
  [[nodiscard]] int size() const { return model_.size(); }
  [[nodiscard]] port::Layout layout() const { return model_.layout(); }
  std::span<std::byte> stage() {
    model_.remember_stage(kept_);
    return model_.stage();
  }
  template <class L>
  void put_line(int peer, L line, port::Sequence sequence, std::span<const std::byte> payload, port::Tag tag) {
    model_.put_line(peer, line, sequence, payload, tag);
  }
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    return model_.line_sequence(line);
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    return model_.line_payload(line);
  }
  template <class L, class Ready>
  void wait_lines(L first, std::uint32_t count, Ready&& ready, const std::source_location& where) {
    model_.wait_lines(first, count, ready, where);
  }
  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    model_.get(from, to, bytes, tag);
  }
  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag) {
    model_.put(from, to, bytes, tag);
  }
  void copy_in(std::uint64_t from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    model_.copy_in(model_.user().data() + from, to, bytes, tag);
  }
  void copy_out(port::StageOffset from, std::uint64_t to, std::uint32_t bytes, port::Tag tag) {
    model_.copy_out(from, model_.user().data() + to, bytes, tag);
  }
  void read_user(int peer, std::uint64_t from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    model_.get({peer, in_memory(from)}, to, bytes, tag);
  }
  void write_user(int peer, port::StageOffset from, std::uint64_t to, std::uint32_t bytes, port::Tag tag) {
    model_.put(from, {peer, in_memory(to)}, bytes, tag);
  }
  std::uint64_t pull(int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    if (refused_) return 0;
    model_.get({peer, in_memory(from)}, in_memory(to), static_cast<std::uint32_t>(bytes), kUserTag);
    model_.wait(port::mask_of(kUserTag));
    return bytes;
  }
  std::uint64_t push(int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    if (refused_) return 0;
    model_.put(in_memory(from), {peer, in_memory(to)}, static_cast<std::uint32_t>(bytes), kUserTag);
    model_.wait(port::mask_of(kUserTag));
    return bytes;
  }
  void get_user(port::Remote from, std::uint64_t to, std::uint32_t bytes, port::Tag tag) {
    model_.get(from, in_memory(to), bytes, tag);
  }
  void combine_user(port::Remote theirs, std::uint64_t own, std::uint64_t to, std::optional<port::StageOffset> too,
                    const port::Combination& /*how*/, std::uint32_t bytes, port::Tag tag) {
    model_.combine(theirs, in_memory(own), in_memory(to), too, bytes, tag);
  }
  void wait(port::TagMask mask) { model_.wait(mask); }
  [[nodiscard]] port::TagMask test(port::TagMask mask) { return model_.test(mask); }
  void compute(std::int64_t /*cycles*/) {}

 private:
  /// User memory lies behind the stage.
  [[nodiscard]] std::uint32_t in_memory(std::uint64_t user) const {
    return layout().stage_bytes + static_cast<std::uint32_t>(user);
  }

  static constexpr port::Tag kUserTag = 27;  ///< that of the bounce area, which nobody has here

  ModelPort& model_;
  std::uint32_t kept_;
  bool refused_;
};

}  // namespace corewise::coll::testing
