// A packet of the ring: random bytes that know where they come from.
//
// The content follows from the task that made it, its direction and its size, so that any rank can tell both a
// damaged packet (the checksum) and a packet that is not the one due here (the content).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace ring {

/// Rightward packets travel from task t to task t + 1, leftward ones from t to t - 1.
enum class Direction : std::uint8_t { rightward, leftward };

using Packet = std::vector<unsigned char>;
using Checksum = std::uint64_t;

constexpr int kSmallestPacket = 2 * sizeof(Checksum);  ///< half of it is content

/// FNV-1a over everything but the checksum, which stands at the end.
inline Checksum checksum_of(const Packet& packet) {
  Checksum hash = 0xcbf29ce484222325U;
  for (std::size_t at = 0; at < packet.size() - sizeof hash; ++at) hash = (hash ^ packet[at]) * 0x100000001b3U;
  return hash;
}

inline Packet make_packet(int task, Direction direction, int size_bytes) {
  std::seed_seq seed{task, static_cast<int>(direction), size_bytes};
  std::mt19937 random(seed);
  Packet packet(static_cast<std::size_t>(size_bytes));
  for (unsigned char& byte : packet) byte = static_cast<unsigned char>(random());
  const Checksum sum = checksum_of(packet);
  std::memcpy(packet.data() + packet.size() - sizeof sum, &sum, sizeof sum);
  return packet;
}

inline bool is_intact(const Packet& packet) {
  Checksum sum = 0;
  std::memcpy(&sum, packet.data() + packet.size() - sizeof sum, sizeof sum);
  return sum == checksum_of(packet);
}

}  // namespace ring
