// Deaths: of the worker, of the guardian, of a keeper. The tasks outlive none of them.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/patience.hpp"
#include "tests/worker/guardian/guardian_ward.hpp"
#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/processes.hpp"

using namespace quell;
using namespace quell::worker;
using namespace quell::worker::test;

namespace {

/// A tree that ignores every signal but SIGKILL, has left its session, and has children.
std::string stubborn(const std::string& mark) {
  return "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000." + mark + "; :' " + mark +
         " &); sleep 1000." + mark + "; :";
}

void await_stubborn(const std::string& mark, std::size_t tasks) {
  eventually("the trees", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == tasks * 2; });
}

} // namespace

TEST_CASE("when the worker is killed, its tasks are dead within a second") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      auto fastest = std::chrono::nanoseconds::max();
      for (int i = 0; i < 5 && fastest >= testing::patient(1s); ++i) { // a busy machine can let any of them rest
        const auto mark = fresh_mark();
        const auto subtree = "quell-test-" + mark;
        const pid_t worker = in_another_process([&] { // with three running tasks and a held one; it never returns
          ward w(level, true, subtree);
          for (int n = 0; n < 3; ++n) w.shell(stubborn(mark), mark);
          w.await_held(w.spawn({.command = {"sleep", "1000." + mark}}));
          while (true) w.hear(1000);
        });
        await_stubborn(mark, 3);
        const auto before = now();
        REQUIRE(::kill(worker, SIGKILL) == 0);
        eventually("all dead", [&] { return living(mark).size() == living(subtree).size(); });
        fastest = std::min<std::chrono::nanoseconds>(fastest, now() - before);
        eventually("the guardian gone", [&] { return living(subtree).empty(); });
        CHECK(!subtree_exists(subtree));
        ::waitpid(worker, nullptr, 0);
        CHECK(living(mark).empty());
      }
      CHECK(fastest < testing::patient(1s));
    }
  }
}

TEST_CASE("when the worker is frozen, its tasks are dead by the end of the lease") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      const auto mark = fresh_mark();
      const auto subtree = "quell-test-" + mark;
      const pid_t worker = in_another_process([&] {
        ward w(level, true, subtree);
        w.shell(stubborn(mark), mark);
        await_stubborn(mark, 1);
        w.client->lease(now(), testing::patient(1500ms));
        ::raise(SIGSTOP);
      });
      int state = 0;
      REQUIRE((::waitpid(worker, &state, WUNTRACED) == worker && WIFSTOPPED(state)));
      // guardian_lease_test checks the exact time.
      eventually("the tasks dead", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).empty(); });
      REQUIRE(::kill(worker, SIGKILL) == 0);
      ::waitpid(worker, nullptr, 0);
      eventually("the guardian gone", [&] { return living(mark).empty(); });
      CHECK(!subtree_exists(subtree));
    }
  }
}

TEST_CASE("when the guardian is killed, its tasks die, the client says so, and a sweep leaves nothing") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      for (int i = 0; i < 3; ++i) w.shell(stubborn(mark), mark);
      const auto held = w.spawn({.command = {"sleep", "1000." + mark}});
      w.await_held(held);
      await_stubborn(mark, 3);
      REQUIRE(::kill(w.client->pid(), SIGKILL) == 0);
      const auto end = now() + testing::patient(60s);
      while (!w.gone && now() < end) w.hear(20);
      REQUIRE(w.gone);
      CHECK(w.gone->find("KILL") != std::string::npos);
      CHECK(!w.client->go(held));
      const auto swept = sweep_containment(w.subtree, lock_of(w.subtree));
      REQUIRE(swept);
      CHECK(living(mark).empty());
      CHECK(!subtree_exists(w.subtree));
      const auto late = w.spawn({.command = {"true"}});
      w.hear(10);
      CHECK(w.stories[late].spawn_failed == "the guardian is gone");
      CHECK(own_zombies() == 0);
    }
  }
}

TEST_CASE("when worker and guardian are killed together, the tasks die all the same") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      const auto mark = fresh_mark();
      const auto subtree = "quell-test-" + mark;
      int ends[2];
      REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
      const pid_t worker = in_another_process([&] {
        ward w(level, true, subtree);
        w.shell(stubborn(mark), mark);
        const pid_t guardian = w.client->pid();
        [[maybe_unused]] const auto wrote = ::write(ends[1], &guardian, sizeof guardian);
        while (true) w.hear(1000);
      });
      pid_t guardian = 0;
      REQUIRE(::read(ends[0], &guardian, sizeof guardian) == sizeof guardian);
      await_stubborn(mark, 1);
      ::kill(worker, SIGKILL);
      ::kill(guardian, SIGKILL);
      ::waitpid(worker, nullptr, 0);
      eventually("all dead", [&] { return living(mark).empty(); });
      REQUIRE(sweep_containment(subtree, lock_of(subtree)));
      CHECK(!subtree_exists(subtree));
      ::close(ends[0]);
      ::close(ends[1]);
    }
  }
}

TEST_CASE("a worker that starts again finds nothing of the life before, however that one ended") {
  for (const auto level : levels_here()) {
    for (const bool guardian_too : {false, true}) {
      DYNAMIC_SECTION(name_of(level) << (guardian_too ? " guardian killed too" : "")) {
        const auto mark = fresh_mark();
        const auto subtree = "quell-test-" + mark;
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        const pid_t worker = in_another_process([&] {
          ward w(level, true, subtree);
          w.shell("trap '' TERM; i=0; while [ $i -lt 100 ]; do sleep 1000." + mark + " & i=$((i+1)); done; wait; wait",
                  mark);
          const pid_t guardian = w.client->pid();
          [[maybe_unused]] const auto wrote = ::write(ends[1], &guardian, sizeof guardian);
          while (true) w.hear(1000);
        });
        pid_t guardian = 0;
        REQUIRE(::read(ends[0], &guardian, sizeof guardian) == sizeof guardian);
        eventually("the tree", [&] { return living("1000." + mark).size() == 101; });
        ::kill(worker, SIGKILL);
        if (guardian_too) ::kill(guardian, SIGKILL);
        ward next(level, true, subtree);
        CHECK(living("1000." + mark).empty());
        CHECK(cgroups_of(subtree).empty());
        CHECK(next.end_of(next.shell("exit 0")).ended->exit->code == 0);
        ::waitpid(worker, nullptr, 0);
        next.close();
        ::close(ends[0]);
        ::close(ends[1]);
      }
    }
  }
}

TEST_CASE("a process that the kernel does not let die is reported every second, and proven when it goes") {
  // A v1 freezer, if the machine has one, holds a process so that not even SIGKILL takes effect.
  const std::string freezer = "/sys/fs/cgroup/freezer/quell-test-" + fresh_mark();
  if (::mkdir(freezer.c_str(), 0755) != 0) return;
  const auto write_to = [&](const std::string& file, const std::string& text) {
    const int fd = ::open((freezer + "/" + file).c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(fd);
  };
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto id = w.shell("sleep 1000." + mark + "; :", mark);
      eventually("the child", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 1; });
      for (const int pid : living(mark)) write_to("cgroup.procs", std::to_string(pid));
      write_to("freezer.state", "FROZEN");
      eventually("frozen", [&] { return file_text(freezer + "/freezer.state") == "FROZEN\n"; });
      w.stop(id, 100ms);
      w.until("two reports", [&] { return w.stories[id].still.size() >= 2; });
      CHECK(!w.stories[id].ended);
      const auto& seen = w.stories[id].still.back();
      CHECK(seen.why == unproven_why::stuck_in_kernel);
      CHECK(seen.processes_total == 2);
      CHECK(seen.kill_again_at);
      write_to("freezer.state", "THAWED");
      CHECK(w.end_of(id).ended->sent == task_ended_here::force::killed);
      CHECK(living(mark).empty());
      w.close();
    }
  }
  CHECK(::rmdir(freezer.c_str()) == 0);
}

TEST_CASE("a keeper that is killed or stopped by its own task does not set the task free") {
  for (const auto level : levels_here()) {
    if (level == containment::pidns || level == containment::cgroup_pidns) continue; // out of reach at these levels
    for (const auto* how : {"KILL", "STOP"}) {
      DYNAMIC_SECTION(name_of(level) << " " << how) {
        ward w(level);
        const auto mark = fresh_mark(), other = fresh_mark();
        const auto sibling = w.shell("sleep 1000." + other + "; :", other);
        eventually("the sibling", [&] { return living(other).size() == 2; });
        const std::string script = "(setsid sh -c 'trap \"\" TERM; while :; do sleep 1000." + mark + "; done' " + mark +
                                   " &) ; sleep 1000." + mark + " & kill -" + how + " $PPID; trap '' TERM; wait; wait";
        const auto id = w.spawn({.command = {"/bin/sh", "-c", script, mark}});
        w.await_held(id);
        REQUIRE(w.go(id)); // a keeper that is stopped early never reports that the task executes
        if (how == std::string("STOP")) {
          eventually("the tree", [&] { return living(mark).size() == 4; });
          w.stop(id, 100ms);
        }
        const auto& story = w.end_of(id);
        CHECK(story.ended->sent == task_ended_here::force::killed);
        CHECK(living(mark).empty());
        CHECK(living(other).size() == 2);
        w.stop(sibling, 0ms);
        w.end_of(sibling);
        w.close();
      }
    }
  }
}

TEST_CASE("a task that seizes its keeper by ptrace is killed all the same") {
  for (const auto level : levels_here()) {
    if (level == containment::pidns || level == containment::cgroup_pidns) continue;
    for (const auto* options : {"0", "0x40"}) { // 0x40: the tracer holds the keeper in its exit
      DYNAMIC_SECTION(name_of(level) << " options " << options) {
        ward w(level);
        const auto mark = fresh_mark();
        const auto script = "import ctypes,os,signal\n"
                            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                            "keeper = os.getppid()\n"
                            "if os.fork() == 0:\n"
                            "  os.setsid()\n"
                            "  r = ctypes.CDLL(None).ptrace(0x4206, keeper, 0, " +
                            std::string(options) +
                            ")\n"
                            "  os.execvp('sleep', ['sleep', '1000." +
                            mark + "' if r == 0 else '0'])\n" + "signal.pause()\n";
        const auto id = w.run({.command = {"python3", "-c", script, mark}});
        eventually("the tracer", [&] { return !living(std::string("sleep") + '\0' + "1000." + mark).empty(); });
        w.stop(id, 100ms);
        CHECK(w.end_of(id).ended->sent == task_ended_here::force::killed);
        CHECK(living(mark).empty());
        w.close();
      }
    }
  }
}

TEST_CASE("a cgroup directory that somebody removed is made again") {
  for (const auto level : levels_here()) {
    if (level == containment::group || level == containment::pidns) continue;
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      auto own = own_cgroup();
      REQUIRE(own);
      REQUIRE(::rmdir((*own + "/" + w.subtree).c_str()) == 0);
      CHECK(w.end_of(w.shell("exit 3")).ended->exit->code == 3);
      CHECK(subtree_exists(w.subtree));
      w.close();
    }
  }
}

TEST_CASE("a task cannot stop or kill the init of its own namespace") {
  for (const auto level : levels_here()) {
    if (level != containment::pidns && level != containment::cgroup_pidns) continue;
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto id = w.shell("kill -KILL 1; kill -STOP 1; kill -TERM 1; sleep 1000." + mark + "; :", mark);
      eventually("the child", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 1; });
      w.stop(id, 600s);
      CHECK(w.end_of(id).ended->sent == task_ended_here::force::signalled);
      w.close();
    }
  }
}

TEST_CASE("a process that moves itself out of its cgroup is found all the same") {
  for (const auto level : levels_here()) {
    if (level == containment::group || level == containment::pidns) continue;
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      auto own = own_cgroup();
      REQUIRE(own);
      const auto id = w.shell("setsid sh -c 'echo 0 >" + *own + "/cgroup.procs; trap \"\" TERM; sleep 1000." + mark +
                                  "; :' " + mark + " & sleep 1000." + mark,
                              mark);
      await_stubborn(mark, 1);
      eventually("one has left", [&] {
        for (const int pid : living(mark))
          if (file_text("/proc/" + std::to_string(pid) + "/cgroup").find("/t-") == std::string::npos) return true;
        return false;
      });
      w.stop(id, 100ms);
      CHECK(w.end_of(id).ended->sent == task_ended_here::force::killed);
      CHECK(living(mark).empty());
      w.close();
    }
  }
}

TEST_CASE("a process that is moved into a task's cgroup dies with it") {
  for (const auto level : levels_here()) {
    if (level == containment::group || level == containment::pidns) continue;
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto id = w.shell("sleep 1000; :");
      const pid_t stranger = ::fork();
      if (stranger == 0) {
        while (true) ::pause();
      }
      auto own = own_cgroup();
      REQUIRE(own);
      const auto file = *own + "/" + w.subtree + "/t-" + id.text() + "/cgroup.procs";
      const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
      REQUIRE(fd >= 0);
      const auto text = std::to_string(stranger);
      REQUIRE(::write(fd, text.data(), text.size()) > 0);
      ::close(fd);
      w.stop(id, 0ms);
      CHECK(w.end_of(id).ended->evidence == proof::cgroup_empty);
      int status = 0;
      CHECK(::waitpid(stranger, &status, 0) == stranger);
      CHECK(WTERMSIG(status) == SIGKILL);
      w.close();
    }
  }
}

TEST_CASE("what an earlier life left in the subtree is dead before the next guardian reports") {
  auto own = own_cgroup();
  if (!own || levels_here().back() == containment::pidns || levels_here().back() == containment::group) return;
  const auto mark = fresh_mark();
  const auto subtree = "quell-test-" + mark;
  const auto path = *own + "/" + subtree;
  REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  for (const auto* below : {"/t-old", "/t-old/deeper"}) REQUIRE(::mkdir((path + below).c_str(), 0755) == 0);
  const pid_t old = ::fork();
  if (old == 0) {
    const int fd = ::open((path + "/t-old/deeper/cgroup.procs").c_str(), O_WRONLY);
    [[maybe_unused]] const auto moved = ::write(fd, "0", 1);
    ::execlp("sleep", "sleep", ("1000." + mark).c_str(), nullptr);
    ::_exit(1);
  }
  eventually("the leftover",
             [&] { return file_text("/proc/" + std::to_string(old) + "/cgroup").find("deeper") != std::string::npos; });
  ward w(levels_here().back(), true, subtree);
  CHECK(living("1000." + mark).empty());
  CHECK(cgroups_of(subtree).empty());
  eventually("its end to be told", [&] { return ::waitpid(old, nullptr, WNOHANG) == old; });
  w.close();
}

TEST_CASE("a second guardian of one subtree is refused while the first lives, and kills nothing of it") {
  if (levels_here().back() == containment::pidns || levels_here().back() == containment::group) return;
  ward w(levels_here().back());
  const auto id = w.shell("sleep 1000; :");
  auto second = guardian_client::launch({guardian_program(), w.subtree, std::nullopt, lock_of(w.subtree)});
  REQUIRE(!second);
  CHECK(second.error().detail.find("an earlier guardian of this worker") != std::string::npos);
  w.hear(20);
  CHECK(!w.stories[id].ended);
  w.close();
}

TEST_CASE("a launch without the program, or with a bad subtree, says what is wrong") {
  auto none = guardian_client::launch({"/no/such/quell-guardian", "quell-test-x", std::nullopt});
  REQUIRE(!none);
  CHECK(none.error().detail.find("/no/such/quell-guardian") != std::string::npos);
  for (const auto* bad : {"", "..", "a/b", "cgroup.procs"}) {
    auto launched = guardian_client::launch({guardian_program(), bad, std::nullopt});
    REQUIRE(!launched);
    CHECK(launched.error().detail.find("plain path segment") != std::string::npos);
    CHECK(!sweep_containment(bad));
  }
}
