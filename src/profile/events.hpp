// Events: the records of a whole run as rows of columns, in batches, for everything that takes records elsewhere.
//
// Contract: rows come per thread slot of a process (one rank file), in the order in which they were recorded, which
// is the order of their ends. Memory is one batch plus what every open rank file needs; nothing grows with the
// number of records. Times are whole nanoseconds on one line for all processes, 0 where the first of them read its
// clock first, and no message arrives before it was sent; begin and end of a record are rounded down each, so that
// what was nested stays nested. Everything that has a name is an index into one of the tables, -1 without one. What
// is wrong with single files stands in `problems`, as in Profile. Worlds are those of Profile, in the same order.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "profile/addresses.hpp"
#include "profile/profile.hpp"
#include "profile/waits/alignment.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

/// One rank file.
struct EventProcess {
  int world = 0;
  int rank = 0;
  int world_size = 0;
  std::string world_name;
  std::string file;
  std::string host;
  std::string node;
  std::string library;
  std::uint32_t pid = 0;
  Ending ending = Ending::running;
  std::int64_t start_ns = 0;  ///< first reading of its clock, on the common line
  std::int64_t started_realtime_ns = 0;
  std::uint64_t overwritten_bytes = 0;  ///< flight recorder: given up on purpose
  std::uint64_t lost_bytes = 0;         ///< file system full, or behind a cut
  bool clock_known = false;
  std::uint32_t kinds = 0;  ///< what was recorded, bits of trace::Kind
};

/// A communicator of one world; ranks as in Communicator.
struct EventCommunicator {
  int world = 0;
  Communicator communicator;
};

/// One thread slot of a process.
struct EventThread {
  int process = 0;         ///< index into processes
  std::uint32_t slot = 0;  ///< as the rank file counts
};

/// What a row is about: a procedure of MPI, a function of the program, a region or phase that it named.
struct EventName {
  enum class Sort : std::uint8_t { procedure, function, region };
  Sort sort = Sort::procedure;
  std::string text;          ///< empty for a function
  std::int32_t object = -1;  ///< of a function
  std::int64_t offset = 0;
};

/// Rows, a column each; all of equal length.
struct EventColumns {
  std::vector<std::uint8_t> kind;  ///< trace::Role
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::int32_t> name;
  std::vector<std::int64_t> calls;  ///< how many calls the row stands for: 0 for what is no call of its own
  std::vector<std::int64_t> bytes;
  std::vector<std::int32_t> peer;  ///< world rank, or trace::kNoPeer and its kin
  std::vector<std::int32_t> tag;   ///< level of MPI_Pcontrol in a `recording` row
  std::vector<std::int32_t> comm;
  std::vector<std::int32_t> object;  ///< file that holds the call site, or the function
  std::vector<std::int64_t> offset;  ///< in it, or the bare address without one
  std::vector<std::int32_t> datatype;
  std::vector<std::int64_t> elements;  ///< of that datatype, 0 where it is unknown

  [[nodiscard]] std::size_t rows() const { return kind.size(); }
  void clear();
  void reserve(std::size_t rows);
};

/// Which rows are wanted. A row is in the window when it has a moment in [from_ns, until_ns).
struct EventFilter {
  std::uint32_t roles = ~std::uint32_t{0};  ///< bit r: rows of role r
  std::int64_t from_ns = INT64_MIN;
  std::int64_t until_ns = INT64_MAX;
};

class EventLog;

/// The rows of one thread, forwards. The log must outlive it.
class EventCursor {
 public:
  EventCursor(EventLog& log, std::size_t thread, const EventFilter& filter);
  /// Replaces `columns` by up to `rows` further rows; false when there are none left.
  bool next(EventColumns& columns, std::size_t rows);
  /// Records read so far, whether wanted or not, of what EventLog::scan returns.
  [[nodiscard]] std::uint64_t records_read() const { return records_read_; }

 private:
  void take(const trace::Record& record, EventColumns& columns);
  std::int64_t calls_of(const trace::Record& record);
  std::uint64_t end_of(const trace::Record& record);

  EventLog& log_;
  int process_;
  EventFilter filter_;
  trace::RecordStream stream_;
  std::uint64_t records_read_ = 0;
  std::uint64_t last_start_ = 0;  ///< of the call before
  std::uint64_t last_end_ = 0;
};

class EventLog {
 public:
  EventLog() = default;
  EventLog(EventLog&&) = default;
  EventLog& operator=(EventLog&&) = default;

  /// Opens every `*.cwt` of a profile's folder; fails as read_directory does.
  static Result<EventLog> open(const std::string& directory);
  /// Reads one thread through, unless `open` had to, so that the tables hold whatever its rows name. Returns how
  /// many records a cursor over it will have read at its end.
  std::uint64_t scan(std::size_t thread);

  std::vector<EventProcess> processes;  ///< by world, then rank
  std::vector<EventThread> threads;     ///< by process, then slot
  std::vector<EventCommunicator> communicators;
  std::vector<EventName> names;           ///< grows while rows are read
  std::vector<std::string> objects;       ///< likewise
  std::vector<DatatypeTotals> datatypes;  ///< without totals; equal ones of all ranks are one
  std::vector<std::string> problems;

 private:
  friend class EventCursor;
  friend class EventIndex;
  friend class EventLogBuilder;

  struct Located {
    std::int32_t object = -1;
    std::int64_t offset = 0;
    std::int32_t name = -1;  ///< where it is a function that was entered
  };
  /// What turns one process's own numbers into the log's.
  struct Source {
    explicit Source(std::unique_ptr<trace::Reader> opened)
        : file(std::move(opened)), reader(*file), mappings(reader.maps()) {}

    std::unique_ptr<trace::Reader> file;
    const trace::Reader& reader;
    RankClock clock;
    double shift_ns = 0;                   ///< from its world's time line to the log's
    std::size_t first_thread = 0;          ///< index into threads of its first slot
    std::vector<std::int32_t> procedures;  ///< by procedure number, kUnmet before its first row
    std::map<std::uint16_t, std::int32_t> comm_of;
    std::map<std::uint8_t, std::int32_t> type_of;
    Mappings mappings;
    std::unordered_map<std::uint64_t, Located> sites;
    std::unordered_map<std::uint64_t, Located> functions;
    std::unordered_map<std::uint32_t, std::int32_t> regions;
  };

  [[nodiscard]] static std::int64_t whole_ns(const Source& source, std::uint64_t ticks);
  [[nodiscard]] trace::RecordStream stream_of(std::size_t thread) const;
  /// Name and place of a record; the tables grow by what is new.
  Located locate(Source& source, const trace::Record& record);
  Located place_of(const Source& source, std::uint64_t address);
  Located site_of(Source& source, std::uint64_t address);
  Located function_of(Source& source, std::uint64_t address);
  std::int32_t procedure_of(Source& source, std::uint16_t procedure);
  std::int32_t region_of(Source& source, std::uint32_t name);
  std::int32_t object_of(const std::string& name);
  /// The log's number of a rank's datatype; -1 for none.
  static std::int32_t type_of(const Source& source, const trace::Record& record);
  std::int32_t add_type(const trace::Datatype& type);
  std::int32_t name_of(EventName name);

  std::vector<std::unique_ptr<Source>> sources_;  ///< as processes
  std::map<std::size_t, std::uint64_t> scanned_;  ///< records of the threads that were read through
  std::unordered_map<std::string, std::int32_t> object_index_;
  std::map<std::tuple<EventName::Sort, std::string, std::int32_t, std::int64_t>, std::int32_t> name_index_;
};

}  // namespace corewise::profile
