// Procedures: what a replay makes of each procedure that a rank's file names. Ranks with equal lists share one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/procedures.hpp"
#include "simmpi/messages/request.hpp"

namespace corewise::replay {

/// How many operations a call ends that completes some.
enum class Completes : std::uint8_t { none, one, all };

struct Procedure {
  std::string name;
  profile::ProcedureFacts facts;
  Completes completes = Completes::none;
  simmpi::Mode mode = simmpi::Mode::standard;  ///< of what it sends
  bool in_background = false;                  ///< a collective that is completed by another call
  bool ends = false;                           ///< MPI_Finalize
};

/// By procedure number.
using Procedures = std::vector<Procedure>;

class ProcedureLists {
 public:
  const Procedures& of(const std::vector<std::string>& names);

 private:
  std::map<std::vector<std::string>, std::unique_ptr<Procedures>> lists_;
};

}  // namespace corewise::replay
