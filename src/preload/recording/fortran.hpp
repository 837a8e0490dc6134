// Fortran: what the generated wrappers of mpif.h, `use mpi` and mpi_f08 are made of (python/corewise/mpi/fortran.py
// has the list of entries). Every argument of a Fortran procedure is a word: an address, or at the end the length
// of a CHARACTER argument. A wrapper passes its words on to the PMPI entry of the same language, so sentinels,
// callbacks and descriptors keep their meaning, and only then reads them, converted to C, for the description.
//
// Contract: nothing links a Fortran library; entries and sentinels are looked up in the process when they are first
// needed. What the library does below a Fortran entry, C names that it calls included, is not recorded again.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "preload/recording/completion.hpp"
#include "preload/recording/lifetime.hpp"

namespace corewise::preload::fortran {

/// One procedure of this MPI in one Fortran language.
struct Entry {
  std::uint16_t procedure;
  std::int16_t error;     ///< which argument is ierror; -1: none
  const char* twin;       ///< the PMPI name
  void* found = nullptr;  ///< where it is; atomic
};

/// Libraries of this MPI's Fortran, for programs that opened theirs where a search by name does not see it; ends
/// with nullptr. Generated.
extern const char* const kLibraries[];

/// Slow path of twin().
void* find_twin(Entry& entry);

inline void* twin(Entry& entry) {
  void* found = __atomic_load_n(&entry.found, __ATOMIC_RELAXED);
  return found != nullptr ? found : find_twin(entry);
}

template <std::size_t>
using Word = void*;

template <class Result, std::size_t... Index>
inline Result invoke(void* target, void* const* words, std::index_sequence<Index...> /*all*/) {
  return reinterpret_cast<Result (*)(Word<Index>...)>(target)(words[Index]...);
}

/// What runs while one of these lives is the library's own: C names that a Fortran entry calls only forward.
class Shield {
 public:
  [[gnu::always_inline]] Shield() : depth_(this_thread.depth) { go_inside(this_thread); }
  ~Shield() { this_thread.depth = depth_; }
  Shield(const Shield&) = delete;
  Shield& operator=(const Shield&) = delete;

 private:
  int depth_;
};

/// Calls the twin. Its error code is returned even where the program left ierror out.
template <std::size_t Words>
[[gnu::noinline]] int call(Entry& entry, void** words) {
  MPI_Fint own = MPI_SUCCESS;
  if (entry.error >= 0 && words[entry.error] == nullptr) words[entry.error] = &own;
  MPI_Fint* code = entry.error >= 0 ? static_cast<MPI_Fint*>(words[entry.error]) : &own;
  void* target = twin(entry);
  const Shield shield;
  if (target != nullptr) [[likely]]
    invoke<void>(target, words, std::make_index_sequence<Words>{});
  else
    *code = MPI_ERR_INTERN;
  return *code;
}

/// A description of a call, to be called at most once while it lives elsewhere. `Told` is an Event or an Opening.
template <class Told>
class Note {
 public:
  template <class Describe>
  Note(const Describe& describe)  // NOLINT(google-explicit-constructor): a reference to any callable
      : object_(&describe),
        call_([](const void* object, Told& told) { (*static_cast<const Describe*>(object))(told); }) {}
  void operator()(Told& told) const { call_(object_, told); }

 private:
  const void* object_;
  void (*call_)(const void*, Told&);
};

/// Forwards one call of `Words` words and describes it.
template <std::size_t Words>
[[gnu::noinline]] void forward(Entry& entry, void** words, const void* caller, Note<Event> note) {
  traced(entry.procedure, caller, [&] { return call<Words>(entry, words); }, note);
}

/// The same for one that may wait: what it is about is said when it is entered.
template <std::size_t Words>
[[gnu::noinline]] void forward(Entry& entry, void** words, const void* caller, Note<Opening> enter,
                               Note<Event> note) {
  traced(entry.procedure, caller, enter, [&] { return call<Words>(entry, words); }, note);
}

/// The same without a description of its own.
template <std::size_t Words>
[[gnu::noinline]] void forward(Entry& entry, void** words, const void* caller) {
  traced(entry.procedure, caller, [&] { return call<Words>(entry, words); }, [](Event& event) { event.plain(); });
}

/// The same for functions.
template <class Result, std::size_t Words>
[[gnu::noinline]] Result forward_value(Entry& entry, void** words, const void* caller) {
  return traced_value(entry.procedure, caller, [&] {
    void* target = twin(entry);
    return target != nullptr ? invoke<Result>(target, words, std::make_index_sequence<Words>{}) : Result{};
  });
}

// ---- reading arguments ----

inline MPI_Fint integer(const void* word) {
  return *static_cast<const MPI_Fint*>(word);
}

template <class Number>
Number number(const void* word) {
  return *static_cast<const Number*>(word);
}

/// Compilers agree on what is false.
inline int logical(const void* word) {
  return integer(word) != 0 ? 1 : 0;
}

bool is_in_place(const void* address);
bool is_status_ignore(const void* address);
bool is_statuses_ignore(const void* address);

/// A choice buffer by its address.
inline void* choice(void* address) {
  return is_in_place(address) ? MPI_IN_PLACE : address;
}

/// A choice buffer by its descriptor: the standard puts its base address first (Fortran 2018, 18.5.3).
inline void* described(const void* descriptor) {
  return choice(number<void*>(descriptor));
}

/// CHARACTER arguments are padded with blanks and end nowhere.
inline std::string text(const void* characters, const void* length) {
  const std::string all(static_cast<const char*>(characters), reinterpret_cast<std::size_t>(length));
  return all.substr(0, all.find_last_not_of(' ') + 1);
}

/// An array of handles, converted one by one when they are looked at.
template <class Handle, Handle (*kConvert)(MPI_Fint)>
struct Handles {
  const MPI_Fint* given;
  Handle operator[](std::size_t i) const { return kConvert(given[i]); }
};
inline MPI_Datatype type_of(MPI_Fint handle) {
  return PMPI_Type_f2c(handle);
}
using Types = Handles<MPI_Datatype, type_of>;

#ifdef MPI_F_STATUS_SIZE
inline constexpr std::size_t kStatusSize = MPI_F_STATUS_SIZE;
#else
inline constexpr std::size_t kStatusSize = sizeof(MPI_Status) / sizeof(MPI_Fint);
#endif

/// Statuses and requests in mpif.h and `use mpi`: arrays of INTEGER, and INTEGER.
struct Mpif {
  using Request = MPI_Fint;
  struct alignas(MPI_Fint) Status {
    MPI_Fint field[kStatusSize];
  };
  static constexpr int kFirstIndex = 1;
  static std::uint64_t key(const Request& request) { return handle_key(PMPI_Request_f2c(request)); }
  static bool ignored(const Status* status) { return is_status_ignore(status); }
  static bool all_ignored(const Status* statuses) { return is_statuses_ignore(statuses); }
  static const MPI_Status& read(const Status& status, MPI_Status& room) {
    PMPI_Status_f2c(const_cast<MPI_Fint*>(status.field), &room);
    return room;
  }
};

/// In mpi_f08 types of the same content: a handle holds the INTEGER, a status is laid out as in C.
struct F08 : Mpif {
#ifdef CW_HAVE_MPI_Status_f082c
  using Status = MPI_F08_status;
  static bool ignored(const Status* status) { return is_status_ignore(status); }
  static bool all_ignored(const Status* statuses) { return is_statuses_ignore(statuses); }
  static const MPI_Status& read(const Status& status, MPI_Status& room) {
    PMPI_Status_f082c(const_cast<Status*>(&status), &room);
    return room;
  }
#endif
};

// ---- written by hand in C, and here ----

/// The procedures that no recipe describes, in one Fortran language. `words` as the program gave them.
template <class Language>
struct ByHand {
  using Request = typename Language::Request;
  using Status = typename Language::Status;
  static Request* requests(void* word) { return static_cast<Request*>(word); }
  static Status* statuses(void* word) { return static_cast<Status*>(word); }
  static int* numbers(void* word) { return static_cast<int*>(word); }

  static void MPI_Init(Entry& entry, void** words, const void* caller) {
    begin(kMPI_Init, caller, [&] { return call<1>(entry, words); });
  }
  static void MPI_Init_thread(Entry& entry, void** words, const void* caller) {
    begin(kMPI_Init_thread, caller, [&] { return call<3>(entry, words); });
  }
  static void MPI_Finalize(Entry& entry, void** words, const void* caller) {
    end(kMPI_Finalize, caller, [&] { return call<1>(entry, words); });
  }
  static void MPI_Abort(Entry& entry, void** words, const void* caller) {
    note_abort(caller, integer(words[1]));
    call<3>(entry, words);
  }
  static void MPI_Pcontrol(Entry& entry, void** words, const void* caller) {
    controlled(caller, integer(words[0]), [&] { return call<1>(entry, words); });
  }

#ifdef CW_HAVE_MPI_Session_init
  static void MPI_Session_init(Entry& entry, void** words, const void* caller) {
    begin_session(
        caller, [&] { return call<4>(entry, words); }, [&] { return PMPI_Session_f2c(integer(words[2])); });
  }
  static void MPI_Session_finalize(Entry& entry, void** words, const void* caller) {
    end_session(caller, [&] { return call<2>(entry, words); });
  }
#endif

  static void MPI_Wait(Entry& entry, void** words, const void* caller) {
    complete_one<Language>(kMPI_Wait, caller, requests(words[0]), statuses(words[1]), nullptr, [&](Status* own) {
      words[1] = own;
      return call<3>(entry, words);
    });
  }
  static void MPI_Test(Entry& entry, void** words, const void* caller) {
    complete_one<Language>(kMPI_Test, caller, requests(words[0]), statuses(words[2]), numbers(words[1]),
                           [&](Status* own) {
                             words[2] = own;
                             return call<4>(entry, words);
                           });
  }
  static void MPI_Waitany(Entry& entry, void** words, const void* caller) {
    complete_any<Language>(kMPI_Waitany, caller, integer(words[0]), requests(words[1]), numbers(words[2]), nullptr,
                           statuses(words[3]), [&](Status* own) {
                             words[3] = own;
                             return call<5>(entry, words);
                           });
  }
  static void MPI_Testany(Entry& entry, void** words, const void* caller) {
    complete_any<Language>(kMPI_Testany, caller, integer(words[0]), requests(words[1]), numbers(words[2]),
                           numbers(words[3]), statuses(words[4]), [&](Status* own) {
                             words[4] = own;
                             return call<6>(entry, words);
                           });
  }
  static void MPI_Waitall(Entry& entry, void** words, const void* caller) {
    complete_all<Language>(kMPI_Waitall, caller, integer(words[0]), requests(words[1]), nullptr, statuses(words[2]),
                           [&](Status* own) {
                             words[2] = own;
                             return call<4>(entry, words);
                           });
  }
  static void MPI_Testall(Entry& entry, void** words, const void* caller) {
    complete_all<Language>(kMPI_Testall, caller, integer(words[0]), requests(words[1]), numbers(words[2]),
                           statuses(words[3]), [&](Status* own) {
                             words[3] = own;
                             return call<5>(entry, words);
                           });
  }
  static void MPI_Waitsome(Entry& entry, void** words, const void* caller) {
    some(kMPI_Waitsome, entry, words, caller, false);
  }
  static void MPI_Testsome(Entry& entry, void** words, const void* caller) {
    some(kMPI_Testsome, entry, words, caller, true);
  }

  static void MPI_Request_get_status(Entry& entry, void** words, const void* caller) {
    look_at_request<Language>(caller, *requests(words[0]), numbers(words[1]), statuses(words[2]), [&](Status* own) {
      words[2] = own;
      return call<4>(entry, words);
    });
  }
#ifdef CW_HAVE_MPI_Request_get_status_all
  static void MPI_Request_get_status_any(Entry& entry, void** words, const void* caller) {
    const auto look = [&](Status* own) {
      words[4] = own;
      return call<6>(entry, words);
    };
    complete_any<Language>(kMPI_Request_get_status_any, caller, integer(words[0]), requests(words[1]),
                           numbers(words[2]), numbers(words[3]), statuses(words[4]), look, Requests::stay);
  }
  static void MPI_Request_get_status_all(Entry& entry, void** words, const void* caller) {
    const auto look = [&](Status* own) {
      words[3] = own;
      return call<5>(entry, words);
    };
    complete_all<Language>(kMPI_Request_get_status_all, caller, integer(words[0]), requests(words[1]),
                           numbers(words[2]), statuses(words[3]), look, Requests::stay);
  }
  static void MPI_Request_get_status_some(Entry& entry, void** words, const void* caller) {
    some(kMPI_Request_get_status_some, entry, words, caller, true, Requests::stay);
  }
#endif
  static void MPI_Request_free(Entry& entry, void** words, const void* caller) {
    free_request<Language>(caller, requests(words[0]), [&] { return call<2>(entry, words); });
  }
  static void MPI_Cancel(Entry& entry, void** words, const void* caller) {
    cancel_request<Language>(caller, requests(words[0]), [&] { return call<2>(entry, words); });
  }
  static void MPI_Start(Entry& entry, void** words, const void* caller) {
    start_requests<Language>(kMPI_Start, caller, 1, requests(words[0]), [&] { return call<2>(entry, words); });
  }
  static void MPI_Startall(Entry& entry, void** words, const void* caller) {
    start_requests<Language>(kMPI_Startall, caller, integer(words[0]), requests(words[1]),
                             [&] { return call<3>(entry, words); });
  }

 private:
  static void some(Procedure procedure, Entry& entry, void** words, const void* caller, bool polls,
                   corewise::preload::Requests after = corewise::preload::Requests::end) {
    const auto call_it = [&](Status* own) {
      words[4] = own;
      return call<6>(entry, words);
    };
    complete_some<Language>(procedure, caller, integer(words[0]), requests(words[1]), numbers(words[2]),
                            numbers(words[3]), statuses(words[4]), polls, call_it, after);
  }
};

}  // namespace corewise::preload::fortran
