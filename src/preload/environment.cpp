// The knobs that several libraries read; see environment.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/environment.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "base/knobs.hpp"

namespace corewise::preload {
namespace {

constexpr Knob kTraceDir{"trace_dir", KnobType::text, "", "a directory",
                         "where trace files go; empty: record nothing"};
constexpr Knob kTraceNode{
    "trace_node", KnobType::text, "", "a name",
    "ranks with one name share a clock; empty: the kernel's boot id; set for all ranks of a run or for none"};

}  // namespace

std::string_view trace_directory() {
  return knob_text(kTraceDir);
}

bool node_is_named() {
  return !knob_text(kTraceNode).empty();
}

void name_node(char* node, std::size_t bytes) {
  const std::string_view named = knob_text(kTraceNode);
  if (!named.empty()) {
    std::snprintf(node, bytes, "%s", std::string(named).c_str());
    return;
  }
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? 0 : read(fd, node, bytes - 1);
  if (fd >= 0) close(fd);
  node[length > 0 ? length : 0] = '\0';
  node[std::strcspn(node, "\n")] = '\0';
  if (node[0] == '\0') gethostname(node, bytes - 1);
}

}  // namespace corewise::preload
