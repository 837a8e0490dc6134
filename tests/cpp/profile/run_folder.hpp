// A run made up by hand: one rank file per rank in a temporary folder, records put in by role. Times are ticks of
// one nanosecond. Expectations in the tests that use it are computed by hand from what they put in.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "../trace/rank_file.hpp"

namespace corewise::testing {

/// Procedure numbers of the made-up run, in the order of its NAMES block.
enum Procedure : std::uint16_t {
  kSend,
  kRecv,
  kIsend,
  kIrecv,
  kWait,
  kBcast,
  kReduce,
  kAllreduce,
  kIallgather,
  kAlltoall,
  kAlltoallv,
  kGather,
  kScatterv,
  kReduceScatter,
  kScan,
  kBarrier,
  kStartall,
  kIprobe,
  kPut,
  kGet,
  kSpecial,
  kInit,
  kFinalize
};

class MadeUpRank {
 public:
  MadeUpRank(const std::string& path, int rank, int size) : file_(path, rank, size, 4096) {
    file_.add_names({"MPI_Send",          "MPI_Recv",           "MPI_Isend",       "MPI_Irecv",
                     "MPI_Wait",          "MPI_Bcast",          "MPI_Reduce",      "MPI_Allreduce",
                     "MPI_Iallgather",    "MPI_Alltoall",       "MPI_Alltoallv_c", "MPI_Gather",
                     "MPI_Scatterv_init", "MPI_Reduce_scatter", "MPI_Scan",        "MPI_Barrier",
                     "MPI_Startall",      "MPI_Iprobe",         "MPI_Put",         "MPI_Get",
                     "MPI_Special",       "MPI_Init",           "MPI_Finalize"});
    file_.add_comm(
        {.index = 0, .ranks = {}, .size = size, .remote = {}, .name = "MPI_COMM_WORLD", .my_rank = rank});
    file_.header().state = trace::State::finalized;
    file_.header().kinds = trace::kAllKinds;
    recorder_ = &file_.add_thread(0);
  }

  /// A record of `ticks` duration; the next one starts where it ends.
  void put(trace::Role role, Procedure procedure, std::int32_t peer, std::uint64_t bytes, std::uint16_t comm = 0,
           std::uint64_t ticks = 10, std::uint16_t site = 1) {
    put_at(now_, role, procedure, peer, bytes, comm, ticks, site);
    now_ += ticks;
  }

  void put_at(std::uint64_t start, trace::Role role, Procedure procedure, std::int32_t peer, std::uint64_t bytes,
              std::uint16_t comm = 0, std::uint64_t ticks = 10, std::uint16_t site = 1) {
    if (role == trace::Role::plain)
      trace::put_call(*recorder_, start, ticks, procedure, site);
    else
      trace::put_message(*recorder_, {start, ticks, bytes, peer, 0, procedure, site, comm, role});
  }

  void finish(std::uint64_t ticks) { file_.header().latest_ticks = file_.header().start_ticks + ticks; }

  RankFile& file() { return file_; }
  trace::ThreadRecorder& recorder() { return *recorder_; }
  [[nodiscard]] std::uint64_t now() const { return now_; }

 private:
  RankFile file_;
  trace::ThreadRecorder* recorder_;
  std::uint64_t now_ = 1'100;
};

class MadeUpRun {
 public:
  explicit MadeUpRun(int size, const std::string& prefix = "") {
    for (int rank = 0; rank < size; ++rank) add(prefix, rank, size, "");
  }
  MadeUpRank& add(const std::string& prefix, int rank, int size, const std::string& suffix) {
    char name[96];
    std::snprintf(name, sizeof name, "/%srank-%05d%s.cwt", prefix.c_str(), rank, suffix.c_str());
    ranks_.push_back(std::make_unique<MadeUpRank>(folder_.path() + name, rank, size));
    return *ranks_.back();
  }
  MadeUpRank& operator[](std::size_t rank) { return *ranks_[rank]; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<MadeUpRank>> ranks_;
};

}  // namespace corewise::testing
