// Copies, loads and forgets the files. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/program/image.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace corewise::simmpi {
namespace {

namespace fs = std::filesystem;

/// A folder of copies, gone when the images are loaded.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "corewise-simmpi-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Status no_program(const std::string& program, const std::string& why) {
  return invalid_input(program + ": " + why + ", allowed: a program that corewise simcc made");
}

struct Search {
  std::uint64_t base;
  Mapping* found;
};

/// The executable parts of the object that is loaded at the base looked for.
int add_segments(dl_phdr_info* object, std::size_t, void* search) {
  const auto& wanted = *static_cast<const Search*>(search);
  if (object->dlpi_addr != wanted.base) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    wanted.found->bytes = std::max<std::uint64_t>(wanted.found->bytes, part.p_vaddr + part.p_memsz);
    if ((part.p_flags & PF_X) != 0) wanted.found->segments.push_back({part.p_vaddr, part.p_memsz, part.p_offset});
  }
  return 1;
}

Mapping mapping_of(void* handle, const std::string& program) {
  Mapping mapping;
  mapping.program = program;
  link_map* object = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&object)) != 0) return mapping;
  mapping.base = object->l_addr;
  Search search{mapping.base, &mapping};
  dl_iterate_phdr(add_segments, &search);
  return mapping;
}

Result<std::unique_ptr<Image>> load(const std::string& program, const fs::path& copy) {
  std::error_code error;
  fs::copy_file(program, copy, error);
  if (error) return Status(Code::io, program + ": cannot be copied: " + error.message());
  void* handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return no_program(program, std::string("cannot be loaded: ") + dlerror());
  fs::remove(copy, error);
  auto image = std::make_unique<Image>();
  image->main = reinterpret_cast<int (*)(int, char**, char**)>(dlsym(handle, "main"));
  if (image->main == nullptr) return no_program(program, "has no visible function main");
  image->mapping = mapping_of(handle, program);
  return image;
}

}  // namespace

Result<std::vector<std::unique_ptr<Image>>> load_images(const std::string& program,
                                                        const std::vector<std::string>& arguments, int ranks) {
  const Folder folder;
  if (folder.path().empty()) return Status(Code::io, "no temporary folder can be made");
  std::vector<std::unique_ptr<Image>> images;
  for (int rank = 0; rank < ranks; ++rank) {
    auto loaded = load(program, folder.path() / ("rank" + std::to_string(rank) + ".so"));
    if (!loaded.ok()) return loaded.status();
    Image& image = *images.emplace_back(std::move(loaded).value());
    image.words.push_back(program);
    image.words.insert(image.words.end(), arguments.begin(), arguments.end());
    for (std::string& word : image.words) image.pointers.push_back(word.data());
    image.pointers.push_back(nullptr);
  }
  return images;
}

}  // namespace corewise::simmpi
