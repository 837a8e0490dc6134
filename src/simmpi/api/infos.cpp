// Infos (MPI-3.1, chapter 9): kept and given back; simulated MPI asks for none of their keys.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <iterator>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {
namespace {

Info* info_of(MPI_Info handle) {
  static Info environment;
  return handle == MPI_INFO_ENV ? &environment : reinterpret_cast<Info*>(handle);
}

bool fits(const char* text, std::size_t most) {
  const std::size_t length = std::strlen(text);
  return length > 0 && length <= most;
}

}  // namespace
}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Info_create(MPI_Info* info) {
  *info = reinterpret_cast<MPI_Info>(new Info);
  return MPI_SUCCESS;
}

int PMPI_Info_set(MPI_Info info, const char* key, const char* value) {
  Entry entry("MPI_Info_set");
  Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  if (!fits(key, MPI_MAX_INFO_KEY)) return entry.raise(nullptr, MPI_ERR_INFO_KEY);
  if (!fits(value, MPI_MAX_INFO_VAL)) return entry.raise(nullptr, MPI_ERR_INFO_VALUE);
  (*found)[key] = value;
  return MPI_SUCCESS;
}

int PMPI_Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
  Entry entry("MPI_Info_get");
  const Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  const auto at = found->find(key);
  *flag = at != found->end() ? 1 : 0;
  if (*flag != 0) std::snprintf(value, static_cast<std::size_t>(valuelen) + 1, "%s", at->second.c_str());
  return MPI_SUCCESS;
}

int PMPI_Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
  Entry entry("MPI_Info_get_valuelen");
  const Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  const auto at = found->find(key);
  *flag = at != found->end() ? 1 : 0;
  if (*flag != 0) *valuelen = static_cast<int>(at->second.size());
  return MPI_SUCCESS;
}

int PMPI_Info_get_nkeys(MPI_Info info, int* nkeys) {
  Entry entry("MPI_Info_get_nkeys");
  const Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  *nkeys = static_cast<int>(found->size());
  return MPI_SUCCESS;
}

int PMPI_Info_get_nthkey(MPI_Info info, int n, char* key) {
  Entry entry("MPI_Info_get_nthkey");
  const Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  if (n < 0 || std::cmp_greater_equal(n, found->size())) return entry.raise(nullptr, MPI_ERR_ARG);
  std::snprintf(key, MPI_MAX_INFO_KEY + 1, "%s", std::next(found->begin(), n)->first.c_str());
  return MPI_SUCCESS;
}

int PMPI_Info_delete(MPI_Info info, const char* key) {
  Entry entry("MPI_Info_delete");
  Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  return found->erase(key) > 0 ? MPI_SUCCESS : entry.raise(nullptr, MPI_ERR_INFO_NOKEY);
}

int PMPI_Info_dup(MPI_Info info, MPI_Info* newinfo) {
  Entry entry("MPI_Info_dup");
  const Info* found = info_of(info);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_INFO);
  *newinfo = reinterpret_cast<MPI_Info>(new Info(*found));
  return MPI_SUCCESS;
}

int PMPI_Info_free(MPI_Info* info) {
  Entry entry("MPI_Info_free");
  if (*info == MPI_INFO_NULL || *info == MPI_INFO_ENV) return entry.raise(nullptr, MPI_ERR_INFO);
  delete info_of(*info);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  Entry entry("MPI_Comm_set_info");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  const Info* given = info_of(info);
  if (given == nullptr) return entry.raise(found, MPI_ERR_INFO);
  for (const auto& [key, value] : *given) found->info[key] = value;
  return MPI_SUCCESS;
}

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info* info_used) {
  Entry entry("MPI_Comm_get_info");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *info_used = reinterpret_cast<MPI_Info>(new Info(found->info));
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Info_create);
COREWISE_ALIAS(Info_set);
COREWISE_ALIAS(Info_get);
COREWISE_ALIAS(Info_get_valuelen);
COREWISE_ALIAS(Info_get_nkeys);
COREWISE_ALIAS(Info_get_nthkey);
COREWISE_ALIAS(Info_delete);
COREWISE_ALIAS(Info_dup);
COREWISE_ALIAS(Info_free);
COREWISE_ALIAS(Comm_set_info);
COREWISE_ALIAS(Comm_get_info);
