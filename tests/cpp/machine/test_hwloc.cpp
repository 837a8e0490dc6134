// Machines from hwloc: topologies written here as XML, so that every number is known, and this host against what
// the kernel says. A library must load: where none does, these tests fail (COREWISE_HWLOC names more, separated by
// ':'). SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "machine_fixtures.hpp"

namespace corewise::machine {
namespace {

std::vector<std::string> libraries() {
  const char* named = std::getenv("COREWISE_HWLOC");
  std::stringstream list(std::string(named != nullptr ? named : "") + ":" + COREWISE_HWLOC_CANDIDATES);
  std::vector<std::string> found;
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) found.push_back(path);
  }
  return found;
}

/// A file in a folder of its own, removed with it.
class TempFile {
 public:
  TempFile(const std::string& name, const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "corewise-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(path(name)) << text;
    path_ = path(name);
  }
  ~TempFile() { std::filesystem::remove_all(folder_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
  std::string path_;
};

std::string mask(std::uint64_t bits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(bits));
  return text;
}

/// Writes hwloc's XML, version 2, object by object.
class Xml {
 public:
  Xml& open(const std::string& type, std::uint64_t cpus, std::uint64_t nodes, const std::string& more = {}) {
    text_ += "<object type=\"" + type + "\" cpuset=\"" + mask(cpus) + "\" complete_cpuset=\"" + mask(cpus) +
             "\" nodeset=\"" + mask(nodes) + "\" complete_nodeset=\"" + mask(nodes) + "\" gp_index=\"" +
             std::to_string(++objects_) + "\" " + more + ">\n";
    return *this;
  }
  Xml& close() {
    text_ += "</object>\n";
    return *this;
  }
  Xml& leaf(const std::string& type, std::uint64_t cpus, std::uint64_t nodes, const std::string& more) {
    return open(type, cpus, nodes, more).close();
  }
  [[nodiscard]] std::string document() const {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
           "<topology version=\"2.0\">\n" +
           text_ + "</topology>\n";
  }

 private:
  std::string text_;
  int objects_ = 0;
};

std::string index(int number) {
  return "os_index=\"" + std::to_string(number) + "\"";
}

std::string memory(int number) {
  return index(number) + " local_memory=\"1073741824\"";
}

constexpr const char* kL3 =
    "cache_size=\"33554432\" depth=\"3\" cache_linesize=\"64\" cache_associativity=\"16\" cache_type=\"0\"";

/// OS index of the first PU of core `core` (0..7) of package `package`: packages take turns, and within a package
/// the cores of its two caches too, as some firmware numbers them. The sibling thread is 16 further on.
int os_of(int package, int core) {
  const int cache = core / 4;
  const int place = core % 4;
  return place * 4 + cache * 2 + package;
}

std::uint64_t core_cpus(int package, int core) {
  const int os = os_of(package, core);
  return (1ULL << os) | (1ULL << (os + 16));
}

std::uint64_t cpus_of(int package, int first, int last) {
  std::uint64_t cpus = 0;
  for (int core = first; core <= last; ++core) cpus |= core_cpus(package, core);
  return cpus;
}

void add_core(Xml& xml, int package, int core) {
  const int os = os_of(package, core);
  const std::uint64_t node = 1ULL << package;
  xml.open("Core", core_cpus(package, core), node, index(core));
  xml.leaf("PU", 1ULL << os, node, index(os)).leaf("PU", 1ULL << (os + 16), node, index(os + 16)).close();
}

/// 2 packages, each with a NUMA node and 2 L3 caches of 4 two-threaded cores. `allowed`: PUs this process may use.
std::string two_packages(std::uint64_t allowed) {
  Xml xml;
  const std::string limits =
      "allowed_cpuset=\"" + mask(allowed) + "\" allowed_nodeset=\"0x00000003\" os_index=\"0\"";
  xml.open("Machine", 0xffffffff, 3, limits);
  for (int package = 0; package < 2; ++package) {
    const std::uint64_t node = 1ULL << package;
    xml.open("Package", cpus_of(package, 0, 7), node, index(package));
    xml.leaf("NUMANode", cpus_of(package, 0, 7), node, memory(package));
    for (int cache = 0; cache < 2; ++cache) {
      xml.open("L3Cache", cpus_of(package, 4 * cache, 4 * cache + 3), node, kL3);
      for (int core = 4 * cache; core < 4 * cache + 4; ++core) add_core(xml, package, core);
      xml.close();
    }
    xml.close();
  }
  return xml.close().document();
}

Result<Machine> read(const std::string& xml, const std::string& name = "node.xml") {
  const TempFile file(name, xml);
  return from_hwloc({file.path(), libraries()});
}

TEST(Hwloc, TwoPackagesOfTwoCachesOfFourCores) {
  const Machine node = expect_machine(read(two_packages(0xffffffff)));
  EXPECT_EQ(node.name, "node");
  EXPECT_EQ(node.kind, "tree");
  ASSERT_EQ(node.units.size(), 16U);
  for (int u = 0; u < 16; ++u) {
    SCOPED_TRACE(u);
    const int package = u / 8;
    const std::string number = std::to_string(package);
    EXPECT_EQ(node.units[u].name, "core" + std::to_string(u));
    EXPECT_EQ(node.units[u].logical_core, u);
    EXPECT_EQ(node.units[u].os_index, os_of(package, u % 8));
    EXPECT_EQ(node.units[u].domains, (Names{"package" + number, "numa" + number, "l3-" + std::to_string(u / 4)}));
  }
  EXPECT_EQ(route_names(node, 0, 3), (Alternatives{{"core0:up", "core3:down"}}));
  EXPECT_EQ(route_names(node, 0, 4), (Alternatives{{"core0:up", "l3-0:up", "l3-1:down", "core4:down"}}));
  EXPECT_EQ(route_names(node, 0, 8).front().size(), 6U);
  EXPECT_EQ(node.stops.size(), 1U + 2 + 4 + 16);
}

TEST(Hwloc, DisallowedCoresAreAbsentAndTheRestRenumbered) {
  // Without the first core of package 0 (OS 0 and 16) and the first thread of package 0's second core (OS 4).
  const std::uint64_t allowed = 0xffffffffULL & ~(1ULL << 0) & ~(1ULL << 16) & ~(1ULL << 4);
  const Machine node = expect_machine(read(two_packages(allowed)));
  ASSERT_EQ(node.units.size(), 15U);
  EXPECT_EQ(node.units[0].logical_core, 0);
  bool second_core_by_its_other_thread = false;
  for (const Unit& unit : node.units) {
    EXPECT_NE(unit.os_index, 0);
    EXPECT_NE(unit.os_index, 4);
    second_core_by_its_other_thread = second_core_by_its_other_thread || unit.os_index == 4 + 16;
  }
  EXPECT_TRUE(second_core_by_its_other_thread);
}

TEST(Hwloc, LevelsThatSeparateNothingAreNoStops) {
  Xml xml;
  xml.open("Machine", 0x3, 1, "allowed_cpuset=\"0x00000003\" allowed_nodeset=\"0x00000001\" os_index=\"0\"");
  xml.open("Package", 0x3, 1, index(0)).leaf("NUMANode", 0x3, 1, memory(0)).open("L3Cache", 0x3, 1, kL3);
  for (int core = 0; core < 2; ++core) {
    const std::uint64_t cpu = 1ULL << core;
    xml.open("Core", cpu, 1, index(core)).leaf("PU", cpu, 1, index(core)).close();
  }
  xml.close().close().close();
  const Machine node = expect_machine(read(xml.document()));
  EXPECT_EQ(node.stops, (Names{"node", "core0", "core1"}));
  ASSERT_EQ(node.units.size(), 2U);
  EXPECT_EQ(node.units[1].domains, (Names{"package0", "numa0", "l3-0"}));
  EXPECT_EQ(route_names(node, 1, 0), (Alternatives{{"core1:up", "core0:down"}}));
}

TEST(Hwloc, NumaGroupsInsideAPackageAreALevel) {
  Xml xml;
  xml.open("Machine", 0xf, 3, "allowed_cpuset=\"0x0000000f\" allowed_nodeset=\"0x00000003\" os_index=\"0\"");
  xml.open("Package", 0xf, 3, index(0));
  for (int half = 0; half < 2; ++half) {
    const std::uint64_t cpus = 0x3ULL << (2 * half);
    const std::uint64_t node = 1ULL << half;
    xml.open("Group", cpus, node, "kind=\"0\" subkind=\"0\"").leaf("NUMANode", cpus, node, memory(half));
    for (int core = 2 * half; core < 2 * half + 2; ++core) {
      xml.open("Core", 1ULL << core, node, index(core)).leaf("PU", 1ULL << core, node, index(core)).close();
    }
    xml.close();
  }
  xml.close().close();
  const Machine node = expect_machine(read(xml.document()));
  ASSERT_EQ(node.units.size(), 4U);
  EXPECT_EQ(node.units[3].domains, (Names{"package0", "numa1"}));
  EXPECT_EQ(route_names(node, 0, 3), (Alternatives{{"core0:up", "numa0:up", "numa1:down", "core3:down"}}));
}

TEST(Hwloc, WithoutCoresThePusAreTheUnits) {
  Xml xml;
  xml.open("Machine", 0x5, 1, "allowed_cpuset=\"0x00000005\" allowed_nodeset=\"0x00000001\" os_index=\"0\"");
  xml.leaf("NUMANode", 0x5, 1, memory(0)).leaf("PU", 0x1, 1, index(0)).leaf("PU", 0x4, 1, index(2)).close();
  const Machine node = expect_machine(read(xml.document()));
  ASSERT_EQ(node.units.size(), 2U);
  EXPECT_EQ(node.units[1].name, "pu1");
  EXPECT_EQ(node.units[1].os_index, 2);
  EXPECT_EQ(node.units[1].logical_core, -1);
  EXPECT_TRUE(node.units[1].domains.empty());
}

TEST(Hwloc, ThisHostHasTheCpusThatTheKernelNames) {
  const Machine host = expect_machine(from_hwloc({{}, libraries()}));
  EXPECT_EQ(host.name, "host");
  ASSERT_FALSE(host.units.empty());
  EXPECT_LE(host.units.size(), static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)));
  for (const Unit& unit : host.units) {
    EXPECT_TRUE(std::filesystem::exists("/sys/devices/system/cpu/cpu" + std::to_string(unit.os_index)));
  }
}

TEST(Hwloc, WrongFilesAreNamed) {
  const auto missing = from_hwloc({"/nonexistent/node.xml", libraries()}).status();
  EXPECT_EQ(missing.code(), Code::invalid_input);
  EXPECT_EQ(missing.message(), "/nonexistent/node.xml: cannot be read: No such file or directory");
  const auto broken = read("<topology", "broken.xml").status();
  EXPECT_EQ(broken.code(), Code::invalid_input);
  EXPECT_NE(broken.message().find("broken.xml: not a topology that hwloc can read"), std::string::npos)
      << broken.message();
}

TEST(Hwloc, CandidatesAreTriedUntilOneLoads) {
  auto candidates = libraries();
  candidates.insert(candidates.begin(), {"/nonexistent/libhwloc.so.15", "libc.so.6"});
  const TempFile file("node.xml", two_packages(0xffffffff));
  EXPECT_EQ(expect_machine(from_hwloc({file.path(), candidates})).units.size(), 16U);
}

TEST(Hwloc, WithoutALibraryTheErrorSaysWhatWasTriedAndWhatToInstall) {
  const TempFile file("node.xml", two_packages(0xffffffff));
  const auto result = from_hwloc({file.path(), {"/nonexistent/libhwloc.so.15", "libc.so.6"}});
  if (result.ok()) return;  // this system has its own hwloc: nothing to refuse
  const auto status = result.status();
  EXPECT_EQ(status.code(), Code::unsupported);
  for (const char* part : {"install the package libhwloc15",
                           "/nonexistent/libhwloc.so.15: ", "libc.so.6: not an hwloc library", "libhwloc.so: "}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace corewise::machine
