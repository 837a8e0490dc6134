// The fuzzer's target for machine documents: what the reader accepts passes the room's check, and every other text
// gives an error that names its source. SPDX-License-Identifier: BSD-3-Clause
#include "fuzz.hpp"
#include "machine/machine.hpp"

namespace corewise::fuzz {

void machine_document(Bytes bytes) {
  const auto machine = machine::from_json(text_of(bytes), "fuzz.json");
  if (!machine.ok()) {
    require(machine.status().message().starts_with("fuzz.json"), "an error without its source");
    return;
  }
  const Status status = machine::check(machine.value());
  require(status.ok(), "a machine that was read does not pass its check: " + status.message());
}

}  // namespace corewise::fuzz
