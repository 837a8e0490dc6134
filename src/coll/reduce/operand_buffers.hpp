// What the reductions share: the rank's buffers as n equal areas, and pieces of whole elements.
//
// The paper has four areas in two buffers ("four buffers of 8KB each instead of two buffer of 16K each", 001,
// section 7); with Shape::buffers = 4 they are four full buffers. An element must fit into an area: usable()
// (table.hpp) refuses a longer one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>

#include "coll/call.hpp"
#include "coll/rank.hpp"

namespace corewise::coll::reduce {

/// All buffers, cut into `count` areas that begin on multiples of 128. Area i's copies go under buffer_tag(i).
class Areas {
 public:
  Areas(const Shape& shape, std::uint32_t count)
      : bytes_(shape.bounce() / count / port::kStageAlignment * port::kStageAlignment) {}

  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] port::StageOffset at(int area) const { return static_cast<std::uint32_t>(area) * bytes_; }
  [[nodiscard]] static port::TagMask mask(int area) { return port::mask_of(buffer_tag(area)); }

 private:
  std::uint32_t bytes_;
};

/// The coarsest step of whole elements that is at most `room`: of whole cache lines, of whole quadwords (so that
/// copies stay aligned), or just of elements.
constexpr std::uint32_t element_step(std::uint32_t element_bytes, std::uint32_t room) {
  const std::uint64_t lines = std::lcm(std::uint64_t{element_bytes}, std::uint64_t{128});
  const std::uint64_t quadwords = std::lcm(std::uint64_t{element_bytes}, std::uint64_t{16});
  const std::uint64_t step = lines <= room ? lines : quadwords <= room ? quadwords : element_bytes;
  return static_cast<std::uint32_t>(step);
}

/// Bytes of whole elements that fit into an area, and into Parameters::piece_bytes if that is given and holds an
/// element.
template <port::Port P>
std::uint32_t piece_bytes(const Call<P>& call, const Parameters& parameters, const Areas& areas) {
  const std::uint32_t element = call.operation->element_bytes;
  assert(element <= areas.bytes());
  const std::uint32_t wanted = parameters.piece_bytes == 0 ? areas.bytes() : parameters.piece_bytes;
  const std::uint32_t room = std::clamp(wanted, element, areas.bytes());
  const std::uint32_t step = element_step(element, room);
  return room / step * step;
}

/// How many pieces may be on their way at once: one, or two in turn.
inline int turns(const Parameters& parameters) {
  return parameters.buffering == 1 ? 1 : 2;
}

/// The next piece is loaded before this one is done; with one buffer there is no room for it.
inline bool loads_ahead(const Parameters& parameters) {
  return parameters.ahead && turns(parameters) == 2;
}

/// An operand in nearly equal parts of whole elements, the last ones perhaps empty. Parts begin on cache lines if
/// they are that long, else on quadwords, where elements permit and `room` holds such a step.
class Parts {
 public:
  Parts(std::uint64_t bytes, int count, std::uint32_t element_bytes, std::uint32_t room) : bytes_(bytes) {
    const auto parts = static_cast<std::uint64_t>(count);
    const std::uint64_t quadwords = std::min<std::uint64_t>(std::lcm(std::uint64_t{element_bytes}, 16), room);
    const std::uint64_t wanted = std::clamp<std::uint64_t>(bytes / parts, quadwords, room);
    const std::uint64_t step = element_step(element_bytes, static_cast<std::uint32_t>(wanted));
    part_ = (bytes + step * parts - 1) / (step * parts) * step;
    step_ = step;
  }

  /// Every part but the last is a multiple of it.
  [[nodiscard]] std::uint64_t step() const { return step_; }

  /// Where part `index` begins; of the one after the last, where all end.
  [[nodiscard]] std::uint64_t at(int index) const {
    return std::min(bytes_, part_ * static_cast<std::uint64_t>(index));
  }
  /// Of the parts first .. last - 1.
  [[nodiscard]] std::uint64_t bytes(int first, int last) const { return at(last) - at(first); }

 private:
  std::uint64_t bytes_;
  std::uint64_t part_;
  std::uint64_t step_;
};

/// What a single rank does: its operand is the result.
template <port::Port P>
void copy_own(Rank<P>& me, const Call<P>& call) {
  if (typename P::ConstUserAddress(call.receive) == call.send) return;
  const Areas areas(me.shape, 2);
  const Pieces pieces(call.bytes, areas.bytes());
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    const int area = static_cast<int>(piece % 2);
    me.port.compute(cost::kPiece);
    me.port.wait(areas.mask(area));
    me.stage.load(call.send + pieces.at(piece), areas.at(area), pieces.bytes(piece), buffer_tag(area));
    me.port.wait(areas.mask(area));
    me.stage.store(areas.at(area), call.receive + pieces.at(piece), pieces.bytes(piece), buffer_tag(area));
  }
  me.port.wait(areas.mask(0) | areas.mask(1));
}

}  // namespace corewise::coll::reduce
