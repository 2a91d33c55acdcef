// A writer that is killed between its temporary file and the rename: the kernel kills it at that very call.
#include <cerrno>
#include <cstddef>
#include <set>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/playground.hpp"

using namespace quell::testing;

namespace {

enum class locks : std::uint8_t { work, are_missing };

/// From now on this process dies at a rename, and `are_missing` lets the lock of a folder fail.
bool dies_at_a_rename(locks how) {
#ifdef __NR_rename
  constexpr std::uint32_t plain_rename = __NR_rename;
#else
  constexpr std::uint32_t plain_rename = __NR_renameat;
#endif
  const std::uint32_t at_flock =
      how == locks::work ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(ENOLCK);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, plain_rename, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_renameat, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_renameat2, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_flock, 2, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, at_flock),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return ::prctl(PR_SET_DUMPABLE, 0) == 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// The signal that ended the child, or 0.
int signal_of(pid_t child) {
  int how = 0;
  while (::waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

/// Writes `text` in a process that is killed before the rename; true if it was. Each has the same process id where the
/// kernel lets this user make PID namespaces: so it is with the tasks of a worker.
bool is_killed_writing(const playground& p, const std::string& path, const std::string& text, locks how) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::unshare(CLONE_NEWUSER | CLONE_NEWPID);
    const pid_t writer = ::fork();
    if (writer == 0) {
      if (!dies_at_a_rename(how)) ::_exit(2);
      p.run("write", {{"path", path}, {"text", text}});
      ::_exit(1);
    }
    ::_exit(signal_of(writer) == SIGSYS ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::set<std::string> leftovers(const playground& p) {
  std::set<std::string> found;
  for (const auto& e : fs::directory_iterator(p.root()))
    if (e.path().extension() == ".tmp") found.insert(e.path().filename().string());
  return found;
}

} // namespace

TEST_CASE("a writer that is killed before its rename leaves the old file and a folder that the next one can use",
          "[tools][killed]") {
  playground p;
  p.put(p.root() / "f", "old");
  REQUIRE(is_killed_writing(p, "f", "half", locks::work));
  CHECK(p.got(p.root() / "f") == "old");
  CHECK(leftovers(p).size() == 1);
  SECTION("of the same file") {
    p.good("edit", {{"path", "f"}, {"old", "old"}, {"new", "new"}});
    CHECK(p.got(p.root() / "f") == "new");
  }
  SECTION("of another file") {
    p.good("write", {{"path", "g"}, {"text", "new"}});
    CHECK(p.got(p.root() / "g") == "new");
    CHECK(p.got(p.root() / "f") == "old");
  }
  SECTION("that is killed, too") {
    REQUIRE(is_killed_writing(p, "f", "half", locks::work));
    CHECK(leftovers(p).size() == 1);
    p.good("write", {{"path", "f"}, {"text", "new"}});
  }
  CHECK(leftovers(p).empty());
}

TEST_CASE("where folders have no locks, too, no writer meets the temporary file of another", "[tools][killed]") {
  playground p;
  constexpr std::size_t writers = 6;
  for (std::size_t i = 0; i < writers; ++i) REQUIRE(is_killed_writing(p, "f", std::to_string(i), locks::are_missing));
  CHECK(leftovers(p).size() == writers);
  CHECK_FALSE(fs::exists(p.root() / "f"));
  p.good("write", {{"path", "f"}, {"text", "new"}});
  CHECK(p.got(p.root() / "f") == "new");
  CHECK(leftovers(p).empty());
}
