// Machines from hwloc: this host, or an hwloc XML file of another. The topology becomes a tree of packages, dies,
// NUMA nodes, L3 caches and cores; a level that encloses exactly what the level above does is a domain of its cores
// but no stop, since nothing is shared there that is not shared above. Only what hwloc allows this process to use
// is there, so logical core indexes are those that Open MPI's launcher counts.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "machine/fabric.hpp"
#include "machine/hwloc_library.hpp"
#include "machine/nominal.hpp"

namespace corewise::machine {
namespace {

/// An hwloc type that becomes a level, by the name it has in kNominalLevels.
struct LevelType {
  hwloc_obj_type_t type;
  std::string_view name;
};

constexpr std::array<LevelType, 3> kLevelTypes{
    {{HWLOC_OBJ_PACKAGE, "package"}, {HWLOC_OBJ_DIE, "die"}, {HWLOC_OBJ_L3CACHE, "l3"}}};

/// A domain that begins at an hwloc object.
struct Domain {
  std::string_view level;
  std::string name;
};

/// What encloses the object being visited.
struct Scope {
  int node = -1;
  hwloc_const_bitmap_t cpus = nullptr;
  std::vector<std::string> domains;
};

const hwloc_obj* first_numa_node(const hwloc_obj* object) {
  const hwloc_obj* memory = object->memory_first_child;
  while (memory != nullptr && memory->type != HWLOC_OBJ_NUMANODE) memory = memory->memory_first_child;
  return memory;
}

Domain domain(std::string_view level, const hwloc_obj* object) {
  return {level, numbered(level, static_cast<int>(object->logical_index))};
}

/// Outermost first. NUMA memory hangs beside the object whose cores are nearest to it; memory of the whole machine
/// separates nothing and is left out.
std::vector<Domain> domains_at(const hwloc_obj* object) {
  std::vector<Domain> found;
  for (const LevelType& level : kLevelTypes) {
    if (object->type == level.type) found.push_back(domain(level.name, object));
  }
  const hwloc_obj* memory = object->parent != nullptr ? first_numa_node(object) : nullptr;
  if (memory == nullptr) return found;
  const bool cache = object->type == HWLOC_OBJ_L3CACHE;
  found.insert(cache ? found.begin() : found.end(), domain("numa", memory));
  return found;
}

class Discovery {
 public:
  explicit Discovery(const HwlocLibrary& hwloc) : hwloc_(hwloc) {}

  TreeSpec run(const hwloc_obj* root) {
    Scope scope;
    scope.cpus = root->cpuset;
    visit(root, scope);
    return std::move(tree_);
  }

 private:
  void visit(const hwloc_obj* object, Scope scope) {
    if (object->type == HWLOC_OBJ_CORE || object->type == HWLOC_OBJ_PU) {
      add_unit(object, scope);
      return;
    }
    enter(object, scope);
    for (const hwloc_obj* child = object->first_child; child != nullptr; child = child->next_sibling) {
      visit(child, scope);
    }
  }

  void enter(const hwloc_obj* object, Scope& scope) {
    const std::vector<Domain> domains = domains_at(object);
    for (const Domain& found : domains) scope.domains.push_back(found.name);
    if (domains.empty() || hwloc_.bitmap_isequal(object->cpuset, scope.cpus) != 0) return;
    scope.node = add_node(domains.back(), scope.node);
    scope.cpus = object->cpuset;
  }

  int add_node(const Domain& place, int parent) {
    const LinkSpeed link = nominal_link(place.level);
    tree_.nodes.push_back({place.name, parent, link, link});
    return static_cast<int>(tree_.nodes.size()) - 1;
  }

  void add_unit(const hwloc_obj* object, const Scope& scope) {
    const bool core = object->type == HWLOC_OBJ_CORE;
    const hwloc_obj* pu = object;
    while (pu->type != HWLOC_OBJ_PU && pu->first_child != nullptr) pu = pu->first_child;
    const Domain place = domain(core ? "core" : "pu", object);
    Unit unit;
    unit.name = place.name;
    unit.stop = add_node(place, scope.node);
    unit.os_index = static_cast<int>(pu->os_index);
    unit.logical_core = core ? static_cast<int>(object->logical_index) : -1;
    unit.domains = scope.domains;
    tree_.units.push_back(std::move(unit));
  }

  const HwlocLibrary& hwloc_;
  TreeSpec tree_;
};

/// A topology of one library, destroyed with it.
class Topology {
 public:
  explicit Topology(const HwlocLibrary& hwloc) : hwloc_(hwloc) {
    if (hwloc_.topology_init(&topology_) != 0) topology_ = nullptr;
  }
  ~Topology() {
    if (topology_ != nullptr) hwloc_.topology_destroy(topology_);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  Status load(const std::string& xml_path) {
    if (topology_ == nullptr) return {Code::io, "hwloc: no topology could be made"};
    if (!xml_path.empty() && hwloc_.topology_set_xml(topology_, xml_path.c_str()) != 0) return not_xml(xml_path);
    if (hwloc_.topology_load(topology_) == 0) return {};
    if (!xml_path.empty()) return not_xml(xml_path);
    return {Code::io, "hwloc (" + hwloc_.path() + ") could not read this host: " + std::strerror(errno)};
  }

  [[nodiscard]] const hwloc_obj* root() const { return hwloc_.get_obj_by_depth(topology_, 0, 0); }

 private:
  static Status not_xml(const std::string& path) {
    return invalid_input(path +
                         ": not a topology that hwloc can read, allowed: XML as written by 'lstopo file.xml'");
  }

  const HwlocLibrary& hwloc_;
  hwloc_topology_t topology_ = nullptr;
};

Status check_readable(const std::string& path) {
  if (path.empty() || std::ifstream(path).good()) return {};
  return invalid_input(path + ": cannot be read: " + std::strerror(errno));
}

std::string describe(const HwlocLibrary& hwloc, const std::string& xml_path) {
  const unsigned version = hwloc.get_api_version();
  const std::string reader =
      "hwloc " + std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xffU);
  return (xml_path.empty() ? "this host" : "an hwloc XML file") + std::string(", read through ") + reader +
         ", speeds nominal";
}

}  // namespace

Result<Machine> from_hwloc(const HostOptions& options) {
  const std::string& xml = options.xml_path;
  if (Status status = check_readable(xml); !status.ok()) return status;
  const auto hwloc = HwlocLibrary::open(options.library_candidates);
  if (!hwloc.ok()) return hwloc.status();
  Topology topology(hwloc.value());
  if (Status status = topology.load(xml); !status.ok()) return status;
  TreeSpec tree = Discovery(hwloc.value()).run(topology.root());
  const std::string name = xml.empty() ? "host" : std::filesystem::path(xml).stem().string();
  return finish(name, describe(hwloc.value(), xml), build_tree(std::move(tree)), xml.empty() ? "this host" : xml);
}

Result<Machine> from_hwloc(const std::string& xml_path) {
  return from_hwloc(HostOptions{xml_path, {}});
}

}  // namespace corewise::machine
