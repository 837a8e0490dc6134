// The form of paper 004, section 8.2: blocks of rows are transformed, exchanged and transposed at the same time, as
// far as they do not need each other. Workers compute; the communicator exchanges blocks that are done, by messages
// or by non-blocking all-to-alls. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "engine.hpp"
#include "kernels/transpose/transpose.hpp"
#include "overlap/overlap.hpp"
#include "transform.hpp"
#include "turning.hpp"

namespace fft2d {
namespace {

using corewise::overlap::check;
using corewise::overlap::Flow;
using corewise::overlap::Poll;
using corewise::overlap::Requests;
using corewise::overlap::Stage;
using corewise::overlap::Transfer;

constexpr std::size_t blocks_of_a_thread = 4;

/// What one block of rows sends to every other rank and gets from it, in elements of its part of the two buffers.
struct Exchange {
  std::vector<int> send_counts, send_places, receive_counts, receive_places;
  std::size_t sent = 0, received = 0;  ///< where the block's part of each buffer begins
};

class Dataflow final : public Transform {
 public:
  Dataflow(const Problem& problem, const Settings& settings, MPI_Comm comm)
      : Transform(problem, comm),
        settings_(settings),
        wire_(settings.wire),
        along_rows_(problem.columns, problem.inverse),
        along_columns_(problem.rows, problem.inverse),
        finish_(problem),
        flow_(settings.knobs),
        matrix_(make_buffer(input_elements())),
        packed_(make_buffer(input_elements())),
        received_(make_buffer(columns().size(rank_) * problem.rows)),
        turned_(make_buffer(columns().size(rank_) * problem.rows)) {
    if (problem.natural)
      back_ = std::make_unique<Turning>(problem.columns, problem.rows, comm, settings.wire, false);
    const auto threads = static_cast<std::size_t>(flow_.threads());
    // All ranks have as many blocks, because a block is exchanged with a block of each.
    int blocks = static_cast<int>(settings.row_blocks > 0 ? settings.row_blocks : blocks_of_a_thread * threads);
    MPI_Allreduce(MPI_IN_PLACE, &blocks, 1, MPI_INT, MPI_MAX, comm);
    blocks_ = static_cast<std::size_t>(blocks);
    for (std::size_t block = 0; block < blocks_; ++block) exchanges_.push_back(exchange_of(block));
    plan();
  }

  Complex* input() override { return matrix_.get(); }
  const Complex* output() const override { return problem_.natural ? matrix_.get() : turned_.get(); }
  const Flow* flow() const override { return &flow_; }

  void run() override {
    corewise::overlap::run_or_abort(
        flow_, comm_, [](const auto& failure) { std::fprintf(stderr, "fft2d: %s\n", failure.what()); });
    if (back_) back_->run(turned_.get(), matrix_.get());
  }

 private:
  void plan() {
    const int count = static_cast<int>(blocks_);
    const Stage first = flow_.work("rows", count, [this](int block, int) { row_block(block); });
    Transfer transfer;
    transfer.in_order = settings_.collective;
    transfer.pack = [this](int block, int) { pack(block); };
    transfer.start = [this](int block) { return start(block); };
    transfer.unpack = [this](int block, int) { transpose(block); };
    const Stage moved = flow_.transfer("exchange", count, std::move(transfer));
    const Stage second = flow_.work("columns", count, [this](int block, int) { column_block(block); });
    flow_.each_after(moved, first);
    flow_.all_after(second, moved);
  }

  /// A rank's rows are cut into blocks, as the rows of all are into those of ranks.
  Parts blocks_of(std::size_t rank) const { return {rows().size(rank), blocks_}; }

  Exchange exchange_of(std::size_t block) const {
    Exchange made;
    int sent = 0, received = 0;
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      const std::size_t other = peer == rank_ ? 0 : 1;
      made.send_counts.push_back(static_cast<int>(other * blocks_of(rank_).size(block) * columns().size(peer)));
      made.receive_counts.push_back(static_cast<int>(other * blocks_of(peer).size(block) * columns().size(rank_)));
      made.send_places.push_back(sent);
      made.receive_places.push_back(received);
      sent += made.send_counts.back();
      received += made.receive_counts.back();
      made.received += blocks_of(peer).begin(block) * columns().size(rank_);
    }
    made.sent = blocks_of(rank_).begin(block) * problem_.columns;
    return made;
  }

  const Exchange& exchange(int block) const { return exchanges_[static_cast<std::size_t>(block)]; }

  void row_block(int block) const {
    const Parts mine = blocks_of(rank_);
    const auto index = static_cast<std::size_t>(block);
    along_rows_.run(matrix_.get() + mine.begin(index) * problem_.columns, mine.size(index), problem_.columns);
  }

  void pack(int block) const {
    const Parts mine = blocks_of(rank_);
    const auto index = static_cast<std::size_t>(block);
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      Complex* to = packed_.get() + exchange(block).sent + exchange(block).send_places[peer];
      for (std::size_t row = mine.begin(index); row < mine.end(index); ++row, to += columns().size(peer))
        std::copy_n(matrix_.get() + row * problem_.columns + columns().begin(peer), columns().size(peer), to);
    }
  }

  Poll start(int block) {
    const Exchange& each = exchange(block);
    const Complex* const from = packed_.get() + each.sent;
    Complex* const to = received_.get() + each.received;
    Requests requests;
    if (settings_.collective)
      check(MPI_Ialltoallv(from, each.send_counts.data(), each.send_places.data(), MPI_C_DOUBLE_COMPLEX, to,
                           each.receive_counts.data(), each.receive_places.data(), MPI_C_DOUBLE_COMPLEX, comm_,
                           requests.add()),
            "MPI_Ialltoallv");
    else
      post_messages(block, from, to, requests);
    const auto others = static_cast<double>(blocks_of(rank_).size(static_cast<std::size_t>(block)) *
                                            (problem_.columns - columns().size(rank_)));
    return Requests::poll(std::move(requests), wire_.is_slow() ? wire_.send(others * sizeof(Complex)) : 0);
  }

  void post_messages(int block, const Complex* from, Complex* to, Requests& requests) const {
    const Exchange& each = exchange(block);
    // Each rank begins with its neighbour, so that not all send to rank 0 first.
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (rank_ + ranks_ - step) % ranks_;
      check(MPI_Irecv(to + each.receive_places[peer], each.receive_counts[peer], MPI_C_DOUBLE_COMPLEX,
                      static_cast<int>(peer), block, comm_, requests.add()),
            "MPI_Irecv");
    }
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t peer = (rank_ + step) % ranks_;
      check(MPI_Isend(from + each.send_places[peer], each.send_counts[peer], MPI_C_DOUBLE_COMPLEX,
                      static_cast<int>(peer), block, comm_, requests.add()),
            "MPI_Isend");
    }
  }

  /// A rank's own part comes from its rows, the others' from what was received.
  void transpose(int block) const {
    const std::size_t mine = columns().size(rank_);
    const auto index = static_cast<std::size_t>(block);
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      const Parts theirs = blocks_of(peer);
      const bool own = peer == rank_;
      const Complex* const from =
          own ? matrix_.get() + theirs.begin(index) * problem_.columns + columns().begin(rank_)
              : received_.get() + exchange(block).received + exchange(block).receive_places[peer];
      corewise::kernels::transpose({turned_.get() + rows().begin(peer) + theirs.begin(index), problem_.rows, from,
                                    own ? problem_.columns : mine, theirs.size(index), mine},
                                   true);
    }
  }

  void column_block(int block) const {
    const Parts mine{columns().size(rank_), blocks_};
    const auto index = static_cast<std::size_t>(block);
    Complex* const values = turned_.get() + mine.begin(index) * problem_.rows;
    along_columns_.run(values, mine.size(index), problem_.rows);
    for (std::size_t i = 0; i < mine.size(index); ++i)
      finish_.column(values + i * problem_.rows, columns().begin(rank_) + mine.begin(index) + i);
  }

  Settings settings_;
  corewise::overlap::Wire wire_;
  Engine along_rows_, along_columns_;
  Finish finish_;
  Flow flow_;
  std::unique_ptr<Turning> back_;
  Buffer matrix_, packed_, received_, turned_;
  std::size_t blocks_ = 1;
  std::vector<Exchange> exchanges_;
};

}  // namespace

std::unique_ptr<Transform> make_dataflow(const Problem& problem, const Settings& settings, MPI_Comm comm) {
  return std::make_unique<Dataflow>(problem, settings, comm);
}

}  // namespace fft2d
