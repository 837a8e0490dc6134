// Describing windows; see windows.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/windows.hpp"

#include <mutex>

namespace corewise::preload {
namespace {

int keyval = MPI_KEYVAL_INVALID;
std::uint64_t generation = 1;  ///< raised whenever a described window is freed
std::mutex registering;        ///< two threads must not describe one window twice

/// The window that this thread used last.
struct Latest {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  Communicator* comm = nullptr;
};
constinit thread_local Latest latest __attribute__((tls_model("initial-exec")));

int forget(MPI_Win, int, void* value, void*) {
  __atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
  release(static_cast<Communicator*>(value));
  return MPI_SUCCESS;
}

bool have_keyval() {
  if (keyval == MPI_KEYVAL_INVALID &&
      PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS)
    keyval = MPI_KEYVAL_INVALID;
  return keyval != MPI_KEYVAL_INVALID;
}

Communicator* attribute_of(MPI_Win window) {
  void* value = nullptr;
  int found = 0;
  PMPI_Win_get_attr(window, keyval, &value, &found);
  return found != 0 ? static_cast<Communicator*>(value) : nullptr;
}

/// Hangs `comm`, of which the caller hands over one reference, on `window`.
Communicator* attach(MPI_Win window, Communicator* comm) {
  if (comm == unknown_communicator()) return comm;
  if (PMPI_Win_set_attr(window, keyval, comm) == MPI_SUCCESS) return comm;
  release(comm);
  return unknown_communicator();
}

Communicator* describe_window(MPI_Win window) {
  const std::lock_guard lock(registering);
  if (!have_keyval()) return unknown_communicator();
  if (Communicator* known = attribute_of(window)) return known;
  MPI_Group group = MPI_GROUP_NULL;
  if (PMPI_Win_get_group(window, &group) != MPI_SUCCESS) return unknown_communicator();
  Communicator* made = describe_group(group);
  PMPI_Group_free(&group);
  return attach(window, made);
}

}  // namespace

void note_new_window(Thread& thread, MPI_Win fresh, MPI_Comm comm) {
  if (fresh == MPI_WIN_NULL) return;
  Communicator* on = communicator_of(thread, comm);
  const std::lock_guard lock(registering);
  if (on == unknown_communicator() || !have_keyval()) return;
  retain(on);
  attach(fresh, on);
}

Communicator* communicator_of_window(MPI_Win window) {
  const std::uint64_t now_at = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
  const std::uint64_t key = handle_key(window);
  if (latest.comm != nullptr && latest.key == key && latest.generation == now_at) [[likely]]
    return latest.comm;
  Communicator* found = describe_window(window);
  latest = {key, now_at, found};
  return found;
}

void stop_windows() {
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Win_free_keyval(&keyval);
  __atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
  keyval = MPI_KEYVAL_INVALID;
}

}  // namespace corewise::preload
