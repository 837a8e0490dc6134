// Error classes, codes and handlers (MPI-3.1, chapter 8). SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <string>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

constexpr const char* kTexts[] = {
    "MPI_SUCCESS: no error",
    "MPI_ERR_BUFFER: the attached buffer has no room, or there is none",
    "MPI_ERR_COUNT: a count is negative",
    "MPI_ERR_TYPE: no datatype, or one that is not committed",
    "MPI_ERR_TAG: a tag that is not allowed",
    "MPI_ERR_COMM: no communicator",
    "MPI_ERR_RANK: a rank that is not in the communicator",
    "MPI_ERR_REQUEST: no request, or one that may not be used so",
    "MPI_ERR_ROOT: a root that is not in the communicator",
    "MPI_ERR_GROUP: no group",
    "MPI_ERR_OP: no operator, or one that the datatype does not allow",
    "MPI_ERR_TOPOLOGY: the communicator has no such topology",
    "MPI_ERR_DIMS: dimensions that do not fit",
    "MPI_ERR_ARG: an argument that is not allowed",
    "MPI_ERR_UNKNOWN: an unknown error",
    "MPI_ERR_TRUNCATE: a message is longer than its receive",
    "MPI_ERR_OTHER: another error",
    "MPI_ERR_INTERN: an error inside MPI",
    "MPI_ERR_PENDING: the request is pending",
    "MPI_ERR_IN_STATUS: the statuses hold the errors",
    "MPI_ERR_INFO_KEY: a key that is too long",
    "MPI_ERR_INFO_VALUE: a value that is too long",
    "MPI_ERR_INFO_NOKEY: no such key",
    "MPI_ERR_INFO: no info",
    "MPI_ERR_KEYVAL: no key of attributes",
    "MPI_ERR_NO_MEM: no memory",
};
static_assert(std::size(kTexts) == MPI_ERR_LASTCODE);

Errhandler* handler_of(MPI_Errhandler handle) {
  if (handle == MPI_ERRORS_RETURN) return &returning_handler();
  if (handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRHANDLER_NULL) return nullptr;
  return reinterpret_cast<Errhandler*>(handle);
}

void release_handler(Errhandler* handler) {
  if (handler == nullptr || handler == &returning_handler()) return;
  if (--handler->references == 0) delete handler;
}

}  // namespace

const char* error_text(int error_class) {
  const bool known = error_class >= 0 && error_class < MPI_ERR_LASTCODE;
  return known ? kTexts[error_class] : "an error of the program's own";
}

int class_of(const Rank& rank, int code) {
  const auto own = rank.error_classes.find(code);
  return own != rank.error_classes.end() ? own->second : code;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Error_class(int errorcode, int* errorclass) {
  *errorclass = class_of(*World::actor().rank, errorcode);
  return MPI_SUCCESS;
}

int PMPI_Error_string(int errorcode, char* string, int* resultlen) {
  const Rank& rank = *World::actor().rank;
  const auto own = rank.error_texts.find(errorcode);
  const std::string text =
      own != rank.error_texts.end() ? own->second : std::string(error_text(class_of(rank, errorcode)));
  *resultlen = std::snprintf(string, MPI_MAX_ERROR_STRING, "%s", text.c_str());
  return MPI_SUCCESS;
}

int PMPI_Add_error_class(int* errorclass) {
  Rank& rank = *World::actor().rank;
  *errorclass = ++rank.last_error_code;
  rank.error_classes[*errorclass] = *errorclass;
  rank.error_texts[*errorclass] = "";
  return MPI_SUCCESS;
}

int PMPI_Add_error_code(int errorclass, int* errorcode) {
  Rank& rank = *World::actor().rank;
  *errorcode = ++rank.last_error_code;
  rank.error_classes[*errorcode] = errorclass;
  rank.error_texts[*errorcode] = "";
  return MPI_SUCCESS;
}

int PMPI_Add_error_string(int errorcode, const char* string) {
  Entry entry("MPI_Add_error_string");
  const auto own = entry.rank().error_texts.find(errorcode);
  if (own == entry.rank().error_texts.end()) return entry.raise(nullptr, MPI_ERR_ARG);
  own->second = string;
  return MPI_SUCCESS;
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = reinterpret_cast<MPI_Errhandler>(new Errhandler{comm_errhandler_fn, 1});
  return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  Entry entry("MPI_Comm_set_errhandler");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (errhandler == MPI_ERRHANDLER_NULL) return entry.raise(found, MPI_ERR_ARG);
  Errhandler* handler = handler_of(errhandler);
  if (handler != nullptr) ++handler->references;
  release_handler(found->handler);
  found->handler = handler;
  return MPI_SUCCESS;
}

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  Entry entry("MPI_Comm_get_errhandler");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  Errhandler* handler = found->handler;
  *errhandler = handler == nullptr                ? MPI_ERRORS_ARE_FATAL
                : handler == &returning_handler() ? MPI_ERRORS_RETURN
                                                  : reinterpret_cast<MPI_Errhandler>(handler);
  if (handler != nullptr) ++handler->references;
  return MPI_SUCCESS;
}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode) {
  Entry entry("MPI_Comm_call_errhandler");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  entry.raise(found, errorcode);
  return MPI_SUCCESS;
}

int PMPI_Errhandler_free(MPI_Errhandler* errhandler) {
  release_handler(handler_of(*errhandler));
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Error_class);
COREWISE_ALIAS(Error_string);
COREWISE_ALIAS(Add_error_class);
COREWISE_ALIAS(Add_error_code);
COREWISE_ALIAS(Add_error_string);
COREWISE_ALIAS(Comm_create_errhandler);
COREWISE_ALIAS(Comm_set_errhandler);
COREWISE_ALIAS(Comm_get_errhandler);
COREWISE_ALIAS(Comm_call_errhandler);
COREWISE_ALIAS(Errhandler_free);
