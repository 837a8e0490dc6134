// Player: one rank's walk through its calls.
//
// A gap between two calls passes as computation. A send or a receive becomes one of room simmpi. Which requests a
// completing call waited for is not recorded in full: the receives are those whose messages arrived in it; of the
// sends and collectives under way, MPI_Waitall and MPI_Testall end all, and a call that ends one without a message
// having arrived ends the oldest. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "replay/calls.hpp"
#include "replay/replay.hpp"

namespace corewise::replay {

/// What all ranks of a run share.
struct Stage {
  const Recording& recording;
  const Options& options;
  simmpi::World& world;
  bool ideal = false;                          ///< what is not replayed takes no time
  bool relaxed = false;                        ///< ReplayResult::relaxed
  std::vector<simmpi::Shared*> communicators;  ///< by the recording's; null: nothing that can be replayed
};

class Player {
 public:
  Player(Stage& stage, simmpi::Rank& rank);

  /// All of it; on the rank's fiber.
  void play();

  [[nodiscard]] const RankResult& result() const { return result_; }
  [[nodiscard]] std::uint64_t collectives() const { return collectives_; }
  [[nodiscard]] std::uint64_t unreplayed() const { return unreplayed_; }
  [[nodiscard]] double unreplayed_ns() const { return unreplayed_ns_; }

  /// Where the rank passed a cut: in the recording, from the first rank's begin on, and here.
  struct Mark {
    double recorded_ns = 0;
    sim::Time when = 0;
  };
  /// One for every cut that it passed before its last call.
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }

 private:
  struct Operation {
    std::uint64_t start_ticks = 0;
    std::int32_t peer = 0;
    std::int32_t tag = 0;
    simmpi::Request request;
  };
  using Operations = std::deque<std::unique_ptr<Operation>>;

  void perform(const Call& call, const Procedure& procedure);
  void start(const Call& call, const Procedure& procedure);
  void start_one(const Call& call, const trace::Record& record, const Procedure& procedure);
  void finish(const Call& call, const Procedure& procedure);
  void send(const trace::Record& record, const Procedure& procedure);
  bool post(trace::Record record);
  void probe(const trace::Record& record);
  void collective(const Call& call, const trace::Record& record, const Procedure& procedure);
  void expand(Expand how, Job job, simmpi::Comm& comm, const Procedure& procedure);
  Job job_of(const Call& call, const trace::Record& record, int known, simmpi::Comm& comm) const;
  void keep_time(const Call& call);
  void poll(const Call& call);
  void settle(const Call& call, const Procedure& procedure);
  void cancel(const trace::Record& record);
  std::unique_ptr<Operation> take_receive(const trace::Record& arrival);
  void take_sends(const Call& call, const Procedure& procedure);

  [[nodiscard]] int known_comm(const trace::Record& record) const;
  simmpi::Comm& comm_of(const trace::Record& record);
  int place_in(const trace::Record& record, std::int32_t peer) const;
  void pass(double ns);
  void mark(std::uint64_t ticks);
  void record_slice(sim::Time begin, const Call& call) const;

  Stage& stage_;
  simmpi::Rank& rank_;
  simmpi::Actor& actor_;
  const Source& source_;
  std::optional<Foresight> foresight_;
  std::vector<std::unique_ptr<simmpi::Comm>> comms_;  ///< by the recording's
  Operations receives_;                               ///< posted
  Operations sends_;                                  ///< and collectives, under way
  Operations waits_;                                  ///< what the present call waits for
  Operations left_;                                   ///< sends that returned before they were done
  double polled_ns_ = 0;                              ///< in tests that found nothing so far,
  std::set<std::uint32_t> polled_;                    ///< of these procedures
  std::vector<Mark> marks_;
  RankResult result_;
  std::uint64_t collectives_ = 0;
  std::uint64_t unreplayed_ = 0;
  double unreplayed_ns_ = 0;
};

}  // namespace corewise::replay
