// A folder that no path leaves: every file is opened beneath it by the kernel (openat2), so neither `..`, an absolute
// path nor a symbolic link leads out, and nobody can swap a folder for a link in between.
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
  /// `io_error`, each with what to do.
  result<open_file> open_at(const std::string& path, int flags, mode_t mode = 0) const;
  /// Makes the folders above `path` that are missing.
  result<void> make_parents(const std::string& path) const;
  /// One file that is about to be changed: nobody else changes a file of its folder until this ends, however that is.
  struct held_file {
    std::string name;      ///< within the folder, behind all links
    open_file folder;      ///< locked
    std::string path;      ///< relative to the root, behind all links
    bool is_locked = true; ///< false: this file system cannot
  };
  /// Waits for others that change a file of the same folder, and clears away what one that was killed left there.
  /// `path` leads through links to the file that they mean; that file need not exist, its folder must.
  result<held_file> hold(const std::string& path) const;
  /// Puts the complete content in place of what was there, in one step: a reader, or a kill, sees the old or the new.
  result<void> replace(const held_file& file, const std::string& content) const;
  /// The path as it is shown: relative to the root.
  std::string shown(const std::string& path) const;

 private:
  workspace(std::string root, open_file fd) : root_(std::move(root)), fd_(std::move(fd)) {}
  result<std::string> relative(const std::string& path) const;

  std::string root_;
  open_file fd_;
};

/// All of a regular file. Faults: `not_a_file`, `too_large`, `io_error`.
result<std::string> read_all(const open_file& file, const std::string& shown, std::size_t limit);

} // namespace quell::worker::tools
