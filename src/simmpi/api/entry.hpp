// Entry: what every procedure of mpi.h does at its start and end: it finds the calling rank, notes its name for
// reports and the timeline, and turns an error class into what the communicator's handler makes of it. Also the
// macro that gives a procedure its MPI_ name, which a program may replace (MPI-3.1, section 14.2).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>

#include "simmpi/collectives/context.hpp"
#include "simmpi/include/mpi.h"
#include "simmpi/messages/transport.hpp"
#include "simmpi/recording/call_record.hpp"
#include "simmpi/world.hpp"

/// MPI_name as a weak alias of PMPI_name.
#define COREWISE_ALIAS(name) extern "C" decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))

namespace corewise::simmpi {

using Work = std::function<void(Context&)>;

/// A collective, checked: its work, or the class of the first error.
struct Plan {
  Comm* comm = nullptr;
  int error = MPI_SUCCESS;
  Work work;
  std::optional<Moved> moved;  ///< of a collective that moves data or synchronises
};

class Entry {
 public:
  explicit Entry(const char* name);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] Actor& actor() const { return actor_; }
  [[nodiscard]] Rank& rank() const { return *actor_.rank; }
  [[nodiscard]] Transport& transport() const { return world_.transport(); }

  /// What a call returns that met an error: through the communicator's handler, or that of MPI_COMM_WORLD.
  int raise(Comm* comm, int code) const;
  /// MPI_SUCCESS, or raise.
  int result(Comm* comm, int code) const { return code == MPI_SUCCESS ? code : raise(comm, code); }
  /// A call that only looks costs its time and lets the engine come up.
  void look() const;
  /// It has looked in vain: the record says so, and other ranks of its unit go first.
  void missed() {
    record_.missed();
    world_.yield(actor_);
  }
  /// For the timeline: whom the call is about, and how many bytes.
  void about(int peer, std::int64_t bytes) {
    peer_ = peer;
    bytes_ = bytes;
  }
  int now(const Plan& plan);
  int later(const Plan& plan, MPI_Request* request);
  /// What the recording is told, where there is one.
  CallRecord& record() { return record_; }

 private:
  World& world_;
  Actor& actor_;
  const char* outer_;
  sim::Time begin_;
  int peer_ = -1;
  std::int64_t bytes_ = 0;
  CallRecord record_;
};

/// Null where the handle is none.
Comm* comm_of(MPI_Comm handle);
/// The handler of MPI_ERRORS_RETURN.
Errhandler& returning_handler();
/// A new communicator of this rank.
MPI_Comm new_comm(Rank& rank, Shared& shared, const Comm& parent);
/// Runs the copy functions of the attributes; stops at the first that fails.
int copy_attributes(Rank& rank, const Comm& from, Comm& to);
/// Runs the delete functions, the newest attribute first.
int delete_attributes(Rank& rank, Comm& comm);
/// The class of a code.
int class_of(const Rank& rank, int code);
const char* error_text(int error_class);

/// The first demand that is not met, as an error class.
class Demands {
 public:
  Demands& that(bool met, int error_class) {
    if (code_ == MPI_SUCCESS && !met) code_ = error_class;
    return *this;
  }
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_ = MPI_SUCCESS;
};

inline bool usable(const Type* type) {
  return type != nullptr && type->committed;
}

void write_status(MPI_Status* status, const Outcome& outcome);

/// The values of an argument of this length.
inline std::vector<int> listed(int count, const int* values) {
  return count > 0 ? std::vector<int>(values, values + count) : std::vector<int>();
}

}  // namespace corewise::simmpi
