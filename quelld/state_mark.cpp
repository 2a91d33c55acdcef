// One symbolic link for each state directory, named by a hash of its path.
#include "quelld/state_mark.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "protocol/state_marks.hpp"

namespace quell::controller {

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  if (::geteuid() == 0) return state_marks_of_root;
  return fs::path(runtime_directories + ("/" + std::to_string(::geteuid())) + state_marks_below);
}

/// FNV-1a, so that the same path has the same name in every version.
std::string name_of_mark(const std::string& path) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const unsigned char c : path) hash = (hash ^ c) * 1'099'511'628'211ULL;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

} // namespace

void mark_state(const std::string& directory) {
  std::error_code error;
  const auto path = fs::canonical(directory, error);
  const auto marks = folder();
  if (!error) fs::create_directories(marks, error);
  if (!error)
    for (const auto& old : fs::directory_iterator(marks, error)) {
      std::error_code ignored;
      if (!fs::exists(fs::read_symlink(old.path(), ignored) / state_lock_file, ignored))
        fs::remove(old.path(), ignored);
    }
  const auto mark = marks / name_of_mark(path.string());
  // Created anew each time, so that workers look again: another directory can be under the old path.
  if (!error) fs::remove(mark, error);
  if (!error) fs::create_directory_symlink(path, mark, error);
  if (error)
    spdlog::info(
        "{} cannot be marked in {} ({}): unless it is the default place, list it in worker.hide of the workers "
        "of this machine",
        directory, marks.string(), error.message());
}

} // namespace quell::controller
