// The fuzzer's corpus without the fuzzer: every input that tests/fuzz/corpus holds, as it is, cut, and with bytes
// changed by numbers that are the same on every machine. A broken promise ends the program (fuzz.hpp), and so does
// what a sanitizer sees. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "effort.hpp"
#include "fuzz.hpp"

namespace corewise::fuzz {
namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMostCorpusBytes = 200'000;

struct Target {
  const char* name;
  void (*run)(Bytes);
};

constexpr Target kTargets[] = {
    {"datatypes", datatypes},       {"debug_info", debug_info},         {"machine_document", machine_document},
    {"pattern_file", pattern_file}, {"rank_file", rank_file},           {"run_folder", run_folder},
    {"short_texts", short_texts},   {"simrun_request", simrun_request},
};

const fs::path kCorpus = fs::path(COREWISE_SOURCE_DIR) / "tests" / "fuzz" / "corpus";

/// By name, so that every machine tries the same.
std::vector<Input> corpus_of(const std::string& target) {
  std::vector<fs::path> paths(fs::directory_iterator(kCorpus / target), fs::directory_iterator{});
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// A copy with up to eight bytes changed, or a part of it cut out.
Input changed(Input input, Rng& rng) {
  if (input.empty()) return input;
  const auto somewhere = [&] { return rng.next() % input.size(); };
  if (rng.next() % 4 == 0) {
    const auto first = input.begin() + static_cast<std::ptrdiff_t>(somewhere());
    const auto left = static_cast<std::uint64_t>(input.end() - first);
    input.erase(first, first + static_cast<std::ptrdiff_t>(1 + rng.next() % left));
    return input;
  }
  constexpr std::uint8_t kTelling[] = {0, 1, 0x7f, 0x80, 0xff, '9', ',', ':'};
  for (std::uint64_t left = 1 + rng.next() % 8; left > 0; --left) {
    const std::uint64_t drawn = rng.next();
    input[somewhere()] =
        drawn % 2 == 0 ? kTelling[(drawn / 2) % std::size(kTelling)] : static_cast<std::uint8_t>(drawn / 2);
  }
  return input;
}

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, EveryInputKeepsThePromises) {
  const std::vector<Input> inputs = corpus_of(GetParam().name);
  ASSERT_GE(inputs.size(), 2U);
  for (const Input& input : inputs) GetParam().run(input);
  GetParam().run({});
}

TEST_P(Corpus, CutAndChangedInputsKeepThePromises) {
  // A whole run is written to files and read four times: under sanitizers it is read only as the corpus has it.
  const bool whole_run = GetParam().run == run_folder;
  const int tries = test::effort(40, whole_run ? 0 : 8);
  Rng rng(23);
  for (const Input& input : corpus_of(GetParam().name)) {
    for (int i = 0; i < tries; ++i) {
      GetParam().run(changed(input, rng));
      GetParam().run(Bytes(input).first(rng.next() % (input.size() + 1)));
    }
  }
}

INSTANTIATE_TEST_CASE_P(Targets, Corpus, testing::ValuesIn(kTargets),
                        [](const auto& info) { return std::string(info.param.name); });

TEST(CorpusFolder, HasAFolderForEachTargetAndNoOther) {
  std::size_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kCorpus)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename();
    EXPECT_TRUE(std::any_of(std::begin(kTargets), std::end(kTargets), [&](const Target& each) {
      return each.name == name;
    })) << name;
  }
  EXPECT_LE(bytes, kMostCorpusBytes);
}

}  // namespace
}  // namespace corewise::fuzz
