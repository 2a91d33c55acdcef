// Detects whether a file was replaced or written since the last check.
#pragma once

#include <string>

#include <sys/stat.h>

namespace quell::integrations {

class file_watch {
 public:
  /// The present file counts as seen. "" = no file.
  explicit file_watch(std::string path) : path_(std::move(path)), seen_(look()) {}

  /// True once for each change. A missing file does not count as changed, since its replacement is on the way.
  bool has_changed() {
    const auto now = look();
    if (now == state{} || now == seen_) return false;
    seen_ = now;
    return true;
  }

 private:
  struct state {
    ino_t inode = 0;
    off_t size = 0;
    time_t seconds = 0;
    long nanoseconds = 0;
    friend bool operator==(const state&, const state&) = default;
  };
  state look() const {
    struct stat found {};
    if (path_.empty() || ::stat(path_.c_str(), &found) != 0) return {};
    return {found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
  }

  std::string path_;
  state seen_;
};

} // namespace quell::integrations
