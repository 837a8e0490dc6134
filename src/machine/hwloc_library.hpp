// hwloc, loaded at run time: the functions that this room calls, found in the first library that opens and speaks
// version 2. Nothing links hwloc, because inside an MPI process the MPI brings its own, and because a Python wheel
// may carry one that the host cannot load. Private to this room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace corewise::machine {

class HwlocLibrary {
 public:
  /// Tries the candidates, then the system's sonames. Code::unsupported with every attempt when none will do.
  static Result<HwlocLibrary> open(const std::vector<std::string>& candidates);

  decltype(&hwloc_get_api_version) get_api_version = nullptr;
  decltype(&hwloc_topology_init) topology_init = nullptr;
  decltype(&hwloc_topology_destroy) topology_destroy = nullptr;
  decltype(&hwloc_topology_set_xml) topology_set_xml = nullptr;
  decltype(&hwloc_topology_load) topology_load = nullptr;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth = nullptr;
  decltype(&hwloc_bitmap_isequal) bitmap_isequal = nullptr;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  /// The reason why `candidate` will not do, empty on success.
  std::string load(const std::string& candidate);
  template <class Function>
  bool find(Function& function, const char* name);

  std::shared_ptr<void> handle_;
  std::string path_;
};

}  // namespace corewise::machine
