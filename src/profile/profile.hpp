// Profile: what the trace files of one run say together. Plain data, filled by read_run (reading.hpp) and never
// changed.
//
// Contract: times are nanoseconds (double), volumes bytes. A profile may hold several worlds (a program that
// spawned, or several programs started in one run); within a world a rank appears at most once, and `ranks` lists
// only those that left a readable file, in order. Observed traffic (sent, received, put, get) and modelled traffic
// (collectives) are kept apart throughout. What is wrong with single files stands in `problems`, one sentence each.
//
// A call that a rank was in when its file ends counts as a call, up to that moment; it has moved nothing.
//
// Phases are what the program said with phase records; a record belongs to the phase that was current on its rank
// when the call returned, and to the unnamed one ("", index 0) before the first. Regions nest and are inclusive.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "pattern/pattern.hpp"
#include "profile/addresses.hpp"
#include "trace/format.hpp"

namespace corewise::profile {

/// Who saw the bytes. `collective` holds only the pairs that a collective names itself (roots, vector shares);
/// what goes to everyone is kept as a Spread.
enum class Traffic : std::uint8_t { sent, received, collective, put, get };
inline constexpr int kTrafficKinds = 5;

inline constexpr int kNoComm = -1;

inline constexpr int kAnyPhase = -1;

/// Bytes from rank to rank through one communicator in one phase, summed. For `received` this is what the receiver
/// saw arrive. `time_ns` is what the recording rank spent: for `sent`, `put` and `get` in the calls that started
/// them; for `received` in blocking receives, and from post to completion of the others, whose program may have
/// computed meanwhile. For `collective` it is 0: nobody sees from outside which peer a rank waited for.
struct Flow {
  Traffic kind = Traffic::sent;
  int comm = kNoComm;  ///< index into World::communicators
  int phase = 0;       ///< index into World::phases
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  double time_ns = 0;
};

/// What one rank's collectives on one communicator moved between it and everyone else (docs/formats/trace.md).
struct Spread {
  int comm = kNoComm;
  int phase = 0;
  int rank = 0;
  std::uint64_t to_each_bytes = 0;  ///< goes to every other member
  std::uint64_t to_each_count = 0;
  std::uint64_t from_each_bytes = 0;  ///< comes from every other member
  std::uint64_t from_each_count = 0;
  std::uint64_t reduced_bytes = 0;  ///< contributed to reductions whose result everyone gets
  std::uint64_t reduced_count = 0;
};

struct Communicator {
  std::string name;
  std::string created_by;  ///< procedure, empty for predefined ones
  int size = 0;
  int remote_size = 0;  ///< 0 for an intracommunicator
  /// World ranks; empty for the whole world (identity) and for the communicators of size 1, which are one entry.
  std::vector<std::int32_t> ranks;
  std::vector<std::int32_t> remote_ranks;
  bool identity = false;
};

/// Of one procedure on one rank.
struct ProcedureTotals {
  std::uint64_t calls = 0;   ///< failed tests and probes included
  std::uint64_t misses = 0;  ///< failed tests and probes
  std::uint64_t bytes = 0;   ///< sent, received, contributed: as the records of this procedure say
  double time_ns = 0;        ///< inside the calls, without `polling_ns`
  double polling_ns = 0;     ///< spans of merged misses: an upper bound, it includes what the program did between
  double longest_ns = 0;
};

struct CallSite {
  std::string object;             ///< file that the code was mapped from, empty when unknown
  std::uint64_t file_offset = 0;  ///< of the return address in `object`; the bare address without one
  int procedure = 0;              ///< index into World::procedures
  int ranks = 0;                  ///< that called from here
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double time_ns = 0;
  double polling_ns = 0;
};

/// Sizes by powers of two: bin 0 counts empty messages, bin b sizes from 2^(b-1) to 2^b - 1.
inline constexpr int kSizeBins = 49;
struct Histogram {
  std::array<std::uint64_t, kSizeBins> count{};
  std::array<std::uint64_t, kSizeBins> bytes{};
};

enum class Ending : std::uint8_t { running, finalized, aborted };

/// What a rank's file could not keep or no longer has.
struct Losses {
  std::uint64_t record_bytes = 0;  ///< file system full
  std::uint64_t sites = 0;
  std::uint64_t requests = 0;
  std::uint64_t communicators = 0;
  std::uint64_t nested = 0;
  std::uint64_t overwritten_bytes = 0;  ///< flight recorder: given up on purpose
  std::uint64_t missing_bytes = 0;      ///< of the file behind a cut, drained records among them
  std::uint64_t damaged_blocks = 0;
  std::uint64_t bad_peers = 0;  ///< records whose peer is no rank of the world
  std::uint64_t names = 0;      ///< regions and phases beyond the table of names
  std::uint64_t functions = 0;  ///< function events before MPI_Init that did not fit
  std::uint64_t types = 0;      ///< datatypes beyond the table
};

inline constexpr int kNoDatatype = -1;

/// A call or an operation that was not over when the rank's file ends. `kind` is what its record would be; of
/// receives, peer, tag and bytes are those asked for.
struct OpenOperation {
  std::string procedure;
  trace::Role kind = trace::Role::plain;
  int peer = trace::kNoPeer;
  int tag = 0;
  std::uint64_t bytes = 0;
  int comm = kNoComm;          ///< index into World::communicators
  int datatype = kNoDatatype;  ///< index into World::datatypes
  Place from;                  ///< the return address of the call
  double since_ns = 0;         ///< when it began, as wall_ns counts
  std::uint64_t start_ticks = 0;
};

/// The call that a thread was in. `pending` are operations that it waited for: the first few of its requests, or
/// the receiving half of MPI_Sendrecv.
struct OpenCall {
  int thread = 0;
  OpenOperation call;
  std::uint32_t requests = 0;  ///< given to MPI_Wait and its kin
  std::vector<OpenOperation> pending;
};

/// The signal that ended a rank.
struct Crash {
  int signal = 0;
  int code = 0;               ///< si_code
  double at_ns = 0;           ///< as wall_ns counts
  std::uint64_t address = 0;  ///< what it touched, 0 where the signal was sent
  Place at;                   ///< the instruction
  std::vector<Place> stack;   ///< return addresses that lay on the stack, or words that look like one; inner first
};

/// A collective that a rank has made on a communicator, the `ordinal`th from 0.
struct CollectiveMade {
  std::uint64_t ordinal = 0;
  std::string procedure;
  int root = trace::kNoPeer;
};

/// What a rank's collectives on one communicator were, as far as they are over.
struct CollectivesMade {
  int comm = kNoComm;
  std::uint64_t count = 0;
  std::vector<CollectiveMade> newest;  ///< the last few, in order
};

/// What a rank did last.
struct LastCall {
  std::string procedure;  ///< empty where it recorded none
  Place from;
  double end_ns = 0;
};

/// Where a rank was when its file ends. Empty but for `last` and `collectives` where it finished.
struct RankEnd {
  std::vector<OpenCall> open;  ///< by thread
  std::vector<Crash> crash;    ///< at most one
  double exit_ns = -1;         ///< when the process ran its exit handlers, as wall_ns counts; negative: it did not
  LastCall last;
  std::vector<CollectivesMade> collectives;
};

/// A datatype and what was sent of it. Elements are bytes over its size.
struct DatatypeTotals {
  std::string name;  ///< the program's or the standard's, else how it was made; empty for all beyond the table
  std::uint64_t size_bytes = 0;
  std::int64_t extent_bytes = 0;
  bool derived = false;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t collective_calls = 0;
  std::uint64_t collective_bytes = 0;  ///< as the records say (docs/formats/trace.md)
};

struct Rank {
  int rank = 0;
  std::string file;
  std::string host;
  std::uint32_t pid = 0;
  Ending ending = Ending::running;
  int abort_code = 0;
  int thread_level = 0;
  int threads = 0;  ///< recorders in use: threads that called MPI at one time
  bool flight_recorder = false;
  std::int64_t started_realtime_ns = 0;
  double wall_ns = 0;     ///< from before MPI_Init to the end: of the run, where the rank did not finish and its
                          ///< launcher said when, else to the newest sign of life
  double mpi_ns = 0;      ///< in MPI calls, all threads
  double polling_ns = 0;  ///< spans of merged misses, all threads
  std::uint64_t records = 0;
  std::uint64_t calls = 0;
  std::uint64_t misses = 0;
  std::uint64_t probes = 0;  ///< that found a message
  std::uint64_t cancelled = 0;
  std::uint64_t outside_sent_bytes = 0;  ///< to processes of other worlds
  std::uint64_t outside_received_bytes = 0;
  std::uint64_t unmodelled_bytes = 0;  ///< of collectives whose communicator or kind is unknown
  bool clock_known = false;            ///< false: times of this rank are clock ticks
  bool clock_precise = false;          ///< false: the rate was measured over less than 10 ms
  std::string node;                    ///< ranks of one node share a clock and a memory
  std::uint32_t kinds = 0;             ///< what was recorded: bits of trace::Kind
  std::uint64_t memory_bytes = 0;      ///< private memory of the recorder, 0 where the trace does not say
  std::uint64_t functions = 0;         ///< records of functions entered and left; in no other total
  std::uint64_t file_read_bytes = 0;
  std::uint64_t file_written_bytes = 0;
  std::uint64_t stops = 0;      ///< times that the program stopped recording
  double stopped_ns = 0;        ///< how long nothing was recorded because of that; part of wall_ns
  std::vector<int> cpus_start;  ///< processing units it might run on after MPI_Init
  std::vector<int> cpus_end;    ///< the same at MPI_Finalize; empty before
  Losses losses;
  RankEnd end;
};

/// What one rank did in a phase, or in all visits of a region. Calls that start and stop MPI are left out.
struct Section {
  int name = 0;  ///< index into World::phases or World::regions
  int rank = 0;
  std::uint64_t entered = 0;
  std::uint64_t unclosed = 0;  ///< of them never left: they count up to the last record of their thread
  double wall_ns = 0;          ///< summed over threads; a region inside itself counts once
  double mpi_ns = 0;
  std::uint64_t calls = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t collective_bytes = 0;  ///< as the records say (docs/formats/trace.md), not as modelled
  std::uint64_t one_sided_bytes = 0;
  std::uint64_t file_bytes = 0;
};

struct World {
  std::string name;  ///< "world", or "spawn4711" for one that MPI_Comm_spawn started
  bool spawned = false;
  int size = 0;
  std::string library;
  std::vector<Rank> ranks;
  std::vector<std::string> procedures;  ///< those that were called, sorted by name
  std::vector<ProcedureTotals> totals;  ///< ranks.size() rows of procedures.size()
  std::vector<CallSite> sites;          ///< sorted by object, offset, procedure
  std::vector<Communicator> communicators;
  std::vector<DatatypeTotals> datatypes;  ///< of the messages and collectives; sorted by name, size, extent
  std::vector<std::string> phases;        ///< the unnamed one first, then as the ranks met them
  std::vector<std::string> regions;       ///< sorted
  std::vector<Section> phase_totals;      ///< sorted by name, rank; only phases that the rank was in
  std::vector<Section> region_totals;     ///< the same of regions
  std::vector<Flow> flows;                ///< sorted by kind, communicator, phase, from, to
  std::vector<Spread> spreads;            ///< sorted by communicator, phase, rank
  Histogram sent_sizes;
  Histogram received_sizes;
  Histogram collective_sizes;
};

struct Profile {
  std::vector<World> worlds;  ///< the main one first
  std::vector<std::string> problems;
};

/// One pair's traffic of one kind.
struct PairTraffic {
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  double time_ns = 0;  ///< as Flow::time_ns
};

/// All of one kind of traffic summed over communicators and phases, or of one of them. For `collective` the spreads
/// are laid out over the pairs. Sorted by (from, to), one entry per pair.
std::vector<PairTraffic> pairs(const World& world, Traffic kind, int comm = kNoComm, int phase = kAnyPhase);

/// The same without its times.
pattern::Matrix matrix(const World& world, Traffic kind, int comm = kNoComm, int phase = kAnyPhase);

/// The point-to-point messages as sent, in one phase.
pattern::Pattern to_pattern(const World& world, std::string name);

/// The same in the program's own phases; one that sent nothing is left out.
pattern::Pattern to_phases(const World& world, std::string name);

/// A pair for which sender and receiver do not say the same.
struct PairDifference {
  int from = 0;
  int to = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_count = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t received_count = 0;
};

/// Empty when every byte that was sent also arrived.
std::vector<PairDifference> compare_sent_and_received(const World& world);

}  // namespace corewise::profile
