// openat2(2) with RESOLVE_BENEATH.
#include "worker/tools/workspace.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace quell::worker::tools {

namespace {

int open_beneath(int root, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    // EAGAIN: something was renamed meanwhile and the kernel could not be sure.
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || attempt == 100) return static_cast<int>(fd);
  }
}

tl::unexpected<fault> path_fault(const std::string& path) {
  switch (errno) {
  case ENOENT:
    return failure("not_found", path + " does not exist; `list` shows what does");
  case EXDEV:
    return failure("outside_workspace", path + " leads out of the workspace; use paths inside it");
  case EACCES:
  case EPERM:
  case EROFS:
    return failure("not_permitted", path + ": " + std::strerror(errno));
  case ENOTDIR:
    return failure("not_found", path + ": a part of it is no folder");
  case EISDIR:
    return failure("not_a_file", path + " is a folder");
  case ELOOP:
    return failure("outside_workspace", path + " goes through too many links");
  case ENOSPC:
  case EDQUOT:
    return failure("disk_full", path + ": the disk is full");
  default:
    return failure("io_error", path + ": " + std::strerror(errno));
  }
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string name_in_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

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

} // namespace

open_file::~open_file() {
  if (fd_ >= 0) ::close(fd_);
}

open_file& open_file::operator=(open_file&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

int open_file::release() { return std::exchange(fd_, -1); }

result<workspace> workspace::open(const std::string& root) {
  char real[PATH_MAX];
  if (root.empty() || root.front() != '/' || !::realpath(root.c_str(), real))
    return failure("no_workspace", "the workspace " + root + " is no folder on this worker");
  const int fd = ::open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failure("no_workspace", "the workspace " + root + ": " + std::strerror(errno));
  return workspace(real, open_file(fd));
}

result<std::string> workspace::relative(const std::string& path) const {
  if (path.find('\0') != std::string::npos) return failure("invalid_input", "a path must not contain a NUL byte");
  if (path.size() >= PATH_MAX) return failure("invalid_input", "the path is too long");
  if (path.empty()) return std::string(".");
  if (path.front() != '/') return path;
  if (path == root_) return std::string(".");
  if (path.starts_with(root_ + "/")) return path.substr(root_.size() + 1);
  return failure("outside_workspace", path + " is outside of the workspace " + root_ + "; use paths inside it");
}

std::string workspace::shown(const std::string& path) const {
  const auto inside = relative(path);
  return inside ? *inside : path;
}

result<open_file> workspace::open_at(const std::string& path, int flags, mode_t mode) const {
  const auto inside = relative(path);
  if (!inside) return tl::unexpected(inside.error());
  const int fd = open_beneath(fd_.get(), *inside, flags, mode);
  if (fd < 0) return path_fault(path);
  return open_file(fd);
}

result<void> workspace::make_parents(const std::string& path) const {
  const auto inside = relative(path);
  if (!inside) return tl::unexpected(inside.error());
  for (std::size_t slash = inside->find('/'); slash != std::string::npos; slash = inside->find('/', slash + 1)) {
    const std::string folder = inside->substr(0, slash);
    if (folder.empty() || open_at(folder, O_PATH | O_DIRECTORY)) continue;
    const auto above = open_at(folder_of(folder), O_PATH | O_DIRECTORY);
    if (!above) return tl::unexpected(above.error());
    if (::mkdirat(above->get(), name_in_folder(folder).c_str(), 0777) != 0 && errno != EEXIST)
      return path_fault(folder);
  }
  return {};
}

result<void> workspace::replace(const std::string& path, const std::string& content) const {
  const auto inside = relative(path);
  if (!inside) return tl::unexpected(inside.error());
  const std::string name = name_in_folder(*inside);
  if (name.empty() || name == "." || name == "..")
    return failure("not_a_file", path + " names a folder; a file's name is needed");
  const auto folder = open_at(folder_of(*inside), O_PATH | O_DIRECTORY);
  if (!folder) return tl::unexpected(folder.error());
  mode_t mode = 0666;
  struct stat before {};
  if (::fstatat(folder->get(), name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(before.st_mode)) { // written through, to where it points inside the workspace
      const auto target = open_at(path, O_WRONLY | O_TRUNC | O_NONBLOCK);
      if (!target) return tl::unexpected(target.error());
      return write_all(target->get(), content) ? result<void>{} : path_fault(path);
    }
    if (!S_ISREG(before.st_mode)) return failure("not_a_file", path + " is no regular file");
    mode = before.st_mode & 07777;
  }
  const std::string temporary = ".quell-" + std::to_string(::getpid()) + ".tmp";
  open_file file(open_beneath(folder->get(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
  if (file.get() < 0) return path_fault(path);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (before.st_mode == 0) mode &= ~mask; // a new file
  const bool kept = write_all(file.get(), content) && ::fchmod(file.get(), mode) == 0 &&
                    ::renameat(folder->get(), temporary.c_str(), folder->get(), name.c_str()) == 0;
  if (kept) return {};
  const auto why = path_fault(path);
  ::unlinkat(folder->get(), temporary.c_str(), 0);
  return why;
}

result<std::string> read_all(const open_file& file, const std::string& shown, std::size_t limit) {
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) return path_fault(shown);
  if (S_ISDIR(s.st_mode)) return failure("not_a_file", shown + " is a folder; `list` shows what is in it");
  if (!S_ISREG(s.st_mode)) return failure("not_a_file", shown + " is no regular file");
  if (static_cast<std::size_t>(s.st_size) > limit)
    return failure("too_large", shown + " has " + std::to_string(s.st_size) + " bytes; at most " +
                                    std::to_string(limit) + " are read");
  std::string content(static_cast<std::size_t>(s.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::pread(file.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return path_fault(shown);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

} // namespace quell::worker::tools
