// Reserve space for a full disk: a file that is deleted when the disk is full.
#include "storage/ballast.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace quell::storage {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

ballast::ballast(std::string directory, std::uint64_t reserve_bytes, std::uint64_t ballast_bytes)
    : directory_(std::move(directory)), path_(directory_ + "/ballast"), reserve_(reserve_bytes),
      wanted_(ballast_bytes) {
  struct statvfs found {};
  if (statvfs(directory_.c_str(), &found) == 0) {
    const auto whole = static_cast<std::uint64_t>(found.f_blocks) * found.f_frsize;
    reserve_ = std::min(reserve_, whole / 4);
  }
  wanted_ = std::min(wanted_, reserve_ / 2);
  // A file left by an earlier process is as good as a new one, and on a full disk no other is available.
  struct stat file {};
  held_ = stat(path_.c_str(), &file) == 0 && static_cast<std::uint64_t>(file.st_blocks) * 512 >= wanted_ && wanted_ > 0;
  look();
}

std::uint64_t ballast::look() const {
  looked_at_ = now_ns();
  struct statvfs found {};
  if (statvfs(directory_.c_str(), &found) != 0) return std::numeric_limits<std::uint64_t>::max();
  const auto free = static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize;
  low_ = free < reserve_;
  return free;
}

void ballast::tend() {
  const auto free = look();
  if (!is_missing() || free < reserve_ + wanted_) return;
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  held_ = posix_fallocate(fd, 0, static_cast<off_t>(wanted_)) == 0;
  close(fd);
  if (!held_) unlink(path_.c_str());
}

bool ballast::drop() {
  const bool had = held_.exchange(false);
  unlink(path_.c_str());
  look();
  return had;
}

bool ballast::leaves_room_for(std::uint64_t bytes) const {
  const auto free = look();
  return free >= reserve_ && free - reserve_ >= bytes;
}

bool ballast::is_low() const {
  if (now_ns() - looked_at_ > 500'000'000) look();
  return low_;
}

} // namespace quell::storage
