// The drain: who takes full halves to the rank's file, and in what form. Owns chunks and the helper thread.
//
// Contract: chunks are delta-encoded where that fits, raw otherwise. A helper thread blocks every signal, holds no
// lock, allocates nothing and is never joined: fork, exec, exit and a kill do not meet it. A rank that gets none
// drains inline. After MPI_Finalize has flushed, the helper sleeps until the process ends.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trace/recorder.hpp"

namespace corewise::preload {

/// Makes ready what `wanted` needs; the mode that the rank has got.
trace::Mode start_draining(trace::Mode wanted, std::uint32_t half_bytes);

/// A recorder over a new thread block, drained in the file's mode. `handover` lives as long as the block.
void attach_recorder(trace::ThreadRecorder& recorder, trace::ThreadHeader* header, trace::Handover* handover);

}  // namespace corewise::preload
