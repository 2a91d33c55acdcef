// Walks with readdir(3) on descriptors below the workspace.
#include "worker/tools/walk.hpp"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

namespace {

using visitor = std::function<walk_on(const found_entry&)>;

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (!entries) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* e = ::readdir(entries)) {
    const std::string name = e->d_name;
    if (name != "." && name != ".." && name != ".git") names.push_back(name);
  }
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

char type_of(mode_t mode) {
  if (S_ISREG(mode)) return 'f';
  if (S_ISDIR(mode)) return 'd';
  return S_ISLNK(mode) ? 'l' : 'o';
}

bool walk_folder(const open_file& folder, const std::string& prefix, std::size_t depth, const visitor& visit) {
  for (const auto& name : names_in(folder.get())) {
    struct stat s {};
    if (::fstatat(folder.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue; // it has just been removed
    const found_entry e{prefix + name, type_of(s.st_mode), static_cast<std::uint64_t>(s.st_size), folder.get(), name};
    const auto next = visit(e);
    if (next == walk_on::stop) return false;
    if (e.type != 'd' || next == walk_on::not_into || depth <= 1) continue;
    const open_file inner(::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner.get() >= 0 && !walk_folder(inner, e.path + "/", depth - 1, visit)) return false;
  }
  return true;
}

} // namespace

result<void> walk(const workspace& where, const std::string& path, std::size_t depth, const visitor& visit) {
  const auto folder = where.open_at(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return tl::unexpected(folder.error());
  const auto shown = where.shown(path);
  walk_folder(*folder, shown == "." ? "" : shown + "/", depth, visit);
  return {};
}

} // namespace quell::worker::tools
