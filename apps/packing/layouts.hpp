// The data of a case: what one rank sends and receives, as MPI datatypes and as the loops that one writes by hand.
//
// A case sends one item. Its two sides may differ (a transpose, particles that are appended), their packed streams
// have equal length. Every hand-written way of a case puts the same bytes in the same order.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// From the items to a packed buffer, or back: `items` and `packed` do not overlap.
struct Hand {
  std::string name;
  std::function<void(const char* items, char* packed)> pack;
  std::function<void(const char* packed, char* items)> unpack;
};

struct Case {
  std::string name;
  std::size_t bytes = 0;      ///< of the packed stream
  std::size_t send_span = 0;  ///< bytes of memory that the sent item lies in, from its buffer's begin
  std::size_t receive_span = 0;
  MPI_Datatype send_type = MPI_DATATYPE_NULL;  ///< committed; freed by `free_types`
  MPI_Datatype receive_type = MPI_DATATYPE_NULL;
  std::vector<Hand> hands;  ///< at least one; the first is the reference
};

inline void free_types(Case& c) {
  if (c.receive_type != c.send_type) MPI_Type_free(&c.receive_type);
  MPI_Type_free(&c.send_type);
}

/// The cases of a set: "constant" (32 KB by element size), "elements" (1024 of them by size), "columns" (one block
/// in a page), "applications", "grid" and "sparse" (what a tuning measures), "mapped" (of the others, what is
/// measured in mapped memory).
std::vector<std::string> case_names(const std::string& set, bool quick);

/// The case of a name that `case_names` gave.
Case make_case(const std::string& name);

/// The application cases (applications.cpp).
std::vector<std::string> application_names(bool quick);
Case application_case(std::string_view pattern, int size);
