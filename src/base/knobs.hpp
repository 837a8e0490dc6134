// Knobs: every tunable is one row of a table: name, unit, default, allowed values, help. The environment variable
// is derived from the name (trace_buffer -> COREWISE_TRACE_BUFFER). Nothing else in the code calls getenv,
// but the preload's guard, which runs before anything is set up.
//
// Contract: reading never prints; a wrong value yields a Status that names the variable, the value found and the
// values allowed, and leaves the output as it was. No allocation on success, so the preload may use it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace corewise {

enum class KnobType { text, choice, size_bytes };

struct Knob {
  std::string_view name;  ///< lower_case_with_underscores
  KnobType type;
  std::string_view default_value;
  std::string_view allowed;  ///< choices separated by '|'; for sizes "MIN..MAX" in bytes; for text free words
  std::string_view help;
};

/// COREWISE_ and the name in capitals.
std::string environment_name(const Knob& knob);

/// The value set in the environment, or the default.
std::string_view knob_text(const Knob& knob);

/// A variable that is not ours: what a launcher tells the processes it starts. Empty when it is not set.
std::string_view launcher_text(const char* variable);

/// Index of the chosen word in `allowed`.
Status read_choice(const Knob& knob, int& choice);

/// A size such as "16 KiB" or "65536 B" within the knob's range; a number without a unit is refused.
Status read_size(const Knob& knob, std::uint64_t& bytes);

}  // namespace corewise
