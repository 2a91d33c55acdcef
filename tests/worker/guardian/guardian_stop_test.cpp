// Stop, at each level of containment that this machine has: the signals, their order, and that nothing survives it.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <pty.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/patience.hpp"
#include "tests/worker/guardian/guardian_ward.hpp"

using namespace quell;
using namespace quell::worker;
using namespace quell::worker::test;
using force = task_ended_here::force;

namespace {

#define AT_EACH_LEVEL(level)                                                                                           \
  for (const auto level : levels_here()) DYNAMIC_SECTION(name_of(level))

std::string temporary_path() { return "/tmp/quell-guardian-test-" + fresh_mark(); }

/// Stops without grace, and checks that no process with the mark lives and nothing is left of the task.
void stop_at_once(ward& w, const operation_id& id, const std::string& mark) {
  w.stop(id, 0ms);
  const auto& story = w.end_of(id);
  REQUIRE(story.ended);
  CHECK(story.ended->sent == force::killed);
  CHECK(living(mark).empty());
  CHECK(cgroups_of(w.subtree).empty());
}

} // namespace

TEST_CASE("a held task that is stopped has executed nothing") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto marker_file = temporary_path();
    for (const auto grace : {0ms, 600000ms}) {
      const auto id = w.spawn({.command = {"touch", marker_file}});
      w.await_held(id);
      w.stop(id, grace);
      CHECK(!w.go(id));
      const auto& story = w.end_of(id);
      CHECK(!story.ended->exit);
      CHECK(story.ended->sent == force::nothing);
      CHECK(!story.executing);
    }
    CHECK(!std::filesystem::exists(marker_file));
    w.close();
  }
}

TEST_CASE("a stop before the task is known to be held: nothing is executed either") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto marker_file = temporary_path();
    for (int i = 0; i < 50; ++i) {
      const auto id = w.spawn({.command = {"touch", marker_file}});
      w.stop(id, 1000ms);
      const auto& story = w.end_of(id);
      CHECK(!story.ended->exit);
      CHECK(!story.executing);
    }
    CHECK(!std::filesystem::exists(marker_file));
    w.close();
  }
}

TEST_CASE("go and stop in one breath: the task ends, whatever it came to") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    for (int i = 0; i < 40; ++i) {
      const auto mark = fresh_mark();
      const auto id = w.spawn({.command = {"sleep", "1000." + mark}});
      w.await_held(id);
      REQUIRE(w.go(id));
      w.stop(id, i % 2 == 0 ? 0ms : 600000ms);
      const auto& story = w.end_of(id);
      if (story.ended->exit) CHECK(story.ended->exit->signal == (i % 2 == 0 ? "KILL" : "TERM"));
      CHECK(living(mark).empty());
    }
    w.close();
  }
}

TEST_CASE("SIGTERM that is honoured: the task ends as signalled, long before its grace") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("trap 'exit 4' TERM; sleep 1000." + mark + " & wait", mark);
    // Not the shell's fork before its exec: the shell's handler swallows a signal that comes just then.
    eventually("the child", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 1; });
    w.stop(id, 600s);
    const auto& story = w.end_of(id);
    CHECK(story.ended->exit->code == 4);
    CHECK(story.ended->sent == force::signalled);
    CHECK(living(mark).empty());
    w.close();
  }
}

TEST_CASE("SIGTERM that is ignored: the task is killed when its grace is over, and not before") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("trap '' TERM; sleep 1000." + mark + "; :", mark);
    eventually("the child", [&] { return living("1000." + mark).size() == 2; });
    const auto before = now();
    w.stop(id, 300ms);
    const auto& story = w.end_of(id);
    CHECK(story.ended->sent == force::killed);
    CHECK(story.ended->exit->signal == "KILL");
    CHECK(story.ended_at - before >= 300ms);
    CHECK(story.ended_at - before < testing::patient(30s));
    CHECK(living(mark).empty());
    w.close();
  }
}

TEST_CASE("the stop signal is the one that was asked for, and reaches every process") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto file = temporary_path();
    const auto mark = fresh_mark();
    const std::string child = "trap 'echo child >>" + file + "; exit' USR1; while :; do sleep 1000." + mark + "; done";
    const auto id = w.run({.command = {"/bin/sh", "-c",
                                       "setsid sh -c \"" + child + "\" & trap 'echo leader >>" + file +
                                           "; exit' USR1; while :; do sleep 1000." + mark + "; done"},
                           .stop_signal = "USR1"});
    eventually("both sleeps", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 2; });
    w.stop(id, 600s);
    CHECK(w.end_of(id).ended->sent == force::signalled);
    const auto text = file_text(file);
    CHECK(text.find("child\n") != std::string::npos);
    CHECK(text.find("leader\n") != std::string::npos);
    std::filesystem::remove(file);
    w.close();
  }
}

TEST_CASE("a later signal instant leaves the cooperative channel its time") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto quick = w.shell("read line </dev/null; exec 3<>/dev/null; sleep 0.2");
    w.stop(quick, 600s, 300000ms);
    CHECK(w.end_of(quick).ended->sent == force::cooperative);
    CHECK(w.stories[quick].ended->exit->code == 0);
    const auto slow = w.shell("exec sleep 1000");
    const auto before = now();
    w.stop(slow, 600s, 200ms);
    CHECK(w.end_of(slow).ended->sent == force::signalled);
    CHECK(w.stories[slow].ended_at - before >= 200ms);
    w.close();
  }
}

TEST_CASE("a second stop may only bring the kill nearer") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("trap '' TERM; sleep 1000." + mark + "; :", mark);
    eventually("the child", [&] { return living("1000." + mark).size() == 2; });
    w.stop(id, 600s);
    w.stop(id, 200ms);
    w.stop(id, 900s);
    CHECK(w.end_of(id).ended->sent == force::killed);
    w.close();
  }
}

TEST_CASE("setsid, double fork, closed descriptors and a cleared environment do not escape") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id =
        w.shell("trap '' TERM; (setsid sh -c 'trap \"\" TERM; exec 0<&- 1>&- 2>&-; (exec env -i setsid sleep 1000." +
                mark + ") & exit' &) ; sleep 1000." + mark);
    eventually("both sleeps", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 2; });
    stop_at_once(w, id, mark);
    w.close();
  }
}

TEST_CASE("a process that respawns itself without end is caught") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    // Each generation forks the next one, changes its session and dies: no pid lives long.
    const auto id = w.run({.command = {"perl", "-e",
                                       "use POSIX; $SIG{TERM}='IGNORE'; while(1){ my $p = fork(); if (!defined $p || "
                                       "$p) { exit 0 } POSIX::setsid(); }",
                                       mark}});
    w.until("leader left", [&] { return w.stories[id].left.has_value(); });
    CHECK(!w.stories[id].ended);
    stop_at_once(w, id, mark);
    w.close();
  }
}

TEST_CASE("a parent that restarts its children does not win") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id =
        w.shell("trap '' TERM; for i in 1 2 3 4 5; do (while :; do sleep 0.01" + mark + "; done) & done; wait", mark);
    eventually("children", [&] { return living(mark).size() >= 6; });
    stop_at_once(w, id, mark);
    w.close();
  }
}

TEST_CASE("a stopped tree gets its signal and goes on to honour it") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("sleep 1000." + mark + " & sleep 1000." + mark, mark);
    eventually("the tree", [&] { return living(mark).size() == 3; });
    for (const int pid : living(mark)) REQUIRE(::kill(pid, SIGSTOP) == 0);
    w.stop(id, 600s);
    const auto& story = w.end_of(id);
    CHECK(story.ended->sent == force::signalled);
    CHECK(living(mark).empty());
    w.close();
  }
}

TEST_CASE("a stopped tree that ignores its signal is killed") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("trap '' TERM CONT; sleep 1000." + mark + " & kill -STOP $$", mark);
    eventually("the tree", [&] { return living(mark).size() == 2; });
    w.stop(id, 100ms);
    CHECK(w.end_of(id).ended->sent != force::nothing);
    CHECK(living(mark).empty());
    w.close();
  }
}

TEST_CASE("500 processes of one task die together") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell(
        "trap '' TERM; i=0; while [ $i -lt 499 ]; do sleep 1000." + mark + " & i=$((i+1)); done; wait; wait", mark);
    eventually(
        "500 processes", [&] { return living(mark).size() == 500; }, 120s);
    const auto before = now();
    SECTION("at once") {
      stop_at_once(w, id, mark);
      CHECK(w.stories[id].ended_at - before < testing::patient(30s));
    }
    SECTION("after a grace that nobody honours") {
      w.stop(id, 200ms);
      CHECK(w.end_of(id).ended->sent == force::killed);
      CHECK(living(mark).empty());
    }
    w.close();
  }
}

TEST_CASE("an interactive shell with job control on a terminal is stopped with its jobs") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    int master = -1, slave = -1;
    REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
    const auto mark = fresh_mark();
    const auto id = w.run({.command = {"bash", "--norc", "--noprofile", "-i"}, .pty_slave = slave});
    const std::string lines =
        "set -m; sleep 1000." + mark + " & (trap '' TERM HUP; sleep 1000." + mark + ") & trap '' TERM\n";
    REQUIRE(::write(master, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()));
    eventually("the jobs", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 2; });
    // It has a controlling terminal of its own: job control works, so that the jobs have their own groups.
    const auto jobs = living(std::string("sleep") + '\0' + "1000." + mark);
    CHECK(::getpgid(jobs[0]) != ::getpgid(jobs[1]));
    CHECK(::getpgid(jobs[0]) != ::getpgid(*w.stories[id].pid));
    CHECK(::getsid(jobs[0]) == ::getsid(*w.stories[id].pid));
    w.stop(id, 300ms);
    CHECK(w.end_of(id).ended->sent == force::killed);
    CHECK(living(mark).empty());
    ::close(master);
    ::close(slave);
    w.close();
  }
}

TEST_CASE("a look names the living processes of a task") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto mark = fresh_mark();
    const auto id = w.shell("sleep 1000." + mark + " & sleep 1000." + mark + "; :", mark);
    eventually("the tree", [&] { return living(mark).size() == 3; });
    w.client->look(id);
    w.until("what it sees", [&] { return !w.stories[id].still.empty(); });
    const auto& seen = w.stories[id].still.front();
    CHECK(seen.why == unproven_why::in_grace);
    CHECK(seen.processes_total == 3);
    REQUIRE(seen.processes.size() == 3);
    for (const auto& p : seen.processes) CHECK(p.command.find(mark) != std::string::npos);
    stop_at_once(w, id, mark);
    w.close();
  }
}

TEST_CASE("a stop of one task leaves its siblings alone") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto stays = fresh_mark(), goes = fresh_mark();
    const auto sibling = w.shell("sleep 1000." + stays + " & wait", stays);
    const auto id = w.shell("sleep 1000." + goes + " & wait", goes);
    eventually("both", [&] { return living(stays).size() == 2 && living(goes).size() == 2; });
    w.stop(id, 0ms);
    CHECK(w.end_of(id).ended->sent == force::killed);
    CHECK(living(goes).empty());
    CHECK(living(stays).size() == 2);
    CHECK(!w.stories[sibling].ended);
    w.stop(sibling, 0ms);
    w.end_of(sibling);
    w.close();
  }
}

TEST_CASE("the end of a killed task waits only briefly for one that was killed before and does not die") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto stays = fresh_mark(), goes = fresh_mark();
    const auto stuck = w.run({.command = {"sleep", "1000." + stays}});
    const auto id = w.run({.command = {"sleep", "1000." + goes}});
    const auto leader = *w.stories[stuck].pid;
    REQUIRE(::ptrace(PTRACE_SEIZE, leader, nullptr, PTRACE_O_TRACEEXIT) == 0);
    w.stop(stuck, 0ms);
    int status = 0;
    REQUIRE(::waitpid(leader, &status, __WALL) == leader); // it is held in its exit
    w.stop(id, 0ms);
    CHECK(w.end_of(id, 20s).ended->sent == force::killed);
    CHECK(!w.stories[stuck].ended);
    REQUIRE(::ptrace(PTRACE_DETACH, leader, nullptr, nullptr) == 0);
    CHECK(w.end_of(stuck).ended->sent == force::killed);
    w.close();
  }
}

TEST_CASE("sub-cgroups that a task made are killed and removed with it") {
  AT_EACH_LEVEL(level) {
    if (level == containment::group || level == containment::pidns) continue;
    ward w(level);
    const auto mark = fresh_mark();
    const auto id =
        w.shell("c=$(sed -n 's/^0:://p' /proc/self/cgroup); m=$(awk '$3==\"cgroup2\"{print $2; exit}' /proc/mounts); "
                "mkdir -p $m$c/a/b && sh -c \"echo \\$\\$ >$m$c/a/b/cgroup.procs; exec sleep 1000." +
                    mark + "\" & sleep 1000." + mark,
                mark);
    eventually("both sleeps", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 2; });
    stop_at_once(w, id, mark);
    w.close();
  }
}

TEST_CASE("the guardian keeps the mounts of a task that it stops, and lets go of them behind its end") {
  AT_EACH_LEVEL(level) {
    ward w(level);
    const auto process = "/proc/" + std::to_string(w.client->pid());
    const auto kept = [&] {
      int found = 0;
      for (const auto& fd : std::filesystem::directory_iterator(process + "/fd")) {
        std::error_code closed_meanwhile;
        const auto target = std::filesystem::read_symlink(fd.path(), closed_meanwhile).string();
        if (target.starts_with("mnt:[")) ++found;
      }
      return found;
    };
    const auto mark = fresh_mark();
    const auto id = w.shell("trap '' TERM; sleep 1000." + mark + " & while :; do wait; done", mark);
    eventually("the child", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 1; });
    CHECK(kept() == 0);
    w.stop(id, 600000ms);
    const bool has_own = level == containment::pidns || level == containment::cgroup_pidns;
    eventually("the guardian to hold the mounts", [&] { return kept() == (has_own ? 1 : 0); });
    stop_at_once(w, id, mark);
    eventually("the guardian to let go of them", [&] { return kept() == 0; });
    const auto children = process + "/task/" + std::to_string(w.client->pid()) + "/children";
    eventually("its child to end", [&] { return file_text(children).empty(); });
    w.close();
  }
}
