// Changes a file; a folder has one writer at a time.
//
// The lock is the folder's (flock): it is released when its process ends, so a kill leaves none behind. Its holder
// knows that no other process writes in the folder, so every temporary file in it was left by a killed writer.
#include <array>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/tools/beneath.hpp"
#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

namespace {

constexpr std::string_view temporary_begin = ".quell-", temporary_end = ".tmp";
constexpr int most_links = 40;

bool write_all(int fd, const std::string& content) {
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// Not derived from the process id: in a separate PID namespace every writer has the same one.
std::string fresh_name() {
  std::array<unsigned char, 8> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) < 0 && errno == EINTR) {
  }
  std::string name(temporary_begin);
  for (const unsigned char byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    name += digits[byte >> 4U];
    name += digits[byte & 15U];
  }
  return name.append(temporary_end);
}

bool lock(int folder) {
  while (::flock(folder, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

void clear_leftovers(int folder) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(again), ::closedir);
  if (!entries) {
    ::close(again);
    return;
  }
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(temporary_begin) && name.ends_with(temporary_end)) ::unlinkat(folder, entry->d_name, 0);
  }
}

} // namespace

result<workspace::held_file> workspace::hold(const std::string& path) const {
  auto inside = relative(path);
  if (!inside) return tl::unexpected(inside.error());
  for (int links = 0; links <= most_links; ++links) {
    held_file held{name_in_folder(*inside), open_file(), *inside, true};
    if (held.name.empty() || held.name == "." || held.name == "..")
      return failure("not_a_file", path + " names a folder; a file's name is needed");
    held.folder = open_file(open_beneath(fd_.get(), folder_of(*inside), O_RDONLY | O_DIRECTORY, 0));
    if (held.folder.get() < 0 && errno == EACCES) { // the folder is writable but not readable
      held.folder = open_file(open_beneath(fd_.get(), folder_of(*inside), O_PATH | O_DIRECTORY, 0));
      held.is_locked = false;
    }
    if (held.folder.get() < 0) return path_fault(path);
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(held.folder.get(), held.name.c_str(), target.data(), target.size() - 1);
    if (length < 0) {
      held.is_locked = held.is_locked && lock(held.folder.get());
      if (held.is_locked) clear_leftovers(held.folder.get());
      return held;
    }
    const std::string link(target.data(), static_cast<std::size_t>(length));
    inside = link.starts_with('/') ? relative(link) : folder_of(*inside) + "/" + link;
    if (!inside) return failure("outside_workspace", path + " leads out of the workspace; use paths inside it");
  }
  return failure("outside_workspace", path + " goes through too many links");
}

result<void> workspace::replace(const held_file& file, const std::string& content) const {
  const int folder = file.folder.get();
  mode_t mode = 0666;
  struct stat before {};
  const bool is_there = ::fstatat(folder, file.name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISREG(before.st_mode)) return failure("not_a_file", file.path + " is not a regular file");
  if (is_there) mode = before.st_mode & 07777;
  const std::string temporary = fresh_name();
  const open_file to(open_beneath(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
  if (to.get() < 0) return path_fault(file.path);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (!is_there) mode &= ~mask;
  const bool kept = write_all(to.get(), content) && ::fchmod(to.get(), mode) == 0 &&
                    ::renameat(folder, temporary.c_str(), folder, file.name.c_str()) == 0;
  if (kept) return {};
  const auto why = path_fault(file.path);
  ::unlinkat(folder, temporary.c_str(), 0);
  return why;
}

} // namespace quell::worker::tools
