// Rooms probe and kernels (its copies) for Python: copy kernels by name, races of them, messages from core to core.
// SPDX-License-Identifier: BSD-3-Clause
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/failure.hpp"
#include "bind/rooms.hpp"
#include "kernels/copy/calibrate.hpp"
#include "kernels/copy/race.hpp"
#include "probe/cores.hpp"
#include "probe/messages.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace corewise::bind {
namespace {

using kernels::CopyKernel;

template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// Where a word stands in a table of names.
template <std::size_t N>
std::size_t index_of(const std::array<std::string_view, N>& names, const std::string& name, const char* field) {
  const auto found = std::ranges::find(names, std::string_view(name));
  if (found == names.end()) raise(bad_field("", field, "'" + name + "'", listed(names)));
  return static_cast<std::size_t>(found - names.begin());
}

const CopyKernel& kernel_named(const std::string& name) {
  const CopyKernel* kernel = kernels::find_copy_kernel(name);
  if (kernel != nullptr && kernel->available()) return *kernel;
  std::string allowed;
  for (const CopyKernel& known : kernels::copy_kernels())
    if (known.available()) allowed.append(allowed.empty() ? "" : ", ").append(known.name);
  raise(bad_field("", "kernel", "'" + name + "'", allowed));
}

/// One of the parts of every copy, alone.
kernels::CopyContestant bound_named(const std::string& name) {
  const kernels::CopyBounds* bounds = kernels::copy_bounds();
  if (bounds == nullptr) raise(bad_field("", "bound", "'" + name + "'", "nothing on this processor"));
  constexpr std::array<std::string_view, 3> names = {"read", "write", "write_past"};
  const kernels::CopyFunction functions[] = {bounds->read, bounds->write, bounds->write_past};
  return kernels::CopyContestant::of(functions[index_of(names, name, "bound")]);
}

/// A kernel's name, `copy.AUDIENCE` for the choice, or `bound.PART`.
kernels::CopyContestant contestant_named(const std::string& name) {
  constexpr std::string_view bound = "bound.";
  if (name.starts_with(bound)) return bound_named(name.substr(bound.size()));
  constexpr std::string_view chosen = "copy.";
  if (!name.starts_with(chosen)) return kernels::CopyContestant::of(kernel_named(name));
  const std::size_t audience = index_of(kernels::audience_names, name.substr(chosen.size()), "audience");
  return kernels::CopyContestant::chosen(static_cast<kernels::Audience>(audience));
}

std::vector<std::tuple<std::string, std::string, std::string, bool, bool>> copy_kernels() {
  std::vector<std::tuple<std::string, std::string, std::string, bool, bool>> rows;
  for (const CopyKernel& kernel : kernels::copy_kernels())
    rows.emplace_back(kernel.name, kernel.instructions, kernel.what, kernel.streams, kernel.available());
  return rows;
}

kernels::CopyTuning tuning_of(const std::string& text) {
  std::string why;
  const std::optional<kernels::CopyTuning> tuning = kernels::parse_copy_tuning(text, &why);
  if (!tuning) raise(invalid_input("copy tuning: " + why));
  return *tuning;
}

void set_copy_tuning(const std::string& text) {
  kernels::set_copy_tuning(tuning_of(text));
}

std::string check_copy_tuning(const std::string& text) {
  return kernels::format_copy_tuning(tuning_of(text));
}

/// Two addresses that lie to each other as the word says: nothing is read.
std::string chosen_copy(std::size_t bytes, const std::string& alignment, const std::string& audience) {
  constexpr std::uintptr_t distances[] = {std::uintptr_t{1} << 30, (std::uintptr_t{1} << 30) - 24,
                                          (std::uintptr_t{1} << 30) + 72};
  const std::uintptr_t from = std::uintptr_t{1} << 31;
  const std::uintptr_t to = from + distances[index_of(kernels::alignment_names, alignment, "alignment")];
  const auto whose = static_cast<kernels::Audience>(index_of(kernels::audience_names, audience, "audience"));
  return std::string(
      kernels::chosen_copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, whose).name);
}

std::string calibrate_copy(std::size_t largest, double seconds) {
  const nb::gil_scoped_release unlocked;
  return kernels::format_copy_tuning(kernels::calibrate_copy({largest, seconds}));
}

/// Races of one thread over memory that is kept from round to round.
class Race {
 public:
  Race(std::size_t largest, bool huge_pages)
      : largest_(largest), race_(kernels::CopyRace::make(largest, huge_pages)) {
    if (race_ == nullptr) raise(Status(Code::io, "no memory for copies of " + std::to_string(largest) + " bytes"));
  }

  /// One row per round, one column per contestant.
  MatrixOut<double> rounds(const std::vector<std::string>& names, std::size_t bytes, const std::string& alignment,
                           bool read_back, std::uint64_t first, std::uint64_t count) {
    if (bytes == 0 || bytes > largest_)
      raise(bad_field("", "bytes", std::to_string(bytes), "1 to " + std::to_string(largest_)));
    std::vector<kernels::CopyContestant> contestants;
    for (const std::string& name : names) contestants.push_back(contestant_named(name));
    kernels::CopyTrial trial;
    trial.bytes = bytes;
    trial.alignment =
        static_cast<kernels::CopyAlignment>(index_of(kernels::alignment_names, alignment, "alignment"));
    trial.read_back = read_back;
    std::vector<double> times(contestants.size() * count);
    {
      const nb::gil_scoped_release unlocked;
      for (std::uint64_t round = 0; round < count; ++round)
        race_->round(contestants, trial, first + round,
                     std::span(times).subspan(round * contestants.size(), contestants.size()));
    }
    return to_matrix(std::move(times), count, contestants.size());
  }

 private:
  std::size_t largest_;
  std::unique_ptr<kernels::CopyRace> race_;
};

using Method = std::tuple<std::string, std::string, std::string, std::size_t>;
constexpr std::array<std::string_view, 4> way_names = {"slot", "pipeline", "direct", "halves"};

MatrixOut<double> time_messages(const std::vector<Method>& named, std::size_t bytes, int rounds, int repeats,
                                std::uint64_t seed, bool read, int sender, int receiver) {
  std::vector<probe::MessageMethod> methods;
  for (const auto& [way, in, out, chunk] : named)
    methods.push_back({static_cast<probe::MessageWay>(index_of(way_names, way, "way")), kernel_named(in).run,
                       kernel_named(out).run, chunk});
  const probe::MessagePlan plan{bytes, rounds, repeats, seed, read, sender, receiver};
  Result<std::vector<std::vector<double>>> timed = [&] {
    const nb::gil_scoped_release unlocked;
    return probe::time_messages(methods, plan);
  }();
  const std::vector<std::vector<double>> columns = unwrap(std::move(timed));
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round)
    for (const std::vector<double>& column : columns) times.push_back(column[static_cast<std::size_t>(round)]);
  return to_matrix(std::move(times), static_cast<std::size_t>(rounds), columns.size());
}

double core_to_core_ns(int one, int other) {
  return unwrap([&] {
    const nb::gil_scoped_release unlocked;
    return probe::core_to_core_ns(one, other);
  }());
}

std::vector<double> time_exchanges(int one, int other, int samples, int round_trips) {
  return unwrap([&] {
    const nb::gil_scoped_release unlocked;
    return probe::time_exchanges({one, other, samples, round_trips});
  }());
}

MatrixOut<double> time_reads(const std::vector<std::tuple<int, int>>& named, std::size_t bytes, int rounds) {
  std::vector<probe::Reader> readers;
  for (const auto& [processor, from] : named) readers.push_back({processor, from});
  Result<std::vector<std::vector<double>>> timed = [&] {
    const nb::gil_scoped_release unlocked;
    return probe::time_reads(readers, {bytes, rounds});
  }();
  const std::vector<std::vector<double>> rows = unwrap(std::move(timed));
  std::vector<double> times;
  for (const std::vector<double>& row : rows) times.insert(times.end(), row.begin(), row.end());
  return to_matrix(std::move(times), rows.size(), static_cast<std::size_t>(rounds));
}

/// Copies between two arrays of bytes by the kernel of that name.
void copy_by_kernel(const std::string& name,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> to,
                    const ArrayIn<std::uint8_t>& from) {
  if (to.size() != from.size())
    raise(bad_field("", "to", std::to_string(to.size()) + " bytes", std::to_string(from.size()) + " bytes"));
  kernel_named(name).run(to.data(), from.data(), from.size());
}

}  // namespace

void bind_probe(nb::module_& module) {
  module.def("copy_kernels", &copy_kernels,
             "Copy kernels: name, instruction set, what it is, whether it writes past the caches, whether this "
             "processor has it.");
  module.def("copy_by_kernel", &copy_by_kernel, "name"_a, "to"_a, "from_"_a,
             "Copies bytes by one kernel; the two arrays have one length and do not overlap.");
  module.def("set_copy_tuning", &set_copy_tuning, "text"_a,
             "Which kernel `copy` runs from now on in this process; one line (docs/formats/copy-tuning.md).");
  module.def("check_copy_tuning", &check_copy_tuning, "text"_a, "The tuning written out in full, or an error.");
  module.def("chosen_copy", &chosen_copy, "bytes"_a, "alignment"_a = "same", "audience"_a = "self",
             "The kernel that `copy` runs by the tuning in use; copies of up to 128 bytes are inline.");
  module.def("calibrate_copy", &calibrate_copy, "largest"_a = std::size_t{1} << 18, "seconds"_a = 0.1,
             "Measures this core's copies of up to `largest` bytes and returns a tuning as text.");
  nb::class_<Race>(module, "CopyRace", "Contestants that copy the same block of memory in turns.")
      .def(nb::init<std::size_t, bool>(), "largest"_a, "huge_pages"_a = false)
      .def("rounds", &Race::rounds, "names"_a, "bytes"_a, "alignment"_a = "same", "read_back"_a = false,
           "first"_a = 0, "count"_a = 1,
           "Nanoseconds per copy, (rounds, contestants); a contestant is a kernel, copy.AUDIENCE, or a part of "
           "every copy alone: bound.read, bound.write (through the caches) or bound.write_past (them). Rounds "
           "are numbered from `first`: the number draws the order.");
  module.def(
      "time_messages", &time_messages, "methods"_a, "bytes"_a, "rounds"_a, "repeats"_a = 5, "seed"_a = 1,
      "read"_a = false, "sender"_a = 0, "receiver"_a = 0,
      "Nanoseconds per message from one bound thread to another, (rounds, methods); a method is (slot, "
      "pipeline, direct or halves; the sender's kernel; the receiver's; bytes of a chunk, for halves of what the "
      "sender copies, 0: half).");
  module.def("core_to_core_ns", &core_to_core_ns, "one"_a, "other"_a,
             "Nanoseconds from one processor's core to another's: half of what a word takes there and back.");
  module.def("time_exchanges", &time_exchanges, "one"_a, "other"_a, "samples"_a = 9, "round_trips"_a = 200,
             "Nanoseconds from one processor to another by compare-exchanges of one line, a value per sample.");
  module.def("time_reads", &time_reads, "readers"_a, "bytes"_a = std::size_t{128} << 10, "rounds"_a = 9,
             "Nanoseconds that processors took to copy what others had written, all together: (readers, rounds). A "
             "reader is (processor, index of the one it reads from, -1: none).");
  module.def(
      "copy_has_bounds", [] { return kernels::copy_bounds() != nullptr; },
      "Whether this processor's parts of a copy can be timed alone (CopyRace).");
  module.def("usable_processors", &probe::usable_processors, "Processors that this process may use.");
}

}  // namespace corewise::bind
