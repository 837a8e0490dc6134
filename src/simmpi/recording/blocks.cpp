// Headers, payloads, paddings and commit words. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/recording/blocks.hpp"

#include <numeric>

namespace corewise::simmpi {
namespace {

std::size_t aligned(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

void Blocks::append(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), from, from + bytes);
}

/// A block that ends in the commit word, behind padding.
template <class Header>
void Blocks::begin(Header& header, trace::BlockKind kind, std::uint32_t index, std::size_t payload_bytes) {
  header.block = {kind, index, aligned(sizeof header + payload_bytes + sizeof trace::kCommit, trace::kBlockAlign)};
  append(&header, sizeof header);
}

void Blocks::end() {
  bytes_.resize(aligned(bytes_.size() + sizeof trace::kCommit, trace::kBlockAlign) - sizeof trace::kCommit);
  append(&trace::kCommit, sizeof trace::kCommit);
}

void Blocks::chunk(std::uint64_t first, std::uint32_t record_bytes, const std::byte* payload,
                   std::uint32_t payload_bytes, bool encoded) {
  trace::ChunkHeader header{};
  header.block = {trace::BlockKind::chunk, 0, aligned(sizeof header + payload_bytes, trace::kBlockAlign)};
  header.first = first;
  header.payload_bytes = payload_bytes;
  header.encoding = encoded ? trace::kDelta : trace::kRaw;
  header.record_bytes = record_bytes;
  append(&header, sizeof header);
  append(payload, payload_bytes);
  bytes_.resize(aligned(bytes_.size(), trace::kBlockAlign));
}

void Blocks::text(trace::BlockKind kind, const std::string& text) {
  trace::TextHeader header{};
  header.payload_bytes = text.size();
  begin(header, kind, 0, text.size());
  append(text.data(), text.size());
  end();
}

void Blocks::communicator(std::uint32_t index, const std::vector<int>& world, int rank, int world_size,
                          const std::string& name, int created_by) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(world_size));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int32_t> members(world.begin(), world.end());
  trace::CommHeader header{};
  header.size = static_cast<std::int32_t>(members.size());
  header.my_rank = rank;
  header.identity = members == all ? 1 : 0;
  header.name_bytes = static_cast<std::uint32_t>(name.size());
  header.created_by = static_cast<std::uint16_t>(created_by < 0 ? 0 : created_by);
  header.parent = created_by < 0 ? trace::kUnknownComm : std::uint16_t{0};
  std::string padded = name;
  padded.resize(aligned(name.size(), sizeof(std::uint64_t)));
  const std::size_t listed = header.identity != 0 ? 0 : members.size() * sizeof members[0];
  begin(header, trace::BlockKind::comm, index, padded.size() + listed);
  append(padded.data(), padded.size());
  append(members.data(), listed);
  end();
}

void Blocks::datatype(std::uint32_t index, const std::string& name, std::int64_t size, std::int64_t extent,
                      bool derived) {
  trace::TypeHeader header{};
  header.size_bytes = static_cast<std::uint64_t>(size);
  header.extent_bytes = extent;
  header.derived = derived ? 1 : 0;
  header.name_bytes = static_cast<std::uint32_t>(name.size());
  begin(header, trace::BlockKind::type, index, name.size());
  append(name.data(), name.size());
  end();
}

void Blocks::thread(const trace::ThreadHeader& header, std::uint32_t half_bytes) {
  trace::ThreadHeader made{};
  made.block = header.block;
  made.drained = header.drained;
  made.half_first[0] = made.half_first[1] = trace::kClosedHalf;
  append(&made, sizeof made);
  bytes_.resize(bytes_.size() + 2 * std::size_t{half_bytes});
}

void Blocks::align_to(std::uint64_t to, std::uint64_t before) {
  bytes_.resize(aligned(before + bytes_.size(), to) - before);
}

}  // namespace corewise::simmpi
