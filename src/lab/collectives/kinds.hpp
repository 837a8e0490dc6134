// What the collectives are called and what each of them has: a root, an operator, blocks of different sizes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "coll/call.hpp"

namespace corewise::lab {

std::string_view name_of(coll::Collective collective);
/// In the order of their declaration.
std::span<const coll::Collective> all_collectives();
Result<coll::Collective> collective_named(std::string_view text);

bool has_data(coll::Collective collective);  ///< all but the barrier
bool has_root(coll::Collective collective);
bool may_be_strided(coll::Collective collective);  ///< those with a root
bool combines(coll::Collective collective);
bool has_uneven_blocks(coll::Collective collective);
bool may_be_in_place(coll::Collective collective);

inline bool any_of(coll::Collective collective, std::initializer_list<coll::Collective> list) {
  return std::ranges::find(list, collective) != list.end();
}

/// A name in a message.
inline std::string quoted(std::string_view text) {
  return std::string(1, '\'').append(text).append("'");
}

}  // namespace corewise::lab
