/* What differs between mpif.h, `use mpi` and mpi_f08 in the programs here, which are otherwise one text. IERR
   stands where an ierror may be: in mpi_f08 it is left out. SPDX-License-Identifier: BSD-3-Clause */
#ifdef LANGUAGE_f08
#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define GROUP type(MPI_Group)
#define INFO type(MPI_Info)
#define OPERATION type(MPI_Op)
#define HANDLER type(MPI_Errhandler)
#define WINDOW type(MPI_Win)
#define HANDLE_OF_FILE type(MPI_File)
#define STATUS(name) type(MPI_Status)::name
#define STATUSES(name, n) type(MPI_Status)::name(n)
#define SOURCE_OF(s) s % MPI_SOURCE
#define TAG_OF(s) s % MPI_TAG
#define ONE(name, i) name(i)
#define IERR
#else
#define COMM integer
#define DATATYPE integer
#define REQUEST integer
#define MESSAGE integer
#define GROUP integer
#define INFO integer
#define OPERATION integer
#define HANDLER integer
#define WINDOW integer
#define HANDLE_OF_FILE integer
#define STATUS(name) integer::name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer::name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define ONE(name, i) name( :, i)
#define IERR , ierr
#endif
