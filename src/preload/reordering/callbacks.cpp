// Pools of entries for callbacks; see callbacks.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/reordering/callbacks.hpp"

#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "preload/reordering/reorder.hpp"

namespace corewise::preload::reorder {
namespace {

constexpr std::size_t kEntries = 64;  ///< different functions of one kind; programs have one or two

// Kinds of callbacks. Further words of an error handler are the library's own: the first four are in registers
// whether or not the caller filled them, and are passed on unread.

/// The program's functions.
template <class Kind>
typename Kind::Function* given[kEntries];

struct Copy {
  using Function = MPI_Comm_copy_attr_function;
  template <std::size_t Entry>
  static int enter(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
    return given<Copy>[Entry](shown(comm), key, extra, in, out, flag);
  }
};

struct Delete {
  using Function = MPI_Comm_delete_attr_function;
  template <std::size_t Entry>
  static int enter(MPI_Comm comm, int key, void* value, void* extra) {
    return given<Delete>[Entry](shown(comm), key, value, extra);
  }
};

struct Handler {
  using Function = MPI_Comm_errhandler_function;
  template <std::size_t Entry>
  static void enter(MPI_Comm* comm, int* code, void* a, void* b, void* c, void* d) {
    MPI_Comm own = shown(*comm);
    given<Handler>[Entry](own == * comm ? comm : & own, code, a, b, c, d);
  }
};

#ifndef MPI_ABI
/// What a Fortran function is shown for the INTEGER of a communicator.
class ShownInteger {
 public:
  explicit ShownInteger(MPI_Fint* given) : given_(given), own_(*given) {
    if (const MPI_Comm comm = PMPI_Comm_f2c(*given); shown(comm) != comm) own_ = PMPI_Comm_c2f(shown(comm));
  }
  MPI_Fint* get() { return own_ == *given_ ? given_ : &own_; }

 private:
  MPI_Fint* given_;
  MPI_Fint own_;
};

struct FortranCopy {
  using Function = void(MPI_Fint*, void*, void*, void*, void*, void*, void*);
  template <std::size_t Entry>
  static void enter(MPI_Fint* comm, void* key, void* extra, void* in, void* out, void* flag, void* error) {
    given<FortranCopy>[Entry](ShownInteger(comm).get(), key, extra, in, out, flag, error);
  }
};

struct FortranDelete {
  using Function = void(MPI_Fint*, void*, void*, void*, void*);
  template <std::size_t Entry>
  static void enter(MPI_Fint* comm, void* key, void* value, void* extra, void* error) {
    given<FortranDelete>[Entry](ShownInteger(comm).get(), key, value, extra, error);
  }
};

struct FortranHandler {
  using Function = void(MPI_Fint*, void*, void*, void*, void*, void*);
  template <std::size_t Entry>
  static void enter(MPI_Fint* comm, void* code, void* a, void* b, void* c, void* d) {
    given<FortranHandler>[Entry](ShownInteger(comm).get(), code, a, b, c, d);
  }
};

#endif

std::mutex adding;

template <class Kind>
struct Pool {
  using Function = typename Kind::Function;

  static Function* entry_of(Function* function) {
    const std::lock_guard lock(adding);
    for (std::size_t i = 0; i < kEntries; ++i) {
      if (given<Kind>[i] != nullptr && given<Kind>[i] != function) continue;
      given<Kind>[i] = function;
      return entry(i, std::make_index_sequence<kEntries>{});
    }
    return function;
  }

 private:
  template <std::size_t... Index>
  static Function* entry(std::size_t i, std::index_sequence<Index...> /*all*/) {
    static Function* const kAll[] = {reinterpret_cast<Function*>(&Kind::template enter<Index>)...};
    return kAll[i];
  }
};

/// MPI's own functions, which some libraries know by their addresses or by small numbers.
bool is_mpis(const void* function) {
  Dl_info found{};
  if (reinterpret_cast<std::uintptr_t>(function) < 4096) return true;
  if (dladdr(function, &found) == 0 || found.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(found.dli_fname, '/');
  return std::string_view(slash != nullptr ? slash + 1 : found.dli_fname).substr(0, 6) == "libmpi";
}

template <class Kind>
typename Kind::Function* entered_as(typename Kind::Function* function) {
  return is_mpis(reinterpret_cast<const void*>(function)) ? function : Pool<Kind>::entry_of(function);
}

#ifndef MPI_ABI
template <class Kind>
void* entered_word(void* word) {
  return reinterpret_cast<void*>(entered_as<Kind>(reinterpret_cast<typename Kind::Function*>(word)));
}
#endif

}  // namespace

constinit thread_local int FromFortran::depth __attribute__((tls_model("initial-exec"))) = 0;

MPI_Comm_copy_attr_function* entered(MPI_Comm_copy_attr_function* function) {
  return FromFortran::depth == 0 ? entered_as<Copy>(function) : function;
}
MPI_Comm_delete_attr_function* entered(MPI_Comm_delete_attr_function* function) {
  return FromFortran::depth == 0 ? entered_as<Delete>(function) : function;
}
MPI_Comm_errhandler_function* entered(MPI_Comm_errhandler_function* function) {
  return FromFortran::depth == 0 ? entered_as<Handler>(function) : function;
}

#ifndef MPI_ABI
void* entered_fortran_copy(void* function) {
  return entered_word<FortranCopy>(function);
}
void* entered_fortran_delete(void* function) {
  return entered_word<FortranDelete>(function);
}
void* entered_fortran_handler(void* function) {
  return entered_word<FortranHandler>(function);
}
#endif

}  // namespace corewise::preload::reorder
