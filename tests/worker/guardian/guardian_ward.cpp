// Implementation of the ward of the guardian's tests.
#include "tests/worker/guardian/guardian_ward.hpp"

#include <catch2/catch.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/patience.hpp"
#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker::test {

boot_time now() { return boot_now(); }

std::string fresh_mark() {
  static std::mt19937_64 random{std::random_device{}()};
  return std::to_string(random() % 900'000'000'000 + 100'000'000'000);
}

std::string guardian_program() {
  const char* other = std::getenv("QUELL_TEST_GUARDIAN");
  return other ? other : QUELL_GUARDIAN_BINARY;
}

const std::vector<containment>& levels_here() {
  static const std::vector<containment> found = [] {
    std::vector<containment> out;
    for (const auto level : {containment::group, containment::pidns, containment::cgroup, containment::cgroup_pidns}) {
      auto tried = guardian_client::launch({guardian_program(), "quell-test-" + fresh_mark(), level});
      if (tried) out.push_back(level);
    }
    return out;
  }();
  REQUIRE(!found.empty());
  return found;
}

pid_t in_another_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) { // a failed check; the parent detects it by the missing result
    }
    ::_exit(1);
  }
  if (child < 0) FAIL("cannot fork");
  return child;
}

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

namespace {

template <class Visit>
void each_process(Visit visit) {
  DIR* dir = ::opendir("/proc");
  REQUIRE(dir);
  while (const dirent* entry = ::readdir(dir))
    if (const int pid = std::atoi(entry->d_name); pid > 0) visit(pid);
  ::closedir(dir);
}

char state_of(int pid, int* parent = nullptr) {
  const auto stat = file_text("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  if (end == std::string::npos) return 0;
  char state = 0;
  int ppid = 0;
  std::sscanf(stat.c_str() + end + 1, " %c %d", &state, &ppid);
  if (parent) *parent = ppid;
  return state;
}

} // namespace

std::vector<int> living(const std::string& mark) {
  std::vector<int> out;
  each_process([&](int pid) {
    if (pid == ::getpid()) return;
    if (file_text("/proc/" + std::to_string(pid) + "/cmdline").find(mark) == std::string::npos) return;
    const char state = state_of(pid);
    if (state != 0 && state != 'Z' && state != 'X') out.push_back(pid);
  });
  return out;
}

int own_zombies() {
  int count = 0;
  each_process([&](int pid) {
    int parent = 0;
    if (state_of(pid, &parent) == 'Z' && parent == ::getpid()) ++count;
  });
  return count;
}

void eventually(const std::string& what, const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  limit = testing::patient(limit);
  const auto end = now() + limit;
  while (!condition()) {
    if (now() >= end) FAIL("waited " << limit.count() << " ms in vain for: " << what);
    ::poll(nullptr, 0, 5);
  }
}

std::vector<std::string> cgroups_of(const std::string& subtree) {
  std::vector<std::string> out;
  auto own = own_cgroup();
  if (!own) return out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(*own + "/" + subtree, none))
    if (entry.is_directory()) out.push_back(entry.path().filename());
  return out;
}

std::string lock_of(const std::string& subtree) {
  return (std::filesystem::temp_directory_path() / (subtree + ".life")).string();
}

bool subtree_exists(const std::string& subtree) {
  auto own = own_cgroup();
  return own && std::filesystem::exists(*own + "/" + subtree);
}

ward::ward(containment level, bool with_lease, std::string name)
    : subtree(name.empty() ? "quell-test-" + fresh_mark() : std::move(name)) {
  auto launched = guardian_client::launch({guardian_program(), subtree, level, lock_of(subtree)});
  if (!launched) FAIL(launched.error().detail);
  client = std::move(*launched);
  CHECK(client->report().level == level);
  if (with_lease) client->lease(now(), 1h);
}

operation_id ward::spawn(const ask& what) {
  spawn_request r;
  r.operation = operation_id::fresh();
  r.command = what.command;
  r.environment = what.environment;
  r.directory = what.directory;
  r.stop_signal = what.stop_signal;
  r.leader_exit = what.leader_exit;
  r.lease = what.lease;
  if (what.pty_slave >= 0) {
    r.pty = true;
    for (auto* fd : {&r.in, &r.out, &r.err}) fd->reset(::fcntl(what.pty_slave, F_DUPFD_CLOEXEC, 3));
  } else {
    r.in.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    r.out.reset(what.out >= 0 ? ::fcntl(what.out, F_DUPFD_CLOEXEC, 3) : ::open("/dev/null", O_WRONLY | O_CLOEXEC));
    r.err.reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  const auto id = r.operation;
  stories[id];
  client->spawn(std::move(r));
  return id;
}

void ward::await_held(const operation_id& id) {
  until("task held", [&] { return stories[id].pid || stories[id].spawn_failed; });
  if (stories[id].spawn_failed) FAIL("spawn failed: " << *stories[id].spawn_failed);
}

operation_id ward::run(const ask& what) {
  const auto id = spawn(what);
  await_held(id);
  REQUIRE(client->go(id));
  until("task executing", [&] { return stories[id].executing || stories[id].ended; });
  return id;
}

operation_id ward::shell(const std::string& script, const std::string& mark) {
  return run({.command = {"/bin/sh", "-c", script, mark}});
}

void ward::stop(const operation_id& id, std::chrono::milliseconds grace,
                std::optional<std::chrono::milliseconds> signal_after) {
  stop_request r{id, now() + grace, std::nullopt};
  if (signal_after) r.signal_at = now() + *signal_after;
  client->stop(r);
}

const task_story& ward::end_of(const operation_id& id, std::chrono::milliseconds limit) {
  until(
      "task ended", [&] { return stories[id].ended || stories[id].spawn_failed; }, limit);
  return stories[id];
}

void ward::until(const std::string& what, const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  limit = testing::patient(limit);
  const auto end = now() + limit;
  while (!condition()) {
    if (gone) FAIL("the guardian is gone (" << *gone << ") while waiting for: " << what);
    if (now() >= end) FAIL("waited " << limit.count() << " ms in vain for: " << what);
    hear(20);
  }
}

void ward::hear(int wait_ms) {
  pollfd poll{client->descriptor(), POLLIN, 0};
  ::poll(&poll, 1, wait_ms);
  for (auto& event : client->receive()) {
    if (auto* e = std::get_if<task_held>(&event)) stories[e->operation].pid = e->pid;
    if (auto* e = std::get_if<task_spawn_failed>(&event)) stories[e->operation].spawn_failed = e->message;
    if (auto* e = std::get_if<task_executing>(&event)) stories[e->operation].executing = true;
    if (auto* e = std::get_if<task_exec_failed>(&event)) stories[e->operation].exec_failed = *e;
    if (auto* e = std::get_if<task_leader_exited>(&event)) stories[e->operation].left = e->exit;
    if (auto* e = std::get_if<task_still_there>(&event)) stories[e->operation].still.push_back(*e);
    if (auto* e = std::get_if<guardian_gone>(&event)) gone = e->why;
    if (auto* e = std::get_if<task_ended_here>(&event)) {
      CHECK(!stories[e->operation].ended);
      stories[e->operation].ended = *e;
      stories[e->operation].ended_at = now();
    }
  }
}

void ward::close() {
  const auto pid = client->pid();
  client.reset();
  eventually("guardian gone", [&] { return ::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) != 0; });
  CHECK(!subtree_exists(subtree));
  CHECK(own_zombies() == 0);
  ::unlink(lock_of(subtree).c_str());
}

} // namespace quell::worker::test
