// Writes the document. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/program/outcome.hpp"

#include <boost/json.hpp>
#include <fstream>

#include "base/json.hpp"

namespace corewise::simmpi {
namespace {

namespace bj = boost::json;

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.good() ? Status{} : Status(Code::io, path + ": cannot be written");
}

bj::object failure_of(const Status& status) {
  bj::object document;
  document["ok"] = status.ok();
  document["message"] = status.message();
  document["invalid"] = status.code() == Code::invalid_input;
  return document;
}

bj::array traffic_of(World& world) {
  bj::array rows;
  world.traffic().for_each([&](int from, int to, const Traffic& pair) {
    if (pair.messages == 0 && pair.collective_messages == 0) return;
    rows.push_back(bj::array{from, to, pair.messages, pair.bytes, pair.collective_messages, pair.collective_bytes});
  });
  return rows;
}

bj::array ranks_of(World& world) {
  bj::array rows;
  for (int r = 0; r < world.size(); ++r) {
    const Rank& rank = world.rank(r);
    rows.push_back(bj::array{rank.unit, world.engine().to_ns(rank.end), rank.ended, rank.exit_status});
  }
  return rows;
}

/// Hits, misses, write-backs and their time in ns, rank by rank; null without software caches.
bj::value caches_of(World& world) {
  if (!world.rank(0).memory) return nullptr;
  bj::array rows;
  for (int r = 0; r < world.size(); ++r) {
    const MainMemory& memory = *world.rank(r).memory;
    const cell::SoftwareCacheStatistics& seen = memory.statistics();
    rows.push_back(bj::array{seen.hits, seen.misses, seen.write_backs, world.engine().to_ns(memory.spent())});
  }
  return rows;
}

/// Loads of code, their bytes and time in ns, rank by rank; null without overlays.
bj::value overlays_of(World& world) {
  if (!world.rank(0).overlays) return nullptr;
  bj::array rows;
  for (int r = 0; r < world.size(); ++r) {
    const Overlays& overlays = *world.rank(r).overlays;
    rows.push_back(bj::array{overlays.loads(), overlays.loaded_bytes(), world.engine().to_ns(overlays.spent())});
  }
  return rows;
}

/// Changes of task, their time and the time of waiting for a turn in ns, rank by rank; null where no two ranks may
/// share a unit.
bj::value microtasks_of(World& world) {
  if (world.microtasks() == nullptr) return nullptr;
  bj::array rows;
  for (int r = 0; r < world.size(); ++r) {
    const Turns& turns = world.microtasks()->turns(r);
    const auto ns = [&](sim::Time ticks) { return world.engine().to_ns(ticks); };
    rows.push_back(bj::array{turns.changes, ns(turns.changing), ns(turns.waiting)});
  }
  return rows;
}

bj::array links_of(World& world) {
  bj::array rows;
  for (const sim::LinkStatistics& link : world.network().link_statistics()) {
    rows.push_back(bj::array{link.bytes, link.packets, world.engine().to_ns(link.busy), link.largest_queue});
  }
  return rows;
}

/// Cell, messages that left it and that came to it, the PPE's work and the messages' waiting for it in ns; null
/// where no PPE forwards.
bj::value ppes_of(World& world) {
  if (world.forwarding() == nullptr) return nullptr;
  const auto ns = [&](sim::Time ticks) { return world.engine().to_ns(ticks); };
  bj::array rows;
  for (const Ppe& ppe : world.forwarding()->ppes()) {
    rows.push_back(bj::array{ppe.cell, ppe.left, ppe.came, ns(ppe.busy), ns(ppe.waiting)});
  }
  return rows;
}

bj::object timeline_of(const sim::Timeline& timeline) {
  bj::array tracks;
  for (const auto& track : timeline.tracks()) tracks.push_back(bj::array{track.group, track.name});
  bj::array kinds;
  for (const auto& kind : timeline.kinds())
    kinds.push_back(bj::array{kind.name, kind.label_a, kind.label_b, kind.where});
  return {{"tick_ns", timeline.tick_ns()}, {"tracks", tracks}, {"kinds", kinds}, {"dropped", timeline.dropped()}};
}

}  // namespace

Status write_outcome(const std::string& path, World& world, const Status& outcome, double wall_s,
                     const sim::Timeline* timeline) {
  bj::object document = failure_of(outcome);
  document["abort_code"] = world.abort_code();
  document["time_ns"] = world.engine().to_ns(outcome.ok() ? world.end() : world.engine().now());
  document["wall_s"] = wall_s;
  document["events"] = world.engine().events();
  document["ranks"] = ranks_of(world);
  document["traffic"] = traffic_of(world);
  document["caches"] = caches_of(world);
  document["overlays"] = overlays_of(world);
  document["microtasks"] = microtasks_of(world);
  document["links"] = links_of(world);
  document["ppes"] = ppes_of(world);
  if (timeline != nullptr) document["timeline"] = timeline_of(*timeline);
  return write_file(path, bj::serialize(document));
}

Status write_refusal(const std::string& path, const Status& why) {
  return write_file(path, bj::serialize(failure_of(why)));
}

Status write_events(const std::string& path, const sim::Timeline& timeline) {
  const auto& events = timeline.events();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(events.data()),
             static_cast<std::streamsize>(events.size() * sizeof(sim::Timeline::Event)));
  file.close();
  return file.good() ? Status{} : Status(Code::io, path + ": cannot be written");
}

}  // namespace corewise::simmpi
