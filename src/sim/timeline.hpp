// Timeline: what happened when in a run: slices (something lasted) and instants (something happened) on tracks.
// Owns the events and the texts they share; knows no file format. A run that nobody watches has none: components
// ask Engine::timeline() once, keep the pointer with their track and kind, and record only where it is not null.
//
// Contract. Times are ticks of the engine that it is given to (Engine::set_timeline). A slice is recorded as a
// whole, when its end is known; slices of one track may overlap (commands in a queue, packets on a ring): who draws
// them gives them lanes. The same run records the same events in the same order. Past `max_events` nothing is kept,
// only counted (dropped()). Does not fail. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/event_queue.hpp"

namespace corewise::sim {

class Timeline {
 public:
  using Track = std::int32_t;
  using Kind = std::int32_t;

  static constexpr std::size_t kDefaultMaxEvents = 4'000'000;
  static constexpr Time kInstant = -1;  ///< in Event::end: no slice, an instant at `begin`

  /// A row of the picture, e.g. "SPE3" in the group "programs" or "cw:PPE>SPE1#0" in "rings".
  struct TrackInfo {
    std::string group;
    std::string name;
  };
  /// What an event is called, and the names of its two numbers ("" where it has none).
  struct KindInfo {
    std::string name;
    std::string label_a;
    std::string label_b;
    std::string where;  ///< "file.cpp:12" of the program, "" where none is known
  };
  struct Event {
    Track track = 0;
    Kind kind = 0;
    Time begin = 0;
    Time end = 0;
    std::int64_t a = 0;
    std::int64_t b = 0;
  };

  explicit Timeline(std::size_t max_events = kDefaultMaxEvents) : max_events_(max_events) {}

  /// The track of that group and name, made where there is none yet.
  Track track(std::string_view group, std::string_view name);
  /// The kind of exactly these texts, made where there is none yet.
  Kind kind(std::string_view name, std::string_view label_a = {}, std::string_view label_b = {},
            std::string_view where = {});

  /// Something lasted from `begin` to `end` (not before `begin`).
  void slice(Track track, Kind kind, Time begin, Time end, std::int64_t a = 0, std::int64_t b = 0) {
    add({track, kind, begin, end, a, b});
  }
  void instant(Track track, Kind kind, Time when, std::int64_t a = 0, std::int64_t b = 0) {
    add({track, kind, when, kInstant, a, b});
  }

  /// Length of a tick; the engine sets it.
  [[nodiscard]] double tick_ns() const { return tick_ns_; }
  void set_tick_ns(double tick_ns) { tick_ns_ = tick_ns; }

  /// Tracks and kinds by their numbers, events in the order in which they were recorded.
  [[nodiscard]] const std::vector<TrackInfo>& tracks() const { return tracks_; }
  [[nodiscard]] const std::vector<KindInfo>& kinds() const { return kinds_; }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  /// Events that were not kept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void add(const Event& event) {
    if (events_.size() >= max_events_) {
      ++dropped_;
      return;
    }
    events_.push_back(event);
  }

  using TrackKey = std::tuple<std::string, std::string>;
  using KindKey = std::tuple<std::string, std::string, std::string, std::string>;

  std::size_t max_events_;
  double tick_ns_ = 1;
  std::vector<TrackInfo> tracks_;
  std::vector<KindInfo> kinds_;
  std::vector<Event> events_;
  std::map<TrackKey, Track> track_of_;
  std::map<KindKey, Kind> kind_of_;
  std::uint64_t dropped_ = 0;
};

}  // namespace corewise::sim
