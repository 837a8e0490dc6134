// Waits, second step: point-to-point messages. Sends, posts and arrivals become pairs by the Matcher, and a pair
// becomes a late sender, a late receiver, or, where only causes are collected, a cause.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "profile/stream.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/matching.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/share.hpp"

namespace corewise::profile {

/// The call of a slot that completed what the arrivals behind its record are about.
struct CompletingCall {
  trace::Record record;
  double start_ns = 0;
  double end_ns = 0;
  std::uint64_t group = 0;  ///< 0: it has completed no receive yet
};

class MessageWaits {
 public:
  /// `causes` nullptr: waits go to `ledger`; otherwise causes are collected and there are no waits.
  /// Of the messages whose receivers are in `share`.
  MessageWaits(PreparedWorld& world, WaitLedger& ledger, CauseLedger* causes, const WaitShare& share);

  void send(const StreamedRecord& streamed, WaitRank& rank);
  void receive(const StreamedRecord& streamed, WaitRank& rank);
  void probe(const StreamedRecord& streamed, WaitRank& rank);
  void post(const trace::Record& record, const WaitRank& rank);
  void cancel(const trace::Record& record, const WaitRank& rank);
  /// A message of a non-blocking receive, or of the receiving half of MPI_Sendrecv: waited for in `call`, whose
  /// record came before in this slot, if that is the one that ended when the message was there.
  void arrival(const StreamedRecord& streamed, WaitRank& rank, CompletingCall& call);
  /// No further arrival belongs to `call`.
  void end(CompletingCall& call);
  /// No more records.
  void finish();

  [[nodiscard]] MatchCounts counts() const;

 private:
  /// A call that waited for several messages: only the part that each adds to what was waited for already counts.
  struct Group {
    struct Late {
      double until_ns;
      int cause;
      std::uint64_t origin;
    };
    int rank = 0;  ///< that waited
    double start_ns = 0;
    double end_ns = 0;
    int open = 0;        ///< arrivals not matched yet
    bool ended = false;  ///< no further arrival comes
    std::vector<Late> late;
  };

  Matcher& matcher_of(int receiver) { return matchers_[group_of_receiver(receiver)]; }
  bool channel_of(const trace::Record& record, const WaitRank& rank, bool sends, Channel& channel);
  bool posted(const trace::Record& record, const WaitRank& rank, Post& post) const;
  void waited_in_probe(const Channel& channel, ReceivedMessage& message);
  std::uint64_t group_of(CompletingCall& call, int rank);
  void matched(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received);
  void late_sender(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received);
  void late_receiver(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received);
  void settle(Group& group);

  PreparedWorld& world_;
  WaitLedger& ledger_;
  CauseLedger* causes_;
  const WaitShare share_;
  std::vector<Matcher> matchers_;  ///< by group of receivers
  std::unordered_map<std::uint64_t, Group> groups_;
  std::uint64_t last_group_ = 0;
  std::map<Channel, ReceivedMessage> probes_;
};

}  // namespace corewise::profile
