// The exception classes live in corewise/errors.py, so that Python code raises the same ones without this module.
// SPDX-License-Identifier: BSD-3-Clause
#include "bind/failure.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace corewise::bind {

void raise(const Status& status) {
  const char* name = status.code() == Code::invalid_input ? "InputError" : "RunError";
  const nb::object type = nb::module_::import_("corewise.errors").attr(name);
  PyErr_SetString(type.ptr(), status.message().c_str());
  throw nb::python_error();
}

}  // namespace corewise::bind
