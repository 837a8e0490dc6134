// The reader: opens what one rank left behind and gives its records back, however the rank ended.
//
// Owns the mapping of the file and the index of its blocks; invariant: nothing the file says is used as an index,
// a size or an offset before it was checked, so that a damaged or hostile file gives fewer records, never a crash.
//
// Contract: `open` fails only where there is no trace to read (unreadable, foreign, newer, cut short inside the
// header); everything else that is wrong with a file is counted in `Damage` and the rest is read. Records are
// decoded one at a time (`RecordStream`), the file is never copied. A Reader may be moved but must outlive its
// streams. Reading a file whose rank still runs gives a snapshot. Not thread safe.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "trace/format.hpp"

namespace corewise::trace {

/// One record, decoded. For a short record peer is kNoPeer, comm kUnknownComm, tag and bytes 0.
struct Record {
  std::uint64_t start_ticks = 0;
  std::uint64_t duration_ticks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  ///< of the function, in function records
  std::uint32_t name = 0;     ///< of the region or phase (Reader::region_name); the level of a `recording` record
  std::int32_t peer = kNoPeer;
  std::int32_t tag = 0;
  std::uint16_t procedure = 0;
  std::uint16_t site = 0;
  std::uint16_t comm = kUnknownComm;
  std::uint8_t type = kUnknownType;  ///< Reader::datatypes; unknown up to version 2
  Role role = Role::plain;
};

/// A datatype as its rank described it.
struct Datatype {
  std::uint64_t size_bytes = 0;
  std::int64_t extent_bytes = 0;
  bool derived = false;  ///< made by the program
  std::string name;
};

/// The call that a thread had not left: as its record would be, without a duration. `requests` is what MPI_Wait and
/// its kin were given, `pending` the first of them that were under way, or the other half of MPI_Sendrecv.
struct OpenRecord {
  Record call;
  std::uint32_t requests = 0;
  std::vector<Record> pending;
};

/// Ticks of a rank's clock to nanoseconds since the rank's first calibration, which precedes MPI_Init.
struct Calibration {
  std::uint64_t start_ticks = 0;
  double ns_per_tick = 1;
  std::int64_t span_ns = 0;  ///< between the two calibration pairs
  bool known = false;        ///< false: no usable second pair, ns_per_tick is a placeholder
  bool precise = false;      ///< false also where the span is under kPreciseSpan_ns

  static constexpr std::int64_t kPreciseSpan_ns = 10'000'000;

  [[nodiscard]] double duration_ns(std::uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick; }
  /// Negative for a time before the first calibration.
  [[nodiscard]] double time_ns(std::uint64_t ticks) const;
};

/// From the two pairs in a header.
Calibration calibrate(const FileHeader& header);

struct Communicator {
  std::uint32_t index = 0;
  std::int32_t size = 0;
  std::int32_t remote_size = 0;  ///< 0 for an intracommunicator
  std::int32_t my_rank = 0;
  bool identity = false;  ///< rank r is world rank r; `ranks` is empty
  std::uint16_t created_by = 0;
  std::uint16_t parent = kUnknownComm;
  std::uint64_t created_ticks = 0;
  std::string name;
  std::vector<std::int32_t> ranks;         ///< world ranks of the (local) group
  std::vector<std::int32_t> remote_ranks;  ///< world ranks of the remote group
};

/// What a file holds that could not be used.
struct Damage {
  std::uint64_t blocks = 0;         ///< with an impossible size, kind or content
  std::uint64_t uncommitted = 0;    ///< partly written when the rank ended: legal
  std::uint64_t missing_bytes = 0;  ///< of records that were drained but lie in no chunk of this file
  std::uint64_t cut_bytes = 0;      ///< that the rank had claimed behind the end of this file
};

/// Consecutive records of one slot in memory.
struct Segment {
  const std::byte* data = nullptr;
  std::uint32_t bytes = 0;    ///< of records
  std::uint64_t first = 0;    ///< stream offset of the first record
  std::uint64_t floor = 0;    ///< records before this stream offset are already in a chunk, or were given up
  std::uint32_t encoded = 0;  ///< bytes at `data` that codec.hpp turns into records; 0: they are records
};

/// A thread slot's records in stream order. Holds one decoded chunk at a time.
class RecordStream {
 public:
  /// `version` is the file's.
  explicit RecordStream(std::span<const Segment> segments, std::uint32_t version = kVersion)
      : segments_(segments), version_(version) {}
  /// False at the end; `record` is unchanged then.
  bool next(Record& record);
  /// Bytes of records so far that could not be decoded: their chunk is damaged.
  [[nodiscard]] std::uint64_t damaged_bytes() const { return damaged_; }

 private:
  void open_segment(const Segment& segment);
  bool next_in_segment(const Segment& segment, Record& record);

  std::span<const Segment> segments_;
  std::uint32_t version_;
  std::size_t index_ = 0;
  bool opened_ = false;
  const std::byte* data_ = nullptr;  ///< records of the segment at `index_`
  std::uint32_t bytes_ = 0;
  std::uint32_t at_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t damaged_ = 0;
  std::vector<std::byte> decoded_;
};

/// One thread slot.
struct Slot {
  std::uint32_t index = 0;
  std::uint64_t overwritten_bytes = 0;  ///< flight recorder: what was given up
  std::vector<Segment> segments;
  std::optional<OpenRecord> open;  ///< from version 3 on
};

class Reader {
 public:
  /// Maps the file read-only; `path` may name a member of a bundle (bundle.hpp), or a rank file that was
  /// packed into one of its folder. Errors name the path.
  static Result<Reader> open(const std::string& path);
  /// The same over bytes that the caller keeps alive, 16-byte aligned.
  static Result<Reader> from_memory(std::span<const std::byte> file, const std::string& source);

  [[nodiscard]] const FileHeader& header() const { return header_; }
  /// The header's text fields, cut at their first NUL.
  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::string library() const;
  [[nodiscard]] const Calibration& clock() const { return clock_; }
  /// In order of slot index.
  [[nodiscard]] std::span<const Slot> slots() const { return slots_; }
  [[nodiscard]] RecordStream records(const Slot& slot) const {
    return RecordStream(slot.segments, header_.version);
  }
  /// "procedure N" for a number that the file does not name.
  [[nodiscard]] std::string procedure_name(std::uint16_t procedure) const;
  [[nodiscard]] const std::vector<std::string>& procedure_names() const { return names_; }
  /// By index; the last block of an index counts.
  [[nodiscard]] const std::map<std::uint32_t, Communicator>& communicators() const { return communicators_; }
  /// By the index that records say; one of equal index that comes later in the file counts.
  [[nodiscard]] const std::map<std::uint32_t, Datatype>& datatypes() const { return datatypes_; }
  /// Words that lay above the stack pointer of a rank that a signal ended, the lowest address first.
  [[nodiscard]] std::vector<std::uint64_t> crash_stack() const;
  /// Name of region or phase `name`, "region N" where the file does not say.
  [[nodiscard]] std::string region_name(std::uint32_t name) const;
  /// Comparisons of this rank's clock with another's, in file order.
  [[nodiscard]] std::span<const ClockSync> clock_syncs() const { return clock_syncs_; }
  /// Ranks of one node share a clock. The host's name in files of version 1.
  [[nodiscard]] std::string node() const;
  /// The return address of call site `site` (from 1), 0 when unknown.
  [[nodiscard]] std::uint64_t site_address(std::uint16_t site) const;
  /// Text of all MAPS blocks, in file order.
  [[nodiscard]] const std::string& maps() const { return maps_; }
  [[nodiscard]] const Damage& damage() const { return damage_; }

 private:
  struct Chunk;
  struct ThreadBlock;
  struct Index;

  Reader() = default;
  static Result<Reader> open_at(const std::string& path, const std::string& file_path, std::uint64_t offset,
                                std::uint64_t length);
  Status read(const std::string& source);
  Status read_header(const std::string& source);
  void walk();
  void note_cut(std::size_t threads);
  std::uint64_t take_block(std::uint64_t offset, Index& index);
  bool take_known(const BlockHeader& block, std::uint64_t offset, Index& index);
  bool take_thread(const BlockHeader& block, std::uint64_t offset, Index& index);
  bool take_chunk(const BlockHeader& block, std::uint64_t offset, Index& index);
  bool take_clock(const BlockHeader& block, std::uint64_t offset);
  bool take_text(const BlockHeader& block, std::uint64_t offset);
  bool take_comm(const BlockHeader& block, std::uint64_t offset);
  bool take_type(const BlockHeader& block, std::uint64_t offset);
  [[nodiscard]] std::uint32_t thread_header_bytes() const;
  void build_slot(const ThreadBlock& thread, std::vector<Chunk>& chunks);
  void add_chunks(Slot& slot, std::uint64_t drained, std::vector<Chunk>& chunks);
  void add_halves(Slot& slot, const ThreadBlock& thread);
  [[nodiscard]] bool committed(const BlockHeader& block, std::uint64_t offset) const;
  template <class T>
  [[nodiscard]] T load(std::uint64_t offset) const;

  std::shared_ptr<const void> mapping_;
  std::span<const std::byte> file_;
  FileHeader header_{};
  Calibration clock_;
  std::vector<Slot> slots_;
  std::vector<std::string> names_;
  std::map<std::uint32_t, Communicator> communicators_;
  std::map<std::uint32_t, Datatype> datatypes_;
  std::map<std::uint32_t, std::string> region_names_;
  std::vector<ClockSync> clock_syncs_;
  std::string maps_;
  Damage damage_;
};

}  // namespace corewise::trace
