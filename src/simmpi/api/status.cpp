// What a status says (MPI-3.1, sections 3.2.5, 4.1.11 and 12.3). SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<int>::max();

std::int64_t count_of(const MPI_Status& status, const Type& type) {
  if (type.shape.size == 0) return status.corewise_bytes == 0 ? 0 : -1;
  return status.corewise_bytes % type.shape.size == 0 ? status.corewise_bytes / type.shape.size : -1;
}

/// Bytes of the first `elements` basic elements.
std::int64_t bytes_of(const Type& type, std::int64_t elements) {
  std::int64_t per_item = 0;
  for (const auto& [size, count] : type.signature) per_item += count;
  if (per_item == 0) return 0;
  std::int64_t bytes = elements / per_item * type.shape.size;
  std::int64_t left = elements % per_item;
  for (const auto& [size, count] : type.signature) {
    const std::int64_t taken = left < count ? left : count;
    bytes += taken * size;
    left -= taken;
  }
  return bytes;
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  Entry entry("MPI_Get_count");
  const Type* type = type_of(datatype);
  if (type == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  const std::int64_t found = count_of(*status, *type);
  *count = found < 0 || found > kMostInt ? MPI_UNDEFINED : static_cast<int>(found);
  return MPI_SUCCESS;
}

int PMPI_Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  Entry entry("MPI_Get_elements_x");
  const Type* type = type_of(datatype);
  if (type == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  const std::int64_t found = elements_in(*type, status->corewise_bytes);
  *count = found < 0 ? MPI_UNDEFINED : found;
  return MPI_SUCCESS;
}

int PMPI_Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  MPI_Count found = 0;
  const int code = PMPI_Get_elements_x(status, datatype, &found);
  if (code == MPI_SUCCESS) *count = found > kMostInt ? MPI_UNDEFINED : static_cast<int>(found);
  return code;
}

int PMPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  Entry entry("MPI_Status_set_elements_x");
  const Type* type = type_of(datatype);
  if (type == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  status->corewise_bytes = bytes_of(*type, count);
  return MPI_SUCCESS;
}

int PMPI_Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
  return PMPI_Status_set_elements_x(status, datatype, count);
}

int PMPI_Status_set_cancelled(MPI_Status* status, int flag) {
  status->corewise_cancelled = flag;
  return MPI_SUCCESS;
}

int PMPI_Test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status->corewise_cancelled != 0 ? 1 : 0;
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Get_count);
COREWISE_ALIAS(Get_elements_x);
COREWISE_ALIAS(Get_elements);
COREWISE_ALIAS(Status_set_elements_x);
COREWISE_ALIAS(Status_set_elements);
COREWISE_ALIAS(Status_set_cancelled);
COREWISE_ALIAS(Test_cancelled);
