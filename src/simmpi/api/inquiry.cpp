// What a datatype is, and packing by hand (MPI-3.1, sections 4.1 and 4.2). SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

/// The type, or what MPI_ERR_TYPE leads to in `code`.
Type* known(Entry& entry, MPI_Datatype handle, int& code) {
  Type* type = type_of(handle);
  code = type != nullptr ? MPI_SUCCESS : entry.raise(nullptr, MPI_ERR_TYPE);
  return type;
}

template <class Number>
void answer(Number* first, std::int64_t first_value, Number* second, std::int64_t second_value) {
  *first = static_cast<Number>(first_value);
  *second = static_cast<Number>(second_value);
}

int problem_of(const Type* type, int count, const int* position, const Comm* comm) {
  return Demands()
      .that(comm != nullptr, MPI_ERR_COMM)
      .that(count >= 0, MPI_ERR_COUNT)
      .that(usable(type), MPI_ERR_TYPE)
      .that(position != nullptr, MPI_ERR_ARG)
      .code();
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count* size) {
  Entry entry("MPI_Type_size");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) *size = type->shape.size;
  return code;
}

int PMPI_Type_size(MPI_Datatype datatype, int* size) {
  MPI_Count found = 0;
  const int code = PMPI_Type_size_x(datatype, &found);
  if (code == MPI_SUCCESS) *size = found > 0x7fffffff ? MPI_UNDEFINED : static_cast<int>(found);
  return code;
}

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  Entry entry("MPI_Type_get_extent");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) answer(lb, type->shape.lb, extent, type->shape.extent);
  return code;
}

int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  Entry entry("MPI_Type_get_extent_x");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) answer(lb, type->shape.lb, extent, type->shape.extent);
  return code;
}

int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent) {
  Entry entry("MPI_Type_get_true_extent");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) {
    answer(true_lb, type->shape.true_lb, true_extent, type->shape.true_extent);
  }
  return code;
}

int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent) {
  Entry entry("MPI_Type_get_true_extent_x");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) {
    answer(true_lb, type->shape.true_lb, true_extent, type->shape.true_extent);
  }
  return code;
}

int PMPI_Type_get_envelope(MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                           int* combiner) {
  Entry entry("MPI_Type_get_envelope");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) {
    *num_integers = static_cast<int>(type->construction.integers.size());
    *num_addresses = static_cast<int>(type->construction.addresses.size());
    *num_datatypes = static_cast<int>(type->construction.types.size());
    *combiner = type->construction.combiner;
  }
  return code;
}

int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                           int array_of_integers[], MPI_Aint array_of_addresses[],
                           MPI_Datatype array_of_datatypes[]) {
  Entry entry("MPI_Type_get_contents");
  int code = MPI_SUCCESS;
  const Type* type = known(entry, datatype, code);
  if (type == nullptr) return code;
  if (type->predefined()) return entry.raise(nullptr, MPI_ERR_TYPE);
  const Construction& how = type->construction;
  const bool fits = std::cmp_less_equal(how.integers.size(), max_integers) &&
                    std::cmp_less_equal(how.addresses.size(), max_addresses) &&
                    std::cmp_less_equal(how.types.size(), max_datatypes);
  if (!fits) return entry.raise(nullptr, MPI_ERR_ARG);
  std::copy(how.integers.begin(), how.integers.end(), array_of_integers);
  std::copy(how.addresses.begin(), how.addresses.end(), array_of_addresses);
  std::copy(how.types.begin(), how.types.end(), array_of_datatypes);
  for (const MPI_Datatype each : how.types) retain(*type_of(each));  // the caller frees derived ones
  return MPI_SUCCESS;
}

int PMPI_Type_set_name(MPI_Datatype datatype, const char* type_name) {
  Entry entry("MPI_Type_set_name");
  int code = MPI_SUCCESS;
  if (Type* type = known(entry, datatype, code))
    type->name = std::string(type_name).substr(0, MPI_MAX_OBJECT_NAME - 1);
  return code;
}

int PMPI_Type_get_name(MPI_Datatype datatype, char* type_name, int* resultlen) {
  Entry entry("MPI_Type_get_name");
  int code = MPI_SUCCESS;
  if (const Type* type = known(entry, datatype, code)) {
    *resultlen = std::snprintf(type_name, MPI_MAX_OBJECT_NAME, "%s", type->name.c_str());
  }
  return code;
}

int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int* size) {
  Entry entry("MPI_Pack_size");
  const Type* type = type_of(datatype);
  Comm* found = comm_of(comm);
  if (const int code = problem_of(type, incount, size, found)) return entry.raise(found, code);
  const std::int64_t bytes = type->bytes(incount);
  *size = bytes > 0x7fffffff ? MPI_UNDEFINED : static_cast<int>(bytes);
  return MPI_SUCCESS;
}

int PMPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize, int* position,
              MPI_Comm comm) {
  Entry entry("MPI_Pack");
  Type* type = type_of(datatype);
  Comm* found = comm_of(comm);
  if (const int code = problem_of(type, incount, position, found)) return entry.raise(found, code);
  const std::int64_t bytes = type->bytes(incount);
  if (*position < 0 || *position + bytes > outsize) return entry.raise(found, MPI_ERR_TRUNCATE);
  pack(inbuf, incount, *type, static_cast<std::byte*>(outbuf) + *position, bytes);
  *position += static_cast<int>(bytes);
  return MPI_SUCCESS;
}

int PMPI_Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype datatype,
                MPI_Comm comm) {
  Entry entry("MPI_Unpack");
  Type* type = type_of(datatype);
  Comm* found = comm_of(comm);
  if (const int code = problem_of(type, outcount, position, found)) return entry.raise(found, code);
  const std::int64_t bytes = type->bytes(outcount);
  if (*position < 0 || *position + bytes > insize) return entry.raise(found, MPI_ERR_TRUNCATE);
  unpack(outbuf, outcount, *type, static_cast<const std::byte*>(inbuf) + *position, bytes);
  *position += static_cast<int>(bytes);
  return MPI_SUCCESS;
}

int PMPI_Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) {
  return base + disp;
}

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
  return addr1 - addr2;
}

}  // extern "C"

COREWISE_ALIAS(Type_size_x);
COREWISE_ALIAS(Type_size);
COREWISE_ALIAS(Type_get_extent);
COREWISE_ALIAS(Type_get_extent_x);
COREWISE_ALIAS(Type_get_true_extent);
COREWISE_ALIAS(Type_get_true_extent_x);
COREWISE_ALIAS(Type_get_envelope);
COREWISE_ALIAS(Type_get_contents);
COREWISE_ALIAS(Type_set_name);
COREWISE_ALIAS(Type_get_name);
COREWISE_ALIAS(Pack_size);
COREWISE_ALIAS(Pack);
COREWISE_ALIAS(Unpack);
COREWISE_ALIAS(Get_address);
COREWISE_ALIAS(Aint_add);
COREWISE_ALIAS(Aint_diff);
