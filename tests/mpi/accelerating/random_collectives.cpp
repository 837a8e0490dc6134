// Random collectives, each done twice on equal data: by MPI_X, which the accelerate library may take over, and by
// the MPI library's own procedure, found behind it. All bytes of all buffers must be equal, those between the data
// and around them too. Ranks describe the same data by different datatypes, in place or not, on several
// communicators; the MPI is given the same data packed, since some versions choose an algorithm by a rank's own
// datatype. Operands are whole numbers, so sums do not depend on their order.
//
// Arguments: seed, number of calls, largest block in bytes, and perhaps `multiple` (threads), `refused` (half way
// through ranks with odd numbers may no longer touch another process's memory), `never` (from the start), `mapped`
// (buffers of MPI_Alloc_mem here and there) or `spread` (only the collectives that ranks on several nodes have).
// Rank 0 prints one line; exit status 1 where a byte differed. SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Random = std::mt19937_64;

/// In the mode `mapped` three of four buffers are memory of MPI_Alloc_mem, on each rank others.
bool mapped = false;
Random coins;
std::set<void*>& of_mpi = *new std::set<void*>;
template <class T>
struct Memory {
  using value_type = T;
  T* allocate(std::size_t count) {
    if (!mapped || coins() % 4 == 0) return static_cast<T*>(::operator new(count * sizeof(T)));
    void* made = nullptr;
    MPI_Alloc_mem(static_cast<MPI_Aint>(count * sizeof(T)), MPI_INFO_NULL, &made);
    of_mpi.insert(made);
    return static_cast<T*>(made);
  }
  void deallocate(T* at, std::size_t) {
    if (of_mpi.erase(at) == 0) return ::operator delete(at);
    MPI_Free_mem(at);
  }
  friend bool operator==(Memory, Memory) { return true; }
};
using Bytes = std::vector<unsigned char, Memory<unsigned char>>;

template <class Function>
Function* behind(const char* name) {
  static void* const library = [] {
    for (const char* file : {"libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1", "libmpich.so.12"})
      if (void* found = dlopen(file, RTLD_NOLOAD | RTLD_LAZY)) return found;
    std::fprintf(stderr, "no MPI library is loaded\n");
    std::exit(2);
  }();
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define BEHIND(procedure) behind<decltype(P##procedure)>("P" #procedure)

int below(Random& random, int limit) {
  return static_cast<int>(random() % static_cast<unsigned>(limit));
}

/// Mostly short, sometimes as long as allowed.
int length(Random& random, int most) {
  const double bits = std::generate_canonical<double, 32>(random) * std::log2(most + 1.0);
  return std::min(most, static_cast<int>(std::exp2(bits)) - below(random, 2));
}

// ---- datatypes: `count` elements of a base, in one of many forms ----

struct Form {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
  bool made = false;
  long low = 0, high = 0;  ///< bytes that count items may touch, about the buffer's address
  void release() {
    if (made) MPI_Type_free(&type);
  }
};

Form finished(MPI_Datatype type, int count, bool made) {
  Form form{type, count, made};
  MPI_Aint lb, extent, true_lb, true_extent;
  if (made) MPI_Type_commit(&form.type);
  MPI_Type_get_extent(form.type, &lb, &extent);
  MPI_Type_get_true_extent(form.type, &true_lb, &true_extent);
  const long last = static_cast<long>(extent) * (count > 0 ? count - 1 : 0);
  form.low = true_lb + std::min(0L, last);
  form.high = true_lb + true_extent + std::max(0L, last);
  return form;
}

/// `elements` of `base` for a block that may stand `blocks` times: forms whose items are blocks or elements.
Form form_of(Random& random, MPI_Datatype base, int elements) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(base, &lb, &extent);
  MPI_Datatype type;
  switch (elements == 0 ? 0 : below(random, 7)) {
    case 1:
      MPI_Type_contiguous(elements, base, &type);
      return finished(type, 1, true);
    case 2:  // gaps
      MPI_Type_vector(elements, 1, 2, base, &type);
      return finished(type, 1, true);
    case 3: {  // backwards
      MPI_Type_create_hvector(elements, 1, -extent, base, &type);
      return finished(type, 1, true);
    }
    case 4: {  // items further apart
      MPI_Type_create_resized(base, 0, extent + 8, &type);
      return finished(type, elements, true);
    }
    case 5: {
      MPI_Type_dup(base, &type);
      return finished(type, elements, true);
    }
    case 6: {  // halves changed over
      const int half = elements / 2;
      int lengths[2] = {elements - half, half};
      MPI_Aint places[2] = {half * extent, 0};
      MPI_Type_create_hindexed(2, lengths, places, base, &type);
      return finished(type, 1, true);
    }
    default:
      return finished(base, elements, false);
  }
}

/// A buffer with room around the data, its address as MPI is given it, and two copies of it.
struct Buffer {
  Bytes ours, theirs;
  long origin = 0;
  Buffer() = default;
  Buffer(Random& random, long low, long high) {
    const long shift = below(random, 64);
    origin = 64 + shift - std::min(0L, low);
    ours.resize(static_cast<std::size_t>(origin + std::max(0L, high) + 64));
  }
  void fill(Random& random, MPI_Datatype base) {
    // Whole numbers that stay small in every base: bytes of 0 to 3, doubles through doubles.
    if (base == MPI_DOUBLE || base == MPI_FLOAT || base == MPI_DOUBLE_INT) {
      for (auto& byte : ours) byte = 0xEE;
      const long step = base == MPI_FLOAT ? 4 : 8;
      for (long at = origin % step; at + step <= static_cast<long>(ours.size()); at += step) {
        const double wide = below(random, 100);
        const float narrow = static_cast<float>(wide);
        const int index = below(random, 100);
        std::memcpy(&ours[static_cast<std::size_t>(at)],
                    base == MPI_FLOAT ? static_cast<const void*>(&narrow) : &wide, static_cast<std::size_t>(step));
        if (base == MPI_DOUBLE_INT && (at - origin) % 16 == 8)
          std::memcpy(&ours[static_cast<std::size_t>(at)], &index, sizeof index);
      }
    } else {
      for (auto& byte : ours) byte = static_cast<unsigned char>(below(random, 256));
    }
  }
  void share() { theirs = ours; }
  void* at(bool real) { return (real ? theirs : ours).data() + origin; }
  bool equal() const { return ours == theirs; }
};

/// Not commutative: (a, b) then (c, d) is (a * c, b * c + d), in the numbers modulo 2^32.
void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* left = static_cast<std::uint32_t*>(in);
  auto* right = static_cast<std::uint32_t*>(inout);
  for (int i = 0; i < *count; ++i, left += 2, right += 2) {
    right[1] = left[1] * right[0] + right[1];
    right[0] = left[0] * right[0];
  }
}
void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<std::uint32_t*>(inout)[i] += static_cast<std::uint32_t*>(in)[i];
}

struct World {
  std::vector<MPI_Comm> comms;
  MPI_Op compose_op, add_op;
  MPI_Datatype couple, gapped_couple;
};

struct Turn {
  Random& shared;  ///< the same on all ranks
  Random& own;
  const World& world;
  int most;
  MPI_Comm comm;
  int rank, ranks;
  std::string name;

  using Run = std::function<void(bool real)>;
  bool both(const Run& run, std::initializer_list<Buffer*> buffers) {
    for (Buffer* each : buffers) each->share();
    run(false);
    run(true);
    bool same = true;
    for (Buffer* each : buffers) same = same && each->equal();
    return same;
  }
};

// ---- movement ----

/// Data as they are packed, which is as they are.
using Flat = std::vector<int>;
Flat packed(const void* from, int count, MPI_Datatype type) {
  int size = 0, position = 0;
  MPI_Type_size(type, &size);
  Flat flat(static_cast<std::size_t>(count) * static_cast<std::size_t>(size) / 4 + 1);
  MPI_Pack(from, count, type, flat.data(), count * size, &position, MPI_COMM_SELF);
  return flat;
}
void unpack(const Flat& flat, void* to, int count, MPI_Datatype type, long first = 0) {
  int size = 0, position = 0;
  MPI_Type_size(type, &size);
  MPI_Unpack(flat.data() + first, count * size, &position, to, count, type, MPI_COMM_SELF);
}

bool broadcast(Turn& turn) {
  const int elements = length(turn.shared, turn.most / 4);
  const int root = below(turn.shared, turn.ranks);
  Form form = form_of(turn.own, MPI_INT, elements);
  Buffer data(turn.own, form.low, form.high);
  data.fill(turn.own, MPI_INT);
  const auto run = [&](bool real) {
    if (!real) return static_cast<void>(MPI_Bcast(data.at(false), form.count, form.type, root, turn.comm));
    Flat flat = packed(data.at(true), form.count, form.type);
    BEHIND(MPI_Bcast)(flat.data(), elements, MPI_INT, root, turn.comm);
    unpack(flat, data.at(true), form.count, form.type);
  };
  const bool same = turn.both(run, {&data});
  form.release();
  return same;
}

/// A form whose items can stand one after the other, `blocks` times.
struct Row {
  Form form;
  long low, high;
};
Row row_of(Random& random, int elements, int blocks) {
  Form form = form_of(random, MPI_INT, elements);
  MPI_Aint lb, extent;
  if (form.made && form.count == 1 && elements > 0) {  // blocks must not overlap
    MPI_Datatype wide;
    MPI_Aint true_lb, true_extent;
    MPI_Type_get_true_extent(form.type, &true_lb, &true_extent);
    MPI_Type_create_resized(form.type, true_lb, true_extent + 4 * below(random, 3), &wide);
    MPI_Type_free(&form.type);
    form = finished(wide, 1, true);
  }
  MPI_Type_get_extent(form.type, &lb, &extent);
  const long last = static_cast<long>(extent) * form.count * (blocks - 1);
  return {form, std::min(form.low, form.low + last), std::max(form.high, form.high + last)};
}

bool gather_like(Turn& turn, int kind) {  // 0 gather, 1 scatter, 2 allgather, 3 alltoall
  const int elements = length(turn.shared, turn.most / 4 / (kind == 0 ? 1 : 2));
  const int root = kind < 2 ? below(turn.shared, turn.ranks) : turn.rank;
  const bool many = kind >= 2 || turn.rank == root;
  // Where all ranks receive, all are in place or none (MPI-4.1, 6.7).
  const bool in_place = many && below(kind >= 2 ? turn.shared : turn.own, 3) == 0;
  Row one = row_of(turn.own, elements, kind == 3 ? turn.ranks : 1);
  Row all = row_of(turn.own, elements, turn.ranks);
  Buffer small(turn.own, one.low, one.high);
  Buffer large(turn.own, many ? all.low : 0, many ? all.high : 0);
  small.fill(turn.own, MPI_INT);
  large.fill(turn.own, MPI_INT);
  const Form &o = one.form, &a = all.form;
  const auto ours = [&] {
    void* const s = in_place ? MPI_IN_PLACE : small.at(false);
    void* const l = large.at(false);
    if (kind == 0) MPI_Gather(s, o.count, o.type, l, a.count, a.type, root, turn.comm);
    if (kind == 1) MPI_Scatter(l, a.count, a.type, s, o.count, o.type, root, turn.comm);
    if (kind == 2) MPI_Allgather(s, o.count, o.type, l, a.count, a.type, turn.comm);
    if (kind == 3) MPI_Alltoall(s, o.count, o.type, l, a.count, a.type, turn.comm);
  };
  const auto theirs = [&] {
    const int rows = turn.ranks * a.count, some = o.count * (kind == 3 ? turn.ranks : 1);
    void* const l = large.at(true);
    Flat s = packed(small.at(true), some, o.type);
    Flat r = many ? packed(l, rows, a.type) : Flat(1);
    void* const from = in_place ? MPI_IN_PLACE : s.data();
    if (kind == 0) BEHIND(MPI_Gather)(from, elements, MPI_INT, r.data(), elements, MPI_INT, root, turn.comm);
    if (kind == 1) BEHIND(MPI_Scatter)(r.data(), elements, MPI_INT, from, elements, MPI_INT, root, turn.comm);
    if (kind == 2) BEHIND(MPI_Allgather)(from, elements, MPI_INT, r.data(), elements, MPI_INT, turn.comm);
    if (kind == 3) BEHIND(MPI_Alltoall)(from, elements, MPI_INT, r.data(), elements, MPI_INT, turn.comm);
    if (kind == 1) return in_place ? void() : unpack(s, small.at(true), o.count, o.type);
    if (many) unpack(r, l, rows, a.type);
  };
  const auto run = [&](bool real) { real ? theirs() : ours(); };
  const bool same = turn.both(run, {&small, &large});
  one.form.release();
  all.form.release();
  return same;
}

/// Lists of blocks of a base, in any order, with gaps.
struct Lists {
  std::vector<int> counts, places;
  long high = 0;
  Lists(Random& random, const std::vector<int>& elements, long extent) : counts(elements), places(elements.size()) {
    std::vector<std::size_t> order(elements.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    int at = 0;
    for (const std::size_t each : order) {
      at += below(random, 3);
      places[each] = at;
      at += elements[each];
    }
    high = at * extent;
  }
};

/// What an all-gather leaves. By broadcasts: Open MPI 5.0 chooses an algorithm for MPI_Allgatherv by a rank's own
/// count, and hangs (issue 10523).
void all_gathered(const Turn& turn, const int* own, Flat& all, const Lists& lists) {
  for (int root = 0; root < turn.ranks; ++root) {
    int* const block = &all[static_cast<std::size_t>(lists.places[static_cast<std::size_t>(root)])];
    const int count = lists.counts[static_cast<std::size_t>(root)];
    if (root == turn.rank && own != nullptr) std::copy_n(own, count, block);
    BEHIND(MPI_Bcast)(block, count, MPI_INT, root, turn.comm);
  }
}

bool vector_like(Turn& turn, int kind) {  // 0 gatherv, 1 scatterv, 2 allgatherv, 3 alltoallv, 4 alltoallw
  const int root = kind < 2 ? below(turn.shared, turn.ranks) : turn.rank;
  const auto most = turn.most / 4 / turn.ranks + 1;
  std::vector<int> to(static_cast<std::size_t>(turn.ranks)), from(to);
  if (kind < 3) {
    for (auto& each : to) each = length(turn.shared, most);
    from = to;
  } else {
    for (int a = 0; a < turn.ranks; ++a)
      for (int b = 0; b < turn.ranks; ++b) {
        const int elements = length(turn.shared, most / 2 + 1);
        if (a == turn.rank) to[static_cast<std::size_t>(b)] = elements;
        if (b == turn.rank) from[static_cast<std::size_t>(a)] = elements;
      }
  }
  const bool many = kind >= 2 || turn.rank == root;
  const bool in_place = kind < 3 && many && below(kind == 2 ? turn.shared : turn.own, 3) == 0;
  MPI_Datatype type = MPI_INT, wide = MPI_INT;
  if (below(turn.own, 2) == 0) MPI_Type_create_resized(MPI_INT, 0, 12, &wide), MPI_Type_commit(&wide);
  const long extent = wide == MPI_INT ? 4 : 12;
  Lists in(turn.own, from, extent), out(turn.own, to, 4);
  Form one = form_of(turn.own, MPI_INT, to[static_cast<std::size_t>(turn.rank)]);
  Buffer small = kind < 3 ? Buffer(turn.own, one.low, one.high) : Buffer(turn.own, 0, out.high);
  Buffer large(turn.own, 0, many ? in.high : 0);
  small.fill(turn.own, MPI_INT);
  large.fill(turn.own, MPI_INT);
  std::vector<int> out_bytes(out.places), in_bytes(in.places);
  for (auto& each : out_bytes) each *= 4;
  for (auto& each : in_bytes) each *= static_cast<int>(extent);
  const std::vector<MPI_Datatype> types(to.size(), type), wides(to.size(), wide);
  const auto ours = [&] {
    void* const s = in_place ? MPI_IN_PLACE : small.at(false);
    void* const l = large.at(false);
    const int *c = in.counts.data(), *p = in.places.data();
    if (kind == 0) MPI_Gatherv(s, one.count, one.type, l, c, p, wide, root, turn.comm);
    if (kind == 1) MPI_Scatterv(l, c, p, wide, s, one.count, one.type, root, turn.comm);
    if (kind == 2) MPI_Allgatherv(s, one.count, one.type, l, c, p, wide, turn.comm);
    if (kind == 3) MPI_Alltoallv(s, out.counts.data(), out.places.data(), type, l, c, p, wide, turn.comm);
    if (kind == 4)
      MPI_Alltoallw(s, out.counts.data(), out_bytes.data(), types.data(), l, c, in_bytes.data(), wides.data(),
                    turn.comm);
  };
  const auto theirs = [&] {
    const int own = in.counts[static_cast<std::size_t>(turn.rank)], rows = static_cast<int>(in.high / extent);
    const int *c = in.counts.data(), *p = in.places.data();
    void* const l = large.at(true);
    Flat r = many ? packed(l, rows, wide) : Flat(1);
    Flat s = kind < 3 ? packed(small.at(true), one.count, one.type)
                      : packed(small.at(true), static_cast<int>(out.high / 4), type);
    void* const from = in_place ? MPI_IN_PLACE : s.data();
    if (kind == 0) BEHIND(MPI_Gatherv)(from, own, MPI_INT, r.data(), c, p, MPI_INT, root, turn.comm);
    if (kind == 1) BEHIND(MPI_Scatterv)(r.data(), c, p, MPI_INT, from, own, MPI_INT, root, turn.comm);
    if (kind == 2) all_gathered(turn, in_place ? nullptr : s.data(), r, in);
    if (kind > 2)
      BEHIND(MPI_Alltoallv)(from, out.counts.data(), out.places.data(), MPI_INT, r.data(), c, p, MPI_INT,
                            turn.comm);
    if (kind == 1) return in_place ? void() : unpack(s, small.at(true), one.count, one.type);
    if (many) unpack(r, l, rows, wide);
  };
  const auto run = [&](bool real) { real ? theirs() : ours(); };
  const bool same = turn.both(run, {&small, &large});
  if (wide != MPI_INT) MPI_Type_free(&wide);
  one.release();
  return same;
}

// ---- reductions ----

struct Operand {
  MPI_Datatype type;
  MPI_Datatype base;
  MPI_Op op;
  int bytes;
};

Operand operand_of(Turn& turn) {
  const World& world = turn.world;
  const Operand all[] = {
      {MPI_INT, MPI_INT, MPI_SUM, 4},
      {MPI_DOUBLE, MPI_DOUBLE, MPI_SUM, 8},
      {MPI_FLOAT, MPI_FLOAT, MPI_MAX, 4},
      {MPI_LONG, MPI_LONG, MPI_BXOR, 8},
      {MPI_UNSIGNED_CHAR, MPI_INT, MPI_MIN, 1},
      {MPI_SHORT, MPI_INT, MPI_PROD, 2},
      {MPI_DOUBLE_INT, MPI_DOUBLE_INT, MPI_MINLOC, 16},
      {MPI_2INT, MPI_INT, MPI_MAXLOC, 8},
      {MPI_UNSIGNED, MPI_INT, world.add_op, 4},
      {world.couple, MPI_INT, world.compose_op, 8},
      {MPI_CHAR, MPI_INT, MPI_BAND, 1},
  };
  const auto& found = all[static_cast<std::size_t>(below(turn.shared, sizeof all / sizeof all[0] - 1))];
  return found;
}

bool reduction(Turn& turn, int kind) {  // 0 reduce, 1 allreduce, 2 scan, 3 exscan, 4 block, 5 reduce_scatter
  const Operand operand = operand_of(turn);
  const int root = below(turn.shared, turn.ranks);
  std::vector<int> counts(static_cast<std::size_t>(turn.ranks));
  const int most = std::max(1, turn.most / operand.bytes / (kind >= 4 ? turn.ranks : 1));
  for (auto& each : counts) each = length(turn.shared, most);
  const int count = counts[0];
  long elements = count;
  if (kind == 4) elements = static_cast<long>(count) * turn.ranks;
  if (kind == 5) {
    elements = 0;
    for (const int each : counts) elements += each;
  }
  const bool replaced = below(kind == 0 ? turn.own : turn.shared, 3) == 0 && (kind > 0 || turn.rank == root);
  Buffer send(turn.own, 0, elements * operand.bytes);
  Buffer receive(turn.own, 0, elements * operand.bytes);
  send.fill(turn.own, operand.base);
  receive.fill(turn.own, operand.base);
  const auto run = [&](bool real) {
    // MPICH's own reduce-scatter in place stops where blocks are long: it is given a copy.
    Bytes copy;
    if (real && replaced && kind >= 4) copy = receive.theirs;
    void* const in_place = copy.empty() ? MPI_IN_PLACE : copy.data() + receive.origin;
    void* const s = replaced ? in_place : send.at(real);
    void* const r = receive.at(real);
    const auto call = [&](auto* ours, auto* theirs, auto... more) { (real ? theirs : ours)(s, r, more...); };
    const MPI_Datatype t = operand.type;
    const MPI_Op op = operand.op;
    if (kind == 0) call(MPI_Reduce, BEHIND(MPI_Reduce), count, t, op, root, turn.comm);
    if (kind == 1) call(MPI_Allreduce, BEHIND(MPI_Allreduce), count, t, op, turn.comm);
    if (kind == 2) call(MPI_Scan, BEHIND(MPI_Scan), count, t, op, turn.comm);
    if (kind == 3) call(MPI_Exscan, BEHIND(MPI_Exscan), count, t, op, turn.comm);
    if (kind == 4) call(MPI_Reduce_scatter_block, BEHIND(MPI_Reduce_scatter_block), count, t, op, turn.comm);
    if (kind == 5) call(MPI_Reduce_scatter, BEHIND(MPI_Reduce_scatter), counts.data(), t, op, turn.comm);
  };
  send.share();
  receive.share();
  run(false);
  run(true);
  // In place, what lies beyond the own result of a reduce-scatter is unspecified, as is a receive buffer that means
  // nothing.
  const bool means_nothing = kind == 0 && turn.rank != root;
  if (replaced && kind >= 4) {
    const auto own =
        static_cast<std::size_t>(counts[kind == 4 ? 0 : static_cast<std::size_t>(turn.rank)] * operand.bytes);
    return std::memcmp(receive.at(false), receive.at(true), own) == 0;
  }
  return send.equal() && (means_nothing || receive.equal());
}

bool one_call(Turn& turn, int kind) {
  static const char* const names[] = {
      "bcast",          "gather",    "scatter",    "allgather", "alltoall",
      "gatherv",        "scatterv",  "allgatherv", "alltoallv", "alltoallw",
      "reduce",         "allreduce", "scan",       "exscan",    "reduce_scatter_block",
      "reduce_scatter", "barrier"};
  turn.name = names[kind];
  if (kind == 0) return broadcast(turn);
  if (kind < 5) return gather_like(turn, kind - 1);
  // Open MPI's alltoallw of one rank multiplies displacements by extents; it would be the MPI's in any case.
  if (kind < 10) return vector_like(turn, turn.ranks == 1 ? std::min(kind - 5, 3) : kind - 5);
  if (kind < 16) return reduction(turn, kind - 10);
  return MPI_Barrier(turn.comm) == MPI_SUCCESS;
}

/// From now on the system does not let this process read or write another's memory.
void refuse_copies_between_processes() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  const bool refused =
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  char own = 0;
  const iovec here{&own, 1};
  if (!refused || process_vm_readv(getpid(), &here, 1, &here, 1, 0) >= 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

World make_world() {
  World world;
  int rank = 0, size = 1;
  MPI_Comm made;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  world.comms.push_back(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &made);  // backwards
  world.comms.push_back(made);
  // One rank alone is the MPI's business.
  MPI_Comm_split(MPI_COMM_WORLD, size < 4 ? 0 : rank % 2, rank, &made);
  world.comms.push_back(made);
  MPI_Op_create(compose, 0, &world.compose_op);
  MPI_Op_create(add, 1, &world.add_op);
  MPI_Type_contiguous(2, MPI_INT, &world.couple);
  MPI_Type_commit(&world.couple);
  return world;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 4 ? argv[4] : "";
  int level = 0;
  mapped = how == "mapped";
  MPI_Init_thread(&argc, &argv, how == "multiple" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  const unsigned long seed = std::strtoul(argv[1], nullptr, 10);
  const int calls = std::atoi(argv[2]);
  const int most = std::atoi(argv[3]);
  World world = make_world();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Random shared(seed);
  coins.seed(seed * 7919 + static_cast<unsigned>(rank));
  Random own(seed * 1000003 + static_cast<unsigned>(rank));
  long wrong = 0;
  for (int call = 0; call < calls; ++call) {
    const bool refused = (how == "refused" && call == calls / 2) || (how == "never" && call == 0);
    if (refused && rank % 2 == 1) refuse_copies_between_processes();
    const MPI_Comm comm =
        world.comms[static_cast<std::size_t>(below(shared, static_cast<int>(world.comms.size())))];
    const int spread[] = {0, 10, 11, 16};
    const int kind = how == "spread" ? spread[below(shared, 4)] : below(shared, 17);
    Random turns(shared());  // the halves of the world draw as often as they like
    Turn turn{turns, own, world, most, comm, 0, 1, ""};
    MPI_Comm_rank(comm, &turn.rank);
    MPI_Comm_size(comm, &turn.ranks);
    if (one_call(turn, kind)) continue;
    if (wrong++ < 3)
      std::fprintf(stderr, "rank %d: call %d (%s on %d ranks) differs\n", rank, call, turn.name.c_str(),
                   turn.ranks);
  }
  long all = 0;
  BEHIND(MPI_Allreduce)(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d calls, %ld wrong\n", calls, all);
  for (std::size_t i = 1; i < world.comms.size(); ++i) MPI_Comm_free(&world.comms[i]);
  MPI_Op_free(&world.compose_op);
  MPI_Op_free(&world.add_op);
  MPI_Type_free(&world.couple);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
