// From a datatype to its plan.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/pack.hpp"
#include "kernels/simplify.hpp"

namespace corewise::kernels {

PackPlan PackPlan::compile(const Datatype& type) {
  return compile(simplify(type.layout), type.extent);
}

}  // namespace corewise::kernels
