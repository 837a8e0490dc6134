// Certificate: a closed tree of branch and bound as a document that others can check. Owns its writing; its form is
// docs/formats/certificate.md. The checker is python/corewise/analysis/placement/certificate, which shares no
// code with the room. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "place/links/branch_and_bound.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// Units' stops, links and routes in the form that the certificate's page describes.
std::string machine_text(const machine::Machine& machine);
/// Phases, weights and messages likewise.
std::string workload_text(const Workload& work);

/// `machine_digest`: of machine_text().
std::string certificate_json(std::uint64_t machine_digest, const Workload& work,
                             const machine::Placement& placement, double cost_ns, const BranchAndBound& search,
                             const ClosedTree& tree);

}  // namespace corewise::place
