// A child process of `quell up`: own process group, no terminal, log to a file; it ends when its parent ends.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/fault.hpp"

namespace quell::cli {

struct child {
  std::string name;
  std::vector<std::string> command; ///< the program first, as an absolute path
  std::string log;                  ///< file to which both outputs are appended
  pid_t pid = 0;                    ///< 0 = not running
  std::int64_t log_offset = 0;      ///< offset in the log at which its present run begins
};

/// Starts it with `mask` as its signal mask. It gets SIGTERM when this process dies, for any reason.
result<void> start(child& c, const sigset_t& mask);
/// `exit code 3`, `signal KILL`.
std::string ending_text(int wait_status);
/// The last lines of the log of its present run, at most `lines`.
std::string log_tail(const child& c, std::size_t lines);
/// The directory of this program.
std::string own_directory();

} // namespace quell::cli
