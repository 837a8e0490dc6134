// The library's one header for programs that use MPI. Those without include overlap/flow.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "overlap/flow.hpp"
#include "overlap/knobs.hpp"
#include "overlap/mpi.hpp"
#include "overlap/timeline.hpp"
#include "overlap/wire.hpp"
