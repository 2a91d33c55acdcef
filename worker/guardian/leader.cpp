// A task's first process from fork to exec: session, streams, terminal, directory, the hold, the exec.
#include <fcntl.h>
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "worker/guardian/client.hpp"
#include "worker/guardian/keeper.hpp"
#include "worker/guardian/sandbox.hpp"

namespace quell::worker {
namespace {

[[noreturn]] void give_up(const exec_failure_place& to, exec_failure why) {
  if (to.shared) *to.shared = why;
  while (to.pipe >= 0 && ::write(to.pipe, &why, sizeof why) < 0 && errno == EINTR) {
  }
  ::_exit(why.code == 0 ? 126 : why.code);
}

const char* path_in(char* const* envp) {
  for (; *envp; ++envp)
    if (std::strncmp(*envp, "PATH=", 5) == 0) return *envp + 5;
  return "/usr/local/bin:/usr/bin:/bin";
}

/// execve; a script without a `#!` line goes to the shell, as with execvp.
int execute(const char* file, const keeper_orders& orders) {
  ::execve(file, orders.argv, orders.envp);
  if (errno != ENOEXEC) return errno;
  std::size_t count = 0;
  while (orders.argv[count]) ++count;
  auto** words = static_cast<char**>(std::calloc(count + 2, sizeof(char*)));
  if (!words) return ENOMEM;
  words[0] = const_cast<char*>("/bin/sh");
  words[1] = const_cast<char*>(file);
  for (std::size_t i = 1; i < count; ++i) words[i + 1] = orders.argv[i];
  ::execve("/bin/sh", words, orders.envp);
  std::free(words);
  return ENOEXEC;
}

/// The shell's rule: 127 if the file does not exist, 126 if it exists and cannot be executed.
int code_of(int error, const char* file) {
  if (error != ENOENT && error != ENOTDIR) return 126;
  struct stat exists {};
  return ::stat(file, &exists) == 0 ? 126 : 127; // the file exists, so its interpreter is missing
}

exec_failure execute_along_path(const keeper_orders& orders) {
  const char* name = orders.argv[0];
  if (std::strchr(name, '/')) {
    const int error = execute(name, orders);
    return {start_step::exec, false, error, code_of(error, name)};
  }
  exec_failure worst{start_step::exec, false, ENOENT, 127};
  std::string_view rest = path_in(orders.envp);
  const std::string_view file = name;
  char full[PATH_MAX];
  while (true) {
    const auto end = rest.find(':');
    auto folder = rest.substr(0, end);
    if (folder.empty()) folder = ".";
    if (!file.empty() && folder.size() + file.size() + 2 <= sizeof full) {
      std::memcpy(full, folder.data(), folder.size());
      full[folder.size()] = '/';
      std::memcpy(full + folder.size() + 1, file.data(), file.size() + 1);
      const int error = execute(full, orders);
      const int code = code_of(error, full);
      if (error == EACCES || (code == 126 && error == ENOENT))
        worst = {start_step::exec, false, error, 126}; // a later folder can have one that can be executed
      else if (error != ENOENT && error != ENOTDIR)
        return {start_step::exec, false, error, 126};
    }
    if (end == std::string_view::npos) return worst;
    rest.remove_prefix(end + 1);
  }
}

/// Changes from the worker's user to the task's permanently: real, effective and saved ids. The task gets ownership of
/// its streams, so that it can reopen them (/dev/stdout); never of a device, which all users share.
bool change_user(const keeper_orders& orders) {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat is {};
    if (::fstat(fd, &is) < 0) return false;
    if (S_ISFIFO(is.st_mode) || orders.pty)
      if (::fchown(fd, orders.uid, orders.pty ? static_cast<gid_t>(-1) : orders.gid) < 0) return false;
  }
  return ::setgroups(orders.group_count, orders.groups) == 0 && ::setresgid(orders.gid, orders.gid, orders.gid) == 0 &&
         ::setresuid(orders.uid, orders.uid, orders.uid) == 0;
}

} // namespace

void run_leader(const keeper_orders& orders, pid_t keeper, exec_failure_place failures) {
  const auto fail = [&](start_step step) { give_up(failures, {step, false, errno, 126}); };
  const bool own_init = orders.level == containment::pidns || orders.level == containment::cgroup_pidns;
  if (!own_init) {
    // The keeper's death must not free the leader; the other descendants become the guardian's children, and it kills
    // them.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper) ::_exit(126);
  }
  if (::setsid() < 0) fail(start_step::session);
  if (::dup2(orders.in, 0) < 0 || ::dup2(orders.out, 1) < 0 || ::dup2(orders.err, 2) < 0) fail(start_step::streams);
  for (std::size_t i = 0; i < orders.secret_count; ++i)
    if (::dup2(orders.secrets[i], first_secret_descriptor + static_cast<int>(i)) < 0) fail(start_step::streams);
  if (orders.pty && ::ioctl(0, TIOCSCTTY, 0) < 0) fail(start_step::terminal);
  if (orders.workspace.wanted && !enter_workspace(orders.workspace)) fail(start_step::workspace);
  if (::chdir(orders.directory) < 0) fail(start_step::directory);
  rlimit files{};
  if (orders.open_files_limit != 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0 &&
      files.rlim_cur != orders.open_files_limit) {
    files.rlim_cur = orders.open_files_limit;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }

  if (!orders.confinement->drop_bounding(orders.workspace.wanted)) fail(start_step::sandbox);
  if (orders.changes_user) {
    if (!change_user(orders)) fail(start_step::user);
    // The kernel clears the parent-death signal when a process changes its user.
    if (!own_init) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != keeper) ::_exit(126);
    }
  }

  if (!orders.confinement->confine()) fail(start_step::sandbox);

  keeper_report held;
  held.held = true;
  if (::send(orders.channel, &held, sizeof held, MSG_NOSIGNAL) < 0) fail(start_step::keeper);

  char go = 0;
  ssize_t got = 0;
  while ((got = ::read(orders.hold, &go, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) give_up(failures, {start_step::none, true, 0, 0});

  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  for (std::size_t i = 0; i < orders.secret_count; ++i)
    ::fcntl(first_secret_descriptor + static_cast<int>(i), F_SETFD, 0);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int handled_by_keeper : {SIGCHLD, SIGTERM}) ::sigaction(handled_by_keeper, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (orders.workspace.wanted && *orders.workspace.notice != 0)
    (void)!::write(2, orders.workspace.notice, std::strlen(orders.workspace.notice));
  give_up(failures, execute_along_path(orders));
}

} // namespace quell::worker
