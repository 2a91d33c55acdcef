// The request is a file, so that it survives whatever the worker is doing; a signal only announces it.
#include "worker/rotate_key.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/clocks.hpp"
#include "worker/guardian/client.hpp"
#include "worker/key_ring.hpp"

namespace quell::worker {
namespace {

constexpr std::chrono::milliseconds look_again{50};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int say(const std::string& text) {
  std::cerr << "quell-worker: " << text << "\n";
  return 1;
}

bool is_locked(const std::string& path) {
  const unique_fd lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// A pidfd of the process that holds the lock, safe against reuse of the pid. None: nobody holds it.
unique_fd holder(const std::string& lock) {
  const long pid = std::strtol(content(lock).c_str(), nullptr, 10);
  if (pid <= 0) return {};
  unique_fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process || !is_locked(lock) || std::strtol(content(lock).c_str(), nullptr, 10) != pid) return {};
  return process;
}

} // namespace

int rotate_key(const std::string& state, std::chrono::seconds timeout) {
  const std::string keys = state + "/keys", lock = state + "/lock", request_path = state + "/change";
  if (::access((state + "/id").c_str(), F_OK) != 0)
    return say(state + " is not a state directory of a worker; name it with --state or --name");
  const auto before = key_ring::look_at(content(keys));
  const unique_fd file(::open(request_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file)
    return say("cannot write " + request_path + ": " + std::strerror(errno) + "; run this as the worker's user");
  const auto worker = holder(lock);
  if (!worker) {
    if (is_locked(lock)) return say("the worker is just starting or leaving; try again");
    std::cerr << "quell-worker: the worker is not running; it changes its key when it starts\n";
    return 0;
  }
  if (::syscall(SYS_pidfd_send_signal, worker.get(), SIGURG, nullptr, 0) != 0)
    return say(std::string("cannot signal the worker: ") + std::strerror(errno) + "; run this as the worker's user");
  for (const auto until = boot_now() + timeout; boot_now() < until;) {
    pollfd end{worker.get(), POLLIN, 0};
    const bool ended = ::poll(&end, 1, static_cast<int>(look_again.count())) > 0;
    const auto now = key_ring::look_at(content(keys));
    if (::access(request_path.c_str(), F_OK) != 0 && !now.is_changing) {
      if (!now.refusal.empty()) return say("the controller did not take the new key: " + now.refusal);
      if (now.public_key != before.public_key) {
        std::cout << now.public_key << "\n";
        return 0;
      }
    }
    if (ended) return say("the worker ended meanwhile; it goes on with the change when it starts");
  }
  return say("the key is not changed yet: the worker has no session with its controller (its log says why). It goes on "
             "with the change by itself, also after a restart");
}

} // namespace quell::worker
