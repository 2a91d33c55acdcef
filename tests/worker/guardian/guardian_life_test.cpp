// Starts and ordinary ends of tasks under the guardian, at each level of containment that this machine has.
#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/worker/guardian/guardian_ward.hpp"
#include "worker/guardian/cgroup.hpp"

using namespace quell;
using namespace quell::worker;
using namespace quell::worker::test;

namespace {

proof proof_at(containment level) {
  switch (level) {
  case containment::cgroup:
  case containment::cgroup_pidns:
    return proof::cgroup_empty;
  case containment::pidns:
    return proof::pidns_gone;
  case containment::group:
    return proof::group_empty;
  }
  return proof::none;
}

} // namespace

TEST_CASE("the probe finds the strongest level that a guardian then has, and says what it does not promise") {
  const auto found = probe_containment();
  CHECK(found.level == levels_here().back());
  CHECK(!found.limits.empty());
  for (const auto& limit : found.limits) CHECK(limit.ends_with("."));
  // The machine's owner must have all four; elsewhere this test only prints the available levels.
  const auto own = own_cgroup();
  const auto status = file_text("/proc/self/status");
  const auto at = status.find("CapEff:");
  const bool admin = at != std::string::npos && (std::stoull(status.substr(at + 7), nullptr, 16) >> 21 & 1) != 0;
  if (admin && own && ::access(own->c_str(), W_OK) == 0) CHECK(levels_here().size() == 4);
}

TEST_CASE("a task is held, let go, executes, exits and ends with proof") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto id = w.spawn({.command = {"sh", "-c", "exit 3"}});
      w.await_held(id);
      CHECK(::access(("/proc/" + std::to_string(*w.stories[id].pid)).c_str(), F_OK) == 0);
      CHECK(!w.stories[id].executing);
      REQUIRE(w.go(id));
      CHECK(!w.go(id));
      const auto& story = w.end_of(id);
      CHECK(story.executing);
      REQUIRE(story.left);
      CHECK(story.left->code == 3);
      REQUIRE(story.ended);
      CHECK(story.ended->exit == story.left);
      CHECK(story.ended->sent == task_ended_here::force::nothing);
      CHECK(story.ended->evidence == proof_at(level));
      CHECK(cgroups_of(w.subtree).empty());
      w.close();
    }
  }
}

TEST_CASE("the reported pid is the leader's as the host numbers it") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto id = w.run({.command = {"sleep", "1000." + mark}});
      // For a moment the kernel shows no command line of a program that begins.
      eventually("the leader", [&] { return living("1000." + mark) == std::vector<int>{*w.stories[id].pid}; });
      w.stop(id, 0ms);
      CHECK(w.end_of(id).ended->exit->signal == "KILL");
      CHECK(living("1000." + mark).empty());
      w.close();
    }
  }
}

TEST_CASE("exit codes and signals of the leader are reported as they are") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      CHECK(w.end_of(w.shell("exit 0")).ended->exit == exit_state{0, std::nullopt});
      CHECK(w.end_of(w.shell("exit 255")).ended->exit == exit_state{255, std::nullopt});
      CHECK(w.end_of(w.shell("kill -USR1 $$")).ended->exit == exit_state{std::nullopt, "USR1"});
      CHECK(w.end_of(w.shell("kill -SEGV $$")).ended->exit == exit_state{std::nullopt, "SEGV"});
      CHECK(w.end_of(w.shell("kill -KILL $$")).ended->exit == exit_state{std::nullopt, "KILL"});
      w.close();
    }
  }
}

TEST_CASE("a command that is not there ends with 127, one that cannot be executed with 126") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto code = [&](const std::string& command) {
        const auto id = w.spawn({.command = {command}});
        w.await_held(id);
        CHECK(w.go(id));
        const auto& story = w.end_of(id);
        CHECK(!story.executing);
        CHECK(!story.ended->exit);
        REQUIRE(story.exec_failed);
        INFO(story.exec_failed->message);
        CHECK(story.exec_failed->message.find(command) != std::string::npos);
        return story.exec_failed->code;
      };
      CHECK(code("no-such-command-here") == 127);
      CHECK(code("/no/such/path") == 127);
      CHECK(code("/etc/passwd") == 126);
      CHECK(code("/etc") == 126);
      CHECK(cgroups_of(w.subtree).empty());
      w.close();
    }
  }
}

TEST_CASE("PATH is the one of the task's environment") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto id = w.spawn({.command = {"sh", "-c", "exit 0"}, .environment = {"PATH=/nowhere:/etc"}});
      w.await_held(id);
      w.go(id);
      const auto& story = w.end_of(id);
      REQUIRE(story.exec_failed);
      CHECK(story.exec_failed->code == 127);
      w.close();
    }
  }
}

TEST_CASE("a missing directory fails the spawn, says so, and leaves nothing") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto id = w.spawn({.command = {"true"}, .directory = "/no/such/directory"});
      const auto& story = w.end_of(id);
      REQUIRE(story.spawn_failed);
      CHECK(*story.spawn_failed == "cannot enter directory /no/such/directory: No such file or directory (ENOENT)");
      CHECK(cgroups_of(w.subtree).empty());
      w.close();
    }
  }
}

TEST_CASE("command, environment and directory arrive unharmed, also when they are large") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const std::string large(120 * 1024, 'x');
      const auto id =
          w.run({.command = {"/bin/sh", "-c", "echo $(pwd) ${#1} $A:$B; ls /proc/self/fd | wc -l", "sh", large},
                 .environment = {"A=1 2", "B=é", "PATH=/usr/bin:/bin"},
                 .directory = "/usr/lib",
                 .out = ends[1]});
      CHECK(w.end_of(id).ended->exit->code == 0);
      ::close(ends[1]);
      char text[512] = {};
      CHECK(::read(ends[0], text, sizeof text - 1) > 0);
      // ls has its three streams and the directory that it reads: nothing else was inherited
      CHECK(std::string(text) == "/usr/lib 122880 1 2:é\n4\n");
      ::close(ends[0]);
      w.close();
    }
  }
}

TEST_CASE("when the leader exits while children live, the task ends with the last of them") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto id = w.run({.command = {"/bin/sh", "-c", "(exec setsid sleep 1000." + mark + ") & exit 5"}});
      w.until("leader left", [&] { return w.stories[id].left.has_value(); });
      CHECK(w.stories[id].left->code == 5);
      const auto child = [&] { return living(std::string("sleep") + '\0' + "1000." + mark); };
      eventually("the child", [&] { return child().size() == 1; });
      CHECK(!w.stories[id].ended);
      // Repeated: in the middle of its exec a process has no command line by which it could be found.
      w.until("the end with the child's", [&] {
        for (const int pid : child()) ::kill(pid, SIGTERM);
        return w.stories[id].ended.has_value();
      });
      const auto& story = w.end_of(id);
      CHECK(story.ended->exit->code == 5);
      CHECK(story.ended->sent == task_ended_here::force::nothing);
      CHECK(story.ended->left_total == 0);
      w.close();
    }
  }
}

TEST_CASE("with leader_exit=kill the rest dies with the leader") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto id =
          w.run({.command = {"/bin/sh", "-c",
                             "trap '' TERM; (exec setsid sleep 1000." + mark + ") & sleep 1000." + mark + " & exit 7"},
                 .leader_exit = on_leader_exit::kill});
      const auto& story = w.end_of(id);
      CHECK(story.ended->exit->code == 7);
      CHECK(living("1000." + mark).empty());
      CHECK(story.ended->left_total == 2);
      REQUIRE(story.ended->left.size() == 2);
      for (const auto& one : story.ended->left) CHECK((one.pid > 0 && !one.command.empty()));
      w.close();
    }
  }
}

TEST_CASE("in a PID namespace ps, kill and /proc/self agree") {
  for (const auto level : levels_here()) {
    if (level != containment::pidns && level != containment::cgroup_pidns) continue;
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      CHECK(w.end_of(w.shell("read pid rest </proc/self/stat; test $pid = $$ && kill -0 $$ && test $$ -lt 100"))
                .ended->exit->code == 0);
      w.close();
    }
  }
}
