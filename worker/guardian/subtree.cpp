// Takes and releases a worker's directory in the cgroup tree.
#include "worker/guardian/subtree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

/// True if `path` still names the directory behind `fd`: a guardian that ends removes it, and a new one can exist by
/// now.
bool still_named(const std::string& path, int fd) {
  struct stat named {
  }, held{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

} // namespace

result<std::unique_ptr<cgroup_subtree>> cgroup_subtree::take(const std::string& name, int limit_ms) {
  if (!is_subtree_name(name))
    return failure("bad_subtree", "the subtree's name \"" + name + "\" is not one plain path segment");
  auto own = own_cgroup();
  if (!own) return tl::unexpected(own.error());
  auto taken = std::make_unique<cgroup_subtree>();
  taken->path_ = *own + "/" + name;
  const auto& path = taken->path_;
  taken->name_ = name;
  taken->parent_.reset(::open(own->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!taken->parent_) return failure("cgroup_failed", "cannot open " + *own + ": " + errno_text(errno));
  const auto end = boot_now() + std::chrono::milliseconds{limit_ms};
  while (true) {
    if (::mkdir(path.c_str(), 0755) < 0 && errno != EEXIST)
      return failure("cgroup_failed", "cannot make " + path + ": " + errno_text(errno));
    taken->lock_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!taken->lock_) {
      if (errno == ENOENT) continue;
      return failure("cgroup_failed", "cannot open " + path + ": " + errno_text(errno));
    }
    if (::flock(taken->lock_.get(), LOCK_EX | LOCK_NB) == 0) {
      if (still_named(path, taken->lock_.get())) break;
      continue;
    }
    if (boot_now() >= end)
      return failure("subtree_in_use", "another worker's guardian holds " + path +
                                           "; give each worker of a machine its own name, or end the other one");
    ::poll(nullptr, 0, 10);
  }
  // Only with the lock held: the directory's content has no guardian, and does not belong to a live worker of the same
  // name.
  if (auto emptied = empty_subtree(path, limit_ms); !emptied) return tl::unexpected(emptied.error());
  taken->dir_.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!taken->dir_) return failure("cgroup_failed", "cannot open " + path + ": " + errno_text(errno));
  return taken;
}

bool cgroup_subtree::is_gone() const {
  struct stat named {
  }, held{};
  return ::fstatat(parent_.get(), name_.c_str(), &named, 0) < 0 || ::fstat(dir_.get(), &held) < 0 ||
         named.st_ino != held.st_ino;
}

int cgroup_subtree::make_again() {
  if (::mkdirat(parent_.get(), name_.c_str(), 0755) < 0 && errno != EEXIST) return errno;
  unique_fd lock(::openat(parent_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) < 0) return errno;
  unique_fd dir(::openat(parent_.get(), name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return errno;
  lock_ = std::move(lock);
  dir_ = std::move(dir);
  return 0;
}

void cgroup_subtree::remove() { ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR); }

} // namespace quell::worker
