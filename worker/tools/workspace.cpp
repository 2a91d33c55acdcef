// Resolves paths of the workspace and reads files in it.
#include "worker/tools/workspace.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "protocol/failure_code.hpp"
#include "worker/tools/beneath.hpp"

namespace quell::worker::tools {

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
    return failure("no_workspace", "the workspace " + root + " is not a folder on this worker");
  const int fd = ::open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failure("no_workspace", "the workspace " + root + ": " + std::strerror(errno));
  return workspace(real, open_file(fd));
}

result<std::string> workspace::relative(const std::string& path) const {
  if (path.find('\0') != std::string::npos)
    return failure(failure_code::invalid_input, "a path must not contain a NUL byte");
  if (path.size() >= PATH_MAX) return failure(failure_code::invalid_input, "the path is too long");
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

result<std::string> read_all(const open_file& file, const std::string& shown, std::size_t limit) {
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) return path_fault(shown);
  if (S_ISDIR(s.st_mode)) return failure("not_a_file", shown + " is a folder; `list` shows what is in it");
  if (!S_ISREG(s.st_mode)) return failure("not_a_file", shown + " is not a regular file");
  if (static_cast<std::size_t>(s.st_size) > limit)
    return failure(error_code::too_large, shown + " has " + std::to_string(s.st_size) + " bytes; at most " +
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
