// What applications send: the access patterns that Schneider, Gerstenberger and Hoefler name ("Micro-applications
// for communication data access patterns and MPI datatypes", EuroMPI 2012, section 3), written anew from their
// descriptions: WRF, MILC, NAS LU and MG, LAMMPS, SPECFEM3D and a 2D FFT. The sizes are ours: the problem classes
// of NAS, and three sizes of a subdomain for the others.
//
// A pattern has its arrays, its datatypes as the application would make them, and its packing loops as the
// application would write them: boxes of arrays, lists of places, or loops of its own.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "layouts.hpp"

namespace {

using Index = std::int64_t;
using Numbers = std::array<int, 4>;

/// A case of types that are committed here, and the loops that do the same.
Case case_of(MPI_Datatype sent, std::size_t send_span, MPI_Datatype received, std::size_t receive_span, Hand hand) {
  Case c;
  int size = 0;
  MPI_Type_commit(&sent);
  if (received != sent) MPI_Type_commit(&received);
  MPI_Type_size(sent, &size);
  c.bytes = static_cast<std::size_t>(size);
  c.send_type = sent;
  c.receive_type = received;
  c.send_span = send_span;
  c.receive_span = receive_span;
  c.hands = {std::move(hand)};
  return c;
}

template <class Word>
const Word* words(const char* bytes) {
  return reinterpret_cast<const Word*>(bytes);
}
template <class Word>
Word* words(char* bytes) {
  return reinterpret_cast<Word*>(bytes);
}

// ---- datatypes: `hvector_of` and `struct_of` free those that they get ---------------------------------------

MPI_Datatype contiguous(int count, MPI_Datatype word) {
  MPI_Datatype type;
  MPI_Type_contiguous(count, word, &type);
  return type;
}

MPI_Datatype vector_of(int count, int length, int stride, MPI_Datatype word) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, stride, word, &type);
  return type;
}

MPI_Datatype hvector_of(int count, MPI_Aint stride, MPI_Datatype inner) {
  MPI_Datatype type;
  MPI_Type_create_hvector(count, 1, stride, inner, &type);
  MPI_Type_free(&inner);
  return type;
}

/// A vector whose elements are some words each: complex numbers.
MPI_Datatype complex_vector(int count, int length, int stride, MPI_Datatype word, int words = 2) {
  MPI_Datatype complex = contiguous(words, word);
  const MPI_Datatype type = vector_of(count, length, stride, complex);
  MPI_Type_free(&complex);
  return type;
}

MPI_Datatype struct_of(std::vector<MPI_Datatype> types, const std::vector<MPI_Aint>& places) {
  const std::vector<int> ones(types.size(), 1);
  MPI_Datatype made;
  MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), places.data(), types.data(), &made);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  return made;
}

// ---- boxes ------------------------------------------------------------------------------------------------

/// A box of words of one array, C order, as loops.
template <class Word>
struct Box {
  std::size_t offset = 0;  ///< of the array in the buffer, bytes
  Numbers sizes{1, 1, 1, 1}, part{1, 1, 1, 1}, start{0, 0, 0, 0};

  [[nodiscard]] std::size_t array_bytes() const {
    std::size_t bytes = sizeof(Word);
    for (const int size : sizes) bytes *= static_cast<std::size_t>(size);
    return bytes;
  }
  [[nodiscard]] Index row(int a, int b, int c) const {
    return ((Index{a + start[0]} * sizes[1] + (b + start[1])) * sizes[2] + (c + start[2])) * sizes[3] + start[3];
  }
  template <class Visit>
  void rows(Visit visit) const {
    for (int a = 0; a < part[0]; ++a) {
      for (int b = 0; b < part[1]; ++b) {
        for (int c = 0; c < part[2]; ++c) visit(row(a, b, c));
      }
    }
  }
  char* pack(const char* items, char* packed) const {
    const Word* array = words<Word>(items + offset);
    Word* out = words<Word>(packed);
    rows([&](Index at) {
      for (int d = 0; d < part[3]; ++d) *out++ = array[at + d];
    });
    return reinterpret_cast<char*>(out);
  }
  const char* unpack(const char* packed, char* items) const {
    Word* array = words<Word>(items + offset);
    const Word* in = words<Word>(packed);
    rows([&](Index at) {
      for (int d = 0; d < part[3]; ++d) array[at + d] = *in++;
    });
    return reinterpret_cast<const char*>(in);
  }
};

/// A case of boxes, or of lists of points.
template <class Part>
Case by_parts(std::vector<Part> parts, MPI_Datatype type) {
  const std::size_t span = parts.back().offset + parts.back().array_bytes();
  return case_of(type, span, type, span,
                 {"manual",
                  [parts](const char* items, char* packed) {
                    for (const Part& part : parts) packed = part.pack(items, packed);
                  },
                  [parts](const char* packed, char* items) {
                    for (const Part& part : parts) packed = part.unpack(packed, items);
                  }});
}

/// A box of doubles that begins where its array does.
Case doubles(Numbers sizes, Numbers part, MPI_Datatype type) {
  return by_parts<Box<double>>({{0, sizes, part, {}}}, type);
}

Case mg_x(int n) {
  const MPI_Aint plane = static_cast<MPI_Aint>(sizeof(double)) * n * n;
  return doubles({1, n, n, n}, {1, n - 2, n - 2, 1}, hvector_of(n - 2, plane, vector_of(n - 2, 1, n, MPI_DOUBLE)));
}

/// MILC, the z face of a lattice of su3 vectors, sites of even parity first: half of the plane's sites in every
/// time slice (the other half belongs to the other field), at each three complex numbers of single precision.
Case milc_z(int n) {
  constexpr int kWords = 6;
  const int plane = n * n / 2;
  const MPI_Datatype slice = complex_vector(plane, 1, 2, MPI_FLOAT, kWords);
  return by_parts<Box<float>>({{0, {n, n, plane, 2 * kWords}, {n, 1, plane, kWords}, {}}},
                              hvector_of(n, MPI_Aint{sizeof(float)} * kWords * 2 * plane * n, slice));
}

MPI_Datatype wrf_vectors(const Box<float>& box) {
  const MPI_Aint row = static_cast<MPI_Aint>(sizeof(float)) * box.sizes[3];
  MPI_Datatype type = hvector_of(box.part[2], row, vector_of(1, box.part[3], box.part[3], MPI_FLOAT));
  type = hvector_of(box.part[1], row * box.sizes[2], type);
  return hvector_of(box.part[0], row * box.sizes[2] * box.sizes[1], type);
}

/// WRF: the halo of two arrays each of two, three and four dimensions, (species,) j, k, i, in one message.
Case wrf(int n, bool along_x, bool subarrays) {
  constexpr int kHalo = 3, kLevels = 28;
  const int wide = n + 2 * kHalo;
  std::vector<Box<float>> boxes;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> places;
  std::size_t offset = 0;
  for (const auto& [species, levels] :
       {std::pair{1, 1}, {1, 1}, {1, kLevels}, {1, kLevels}, {3, kLevels}, {3, kLevels}}) {
    const Box<float> box{offset,
                         {species, wide, levels, wide},
                         along_x ? Numbers{species, n, levels, kHalo} : Numbers{species, kHalo, levels, n},
                         {0, kHalo, 0, kHalo}};
    MPI_Datatype type;
    if (subarrays) {
      MPI_Type_create_subarray(4, box.sizes.data(), box.part.data(), box.start.data(), MPI_ORDER_C, MPI_FLOAT,
                               &type);
    } else {
      type = wrf_vectors(box);
    }
    types.push_back(type);
    const Index first = subarrays ? 0 : box.row(0, 0, 0);
    places.push_back(static_cast<MPI_Aint>(offset) + static_cast<MPI_Aint>(sizeof(float)) * first);
    offset += box.array_bytes();
    boxes.push_back(box);
  }
  return by_parts<Box<float>>(std::move(boxes), struct_of(std::move(types), places));
}

// ---- lists of points ------------------------------------------------------------------------------------

/// `count` increasing places below about 4 * count: neighbours now and then, gaps mostly, the same on every rank.
std::vector<int> scattered(int count, std::uint64_t seed) {
  std::vector<int> places;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    places.push_back(at);
    state = state * 6364136223846793005U + 1442695040888963407U;
    at += 1 + static_cast<int>((state >> 40) % 7);
  }
  return places;
}

/// The words at some places of an array, `length` of them at each, and `packed` behind them.
template <class Word>
void take(const char* array, int length, const std::vector<int>& list, char*& packed) {
  const Word* in = words<Word>(array);
  Word* out = words<Word>(packed);
  for (const int i : list) {
    for (int k = 0; k < length; ++k) *out++ = in[Index{i} * length + k];
  }
  packed = reinterpret_cast<char*>(out);
}

template <class Word>
struct List {
  std::size_t offset;  ///< of the array in the buffer, bytes
  int length;          ///< words at a place
  std::vector<int> places;

  [[nodiscard]] std::size_t array_bytes() const {
    return sizeof(Word) * static_cast<std::size_t>(length) * static_cast<std::size_t>(places.back() + 1);
  }
  char* pack(const char* items, char* packed) const {
    take<Word>(items + offset, length, places, packed);
    return packed;
  }
  const char* unpack(const char* packed, char* items) const {
    Word* array = words<Word>(items + offset);
    const Word* in = words<Word>(packed);
    for (const int place : places) {
      for (int k = 0; k < length; ++k) array[Index{place} * length + k] = *in++;
    }
    return reinterpret_cast<const char*>(in);
  }
  [[nodiscard]] MPI_Datatype type(MPI_Datatype word) const {
    std::vector<int> at(places);
    for (int& place : at) place *= length;
    MPI_Datatype made;
    MPI_Type_create_indexed_block(static_cast<int>(at.size()), length, at.data(), word, &made);
    return made;
  }
};

/// SPECFEM3D, outer core: accelerations at the points that two slices of the mesh share, one float at each.
Case specfem_outer_core(int count) {
  const List<float> list{0, 1, scattered(count, 1)};
  return by_parts<List<float>>({list}, list.type(MPI_FLOAT));
}

/// Crust and mantle, and the inner core: three floats at each point, two arrays in one message.
Case specfem_crust_mantle(int count) {
  const List<float> mantle{0, 3, scattered(count, 2)};
  const List<float> core{mantle.array_bytes(), 3, scattered(count / 4, 3)};
  const MPI_Datatype type =
      struct_of({mantle.type(MPI_FLOAT), core.type(MPI_FLOAT)}, {0, static_cast<MPI_Aint>(core.offset)});
  return by_parts<List<float>>({mantle, core}, type);
}

/// LAMMPS: particles that leave a subdomain, an array per property: positions, tag, type, mask, and with bonds
/// molecule and charge. They are received side by side. Counts are even, so that doubles behind ints are aligned.
Case lammps(int count, bool bonds) {
  const int even = count + count % 2;
  const std::vector<int> list = scattered(even, bonds ? 5 : 4);
  const auto room = static_cast<std::size_t>(list.back() + 2) / 2 * 2;
  std::vector<MPI_Datatype> sent, received;
  std::vector<MPI_Aint> from, to;
  std::size_t send_span = 0, receive_span = 0;
  const auto add = [&](MPI_Datatype type, MPI_Datatype word, int length, std::size_t bytes) {
    sent.push_back(type);
    received.push_back(contiguous(length * even, word));
    from.push_back(static_cast<MPI_Aint>(send_span));
    to.push_back(static_cast<MPI_Aint>(receive_span));
    send_span += bytes * room;
    receive_span += bytes * static_cast<std::size_t>(even);
  };
  const int ints = bonds ? 4 : 3;
  add(List<double>{0, 3, list}.type(MPI_DOUBLE), MPI_DOUBLE, 3, 3 * sizeof(double));
  for (int i = 0; i < ints; ++i) add(List<int>{0, 1, list}.type(MPI_INT), MPI_INT, 1, sizeof(int));
  if (bonds) add(List<double>{0, 1, list}.type(MPI_DOUBLE), MPI_DOUBLE, 1, sizeof(double));
  return case_of(struct_of(std::move(sent), from), send_span, struct_of(std::move(received), to), receive_span,
                 {"manual",
                  [=](const char* items, char* packed) {
                    take<double>(items, 3, list, packed);
                    for (int i = 1; i <= ints; ++i) take<int>(items + from[i], 1, list, packed);
                    if (bonds) take<double>(items + from.back(), 1, list, packed);
                  },
                  [=](const char* packed, char* items) { std::memcpy(items, packed, receive_span); }});
}

// ---- transposes ---------------------------------------------------------------------------------------------

/// SPECFEM3D, a matrix whose entries are complex numbers of single precision: columns become rows.
Case specfem_transpose(int n) {
  constexpr std::size_t kEntry = 2 * sizeof(float);
  const std::size_t span = kEntry * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  return case_of(hvector_of(n, kEntry, complex_vector(n, 1, n, MPI_FLOAT)), span, contiguous(2 * n * n, MPI_FLOAT),
                 span,
                 {"manual",
                  [n](const char* items, char* packed) {
                    const auto* matrix = words<std::uint64_t>(items);
                    auto* out = words<std::uint64_t>(packed);
                    for (int i = 0; i < n; ++i) {
                      for (int j = 0; j < n; ++j) *out++ = matrix[Index{j} * n + i];
                    }
                  },
                  [span](const char* packed, char* items) { std::memcpy(items, packed, span); }});
}

/// A 2D FFT, between its two passes: the block that two slabs exchange of an n x n matrix of complex doubles in
/// slabs of rows. The receiver stores what comes row by row into columns.
Case fft(int n) {
  struct Complex {
    double re, im;
  };
  const int m = n / 2;
  const std::size_t span = sizeof(Complex) * static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  return case_of(complex_vector(m, m, n, MPI_DOUBLE), span,
                 hvector_of(m, sizeof(Complex), complex_vector(m, 1, n, MPI_DOUBLE)), span,
                 {"manual",
                  [n, m](const char* items, char* packed) {
                    auto* out = words<Complex>(packed);
                    for (int i = 0; i < m; ++i) {
                      for (int j = 0; j < m; ++j) *out++ = words<Complex>(items)[Index{i} * n + j];
                    }
                  },
                  [n, m](const char* packed, char* items) {
                    const auto* in = words<Complex>(packed);
                    for (int i = 0; i < m; ++i) {
                      for (int j = 0; j < m; ++j) words<Complex>(items)[Index{j} * n + i] = *in++;
                    }
                  }});
}

struct Pattern {
  std::string_view name;
  Case (*make)(int size);
  std::array<int, 3> sizes;
};

constexpr std::array kPatterns{
    Pattern{"wrf_x_vec", [](int n) { return wrf(n, true, false); }, {16, 32, 64}},
    Pattern{"wrf_x_sa", [](int n) { return wrf(n, true, true); }, {16, 32, 64}},
    Pattern{"wrf_y_vec", [](int n) { return wrf(n, false, false); }, {16, 32, 64}},
    Pattern{"wrf_y_sa", [](int n) { return wrf(n, false, true); }, {16, 32, 64}},
    Pattern{"milc_z", milc_z, {8, 16, 24}},
    // NAS LU: faces of u(5, nx, ny), five doubles a point: along the rows, and across them.
    Pattern{"lu_x",
            [](int n) { return doubles({1, 1, 1, 5 * n}, {1, 1, 1, 5 * n}, contiguous(5 * n, MPI_DOUBLE)); },
            {33, 102, 408}},
    Pattern{"lu_y",
            [](int n) { return doubles({1, 1, n, 5 * n}, {1, 1, n, 5}, vector_of(n, 5, 5 * n, MPI_DOUBLE)); },
            {33, 102, 408}},
    // NAS MG: faces of a cube of doubles with one ghost layer: single doubles, a row of each plane, one plane.
    Pattern{"mg_x", mg_x, {34, 66, 130}},
    Pattern{"mg_y",
            [](int n) {
              return doubles({1, n, n, n}, {1, n - 2, 1, n - 2}, vector_of(n - 2, n - 2, n * n, MPI_DOUBLE));
            },
            {34, 66, 130}},
    Pattern{
        "mg_z",
        [](int n) { return doubles({1, 1, n, n}, {1, 1, n - 2, n - 2}, vector_of(n - 2, n - 2, n, MPI_DOUBLE)); },
        {34, 130, 258}},
    Pattern{"lammps_full", [](int n) { return lammps(n, true); }, {300, 1200, 4800}},
    Pattern{"lammps_atomic", [](int n) { return lammps(n, false); }, {300, 1200, 4800}},
    Pattern{"specfem_oc", specfem_outer_core, {600, 3000, 15000}},
    Pattern{"specfem_cm", specfem_crust_mantle, {600, 3000, 15000}},
    Pattern{"specfem_mt", specfem_transpose, {32, 96, 256}},
    Pattern{"fft2", fft, {64, 256, 768}},
};

}  // namespace

std::vector<std::string> application_names(bool quick) {
  std::vector<std::string> names;
  for (const Pattern& pattern : kPatterns) {
    for (std::size_t i = 0; i < (quick ? 1 : pattern.sizes.size()); ++i) {
      names.push_back(std::string(pattern.name) + "/" + std::to_string(pattern.sizes[i]));
    }
  }
  return names;
}

Case application_case(std::string_view pattern, int size) {
  const auto found =
      std::find_if(kPatterns.begin(), kPatterns.end(), [&](const Pattern& p) { return p.name == pattern; });
  return found->make(size);
}
