// What the tests of flows share: every setting of the knobs, and transfers without MPI.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "overlap/flow.hpp"

namespace corewise::overlap {

/// Each role, shares, lock and packer, with 0 to 3 workers.
inline std::vector<Knobs> every_setting() {
  std::vector<Knobs> all;
  for (const Role role : {Role::dedicated, Role::mixed})
    for (const Shares shares : {Shares::dynamic, Shares::fixed})
      for (const Lock lock : {Lock::blocking, Lock::spinning})
        for (const Packer packer : {Packer::worker, Packer::communicator})
          for (int workers = role == Role::mixed ? 0 : 1; workers <= 3; ++workers) {
            Knobs knobs;
            knobs.workers = workers;
            knobs.role = role;
            knobs.shares = shares;
            knobs.lock = lock;
            knobs.packer = packer;
            all.push_back(knobs);
          }
  return all;
}

inline std::string text(const Knobs& knobs) {
  return std::to_string(knobs.workers) + " workers, " +
         std::string(role_names[static_cast<std::size_t>(knobs.role)]) + ", " +
         std::string(shares_names[static_cast<std::size_t>(knobs.shares)]) + ", " +
         std::string(lock_names[static_cast<std::size_t>(knobs.lock)]) + ", packed by " +
         std::string(packer_names[static_cast<std::size_t>(knobs.packer)]);
}

/// A transfer that is done when it has been polled so often.
inline Poll after_polls(int polls) {
  auto left = std::make_shared<int>(polls);
  return [left] { return --*left <= 0; };
}

}  // namespace corewise::overlap
