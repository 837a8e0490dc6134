// Huge pages: whether shared memory has transparent ones where other memory has.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace corewise::shm {

/// By the texts of the kernel's files `enabled` and `shmem_enabled`, the chosen word in brackets: "always [madvise]
/// never". True where other memory has huge pages unasked and shared memory has none; an empty text is a kernel
/// without them.
bool loses_huge_pages(std::string_view enabled, std::string_view of_shared);

/// On this host: /sys/kernel/mm/transparent_hugepage.
bool loses_huge_pages();

}  // namespace corewise::shm
