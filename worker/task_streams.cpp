// Makes pipes, PTY, /dev/null.
#include "worker/task_streams.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "worker/start_fault.hpp"

namespace quell::worker {
namespace {

/// True for a resource that can become available again at any moment, for any task.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM || error == ENOSPC;
}

tl::unexpected<fault> refused(const char* what) {
  return failure(is_shortage(errno) ? start_fault::shortage : start_fault::no_streams,
                 std::string("the worker cannot make ") + what + ": " + std::strerror(errno) +
                     (errno == EMFILE || errno == ENFILE ? "; raise its limit of open files (ulimit -n)" : ""));
}

bool make_pipe(unique_fd& read_end, unique_fd& write_end) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end.reset(fds[0]);
  write_end.reset(fds[1]);
  return true;
}

/// For our end only: O_NONBLOCK belongs to the open file, and the child's end is another one.
void never_wait(const unique_fd& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

unique_fd again(int fd) { return unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

result<stream_ends> make_pty(stream_ends ends) {
  ends.ours.out.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  char name[64];
  if (!ends.ours.out || ::grantpt(ends.ours.out.get()) != 0 || ::unlockpt(ends.ours.out.get()) != 0 ||
      ::ptsname_r(ends.ours.out.get(), name, sizeof name) != 0)
    return refused("a terminal");
  ends.child_in.reset(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ends.child_in) return refused("a terminal");
  const winsize size{24, 80, 0, 0};
  ::ioctl(ends.ours.out.get(), TIOCSWINSZ, &size);
  ends.child_out = again(ends.child_in.get());
  ends.child_err = again(ends.child_in.get());
  ends.ours.in = again(ends.ours.out.get());
  if (!ends.child_out || !ends.child_err || !ends.ours.in) return refused("a terminal");
  return ends;
}

} // namespace

result<stream_ends> make_streams(const operation_id& operation, const task_spec& spec) {
  static const int null_device = ::open("/dev/null", O_RDONLY | O_CLOEXEC); // one for all tasks
  stream_ends ends;
  ends.ours.operation = operation;
  ends.ours.pty = spec.pty;
  if (spec.pty) return make_pty(std::move(ends));
  if (!make_pipe(ends.ours.out, ends.child_out) || !make_pipe(ends.ours.err, ends.child_err)) return refused("pipes");
  never_wait(ends.ours.out);
  never_wait(ends.ours.err);
  if (spec.stdin_open) {
    if (!make_pipe(ends.child_in, ends.ours.in)) return refused("pipes");
    never_wait(ends.ours.in);
  } else {
    ends.child_in = again(null_device);
    if (!ends.child_in) return refused("its stdin");
  }
  return ends;
}

} // namespace quell::worker
