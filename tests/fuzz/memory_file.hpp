// A file in memory that a target can open by name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/fuzz/target.hpp"

namespace quell::fuzz {

/// A file that is only in memory, by name.
class memory_file {
 public:
  explicit memory_file(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(fd_ >= 0 && ::write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
           "a file in memory");
  }
  ~memory_file() { ::close(fd_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

} // namespace quell::fuzz
