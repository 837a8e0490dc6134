// Matching messages and judging the pairs; see messages.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/messages.hpp"

#include <algorithm>
#include <cmath>

namespace corewise::profile {

using trace::Record;
using trace::Role;

namespace {

/// Entries that one group's matcher holds.
constexpr std::size_t kMostHeld = std::size_t{1} << 18;

}  // namespace

MessageWaits::MessageWaits(PreparedWorld& world, WaitLedger& ledger, CauseLedger* causes, const WaitShare& share)
    : world_(world), ledger_(ledger), causes_(causes), share_(share) {
  for (int group = 0; group < kWaitGroups; ++group)
    matchers_.emplace_back([this](const Channel& channel, const SentMessage& sent,
                                  const ReceivedMessage& received) { matched(channel, sent, received); },
                           kMostHeld);
}

MatchCounts MessageWaits::counts() const {
  MatchCounts sum;
  for (const Matcher& each : matchers_) sum.add(each.counts());
  return sum;
}

/// The channel of a record, false where the other end left nothing to match with, or it is another share's.
bool MessageWaits::channel_of(const Record& record, const WaitRank& rank, bool sends, Channel& channel) {
  if (!world_.inside(record.peer)) return false;
  if (!share_.has(group_of_receiver(sends ? record.peer : rank.rank()))) return false;
  const WaitRank* other = world_.of(record.peer);
  if (other == nullptr || other->excluded || rank.excluded) {
    ++world_.gaps.without_partner;
    return false;
  }
  const auto comm = rank.comm_of.find(record.comm);
  if (comm == rank.comm_of.end()) return false;
  channel = {comm->second, sends ? rank.rank() : record.peer, sends ? record.peer : rank.rank(), record.tag};
  return true;
}

void MessageWaits::send(const StreamedRecord& streamed, WaitRank& rank) {
  const Record& record = streamed.record;
  Channel channel;
  if (!channel_of(record, rank, true, channel)) return;
  const Transfer transfer = rank.facts_of(record).transfer;
  const bool synchronous = transfer == Transfer::synchronous_send;
  const bool blocking = synchronous || transfer == Transfer::standard_send;
  matcher_of(channel.to)
      .send(channel, {streamed.start_ns(), streamed.end_ns(), record.start_ticks, record.bytes, rank.origin(record),
                      blocking, synchronous});
}

void MessageWaits::receive(const StreamedRecord& streamed, WaitRank& rank) {
  const Record& record = streamed.record;
  Channel channel;
  if (!channel_of(record, rank, false, channel)) return;
  ReceivedMessage message{streamed.start_ns(), streamed.start_ns(), streamed.end_ns(),
                          record.bytes,        rank.origin(record), 0};
  waited_in_probe(channel, message);
  matcher_of(channel.to).arrival(channel, record.start_ticks, message);
}

/// A probe that found the message waited for it; the receive behind it did not.
void MessageWaits::probe(const StreamedRecord& streamed, WaitRank& rank) {
  Channel channel;
  if (rank.facts_of(streamed.record).transfer != Transfer::probe ||
      !channel_of(streamed.record, rank, false, channel))
    return;
  probes_[channel] = {
      streamed.start_ns(), streamed.start_ns(), streamed.end_ns(), 0, rank.origin(streamed.record), 0};
}

void MessageWaits::waited_in_probe(const Channel& channel, ReceivedMessage& message) {
  const auto probed = probes_.find(channel);
  if (probed == probes_.end()) return;
  message.wait_start_ns = probed->second.wait_start_ns;
  message.wait_end_ns = probed->second.wait_end_ns;
  message.where = probed->second.where;
  probes_.erase(probed);
}

void MessageWaits::post(const Record& record, const WaitRank& rank) {
  Post post;
  if (posted(record, rank, post)) matcher_of(rank.rank()).post(rank.rank(), record.start_ticks, post);
}

bool MessageWaits::posted(const Record& record, const WaitRank& rank, Post& post) const {
  if (rank.excluded || (record.peer < 0 && record.peer != trace::kAnySource)) return false;
  if (!share_.has(group_of_receiver(rank.rank()))) return false;
  const auto comm = rank.comm_of.find(record.comm);
  if (comm == rank.comm_of.end()) return false;
  post = {comm->second, record.peer, record.tag};
  return true;
}

void MessageWaits::cancel(const Record& record, const WaitRank& rank) {
  Channel channel;
  Post post;
  if (rank.facts_of(record).sends()) {
    if (channel_of(record, rank, true, channel)) matcher_of(channel.to).cancel_send(channel, record.start_ticks);
  } else if (posted(record, rank, post)) {
    matcher_of(rank.rank()).cancel_post(rank.rank(), record.start_ticks, post);
  }
}

void MessageWaits::arrival(const StreamedRecord& streamed, WaitRank& rank, CompletingCall& call) {
  const Record& record = streamed.record;
  Channel channel;
  if (!channel_of(record, rank, false, channel)) return;
  // Durations are rounded to 27 bits.
  const double doubt_ns = (streamed.end_ns() - streamed.start_ns()) * 3e-8 + 2;
  const bool waited = call.record.start_ticks != 0 && std::abs(call.end_ns - streamed.end_ns()) <= doubt_ns &&
                      call.record.role != Role::post_receive;
  ReceivedMessage message{streamed.start_ns(),
                          streamed.end_ns(),
                          streamed.end_ns(),
                          record.bytes,
                          rank.origin(waited ? call.record : record),
                          0};
  if (waited && causes_ == nullptr) {  // causes need no wait: nothing would end the group
    message.wait_start_ns = call.start_ns;
    message.group = group_of(call, rank.rank());
    ++groups_[message.group].open;
  }
  matcher_of(channel.to).arrival(channel, record.start_ticks, message);
}

std::uint64_t MessageWaits::group_of(CompletingCall& call, int rank) {
  if (call.group != 0) return call.group;
  call.group = ++last_group_;
  Group& group = groups_[call.group];
  group.rank = rank;
  group.start_ns = call.start_ns;
  group.end_ns = call.end_ns;
  return call.group;
}

void MessageWaits::end(CompletingCall& call) {
  if (call.group == 0) return;
  Group& group = groups_[call.group];
  group.ended = true;
  if (group.open == 0) {
    settle(group);
    groups_.erase(call.group);
  }
  call.group = 0;
}

void MessageWaits::finish() {
  for (Matcher& each : matchers_) each.finish();
  for (auto& [id, group] : groups_) settle(group);
}

void MessageWaits::matched(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
  if (causes_ != nullptr) return causes_->add(channel.from, sent.start_ns, channel.to, received.wait_end_ns);
  ledger_.check(sent.start_ns, received.wait_start_ns, received.wait_end_ns);
  late_receiver(channel, sent, received);
  late_sender(channel, sent, received);
}

void MessageWaits::late_sender(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
  const bool late = sent.start_ns > received.wait_start_ns;
  if (received.group == 0) {
    const double wait = std::min(sent.start_ns, received.wait_end_ns) - received.wait_start_ns;
    if (late) ledger_.add(WaitKind::late_sender, channel.to, channel.from, received.where, wait);
    return;
  }
  Group& group = groups_[received.group];
  if (late) group.late.push_back({sent.start_ns, channel.from, received.where});
  if (--group.open > 0 || !group.ended) return;
  settle(group);
  groups_.erase(received.group);
}

void MessageWaits::late_receiver(const Channel& channel, const SentMessage& sent, const ReceivedMessage& received) {
  if (!sent.blocking || received.post_ns <= sent.start_ns) return;
  // A standard send that was over before is no witness: its message lay in a buffer.
  if (!sent.synchronous && sent.end_ns <= received.post_ns) return;
  const double wait = std::min(received.post_ns, sent.end_ns) - sent.start_ns;
  ledger_.add(WaitKind::late_receiver, channel.from, channel.to, sent.where, wait);
}

void MessageWaits::settle(Group& group) {
  std::sort(group.late.begin(), group.late.end(),
            [](const Group::Late& a, const Group::Late& b) { return a.until_ns < b.until_ns; });
  double reached = group.start_ns;
  for (const Group::Late& late : group.late) {
    const double until = std::min(late.until_ns, group.end_ns);
    if (until <= reached) continue;
    ledger_.add(WaitKind::late_sender, group.rank, late.cause, late.origin, until - reached);
    reached = until;
  }
  group.late.clear();
}

}  // namespace corewise::profile
