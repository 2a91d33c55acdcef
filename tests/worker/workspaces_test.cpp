// Directories of conversations: who enters, what is measured, and what is removed when.
#include "worker/workspaces.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/patience.hpp"
#include "worker/workspace_limits.hpp"

using namespace quell;
using namespace quell::worker;
namespace fs = std::filesystem;

namespace {

struct world {
  std::string directory = (fs::temp_directory_path() / ("quell-spaces-" + std::to_string(::getpid()))).string();
  std::unique_ptr<workspaces> spaces;

  world() {
    fs::remove_all(directory);
    open();
  }
  void open(std::uint64_t most_of_guild = 0, removed_trees::emptying empties = empty_folder) {
    spaces.reset();
    auto opened = workspaces::open(directory, most_of_guild, std::move(empties));
    REQUIRE(opened);
    spaces = std::move(*opened);
    spaces->remove_unused();
  }
  ~world() {
    spaces.reset();
    fs::remove_all(directory);
  }
  workspace_place place(const std::string& name) const {
    workspace_place p;
    p.name = name;
    return p;
  }
  operation_id enters(const workspace_place& p) {
    const auto task = operation_id::fresh();
    auto entered = spaces->begin(task, p, {});
    REQUIRE(entered);
    return task;
  }
  bool is_there(const std::string& name) const { return fs::exists(directory + "/" + name + "/files"); }
  template <class Condition>
  bool until(Condition holds, std::chrono::seconds longest = std::chrono::seconds{60}) const {
    const auto end = std::chrono::steady_clock::now() + testing::patient(longest);
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return holds();
  }
};

} // namespace

TEST_CASE("a workspace is private and stays from task to task", "[workspaces]") {
  world w;
  w.spaces->ended(w.enters(w.place("a")));
  CHECK((fs::status(w.directory + "/a").permissions() & fs::perms::mask) == fs::perms::owner_all);
  std::ofstream(w.directory + "/a/files/x") << "x";
  auto again = w.place("a");
  again.must_exist = true;
  w.spaces->ended(w.enters(again));
  CHECK(fs::exists(w.directory + "/a/files/x"));
}

TEST_CASE("a workspace that should be there and is not is gone", "[workspaces]") {
  world w;
  auto place = w.place("a");
  place.must_exist = true;
  const auto refused = w.spaces->begin(operation_id::fresh(), place, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "workspace_gone");
  CHECK_FALSE(w.is_there("a"));
}

TEST_CASE("another user's workspace is refused", "[workspaces]") {
  world w;
  w.spaces->ended(w.enters(w.place("a")));
  task_account other;
  other.uid = ::geteuid() + 1;
  const auto refused = w.spaces->begin(operation_id::fresh(), w.place("a"), other);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "workspace_isolation");
}

TEST_CASE("a workspace whose making a crash cut is made again", "[workspaces]") {
  world w;
  for (const auto* made : {"", "/tmp", "/files.new"}) fs::create_directories(w.directory + "/a" + made);
  w.spaces->ended(w.enters(w.place("a")));
  CHECK(w.is_there("a"));
  CHECK_FALSE(fs::exists(w.directory + "/a/files.new"));
}

TEST_CASE("a workspace that is to be removed goes with its last task", "[workspaces]") {
  world w;
  const auto one = w.enters(w.place("a")), other = w.enters(w.place("a"));
  auto end = w.place("a");
  end.remove = true;
  const auto last = w.enters(end);
  w.spaces->ended(last);
  w.spaces->ended(one);
  w.spaces->ended(one);
  CHECK(w.is_there("a"));
  w.spaces->ended(other);
  CHECK_FALSE(w.is_there("a"));
  CHECK(w.until([&] { return fs::is_empty(w.directory + "/.removed"); }));
}

TEST_CASE("what is not used for long is removed, and never while a task is in it", "[workspaces]") {
  world w;
  auto place = w.place("a");
  place.keep = milliseconds{1};
  auto busy = w.place("b");
  busy.keep = milliseconds{1};
  const auto in_b = w.enters(busy);
  w.spaces->ended(w.enters(place));
  CHECK(w.until([&] { return !w.is_there("a"); }));
  CHECK(w.is_there("b"));
  w.spaces->ended(in_b);
  CHECK(w.until([&] { return !w.is_there("b"); }));
}

TEST_CASE("a full workspace lets no file grow", "[workspaces]") {
  world w;
  auto place = w.place("a");
  place.quota_bytes = 100'000;
  const auto task = operation_id::fresh();
  const auto first = w.spaces->begin(task, place, {});
  REQUIRE(first);
  CHECK((*first)->file_limit <= 100'000);
  CHECK((*first)->notice.empty());
  std::ofstream(w.directory + "/a/files/x") << std::string(200'000, 'x');
  w.spaces->ended(task);
  CHECK(w.until([&] {
    const auto next = operation_id::fresh();
    const auto entered = w.spaces->begin(next, place, {});
    const bool is_full = entered && *entered && (*entered)->file_limit == 0 && !(*entered)->notice.empty();
    w.spaces->ended(next);
    return is_full;
  }));
}

TEST_CASE("a task that fills its workspace beyond the quota is named while it runs, once", "[workspaces]") {
  world w;
  auto place = w.place("a");
  place.quota_bytes = 100'000;
  const auto fills = w.enters(place), elsewhere = w.enters(w.place("b"));
  std::ofstream(w.directory + "/a/files/x") << std::string(3'000'000, 'x');
  std::vector<workspaces::filling> named;
  const auto look = [&] {
    for (auto& one : w.spaces->take_filling()) named.push_back(std::move(one));
    return !named.empty();
  };
  REQUIRE(w.until(look));
  CHECK(named.front().task == fills);
  CHECK(named.front().why.find("its quota is 97 KiB") != std::string::npos);
  w.spaces->ended(fills);
  w.spaces->ended(elsewhere);
  look();
  CHECK(named.size() == 1);
}

TEST_CASE("a workspace whose tasks end all the time keeps no other from being measured", "[workspaces]") {
  world w;
  auto busy = w.place("a"), full = w.place("b"), filled = w.place("c");
  full.quota_bytes = filled.quota_bytes = 100'000;
  w.enters(busy); // with a file, so that measuring takes as long as a task
  for (int i = 0; i < 10'000; ++i) std::ofstream(w.directory + "/a/files/" + std::to_string(i));
  const auto once = w.enters(full), fills = w.enters(filled);
  for (const auto* name : {"/b", "/c"}) std::ofstream(w.directory + name + "/files/x") << std::string(3'000'000, 'x');
  w.spaces->ended(once);
  bool is_full = false, is_named = false;
  CHECK(w.until(
      [&] {
        for (int i = 0; i < 100; ++i) w.spaces->ended(w.enters(busy));
        const auto task = operation_id::fresh();
        is_full = is_full || (*w.spaces->begin(task, full, {}))->file_limit == 0;
        for (const auto& one : w.spaces->take_filling()) is_named = is_named || one.task == fills;
        return is_full && is_named;
      },
      std::chrono::seconds{30}));
  CHECK(is_full);
  CHECK(is_named);
}

TEST_CASE("many small files are too much for a workspace, too", "[workspaces]") {
  world w;
  CHECK(most_entries(0) == 1024);
  CHECK(most_entries(1 << 30) == 262'144);
  auto place = w.place("a");
  place.quota_bytes = 1 << 20;
  const auto fills = w.enters(place);
  for (int i = 0; i < 1'200; ++i) std::ofstream(w.directory + "/a/files/" + std::to_string(i));
  CHECK(use_below(w.directory + "/a/files").entries == 1'200);
  CHECK(use_below(w.directory + "/a/files", 100).entries == 101);
  std::vector<workspaces::filling> named;
  REQUIRE(w.until([&] {
    for (auto& one : w.spaces->take_filling()) named.push_back(std::move(one));
    return !named.empty();
  }));
  CHECK(named.front().why.find("more than 1024 files and folders") != std::string::npos);
  w.spaces->ended(fills);
  // Nothing can be written there now; a task that only tidies up is let be.
  const auto tidies = operation_id::fresh();
  const auto entered = w.spaces->begin(tidies, place, {});
  REQUIRE(entered);
  CHECK((*entered)->file_limit == 0);
  CHECK((*entered)->notice.find("more than 1024 files and folders") != std::string::npos);
  for (int i = 0; i < 100; ++i) fs::remove(w.directory + "/a/files/" + std::to_string(i));
  w.spaces->ended(w.enters(w.place("a"))); // has it measured again
  CHECK(w.spaces->take_filling().empty());
  w.spaces->ended(tidies);
}

TEST_CASE("the workspaces of one guild hold no more than its limit together", "[workspaces]") {
  world w;
  w.open(3 << 20);
  const auto of = [&](const std::string& scope) { return w.place(workspace_name(*scope_path::parse(scope), "m")); };
  const auto left = [&](const std::string& scope) {
    const auto task = operation_id::fresh();
    const auto entered = w.spaces->begin(task, of(scope), {});
    REQUIRE(entered);
    w.spaces->ended(task);
    return **entered;
  };
  CHECK(left("chat/g1/c1").file_limit <= 3 << 20); // also without quotas
  w.spaces->ended(w.enters(of("chat/g1")));
  for (const auto* scope : {"chat/g1", "chat/g1/c1"})
    std::ofstream(w.directory + "/" + of(scope).name + "/files/x") << std::string(2 << 20, 'x');
  left("chat/g1");
  left("chat/g1/c1");
  REQUIRE(w.until([&] { return left("chat/g1/c2").file_limit == 0; }, std::chrono::seconds{20}));
  CHECK(left("chat/g1/c2").notice.find("the workspaces of chat/g1 on this worker hold 4") != std::string::npos);
  for (const auto* scope : {"chat/g10", "chat/g2/c1", "chat"}) {
    CHECK(left(scope).file_limit > 2 << 20);
    CHECK(left(scope).notice.empty());
  }
  fs::remove(w.directory + "/" + of("chat/g1/c1").name + "/files/x");
  CHECK(w.until([&] {
    left("chat/g1/c1"); // has it measured again
    return left("chat/g1/c2").file_limit > 0;
  }));
}

TEST_CASE("where a guild holds too much, tasks whose workspace grows are ended", "[workspaces]") {
  world w;
  w.open(1 << 20);
  const auto still = w.enters(w.place("w-g1~1")), grows = w.enters(w.place("w-g1~2")),
             other = w.enters(w.place("w-g2~1"));
  std::vector<workspaces::filling> named;
  const auto begun = std::chrono::steady_clock::now();
  std::ofstream file(w.directory + "/w-g1~2/files/x");
  std::chrono::milliseconds written{0};
  REQUIRE(w.until([&] { // 1 MiB in each second
    for (; written < std::chrono::steady_clock::now() - begun; written += std::chrono::milliseconds{10})
      file << std::string(10 << 10, 'x') << std::flush;
    for (auto& one : w.spaces->take_filling()) named.push_back(std::move(one));
    return !named.empty();
  }));
  CHECK(named.front().task == grows);
  CHECK(named.front().why.find("worker.workspaces_per_guild allows 1024 KiB") != std::string::npos);
  for (const auto& task : {still, grows, other}) w.spaces->ended(task);
  for (auto& one : w.spaces->take_filling()) named.push_back(std::move(one));
  CHECK(named.size() == 1);
}

TEST_CASE("a flood of empty files does not hide bytes from the sum of its guild", "[workspaces]") {
  world w;
  w.open(6 << 20);
  auto floods = w.place("w-g1~1");
  floods.quota_bytes = 8 << 20;
  const auto fills = w.enters(floods);
  const auto folder = w.directory + "/w-g1~1/files/";
  std::ofstream(folder + "0") << "x";
  for (std::uint64_t i = 0; i <= most_counted(floods.quota_bytes); ++i)
    REQUIRE(::symlink("0", (folder + "empty" + std::to_string(i)).c_str()) == 0);
  w.spaces->ended(fills);
  CHECK(w.until([&] {
    const auto task = operation_id::fresh();
    const auto entered = w.spaces->begin(task, w.place("w-g1~2"), {});
    const bool is_full = entered && *entered && (*entered)->file_limit == 0;
    w.spaces->ended(task);
    return is_full;
  }));
}

TEST_CASE("a workspace is measured, and another one removed, while a removed one is being deleted", "[workspaces]") {
  struct {
    std::mutex guard;
    std::condition_variable wake;
    bool may_end = false, has_begun = false;
    void open() {
      const std::lock_guard lock(guard);
      may_end = true;
      wake.notify_all();
    }
  } gate;
  world w;
  const std::shared_ptr<void> at_end(nullptr, [&](void*) { gate.open(); }); // also if a check throws
  w.open(0, [&](const std::string& folder) {
    std::unique_lock lock(gate.guard);
    gate.has_begun = gate.has_begun || !fs::is_empty(folder);
    gate.wake.wait(lock, [&] { return gate.may_end || !gate.has_begun; });
    return empty_folder(folder);
  });
  auto gone = w.place("a"), full = w.place("b"), unused = w.place("c");
  gone.remove = true;
  w.spaces->ended(w.enters(w.place("a")));
  w.spaces->ended(w.enters(gone));
  CHECK(w.until([&] {
    const std::lock_guard lock(gate.guard);
    return gate.has_begun;
  }));
  full.quota_bytes = 100'000;
  unused.keep = milliseconds{1};
  const auto fills = w.enters(full);
  w.spaces->ended(w.enters(unused));
  std::ofstream(w.directory + "/b/files/x") << std::string(3'000'000, 'x');
  std::size_t named = 0;
  CHECK(w.until([&] {
    named += w.spaces->take_filling().size();
    return named > 0;
  }));
  CHECK(w.until([&] { return !w.is_there("c"); }));
  CHECK_FALSE(fs::is_empty(w.directory + "/.removed"));
  gate.open();
  w.spaces->ended(fills);
  CHECK(w.until([&] { return fs::is_empty(w.directory + "/.removed"); }));
}

TEST_CASE("links are not followed and endless trees count as full", "[workspaces]") {
  world w;
  const auto root = w.directory + "/tree";
  fs::create_directory(root);
  fs::create_directory_symlink("/", root + "/all");
  CHECK(use_below(root).bytes < 10'000);
  auto deep = root;
  for (int i = 0; i < 210; ++i) deep += "/d";
  fs::create_directories(deep);
  CHECK(use_below(root).bytes >= 1ULL << 62);
}

TEST_CASE("a workspace whose removal was ordered goes also in a later life of the worker", "[workspaces]") {
  world w;
  auto place = w.place("a");
  place.keep = milliseconds{3'600'000};
  w.enters(place);
  auto end = w.place("a");
  end.remove = true;
  w.spaces->ended(w.enters(end));
  CHECK(w.is_there("a")); // the other task is still in it
  w.spaces.reset();
  auto again = workspaces::open(w.directory);
  REQUIRE(again);
  w.spaces = std::move(*again);
  CHECK(w.is_there("a"));
  w.spaces->remove_unused();
  CHECK(w.until([&] { return !w.is_there("a"); }));
}

TEST_CASE("a removed workspace is deleted however deep and however closed its folders are", "[workspaces]") {
  world w;
  const auto task = w.enters(w.place("a"));
  const auto last = [&] {
    auto end = w.place("a");
    end.remove = true;
    return w.enters(end);
  }();
  int folder = ::open((w.directory + "/a/files").c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(folder >= 0);
  for (int i = 0; i < 3'000; ++i) {
    REQUIRE(::mkdirat(folder, "d", 0700) == 0);
    const int inner = ::openat(folder, "d", O_RDONLY | O_DIRECTORY);
    ::close(folder);
    folder = inner;
    REQUIRE(folder >= 0);
  }
  ::close(folder);
  fs::create_directories(w.directory + "/a/files/closed/inner");
  fs::create_symlink("/", w.directory + "/a/files/closed/root");
  fs::permissions(w.directory + "/a/files/closed", fs::perms::none);
  w.spaces->ended(last);
  w.spaces->ended(task);
  CHECK_FALSE(w.is_there("a"));
  CHECK(w.until([&] { return fs::is_empty(w.directory + "/.removed"); }));
  CHECK(fs::exists("/bin"));
}
