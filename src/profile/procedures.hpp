// What an MPI procedure is: the one table of message, collective and one-sided procedures. A row says how the
// recorder describes a call (the generator of wrappers reads that through bind), where the bytes of its record go,
// how it makes ranks wait for each other, and what sort of procedure it is (exports). docs/formats/trace.md tells
// in prose what `bytes` means in a collective's record.
// Contract: a procedure is found by its name in every spelling: with or without MPI_, in any case, large-count
// (_c), non-blocking, persistent (_init), Fortran's suffixes. A name that no row fits is of sort `other`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corewise::profile {

enum class ProcedureSort : std::uint8_t { other, startup, message, collective, one_sided, file };

/// What a message procedure does, as far as readers ask.
enum class Transfer : std::uint8_t {
  other,             ///< receives, completes, asks without waiting
  probe,             ///< waits until a message is there
  posted_send,       ///< its request is completed by another call
  unwitnessed_send,  ///< returns whatever the receiver does, or waits for something else too
  standard_send,     ///< may wait for the receiver
  synchronous_send,  ///< waits until the receive is posted
};

/// Where the bytes of a collective's record go. "Each" is every other member, or every member of the remote group.
enum class Volume : std::uint8_t {
  unknown,        ///< no collective that we know
  none,           ///< synchronises only
  from_root,      ///< the root sends them to this rank
  to_root,        ///< this rank sends them to the root
  to_each,        ///< this rank sends them to each
  from_each,      ///< each sends them to this rank
  reduced,        ///< reduced over all and handed to all: 2/P of them to each (reduce-scatter, then allgather)
  from_previous,  ///< the member before this one sends them to it (prefix sums)
  per_peer,       ///< the collective_part records that follow say it
};

/// How a collective makes ranks wait for each other.
enum class Meeting : std::uint8_t { none, barrier, all_to_all, to_root, from_root, prefix };

/// What is known of one procedure. Facts of a collective are those of its blocking form.
struct ProcedureFacts {
  std::string stem;      ///< lower case, without MPI_ and suffixes of size and language: "iallreduce"
  std::string_view row;  ///< the name in the table: "allreduce"; empty where there is none
  ProcedureSort sort = ProcedureSort::other;
  Transfer transfer = Transfer::other;
  Volume volume = Volume::unknown;
  Meeting meeting = Meeting::none;
  bool blocking = false;    ///< a collective that has no request
  bool persistent = false;  ///< a collective that is started many times

  /// What it posted or cancelled is a send.
  [[nodiscard]] bool sends() const { return transfer >= Transfer::posted_send; }
  /// Starts or stops MPI: its time says nothing about the program and is kept apart.
  [[nodiscard]] bool starts_or_stops() const { return sort == ProcedureSort::startup; }
};

ProcedureFacts procedure_facts(std::string_view procedure);

/// The MPI name and the statement that describes a successful call to the recorder's `event`, for every procedure
/// of the table in all its forms but the large-count ones, whose statements are the same. The statement uses the
/// standard's names of parameters; `own` is the call's status and `taken` the message that a matched receive takes.
std::vector<std::pair<std::string, std::string>> recorded_procedures();

/// The MPI names of the collectives that block, and of those that do not.
std::vector<std::string> collective_procedures();

}  // namespace corewise::profile
