/* Prints what the MPI holds in the control variables that are named, a number each. SPDX-License-Identifier:
 * BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int provided;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  for (int at = 1; at < argc; ++at) {
    int index, count, value = 0; /* a boolean is one byte of it */
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(argv[at], &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
      MPI_T_cvar_read(handle, &value);
      MPI_T_cvar_handle_free(&handle);
    } else {
      value = -1;
    }
    printf("%s=%d\n", argv[at], value);
  }
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
