// A rank's trace file written the way a preload writes it: header and thread blocks mapped MAP_SHARED, chunks and
// text by pwrite, space handed out by advancing `tail`. Shared by the tests of trace and profile; it is written
// from format.hpp alone and knows no reader.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <list>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/codec.hpp"
#include "trace/recorder.hpp"

namespace corewise::testing {

/// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/corewise-test-XXXXXX";
    if (::mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    if (std::system(("rm -r '" + path_ + "'").c_str()) != 0) std::abort();
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CommSpec {
  std::uint32_t index = 0;
  std::vector<std::int32_t> ranks;  ///< empty with `size` set: identity
  std::int32_t size = 0;
  std::vector<std::int32_t> remote;
  std::string name;
  std::int32_t my_rank = 0;
};

class RankFile {
 public:
  RankFile(std::string path, int rank, int world_size, std::uint32_t half_bytes,
           trace::Mode mode = trace::Mode::drain)
      : path_(std::move(path)), mode_(mode) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file_ < 0 || ::ftruncate(file_, trace::kFirstBlock) != 0) throw std::runtime_error("create " + path_);
    header_ = static_cast<trace::FileHeader*>(map(0, trace::kFirstBlock));
    std::memcpy(header_->magic, trace::kMagic, sizeof header_->magic);
    header_->version = trace::kVersion;
    header_->header_bytes = trace::kHeaderBytes;
    header_->rank = rank;
    header_->world_size = world_size;
    header_->mode = mode;
    header_->half_bytes = half_bytes;
    header_->tail = trace::kFirstBlock;
    header_->clock = trace::Clock::monotonic_raw_ns;
    header_->start_ticks = 1'000;
    header_->latest_ticks = 1'000;
    std::strcpy(header_->host, "testhost");
  }
  RankFile(const RankFile&) = delete;
  RankFile& operator=(const RankFile&) = delete;
  ~RankFile() {
    for (const auto& [address, bytes] : mappings_) ::munmap(address, bytes);
    ::close(file_);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  trace::FileHeader& header() { return *header_; }

  trace::ThreadRecorder& add_thread(std::uint32_t slot) {
    const std::uint64_t bytes = sizeof(trace::ThreadHeader) + 2ULL * header_->half_bytes;
    const std::uint64_t at = take(bytes, trace::kThreadAlign);
    if (::ftruncate(file_, static_cast<off_t>(at + bytes)) != 0) throw std::runtime_error("extend");
    auto* block = static_cast<trace::ThreadHeader*>(map(at, bytes));
    block->block = {trace::BlockKind::thread, slot, bytes};
    trace::ThreadRecorder& recorder = threads_.emplace_back();
    if (mode_ == trace::Mode::helper_thread)
      trace::attach(recorder, block, header_, header_->half_bytes, &add_handover());
    else
      trace::attach(recorder, block, header_, header_->half_bytes,
                    mode_ == trace::Mode::drain ? &RankFile::drain : nullptr, this);
    return recorder;
  }

  /// What a helper thread does once. False when no half was full.
  bool help() {
    bool worked = false;
    for (trace::Handover& handover : handovers_)
      worked |= trace::drain_handed_over(handover, &RankFile::drain, this, scratch_.data(),
                                         static_cast<std::uint32_t>(scratch_.size()));
    return worked;
  }

  [[nodiscard]] std::uint64_t size() const { return header_->tail; }

  /// What the drain shall do next; the stages at which a kill is simulated.
  enum class Fault { none, refuse, write_chunk_then_refuse };
  Fault fault = Fault::none;
  bool encode = true;  ///< chunks are delta-encoded

  void add_text(trace::BlockKind kind, const std::string& text, bool commit = true) {
    const std::size_t padded = (text.size() + 7) / 8 * 8;
    std::vector<char> bytes(sizeof(trace::TextHeader) + padded + 8);
    trace::TextHeader header{};
    header.block = {kind, 0, bytes.size()};
    header.payload_bytes = text.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, text.data(), text.size());
    if (commit) std::memcpy(bytes.data() + bytes.size() - 8, &trace::kCommit, 8);
    append(bytes);
  }

  void add_names(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) text.append(name).push_back('\0');
    add_text(trace::BlockKind::names, text);
  }

  void add_comm(const CommSpec& spec) {
    const std::size_t name_bytes = (spec.name.size() + 7) / 8 * 8;
    const std::size_t ranks = (spec.ranks.size() + spec.remote.size()) * 4;
    std::vector<char> bytes(sizeof(trace::CommHeader) + name_bytes + (ranks + 7) / 8 * 8 + 8);
    trace::CommHeader header{};
    header.block = {trace::BlockKind::comm, spec.index, bytes.size()};
    header.identity = spec.ranks.empty() ? 1 : 0;
    header.size = spec.ranks.empty() ? spec.size : static_cast<std::int32_t>(spec.ranks.size());
    header.remote_size = static_cast<std::int32_t>(spec.remote.size());
    header.my_rank = spec.my_rank;
    header.name_bytes = static_cast<std::uint32_t>(spec.name.size());
    header.parent = trace::kUnknownComm;
    char* at = bytes.data();
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at += sizeof header, spec.name.data(), spec.name.size());
    at += name_bytes;
    if (!spec.ranks.empty()) std::memcpy(at, spec.ranks.data(), spec.ranks.size() * 4);
    if (!spec.remote.empty()) std::memcpy(at + spec.ranks.size() * 4, spec.remote.data(), spec.remote.size() * 4);
    std::memcpy(bytes.data() + bytes.size() - 8, &trace::kCommit, 8);
    append(bytes);
  }

  void add_type(std::uint32_t index, const std::string& name, std::uint64_t size, std::int64_t extent) {
    std::vector<char> bytes(sizeof(trace::TypeHeader) + (name.size() + 7) / 8 * 8 + 8);
    trace::TypeHeader header{};
    header.block = {trace::BlockKind::type, index, bytes.size()};
    header.size_bytes = size;
    header.extent_bytes = extent;
    header.name_bytes = static_cast<std::uint32_t>(name.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, name.data(), name.size());
    std::memcpy(bytes.data() + bytes.size() - 8, &trace::kCommit, 8);
    append(bytes);
  }

  /// Turns what was recorded into a file of an older version, whose thread blocks have a header of 64 bytes.
  void grow_old(std::uint32_t version) {
    header_->version = version;
    for (const trace::ThreadRecorder& recorder : threads_) {
      trace::ThreadHeader& header = *recorder.header;
      constexpr std::uint64_t kShorter = sizeof(trace::ThreadHeader) - trace::kLeastBlock;
      auto* place = reinterpret_cast<char*>(&header) + kShorter;
      std::memcpy(place, &header, trace::kLeastBlock);
      reinterpret_cast<trace::BlockHeader*>(place)->block_bytes -= kShorter;
      std::memset(reinterpret_cast<char*>(&header), 0, kShorter);
    }
  }

  void set_site(std::uint16_t site, std::uint64_t address) {
    std::memcpy(reinterpret_cast<char*>(header_) + trace::kHeaderBytes + (site - 1) * 8, &address, 8);
  }

  void append(const std::vector<char>& bytes) {
    const std::uint64_t at = take(bytes.size(), trace::kBlockAlign);
    if (!write_at(at, bytes.data(), bytes.size())) throw std::runtime_error("append");
  }

 private:
  static bool drain(void* sink, const trace::FullHalf& half) {
    auto& self = *static_cast<RankFile*>(sink);
    if (self.fault == Fault::refuse) return false;
    const std::uint32_t encoded =
        self.encode ? trace::encode(half.records, half.bytes, half.scratch, half.room) : 0;
    const std::uint32_t payload = encoded > 0 ? encoded : half.bytes;
    std::vector<char> block(sizeof(trace::ChunkHeader) + payload);
    trace::ChunkHeader header{};
    header.block = {trace::BlockKind::chunk, half.slot,
                    (block.size() + 63) / 64 * 64};  // the padding is not written
    header.first = half.first;
    header.payload_bytes = payload;
    header.encoding = encoded > 0 ? trace::kDelta : trace::kRaw;
    header.record_bytes = half.bytes;
    std::memcpy(block.data(), &header, sizeof header);
    std::memcpy(block.data() + sizeof header, encoded > 0 ? half.scratch : half.records, payload);
    self.append(block);
    return self.fault == Fault::none;
  }

  trace::Handover& add_handover() {
    trace::Handover& handover = handovers_.emplace_back();
    handover.wake = [] {};
    handover.wait = [] { ::sched_yield(); };
    return handover;
  }

  std::uint64_t take(std::uint64_t bytes, std::uint64_t align) {
    const std::uint64_t at = (header_->tail + align - 1) / align * align;
    header_->tail = at + bytes;
    return at;
  }

  bool write_at(std::uint64_t at, const char* bytes, std::size_t size) const {
    return ::pwrite(file_, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  }

  void* map(std::uint64_t at, std::uint64_t bytes) {
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(at));
    if (address == MAP_FAILED) throw std::runtime_error("mmap");
    mappings_.emplace_back(address, bytes);
    return address;
  }

  std::string path_;
  trace::Mode mode_;
  int file_ = -1;
  trace::FileHeader* header_ = nullptr;
  std::vector<std::pair<void*, std::uint64_t>> mappings_;
  std::list<trace::ThreadRecorder> threads_;
  std::list<trace::Handover> handovers_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(8192);
};

}  // namespace corewise::testing
