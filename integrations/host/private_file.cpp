// Written beside the old file, synced, and renamed over it.
#include "integrations/host/private_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace quell {

result<void> write_private_file(const std::string& path, const std::string& text) {
  const auto temporary = path + ".new";
  ::unlink(temporary.c_str());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(written ? errno : error);
    ::unlink(temporary.c_str());
    return failure(error_code::storage_unavailable,
                   path + " cannot be written: " + why +
                       ". Check the permissions and the free space of the state directory.");
  }
  return {};
}

} // namespace quell
