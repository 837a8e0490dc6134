// The trace file: what one rank leaves behind, byte for byte. docs/formats/trace.md is this file in prose.
//
// Owns the layout of records, blocks and the file header; writer (recorder, preload) and reader share it.
// Invariants, which together make a trace readable after SIGKILL at any instruction:
//   * a record is valid once its first word (`start`) is non-zero; that word is stored last;
//   * records live in one of two halves of a thread block, which is mapped MAP_SHARED, and a half is zeroed
//     before it is written again;
//   * a full half is appended as a chunk block, then `ThreadHeader::drained` is advanced: a chunk beyond
//     `drained` is not valid yet and its records are still in a half;
//   * who drains does not matter. The recording thread closes the half it is about to fill (its `half_first` is
//     kClosedHalf while the drain works in it and while it is zeroed) and drains first, or it opens that half first
//     and then hands the full one to the helper thread. Either way a half is closed or filled again only when
//     `drained` covers it, so that at every instruction each record lies below `drained` in a chunk, or in a half
//     that is not closed;
//   * COMM, NAMES and MAPS blocks are written with one call and hold kCommit in the last 8 bytes of the block;
//     a block without it is skipped, never trusted;
//   * records of one slot that follow each other with equal `start` belong to one call, of which only the first
//     counts as a call (MPI_Startall, the start of a persistent collective, shares of a vector collective);
//   * the call that a thread is in stands in `ThreadHeader::open` while its first word is non-zero. That word is
//     stored last when the call is entered, and cleared after the call's records are committed.
// All integers are little-endian. The file is a header, the site table, then blocks aligned to kBlockAlign with
// runs of zeros between them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::trace {

inline constexpr char kMagic[8] = {'C', 'W', 'T', 'R', 'A', 'C', 'E', '\0'};
inline constexpr std::uint32_t kVersion = 3;        ///< version 2 had no datatypes, no open calls and no crash
inline constexpr std::uint32_t kOldestVersion = 1;  ///< version 1 had records up to rma_get and raw chunks

// ---- records ---------------------------------------------------------------------------------------------

/// What a record says about its call. The role is part of `CallRecord::call`.
enum class Role : std::uint16_t {
  plain = 0,         ///< a call, nothing about messages (16 bytes)
  send = 1,          ///< a message left: peer, tag, bytes. Starts of persistent and partitioned sends included
  receive = 2,       ///< a blocking receive: peer, tag and bytes are those of the message that arrived
  post_receive = 3,  ///< a non-blocking receive posted: peer and tag as asked (may be wildcards), bytes of capacity
  arrival = 4,       ///< a message arrived for an earlier post: start is the post's start, duration until the
                     ///< call that completed it returned. Its time is not the time of a call
  collective = 5,    ///< bytes as docs/formats/trace.md defines per collective, peer the root or kNoPeer
  collective_part = 6,  ///< one peer's share of the preceding collective record of this thread
  miss = 7,             ///< failed tests or probes from one site, merged: bytes counts them, duration spans them
  cancel = 8,           ///< the operation posted at `start` was cancelled and moved nothing
  probe = 9,            ///< a probe found a message: peer, tag, bytes
  rma_put = 10,         ///< one-sided data to peer (put, accumulate)
  rma_get = 11,         ///< one-sided data from peer
  function_enter = 12,  ///< a function was entered (16 bytes, FunctionRecord)
  function_exit = 13,   ///< it was left
  region_enter = 14,    ///< the program entered a region it named (16 bytes, NameRecord)
  region_exit = 15,     ///< and left it
  phase = 16,           ///< from here on the program is in the phase of that name (16 bytes, NameRecord)
  recording = 17,       ///< MPI_Pcontrol: `duration` is the level, 0 stops recording (16 bytes, a CallRecord)
  file_read = 18,       ///< MPI-IO: bytes read from a file
  file_write = 19,      ///< MPI-IO: bytes written to a file
};

/// What a user may choose to record; bits of FileHeader::kinds (paper 003, section 5: event-specific records and
/// a choice of what is recorded). A call whose kind is off still goes through its wrapper and leaves no record.
enum Kind : std::uint32_t {
  kCalls = 1,     ///< plain records: calls that move nothing, misses, probes
  kMessages = 2,  ///< point-to-point
  kCollectives = 4,
  kOneSided = 8,
  kFiles = 16,
  kFunctions = 32,
  kRegions = 64,  ///< regions and phases
  kSites = 128,   ///< the return address of every call
};
inline constexpr std::uint32_t kAllKinds = 255;

inline constexpr std::uint16_t kLongRecord = 0x8000;  ///< set in `call` of 32-byte records
inline constexpr int kRoleShift = 10;
inline constexpr std::uint16_t kCallMask = (1U << kRoleShift) - 1;
inline constexpr std::uint16_t kRoleMask = 0x1f;

/// Any call. `duration` is packed (pack_duration), `site` indexes the site table plus one, 0 when unknown.
struct CallRecord {
  std::uint64_t start;  ///< clock ticks; never 0 in a valid record
  std::uint32_t duration;
  std::uint16_t call;  ///< kLongRecord | role << kRoleShift | procedure number in the NAMES block
  std::uint16_t site;
};

/// A call that moved or would move data. `volume` is bytes (48 bits) and communicator index (upper 16), `target`
/// the peer (24 bits, signed: a rank in the world, or one of the values below) and the datatype (upper 8). How many
/// elements they were is bytes over the datatype's size. Up to version 2 `target` is the peer alone.
struct MessageRecord {
  CallRecord head;
  std::uint64_t volume;
  std::uint32_t target;
  std::int32_t tag;
};
static_assert(sizeof(CallRecord) == 16 && sizeof(MessageRecord) == 32);

/// A function's entry or exit: `low` and `high` are the 48 bits of its address. Who called it is the function that
/// is open around it.
struct FunctionRecord {
  std::uint64_t start;
  std::uint32_t low;
  std::uint16_t call;  ///< function_enter or function_exit; no procedure
  std::uint16_t high;
};

/// A region or phase: the index of its REGION block.
struct NameRecord {
  std::uint64_t start;
  std::uint32_t name;
  std::uint16_t call;
  std::uint16_t site;
};
static_assert(sizeof(FunctionRecord) == 16 && sizeof(NameRecord) == 16);

inline constexpr std::int32_t kNoPeer = -1;     ///< the call has no peer
inline constexpr std::int32_t kProcNull = -2;   ///< MPI_PROC_NULL: not a message
inline constexpr std::int32_t kAnySource = -3;  ///< a wildcard receive was posted
inline constexpr std::int32_t kOutside = -4;    ///< a process outside this world (spawned, connected)
inline constexpr std::int32_t kAnyTag = -1;     ///< tag of a wildcard post
inline constexpr std::uint16_t kUnknownComm = 0xffff;
inline constexpr std::uint32_t kUnknownType = 0;  ///< no datatype, or one that nobody knows
inline constexpr std::uint32_t kOtherType = 255;  ///< a datatype beyond the table: no TYPE block describes it
inline constexpr int kTypeShift = 24;
inline constexpr std::uint64_t kVolumeMask = (std::uint64_t{1} << 48) - 1;

/// Records of these roles take 16 bytes, all others 32.
constexpr bool is_short(Role role) {
  return role == Role::plain || (role >= Role::function_enter && role <= Role::recording);
}
constexpr std::uint16_t call_word(std::uint64_t procedure, Role role) {
  const auto base = static_cast<std::uint16_t>(procedure | (static_cast<unsigned>(role) << kRoleShift));
  return is_short(role) ? base : static_cast<std::uint16_t>(base | kLongRecord);
}
constexpr std::uint16_t procedure_of(std::uint16_t call) {
  return call & kCallMask;
}
constexpr Role role_of(std::uint16_t call) {
  return static_cast<Role>((call >> kRoleShift) & kRoleMask);
}
constexpr std::uint32_t record_bytes(std::uint16_t call) {
  return (call & kLongRecord) != 0 ? 32 : 16;
}
constexpr std::uint64_t volume_word(std::uint64_t bytes, std::uint64_t comm) {
  return (bytes < kVolumeMask ? bytes : kVolumeMask) | (std::uint64_t{comm} << 48);
}
constexpr std::uint64_t volume_bytes(std::uint64_t volume) {
  return volume & kVolumeMask;
}
constexpr std::uint16_t volume_comm(std::uint64_t volume) {
  return static_cast<std::uint16_t>(volume >> 48);
}

constexpr std::uint32_t target_word(std::int32_t peer, std::uint64_t type) {
  return (static_cast<std::uint32_t>(peer) & ((1U << kTypeShift) - 1)) |
         static_cast<std::uint32_t>(type << kTypeShift);
}
constexpr std::int32_t target_peer(std::uint32_t target) {
  return static_cast<std::int32_t>(target << (32 - kTypeShift)) >> (32 - kTypeShift);
}
constexpr std::uint32_t target_type(std::uint32_t target) {
  return target >> kTypeShift;
}

/// Durations keep 27 significant bits and a 5-bit exponent: exact below 2^27 ticks (67 ms at 2 GHz), within
/// 2^-26 beyond.
constexpr std::uint32_t pack_duration(std::uint64_t ticks) {
  std::uint32_t exponent = 0;
  while (ticks >= (std::uint64_t{1} << 27)) {
    ticks >>= 1;
    ++exponent;
  }
  return static_cast<std::uint32_t>(ticks) | (exponent << 27);
}
constexpr std::uint64_t unpack_duration(std::uint32_t packed) {
  return std::uint64_t{packed & ((1U << 27) - 1)} << (packed >> 27);
}

// ---- file ------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kHeaderBytes = 4096;
inline constexpr std::uint32_t kSiteCapacity = 4096;  ///< entries of 8 bytes right after the header
inline constexpr std::uint32_t kFirstBlock = kHeaderBytes + kSiteCapacity * 8;
inline constexpr std::uint32_t kBlockAlign = 64;
inline constexpr std::uint32_t kThreadAlign = 4096;
inline constexpr std::uint64_t kCommit = 0x54494d4d4f435743;  // "CWCOMMIT"

enum class State : std::uint32_t { running = 0, finalized = 1, aborted = 2 };
enum class Clock : std::uint32_t { tsc = 0, monotonic_raw_ns = 1, simulated = 2 };
/// A tick of Clock::simulated: exact, so nothing is calibrated.
inline constexpr double kSimulatedTick_ns = 0.02;
/// Who takes full halves away: the thread that filled them, nobody (the newest records stay), or a helper thread.
enum class Mode : std::uint32_t { drain = 0, flight_recorder = 1, helper_thread = 2 };

/// The signal that ended the rank, as its handler found things. `signal` is stored last; 0: none.
struct Crash {
  std::uint32_t signal;
  std::int32_t code;  ///< si_code
  std::uint64_t ticks;
  std::uint64_t instruction;  ///< address of the one that was interrupted
  std::uint64_t address;      ///< si_addr: what it touched
  std::uint32_t slot;         ///< of the thread, kNoSlot where it has none
  std::uint32_t stack_bytes;  ///< at kCrashStack: what lay above the stack pointer
};
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;
inline constexpr std::uint32_t kCrashStack = 2048;  ///< offset in the file, up to kHeaderBytes

/// At offset 0, mapped MAP_SHARED while the rank lives; fields below `tail` change during the run.
struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::int32_t rank;  ///< in the world
  std::int32_t world_size;
  std::uint32_t pid;
  std::uint32_t spawned;  ///< 1 where this world was started by MPI_Comm_spawn
  Clock clock;
  Mode mode;
  std::uint32_t half_bytes;
  std::uint32_t thread_level;      ///< 0 single .. 3 multiple
  std::uint64_t start_ticks;       ///< calibration pair taken before MPI_Init
  std::int64_t start_ns;           ///< CLOCK_MONOTONIC_RAW at start_ticks
  std::int64_t start_realtime_ns;  ///< CLOCK_REALTIME at start_ticks
  std::uint64_t tail;              ///< offset of the next free byte
  std::uint64_t latest_ticks;      ///< calibration pair, renewed at every drain and at the end
  std::int64_t latest_ns;
  State state;
  std::int32_t abort_code;
  std::uint64_t lost_bytes;     ///< of records that could not be kept (file system full)
  std::uint64_t lost_sites;     ///< calls whose site did not fit in the table
  std::uint64_t lost_requests;  ///< requests that did not fit in the bounded table: their arrival is unknown
  std::uint64_t lost_comms;     ///< communicators beyond the 16-bit index, or whose description was not written
  std::uint64_t lost_nested;    ///< events dropped because a signal handler interrupted the recorder
  char host[64];
  char library[256];             ///< MPI_Get_library_version, cut
  std::uint8_t cpus_start[128];  ///< affinity mask after MPI_Init, bit n = OS PU n
  std::uint8_t cpus_end[128];    ///< the same at MPI_Finalize, all zero before
  // ---- from version 2 on ----
  std::uint32_t kinds;  ///< what was recorded: bits of Kind
  std::uint32_t reserved;
  std::uint64_t lost_names;      ///< regions and phases beyond the table of names, or whose name was not written
  std::uint64_t lost_functions;  ///< function events that could not be kept before MPI_Init
  std::uint64_t memory_bytes;    ///< memory of the recorder in this rank (buffers, tables, helper), code excluded
  char node[64];                 ///< ranks with equal text share a clock: the kernel's boot id, or a knob
  // ---- from version 3 on ----
  Crash crash;
  std::uint64_t lost_types;  ///< datatypes beyond the table of 254, or not described
  std::uint64_t exit_ticks;  ///< when the process ran its exit handlers; 0: it was stopped otherwise, or lives
};
static_assert(sizeof(FileHeader) <= kCrashStack);

enum class BlockKind : std::uint32_t {
  thread = 0x44524854,  // "THRD": mapped buffers of one thread slot
  chunk = 0x4b4e4843,   // "CHNK": a drained half
  names = 0x454d414e,   // "NAME": procedure names, NUL-terminated, in order of their number
  comm = 0x4d4d4f43,    // "COMM": a communicator
  maps = 0x5350414d,    // "MAPS": executable mappings in the text of /proc/self/maps
  region = 0x4e474552,  // "REGN": the name of a region or phase, a TextHeader; `index` is its number
  clock = 0x4b4f4c43,   // "CLOK": a ClockSync: this rank's clock against another's
  type = 0x45505954,    // "TYPE": a datatype, a TypeHeader and its name; `index` is what records say
};

/// Starts every block. `block_bytes` counts this header and everything up to the end of the block.
struct BlockHeader {
  BlockKind kind;
  std::uint32_t index;  ///< thread slot, or communicator index
  std::uint64_t block_bytes;
};

inline constexpr std::uint32_t kListedRequests = 4;

/// The call that a thread is in. `call` is the record that it would leave as far as its arguments say: no duration;
/// of a receive role, peer, tag and room as asked. `pending` are operations that it waits for: the first few of the
/// requests of MPI_Wait and its kin, as they were started, and the receiving half of MPI_Sendrecv.
struct OpenCall {
  MessageRecord call;      ///< `start` is stored last; 0 outside of calls
  std::uint32_t requests;  ///< how many requests the call was given
  std::uint32_t listed;    ///< entries of `pending`
  std::uint64_t reserved[3];
  MessageRecord pending[kListedRequests];
};
static_assert(sizeof(OpenCall) == 192);

/// A thread slot's block: this header, then half 0 and half 1 of FileHeader::half_bytes each, at kThreadAlign.
/// Slots are handed on when a thread ends, so a slot's stream may hold several threads one after the other.
struct ThreadHeader {
  BlockHeader block;
  std::uint64_t drained;        ///< bytes of this slot's stream that valid chunks hold (or, in flight-recorder
                                ///< mode, that were overwritten)
  std::uint64_t half_first[2];  ///< stream offset of the first record of each half
  std::uint64_t reserved[3];
  OpenCall open;  ///< from version 3 on
};
static_assert(sizeof(ThreadHeader) == 256);
inline constexpr std::uint32_t kLeastBlock = 64;          ///< of any block; all of a ThreadHeader up to version 2
inline constexpr std::uint64_t kClosedHalf = UINT64_MAX;  ///< half_first of a half whose content means nothing

inline constexpr std::uint32_t kRaw = 0;    ///< records as they are
inline constexpr std::uint32_t kDelta = 1;  ///< trace/codec.hpp

/// A drained half: `payload_bytes` follow, which stand for `record_bytes` of records, the first at stream offset
/// `first`. Valid if and only if first + record_bytes <= ThreadHeader::drained of the slot `block.index`.
struct ChunkHeader {
  BlockHeader block;
  std::uint64_t first;
  std::uint32_t payload_bytes;
  std::uint32_t encoding;      ///< kRaw or kDelta
  std::uint64_t record_bytes;  ///< 0 in version 1 and where raw: payload_bytes
  std::uint64_t reserved[3];
};
static_assert(sizeof(ChunkHeader) == 64);

/// A communicator: this header, the name (name_bytes, zero-padded to a multiple of 8), `size` world ranks as int32
/// (none when `identity`: rank r is world rank r), then `remote_size` world ranks of the remote group (int32,
/// kOutside where there is no world rank), zeros, kCommit in the last 8 bytes of the block.
struct CommHeader {
  BlockHeader block;
  std::int32_t size;
  std::int32_t remote_size;  ///< 0 for an intracommunicator
  std::int32_t my_rank;
  std::uint32_t identity;
  std::uint32_t name_bytes;
  std::uint16_t created_by;  ///< procedure number
  std::uint16_t parent;      ///< communicator index or kUnknownComm
  std::uint64_t created_ticks;
  std::uint64_t reserved[2];
};
static_assert(sizeof(CommHeader) == 64);

/// A datatype as its first user met it: this header, the name (name_bytes), zeros, kCommit in the last 8 bytes.
/// Types of equal size, extent and name are one. The name is the program's or the standard's, else how it was made
/// ("vector").
struct TypeHeader {
  BlockHeader block;
  std::uint64_t size_bytes;   ///< of its data
  std::int64_t extent_bytes;  ///< from one element to the next
  std::uint32_t derived;      ///< 1 where the program made it
  std::uint32_t name_bytes;
  std::uint64_t reserved[3];
};
static_assert(sizeof(TypeHeader) == 64);

/// NAMES and MAPS: this header, `payload_bytes` of text, zeros, kCommit in the last 8 bytes of the block.
struct TextHeader {
  BlockHeader block;
  std::uint64_t payload_bytes;
  std::uint64_t reserved[5];
};
static_assert(sizeof(TextHeader) == 64);

/// One comparison of clocks, taken where all ranks meet. `offset_ns` added to this rank's CLOCK_MONOTONIC_RAW (or
/// to ticks converted to it) gives the reference's at that moment, give or take `uncertainty_ns` (half a round
/// trip).
struct ClockSync {
  BlockHeader block;
  std::uint64_t ticks;  ///< of this rank's clock at the comparison
  std::int64_t local_ns;
  std::int64_t offset_ns;
  std::uint64_t uncertainty_ns;
  std::int32_t reference;  ///< world rank whose clock it was compared with
  std::uint32_t moment;    ///< 0 start, 1 end, 2 at a collective
  std::uint64_t reserved;
};
static_assert(sizeof(ClockSync) == 64);

}  // namespace corewise::trace
