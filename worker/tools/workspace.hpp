// A folder that no path leaves: the kernel opens every file beneath it (openat2), so neither `..`, an absolute path nor
// a symbolic link leads out, and no process can swap a folder for a link in between.
#pragma once

#include <string>
#include <sys/types.h>

#include "protocol/fault.hpp"

namespace quell::worker::tools {

/// An open descriptor that closes itself.
class open_file {
 public:
  explicit open_file(int fd = -1) : fd_(fd) {}
  ~open_file();
  open_file(open_file&& other) noexcept : fd_(other.release()) {}
  open_file& operator=(open_file&& other) noexcept;
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

class workspace {
 public:
  /// Faults `no_workspace`.
  static result<workspace> open(const std::string& root);

  /// `path`: relative to the root, or absolute below it. Faults: `outside_workspace`, `not_found`, `not_permitted`,
  /// `io_error`; each says what to do.
  result<open_file> open_at(const std::string& path, int flags, mode_t mode = 0) const;
  /// Makes the missing folders above `path`.
  result<void> make_parents(const std::string& path) const;
  /// One file that is about to be changed: no other process changes a file of its folder until this object ends,
  /// however it ends.
  struct held_file {
    std::string name;      ///< within the folder, with all links resolved
    open_file folder;      ///< locked
    std::string path;      ///< relative to the root, with all links resolved
    bool is_locked = true; ///< false: this file system has no locks
  };
  /// Waits for other processes that change a file of the same folder, and removes files that a killed one left there.
  /// `path` can lead through links to the file; the file need not exist, its folder must.
  result<held_file> hold(const std::string& path) const;
  /// Replaces the content by the complete new one, in one step: a reader, or a kill, sees the old or the new content.
  result<void> replace(const held_file& file, const std::string& content) const;
  /// The path for display: relative to the root.
  std::string shown(const std::string& path) const;

 private:
  workspace(std::string root, open_file fd) : root_(std::move(root)), fd_(std::move(fd)) {}
  result<std::string> relative(const std::string& path) const;

  std::string root_;
  open_file fd_;
};

/// The whole content of a regular file. Faults: `not_a_file`, `too_large`, `io_error`.
result<std::string> read_all(const open_file& file, const std::string& shown, std::size_t limit);

} // namespace quell::worker::tools
