// Opens files with openat2(2) and RESOLVE_BENEATH.
#include "worker/tools/beneath.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/failure_code.hpp"

namespace quell::worker::tools {

int open_beneath(int root, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    // EAGAIN: a file was renamed meanwhile and the kernel could not be sure.
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || attempt == 100) return static_cast<int>(fd);
  }
}

tl::unexpected<fault> path_fault(const std::string& path) {
  switch (errno) {
  case ENOENT:
    return failure(error_code::not_found, path + " does not exist; `list` shows what does");
  case EXDEV:
    return failure("outside_workspace", path + " leads out of the workspace; use paths inside it");
  case EACCES:
  case EPERM:
  case EROFS:
    return failure("not_permitted", path + ": " + std::strerror(errno));
  case ENOTDIR:
    return failure(error_code::not_found, path + ": a part of it is not a folder");
  case EISDIR:
    return failure("not_a_file", path + " is a folder");
  case ELOOP:
    return failure("outside_workspace", path + " goes through too many links");
  case ENOSPC:
  case EDQUOT:
    return failure("disk_full", path + ": the disk is full");
  case EFBIG: // the limit of a workspace's files
    return failure(failure_code::workspace_full,
                   path + ": this would exceed the workspace's quota, or what its guild may hold; remove files first");
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

} // namespace quell::worker::tools
