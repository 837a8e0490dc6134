// Attributes of communicators and datatypes (MPI-3.1, section 6.7). SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

/// Keys below are the standard's own.
constexpr int kFirstKey = 64;

int add_keyval(Rank& rank, const Keyval& made) {
  if (rank.keyvals.empty()) rank.keyvals.resize(kFirstKey);
  rank.keyvals.push_back(made);
  return static_cast<int>(rank.keyvals.size()) - 1;
}

const Keyval* keyval_of(const Rank& rank, int key) {
  const bool known = key >= kFirstKey && std::cmp_less(key, rank.keyvals.size());
  return known ? &rank.keyvals[static_cast<std::size_t>(key)] : nullptr;
}

/// The value of one of the standard's attributes; null where the key is none of them.
void* standard_value(Entry& entry, int key) {
  static int most_tag = std::numeric_limits<int>::max();
  static int yes = 1;
  static int nobody = MPI_PROC_NULL;
  static int any = MPI_ANY_SOURCE;
  static int universe = 0;
  static int first_program = 0;
  universe = entry.world().size();
  switch (key) {
    case MPI_TAG_UB:
      return &most_tag;
    case MPI_HOST:
      return &nobody;
    case MPI_IO:
      return &any;
    case MPI_WTIME_IS_GLOBAL:
      return &yes;
    case MPI_UNIVERSE_SIZE:
      return &universe;
    case MPI_APPNUM:
      return &first_program;
    case MPI_LASTUSEDCODE:
      return &entry.rank().last_error_code;
    default:
      return nullptr;
  }
}

}  // namespace

int copy_attributes(Rank& rank, const Comm& from, Comm& to) {
  for (const auto& [key, value] : from.attributes.all()) {
    const Keyval& known = *keyval_of(rank, key);
    if (known.copy_comm == nullptr) continue;
    void* copied = nullptr;
    int flag = 0;
    const int code = known.copy_comm(from.handle, key, known.extra, value, static_cast<void*>(&copied), &flag);
    if (code != MPI_SUCCESS) return code;
    if (flag != 0) to.attributes.set(key, copied);
  }
  return MPI_SUCCESS;
}

int delete_attributes(Rank& rank, Comm& comm) {
  const auto all = comm.attributes.all();
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const Keyval& known = *keyval_of(rank, each->first);
    const int code = known.delete_comm != nullptr
                         ? known.delete_comm(comm.handle, each->first, each->second, known.extra)
                         : MPI_SUCCESS;
    if (code != MPI_SUCCESS) return code;
    comm.attributes.erase(each->first);
  }
  return MPI_SUCCESS;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int corewise_comm_dup_fn(MPI_Comm, int, void*, void* value, void* copied, int* flag) {
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int corewise_type_dup_fn(MPI_Datatype, int, void*, void* value, void* copied, int* flag) {
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                            MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                            void* extra_state) {
  Keyval made;
  made.copy_comm = comm_copy_attr_fn;
  made.delete_comm = comm_delete_attr_fn;
  made.extra = extra_state;
  *comm_keyval = add_keyval(*World::actor().rank, made);
  return MPI_SUCCESS;
}

int PMPI_Comm_free_keyval(int* comm_keyval) {
  *comm_keyval = MPI_KEYVAL_INVALID;  // the key lives on with what hangs on it
  return MPI_SUCCESS;
}

int PMPI_Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  Entry entry("MPI_Comm_set_attr");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  const Keyval* known = keyval_of(entry.rank(), comm_keyval);
  if (known == nullptr) return entry.raise(found, MPI_ERR_KEYVAL);
  const auto old = found->attributes.find(comm_keyval);
  if (old && known->delete_comm != nullptr) {
    const int code = known->delete_comm(comm, comm_keyval, *old, known->extra);
    if (code != MPI_SUCCESS) return entry.raise(found, code);
  }
  found->attributes.set(comm_keyval, attribute_val);
  return MPI_SUCCESS;
}

int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  Entry entry("MPI_Comm_get_attr");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *flag = 0;
  if (void* value = standard_value(entry, comm_keyval)) {
    *flag = 1;
    *static_cast<void**>(attribute_val) = value;
  } else if (const auto own = found->attributes.find(comm_keyval)) {
    *flag = 1;
    *static_cast<void**>(attribute_val) = *own;
  }
  return MPI_SUCCESS;
}

int PMPI_Comm_delete_attr(MPI_Comm comm, int comm_keyval) {
  Entry entry("MPI_Comm_delete_attr");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  const Keyval* known = keyval_of(entry.rank(), comm_keyval);
  const auto old = found->attributes.find(comm_keyval);
  if (known == nullptr || !old) return entry.raise(found, MPI_ERR_KEYVAL);
  if (known->delete_comm != nullptr) {
    const int code = known->delete_comm(comm, comm_keyval, *old, known->extra);
    if (code != MPI_SUCCESS) return entry.raise(found, code);
  }
  found->attributes.erase(comm_keyval);
  return MPI_SUCCESS;
}

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                            MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                            void* extra_state) {
  Keyval made;
  made.copy_type = type_copy_attr_fn;
  made.delete_type = type_delete_attr_fn;
  made.extra = extra_state;
  *type_keyval = add_keyval(*World::actor().rank, made);
  return MPI_SUCCESS;
}

int PMPI_Type_free_keyval(int* type_keyval) {
  *type_keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int PMPI_Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  Entry entry("MPI_Type_set_attr");
  Type* found = type_of(datatype);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  const Keyval* known = keyval_of(entry.rank(), type_keyval);
  if (known == nullptr) return entry.raise(nullptr, MPI_ERR_KEYVAL);
  const auto old = found->attributes.find(type_keyval);
  if (old && known->delete_type != nullptr) {
    const int code = known->delete_type(datatype, type_keyval, *old, known->extra);
    if (code != MPI_SUCCESS) return entry.raise(nullptr, code);
  }
  found->attributes.set(type_keyval, attribute_val);
  return MPI_SUCCESS;
}

int PMPI_Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  Entry entry("MPI_Type_get_attr");
  const Type* found = type_of(datatype);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  const auto own = found->attributes.find(type_keyval);
  *flag = own ? 1 : 0;
  if (own) *static_cast<void**>(attribute_val) = *own;
  return MPI_SUCCESS;
}

int PMPI_Type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  Entry entry("MPI_Type_delete_attr");
  Type* found = type_of(datatype);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_TYPE);
  const Keyval* known = keyval_of(entry.rank(), type_keyval);
  const auto old = found->attributes.find(type_keyval);
  if (known == nullptr || !old) return entry.raise(nullptr, MPI_ERR_KEYVAL);
  if (known->delete_type != nullptr) {
    const int code = known->delete_type(datatype, type_keyval, *old, known->extra);
    if (code != MPI_SUCCESS) return entry.raise(nullptr, code);
  }
  found->attributes.erase(type_keyval);
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Comm_create_keyval);
COREWISE_ALIAS(Comm_free_keyval);
COREWISE_ALIAS(Comm_set_attr);
COREWISE_ALIAS(Comm_get_attr);
COREWISE_ALIAS(Comm_delete_attr);
COREWISE_ALIAS(Type_create_keyval);
COREWISE_ALIAS(Type_free_keyval);
COREWISE_ALIAS(Type_set_attr);
COREWISE_ALIAS(Type_get_attr);
COREWISE_ALIAS(Type_delete_attr);
