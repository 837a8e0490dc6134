// The coordinator on the PPE: serves the ranks' requests (coll/building/ppe_requests.hpp) for the mailbox barrier
// (paper 001, section 5.3) and for the broadcast by the PPE's memcpy (section 6.3).
//
// It hears the ranks one after the other, in the order of their numbers, does what they want, and answers them in
// the same order. One coordinator serves a blade: mailboxes are registers in the one address space, and those of
// the other chip's SPEs are reached over the link between the chips, as its memory is. It ends when all ranks
// leave; a job with a service whose ranks do not leave_ppe() ends as a deadlock.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cell/port.hpp"
#include "coll/building/ppe_requests.hpp"
#include "lab/collectives/ideal_port.hpp"

namespace corewise::cell {
class System;
}

namespace corewise::lab {

/// One round of requests. `ranks` that ask for different things are an error.
struct PpeRound {
  struct Target {
    int rank = 0;
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
  };
  coll::PpeRequest wants = coll::PpeRequest::leave;
  int source_rank = -1;
  std::uint64_t source = 0;
  std::vector<Target> targets;
};

/// Reads one request of every rank. `mail.read(rank)` blocks for a word.
template <class Mail>
Result<PpeRound> hear_round(Mail& mail, int ranks) {
  const auto address = [&mail](int rank) {
    const std::uint64_t high = mail.read(rank);
    return high << 32 | mail.read(rank);
  };
  PpeRound round;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto request = static_cast<coll::PpeRequest>(mail.read(rank));
    if (request == coll::PpeRequest::copy_from) {
      round.source_rank = rank;
      round.source = address(rank);
    } else if (request == coll::PpeRequest::copy_to) {
      const std::uint64_t at = address(rank);
      round.targets.push_back({rank, at, mail.read(rank)});
    }
    const bool copies = request == coll::PpeRequest::copy_from || request == coll::PpeRequest::copy_to;
    const coll::PpeRequest wants = copies ? coll::PpeRequest::copy_to : request;
    if (rank > 0 && wants != round.wants) {
      return Status(Code::invalid_input,
                    "PPE service: rank " + std::to_string(rank) + " asks for something else than rank 0");
    }
    round.wants = wants;
  }
  if (round.wants == coll::PpeRequest::copy_to && round.source_rank < 0) {
    return Status(Code::invalid_input, "PPE service: a copy without a source");
  }
  return round;
}

/// Serves until all leave. `mail.write(rank, word)` blocks for room; `mail.copy(to, from, bytes)` copies.
template <class Mail>
Status serve_ppe(Mail& mail, int ranks) {
  while (true) {
    const Result<PpeRound> heard = hear_round(mail, ranks);
    if (!heard.ok()) return heard.status();
    const PpeRound& round = heard.value();
    if (round.wants == coll::PpeRequest::leave) return {};
    if (round.wants == coll::PpeRequest::barrier) {
      for (int rank = 0; rank < ranks; ++rank) mail.write(rank, coll::kPpeDone);
      continue;
    }
    for (const PpeRound::Target& target : round.targets) {
      mail.copy(target.at, round.source, target.bytes);
      mail.write(target.rank, coll::kPpeDone);
    }
    mail.write(round.source_rank, coll::kPpeDone);
  }
}

/// How the PPE's program reaches mailboxes: by calls of the system software, as the paper's must have ("tens of
/// microseconds"), or by registers that it has mapped.
enum class PpeMail : std::uint8_t { system_calls, mapped };

/// Puts the coordinator of `job` on the first chip's PPE; to be called before System::run. `job` must outlive it.
void serve_on_ppe(cell::System& system, const cell::PortJob& job, PpeMail mail = PpeMail::system_calls);

/// The coordinator of a job of `ranks` ideal ranks; a wrong request ends the run with its status.
IdealSystem::Coordinator ideal_ppe(int ranks);

}  // namespace corewise::lab
