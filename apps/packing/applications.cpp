// What applications send: the access patterns that Schneider, Gerstenberger and Hoefler name ("Micro-applications
// for communication data access patterns and MPI datatypes", EuroMPI 2012, section 3), written anew from their
// descriptions: WRF, MILC, NAS LU and MG, LAMMPS, SPECFEM3D and a 2D FFT. The sizes are ours: the problem classes
// of NAS, and three sizes of a subdomain for the others.
//
// Each pattern is a function: its arrays, its datatypes as the application would make them, its packing loops as
// the application would write them. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "layouts.hpp"

namespace {

using Index = std::int64_t;

void finish(Case& c, std::size_t send_span, std::size_t receive_span) {
  int size = 0;
  MPI_Type_commit(&c.send_type);
  if (c.receive_type == MPI_DATATYPE_NULL) c.receive_type = c.send_type;
  if (c.receive_type != c.send_type) MPI_Type_commit(&c.receive_type);
  MPI_Type_size(c.send_type, &size);
  c.bytes = static_cast<std::size_t>(size);
  c.send_span = send_span;
  c.receive_span = receive_span;
}

template <class Word>
const Word* words(const char* bytes) {
  return reinterpret_cast<const Word*>(bytes);
}
template <class Word>
Word* words(char* bytes) {
  return reinterpret_cast<Word*>(bytes);
}

MPI_Datatype hvector_of(int count, MPI_Aint stride, MPI_Datatype inner) {
  MPI_Datatype type;
  MPI_Type_create_hvector(count, 1, stride, inner, &type);
  MPI_Type_free(&inner);
  return type;
}

MPI_Datatype vector_of(int count, int length, int stride, MPI_Datatype word) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, stride, word, &type);
  return type;
}

/// A box of words of one array, C order, as loops.
template <class Word>
struct Box {
  std::size_t offset = 0;  ///< of the array in the buffer, bytes
  std::array<int, 4> sizes{1, 1, 1, 1}, part{1, 1, 1, 1}, start{0, 0, 0, 0};

  [[nodiscard]] std::size_t array_bytes() const {
    return sizeof(Word) * static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[1]) *
           static_cast<std::size_t>(sizes[2]) * static_cast<std::size_t>(sizes[3]);
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

template <class Word>
Hand by_boxes(std::vector<Box<Word>> boxes) {
  return {"manual",
          [boxes](const char* items, char* packed) {
            for (const Box<Word>& box : boxes) packed = box.pack(items, packed);
          },
          [boxes](const char* packed, char* items) {
            for (const Box<Word>& box : boxes) packed = box.unpack(packed, items);
          }};
}

// ---- NAS LU: faces of u(5, nx, ny), five doubles a point ---------------------------------------------------

/// Along the rows: contiguous points.
Case lu_row(int n) {
  Case c;
  MPI_Type_contiguous(5 * n, MPI_DOUBLE, &c.send_type);
  c.hands = {by_boxes<double>({{0, {1, 1, 1, 5 * n}, {1, 1, 1, 5 * n}, {}}})};
  finish(c, sizeof(double) * 5 * n, sizeof(double) * 5 * n);
  return c;
}

/// Across them: five doubles of each row.
Case lu_column(int n) {
  Case c;
  c.send_type = vector_of(n, 5, 5 * n, MPI_DOUBLE);
  c.hands = {by_boxes<double>({{0, {1, 1, n, 5 * n}, {1, 1, n, 5}, {}}})};
  const std::size_t span = sizeof(double) * 5 * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  finish(c, span, span);
  return c;
}

// ---- NAS MG: faces of a cube of doubles with one ghost layer ----------------------------------------------

std::size_t cube_bytes(int n) {
  return sizeof(double) * static_cast<std::size_t>(n) * n * n;
}

/// The face whose points are single doubles.
Case mg_x(int n) {
  Case c;
  const MPI_Aint row = static_cast<MPI_Aint>(sizeof(double)) * n;
  c.send_type = hvector_of(n - 2, row * n, vector_of(n - 2, 1, n, MPI_DOUBLE));
  c.hands = {by_boxes<double>({{0, {1, n, n, n}, {1, n - 2, n - 2, 1}, {}}})};
  finish(c, cube_bytes(n), cube_bytes(n));
  return c;
}

/// A row of each plane.
Case mg_y(int n) {
  Case c;
  c.send_type = vector_of(n - 2, n - 2, n * n, MPI_DOUBLE);
  c.hands = {by_boxes<double>({{0, {1, n, n, n}, {1, n - 2, 1, n - 2}, {}}})};
  finish(c, cube_bytes(n), cube_bytes(n));
  return c;
}

/// One plane without its border.
Case mg_z(int n) {
  Case c;
  c.send_type = vector_of(n - 2, n - 2, n, MPI_DOUBLE);
  c.hands = {by_boxes<double>({{0, {1, 1, n, n}, {1, 1, n - 2, n - 2}, {}}})};
  finish(c, sizeof(double) * n * n, sizeof(double) * n * n);
  return c;
}

// ---- MILC: the z face of a lattice of su3 vectors, sites of even parity first ------------------------------

/// Half of the plane's sites in every time slice; a site's vector is three complex numbers of single precision.
Case milc_z(int n) {
  Case c;
  constexpr int kWords = 6;
  const int plane = n * n / 2;
  MPI_Datatype vector;
  MPI_Type_contiguous(kWords, MPI_FLOAT, &vector);
  const MPI_Datatype slice =
      vector_of(plane, 1, 2, vector);  // every second one: the other belongs to the other field
  MPI_Type_free(&vector);
  const MPI_Aint slice_bytes = MPI_Aint{sizeof(float)} * kWords * 2 * plane * n;
  c.send_type = hvector_of(n, slice_bytes, slice);
  c.hands = {by_boxes<float>({{0, {n, n, plane, 2 * kWords}, {n, 1, plane, kWords}, {}}})};
  const auto span = static_cast<std::size_t>(slice_bytes) * static_cast<std::size_t>(n);
  finish(c, span, span);
  return c;
}

// ---- WRF: the halo of several arrays of floats in one message ----------------------------------------------

constexpr int kHalo = 3;
constexpr int kLevels = 28;

/// Arrays of two, three and four dimensions, one behind the other: (species,) j, k, i; two of each.
std::vector<Box<float>> wrf_boxes(int n, bool along_x) {
  const int wide = n + 2 * kHalo;
  std::vector<Box<float>> boxes;
  std::size_t offset = 0;
  const auto add = [&](int species, int levels) {
    Box<float> box;
    box.offset = offset;
    box.sizes = {species, wide, levels, wide};
    box.part = along_x ? std::array{species, n, levels, kHalo} : std::array{species, kHalo, levels, n};
    box.start = {0, kHalo, 0, kHalo};
    offset += box.array_bytes();
    boxes.push_back(box);
  };
  for (int i = 0; i < 2; ++i) add(1, 1);
  for (int i = 0; i < 2; ++i) add(1, kLevels);
  for (int i = 0; i < 2; ++i) add(3, kLevels);
  return boxes;
}

MPI_Datatype wrf_subarray(const Box<float>& box) {
  MPI_Datatype type;
  MPI_Type_create_subarray(4, box.sizes.data(), box.part.data(), box.start.data(), MPI_ORDER_C, MPI_FLOAT, &type);
  return type;
}

MPI_Datatype wrf_vectors(const Box<float>& box) {
  const MPI_Aint row = static_cast<MPI_Aint>(sizeof(float)) * box.sizes[3];
  MPI_Datatype type = hvector_of(box.part[2], row, vector_of(1, box.part[3], box.part[3], MPI_FLOAT));
  type = hvector_of(box.part[1], row * box.sizes[2], type);
  return hvector_of(box.part[0], row * box.sizes[2] * box.sizes[1], type);
}

Case wrf(int n, bool along_x, bool subarrays) {
  Case c;
  const std::vector<Box<float>> boxes = wrf_boxes(n, along_x);
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> places;
  for (const Box<float>& box : boxes) {
    types.push_back(subarrays ? wrf_subarray(box) : wrf_vectors(box));
    const Index first = subarrays ? 0 : box.row(0, 0, 0);
    places.push_back(static_cast<MPI_Aint>(box.offset) + static_cast<MPI_Aint>(sizeof(float)) * first);
  }
  const std::vector<int> ones(boxes.size(), 1);
  MPI_Type_create_struct(static_cast<int>(boxes.size()), ones.data(), places.data(), types.data(), &c.send_type);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  c.hands = {by_boxes<float>(boxes)};
  const std::size_t span = boxes.back().offset + boxes.back().array_bytes();
  finish(c, span, span);
  return c;
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

template <class Word>
struct List {
  std::size_t offset;  ///< of the array in the buffer, bytes
  int length;          ///< words at a place
  std::vector<int> places;

  [[nodiscard]] std::size_t array_bytes() const {
    return sizeof(Word) * static_cast<std::size_t>(length) * static_cast<std::size_t>(places.back() + 1);
  }
  char* pack(const char* items, char* packed) const {
    const Word* array = words<Word>(items + offset);
    Word* out = words<Word>(packed);
    for (const int place : places) {
      for (int k = 0; k < length; ++k) *out++ = array[Index{place} * length + k];
    }
    return reinterpret_cast<char*>(out);
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

MPI_Datatype struct_of(std::vector<MPI_Datatype> types, const std::vector<MPI_Aint>& places) {
  const std::vector<int> ones(types.size(), 1);
  MPI_Datatype made;
  MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), places.data(), types.data(), &made);
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  return made;
}

// ---- SPECFEM3D: accelerations at the points that two slices of the mesh share -------------------------------

/// Outer core: one float at each point.
Case specfem_outer_core(int count) {
  Case c;
  const List<float> list{0, 1, scattered(count, 1)};
  c.send_type = list.type(MPI_FLOAT);
  c.hands = {{"manual", [list](const char* items, char* packed) { list.pack(items, packed); },
              [list](const char* packed, char* items) { list.unpack(packed, items); }}};
  finish(c, list.array_bytes(), list.array_bytes());
  return c;
}

/// Crust and mantle, and the inner core: three floats at each point, two arrays in one message.
Case specfem_crust_mantle(int count) {
  Case c;
  const List<float> mantle{0, 3, scattered(count, 2)};
  const List<float> core{mantle.array_bytes(), 3, scattered(count / 4, 3)};
  c.send_type = struct_of({mantle.type(MPI_FLOAT), core.type(MPI_FLOAT)}, {0, static_cast<MPI_Aint>(core.offset)});
  c.hands = {{"manual", [=](const char* items, char* packed) { core.pack(items, mantle.pack(items, packed)); },
              [=](const char* packed, char* items) { core.unpack(mantle.unpack(packed, items), items); }}};
  const std::size_t span = core.offset + core.array_bytes();
  finish(c, span, span);
  return c;
}

/// Transpose of a matrix whose entries are complex numbers of single precision: columns become rows.
Case specfem_transpose(int n) {
  Case c;
  const std::size_t entry = 2 * sizeof(float);
  MPI_Datatype complex;
  MPI_Type_contiguous(2, MPI_FLOAT, &complex);
  const MPI_Datatype column = vector_of(n, 1, n, complex);
  MPI_Type_free(&complex);
  c.send_type = hvector_of(n, static_cast<MPI_Aint>(entry), column);
  MPI_Type_contiguous(2 * n * n, MPI_FLOAT, &c.receive_type);
  c.hands = {{"manual",
              [n](const char* items, char* packed) {
                const auto* matrix = words<std::uint64_t>(items);
                auto* out = words<std::uint64_t>(packed);
                for (int i = 0; i < n; ++i) {
                  for (int j = 0; j < n; ++j) *out++ = matrix[Index{j} * n + i];
                }
              },
              [n, entry](const char* packed, char* items) {
                std::memcpy(items, packed, entry * static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
              }}};
  const std::size_t span = entry * static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  finish(c, span, span);
  return c;
}

// ---- LAMMPS: particles that leave a subdomain, an array per property ----------------------------------------

constexpr std::size_t kDouble = sizeof(double), kInt = sizeof(int);

/// Where the arrays of `room` particles begin: positions, tag, type, mask, and with bonds molecule and charge.
struct Particles {
  Particles(std::size_t room, bool bonds_) : bonds(bonds_) {
    tag = 3 * kDouble * room;
    type = tag + kInt * room;
    mask = type + kInt * room;
    molecule = mask + kInt * room;
    charge = molecule + (room + room % 2) * kInt;  // 16 bytes and four ints a particle: a multiple of 8
    span = bonds ? charge + kDouble * room : molecule;
  }
  bool bonds;
  std::size_t tag, type, mask, molecule, charge, span;

  [[nodiscard]] std::vector<MPI_Aint> places() const {
    std::vector<MPI_Aint> all{0, static_cast<MPI_Aint>(tag), static_cast<MPI_Aint>(type),
                              static_cast<MPI_Aint>(mask)};
    if (bonds) all.insert(all.end(), {static_cast<MPI_Aint>(molecule), static_cast<MPI_Aint>(charge)});
    return all;
  }
};

template <class Word>
void take(const char* array, int length, const std::vector<int>& list, char*& packed) {
  const Word* in = words<Word>(array);
  Word* out = words<Word>(packed);
  for (const int i : list) {
    for (int k = 0; k < length; ++k) *out++ = in[Index{i} * length + k];
  }
  packed = reinterpret_cast<char*>(out);
}

Case lammps(int count, bool bonds) {
  Case c;
  const int even = count + count % 2;  // so that doubles behind ints stay aligned in the packed stream
  const std::vector<int> list = scattered(even, bonds ? 5 : 4);
  const auto rooms = static_cast<std::size_t>(list.back() + 2) / 2 * 2;
  const Particles from(rooms, bonds);
  const Particles to(static_cast<std::size_t>(even), bonds);
  const List<double> positions{0, 3, list};
  const List<double> charges{0, 1, list};
  const List<int> numbers{0, 1, list};
  std::vector<MPI_Datatype> sent{positions.type(MPI_DOUBLE)}, received;
  for (int i = 0; i < (bonds ? 4 : 3); ++i) sent.push_back(numbers.type(MPI_INT));
  if (bonds) sent.push_back(charges.type(MPI_DOUBLE));
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const bool ints = i > 0 && i < 5;
    MPI_Datatype part;
    MPI_Type_contiguous(i == 0 ? 3 * even : even, ints ? MPI_INT : MPI_DOUBLE, &part);
    received.push_back(part);
  }
  c.send_type = struct_of(std::move(sent), from.places());
  c.receive_type = struct_of(std::move(received), to.places());
  c.hands = {{"manual",
              [=](const char* items, char* packed) {
                take<double>(items, 3, list, packed);
                take<int>(items + from.tag, 1, list, packed);
                take<int>(items + from.type, 1, list, packed);
                take<int>(items + from.mask, 1, list, packed);
                if (!from.bonds) return;
                take<int>(items + from.molecule, 1, list, packed);
                take<double>(items + from.charge, 1, list, packed);
              },
              [=](const char* packed, char* items) { std::memcpy(items, packed, to.span); }}};
  finish(c, from.span, to.span);
  return c;
}

// ---- a 2D FFT: the transpose between its two passes ---------------------------------------------------------

/// The block that two of `kSlabs` ranks exchange of an n x n matrix of complex doubles in slabs of rows. The
/// receiver stores what comes row by row into columns.
Case fft(int n) {
  constexpr int kSlabs = 2;
  Case c;
  const int m = n / kSlabs;
  const MPI_Aint entry = 2 * sizeof(double);
  MPI_Datatype complex;
  MPI_Type_contiguous(2, MPI_DOUBLE, &complex);
  c.send_type = vector_of(m, m, n, complex);
  c.receive_type = hvector_of(m, entry, vector_of(m, 1, n, complex));
  MPI_Type_free(&complex);
  struct Complex {
    double re, im;
  };
  c.hands = {{"manual",
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
              }}};
  const std::size_t span =
      static_cast<std::size_t>(entry) * static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
  finish(c, span, span);
  return c;
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
    Pattern{"lu_x", lu_row, {33, 102, 408}},
    Pattern{"lu_y", lu_column, {33, 102, 408}},
    Pattern{"mg_x", mg_x, {34, 66, 130}},
    Pattern{"mg_y", mg_y, {34, 66, 130}},
    Pattern{"mg_z", mg_z, {34, 130, 258}},
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

Case application_case(const std::string& name) {
  const std::size_t slash = name.find('/');
  int size = 0;
  std::from_chars(name.data() + slash + 1, name.data() + name.size(), size);
  const auto pattern = std::find_if(kPatterns.begin(), kPatterns.end(), [&](const Pattern& p) {
    return p.name == std::string_view(name).substr(0, slash);
  });
  Case c = pattern->make(size);
  c.name = name;
  return c;
}
