// Makes, checks and locks the state directory.
#include "storage/directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "controller/store_code.hpp"

namespace quell::storage {
namespace {

tl::unexpected<fault> cannot(const std::string& what, const std::string& path, int error) {
  return failure(
      store_code::read_only,
      "cannot " + what + " " + path + ": " + std::strerror(error) +
          ". The state directory must exist or be creatable, and be writable for the user that runs quelld.");
}

/// Restricts a directory that already existed: it now holds keys, so no other user may read it.
result<void> make_private(const std::string& directory) {
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) return cannot("look at", directory, errno);
  if ((found.st_mode & 0077) == 0) return {};
  if (found.st_uid != geteuid() && geteuid() != 0)
    return failure(store_code::read_only,
                   "the state directory " + directory +
                       " is open to others and belongs to another user: it must be 0700 and belong to "
                       "the user that runs quelld");
  if (chmod(directory.c_str(), 0700) != 0) return cannot("set mode 0700 of", directory, errno);
  return {};
}

result<void> make_directory(const std::string& directory) {
  const std::filesystem::path path(directory);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return make_private(directory);
  const auto parent = std::filesystem::absolute(path, error).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return cannot("make the directory", parent.string(), error.value());
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return cannot("make the directory", directory, errno);
  if (!std::filesystem::is_directory(path, error)) return cannot("use as directory", directory, ENOTDIR);
  return {};
}

std::string pid_in(int fd) {
  char text[32] = {};
  const auto size = pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  pid.erase(pid.find_last_not_of("\n ") + 1);
  return pid.empty() ? "unknown" : pid;
}

} // namespace

result<directory_lock> directory_lock::take(const std::string& directory) {
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  const auto path = directory + "/quelld.lock";
  directory_lock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) return cannot("open", path, errno);
  while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return cannot("lock", path, errno);
    return failure(store_code::state_in_use, "the state directory " + directory + " is in use by process " +
                                                 pid_in(lock.fd_) +
                                                 ". Stop that quelld, or start this one with another directory.");
  }
  // A full disk must not prevent a start: the pid is for people, only the lock counts.
  const auto pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock.fd_, 0) == 0) [[maybe_unused]]
    const auto written = pwrite(lock.fd_, pid.data(), pid.size(), 0);
  return lock;
}

directory_lock& directory_lock::operator=(directory_lock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

directory_lock::~directory_lock() {
  if (fd_ >= 0) close(fd_);
}

result<void> private_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("open", path, errno);
  struct stat found {};
  const bool loose = fstat(fd, &found) == 0 && (found.st_mode & 0077) != 0;
  const bool tightened = !loose || fchmod(fd, 0600) == 0;
  const int error = errno;
  close(fd);
  if (!tightened) return cannot("set mode 0600 of", path, error);
  return {};
}

} // namespace quell::storage
