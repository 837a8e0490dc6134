// See huge_pages.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "shm/huge_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace corewise::shm {
namespace {

/// The beginning of a file of the kernel's. Allocates nothing.
struct Text {
  explicit Text(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t got = read(file, text.data(), text.size());
    if (got > 0) length = static_cast<std::size_t>(got);
    close(file);
  }
  [[nodiscard]] std::string_view view() const { return {text.data(), length}; }

  std::array<char, 128> text;
  std::size_t length = 0;
};

bool chosen(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

}  // namespace

bool loses_huge_pages(std::string_view enabled, std::string_view of_shared) {
  if (!chosen(enabled, "[always]")) return false;
  return !chosen(of_shared, "[always]") && !chosen(of_shared, "[within_size]") && !chosen(of_shared, "[force]");
}

bool loses_huge_pages() {
  return loses_huge_pages(Text("/sys/kernel/mm/transparent_hugepage/enabled").view(),
                          Text("/sys/kernel/mm/transparent_hugepage/shmem_enabled").view());
}

}  // namespace corewise::shm
