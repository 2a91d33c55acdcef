// A program, its two pipes and a thread that reads its output: for the probes.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quell::testing {

class probed_program {
 public:
  /// `on_output` and then `ended` are called on the reading thread.
  probed_program(char** command, std::function<void(std::string_view)> on_output, std::function<void()> ended) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    if (posix_spawnp(&pid_, command[0], &files, nullptr, command, environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&files);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    reader_ = std::thread([this, on_output = std::move(on_output), ended = std::move(ended)] {
      char bytes[4096];
      for (;;) {
        const auto count = ::read(from_, bytes, sizeof bytes);
        if (count <= 0) return ended();
        on_output({bytes, static_cast<std::size_t>(count)});
      }
    });
  }
  ~probed_program() {
    {
      const std::lock_guard lock(guard_); // the reading thread answers
      ::close(std::exchange(to_, -1));    // some servers run until their work ends
    }
    if (pid_ > 0) ::kill(pid_, SIGTERM);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    if (reader_.joinable()) reader_.join();
    ::close(from_);
  }
  probed_program(const probed_program&) = delete;
  probed_program& operator=(const probed_program&) = delete;

  void write(std::string_view bytes) const {
    const std::lock_guard lock(guard_);
    while (to_ >= 0 && !bytes.empty()) {
      const auto count = ::write(to_, bytes.data(), bytes.size());
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

 private:
  pid_t pid_ = -1;
  mutable std::mutex guard_; ///< of `to_`
  int to_ = -1, from_ = -1;
  std::thread reader_;
};

} // namespace quell::testing
