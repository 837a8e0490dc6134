// CallRecord: one call of MPI by a rank's program, recorded as what it did: what each procedure says of itself here
// becomes records when the call ends (docs/formats/trace.md). Calls that MPI makes itself inside another one, and
// those of background collectives, leave none. Without a recording nothing happens.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simmpi/messages/request.hpp"
#include "simmpi/recording/recording.hpp"

namespace corewise::simmpi {

struct Actor;
class World;

/// What a collective moves, as its record has it (profile::Volume says where to).
struct Moved {
  int root = -1;           ///< rank of the communicator
  std::int64_t bytes = 0;  ///< without shares
  const Type* type = nullptr;
  std::vector<std::pair<int, std::int64_t>> shares;  ///< (rank of the communicator, bytes)
};

class CallRecord {
 public:
  CallRecord(World& world, Actor& actor, const char* name, bool outermost);
  ~CallRecord();
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  [[nodiscard]] bool active() const { return recorder_ != nullptr; }

  /// A message leaves.
  void sent(const Request& request);
  /// A blocking receive has its message.
  void received(const Request& request);
  /// A receive is posted; notes in the request what its completion needs.
  void posted(Request& request);
  /// A request is completed: of a receive comes an arrival, of what was cancelled its end.
  void completed(const Request& request);
  /// The other half of MPI_Sendrecv: it was posted and arrived in this call.
  void arrived(const Request& request);
  void probed(const Comm& comm, const Outcome& outcome);
  void collective(const Comm& comm, const Moved& moved);
  /// A test or a probe found nothing.
  void missed() { missed_ = true; }
  /// A communicator is made, in this rank's call or in the background.
  static void note_new(World& world, const Actor& actor, const Comm& comm);

 private:
  [[nodiscard]] trace::MessageFields fields(trace::Role role, const Comm& comm, int peer, int tag,
                                            std::int64_t bytes, const Type* type);
  void add(const trace::MessageFields& fields) { found_.push_back(fields); }

  World& world_;
  Actor& actor_;
  RankRecorder* recorder_ = nullptr;
  int procedure_ = 0;
  std::uint64_t start_ = 0;
  bool missed_ = false;
  std::vector<trace::MessageFields> found_;
};

}  // namespace corewise::simmpi
