// std::filesystem::remove_all keeps one descriptor per level and stops at a folder that it may not read.
#include "worker/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace quell::worker {
namespace {

constexpr int levels_at_once = 100;

class emptying {
 public:
  explicit emptying(int top) : top_(top) {}

  void pass() { empty(::openat(top_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), levels_at_once); }
  /// Grows with everything that was deleted or moved.
  std::uint64_t progress() const { return progress_; }

 private:
  void empty(int folder, int levels) { // takes the descriptor
    DIR* entries = folder < 0 ? nullptr : ::fdopendir(folder);
    if (!entries) {
      if (folder >= 0) ::close(folder);
      return;
    }
    while (const dirent* e = ::readdir(entries)) {
      const std::string_view name = e->d_name;
      if (name == "." || name == "..") continue;
      if (remove_one(folder, e->d_name, levels)) ++progress_;
    }
    ::closedir(entries);
  }

  bool remove_one(int folder, const char* name, int levels) {
    if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR) return false;
    (void)!::fchmodat(folder, name, 0700, 0); // a failure shows below
    if (levels == 0) {
      const auto to = "deep-" + std::to_string(::getpid()) + "-" + std::to_string(++moved_);
      return ::renameat(folder, name, top_, to.c_str()) == 0;
    }
    empty(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), levels - 1);
    return ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
  }

  const int top_;
  std::uint64_t progress_ = 0, moved_ = 0;
};

bool is_empty(int folder) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = again < 0 ? nullptr : ::fdopendir(again);
  if (!entries) {
    if (again >= 0) ::close(again);
    return false;
  }
  int count = 0;
  while (::readdir(entries) && count < 3) ++count;
  ::closedir(entries);
  return count < 3;
}

} // namespace

bool empty_folder(const std::string& folder) {
  const int top = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (top < 0) return false;
  emptying work(top);
  bool done = is_empty(top);
  // A pass can miss entries that the file system moved, and leaves those that it moved up.
  for (std::uint64_t before = ~0ULL; !done && work.progress() != before; done = is_empty(top)) {
    before = work.progress();
    work.pass();
  }
  ::close(top);
  return done;
}

} // namespace quell::worker
