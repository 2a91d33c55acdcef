// Configuration: file, environment, flags, and the faults of a wrong one. Also the environment of a task.
#include "worker/settings.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include "tests/worker/fake_controller.hpp"
#include "worker/task_environment.hpp"

using namespace quell;
using namespace quell::worker;
using quell::test::worker_process;

namespace {

std::string error_text(const std::string& toml) {
  const auto parsed = settings_from_toml(toml, "worker.toml");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == "bad_config");
  return parsed.error().detail;
}

} // namespace

TEST_CASE("a whole configuration is read", "[settings]") {
  const auto s = settings_from_toml(R"(
[worker]
name = "w1"
slots = 12
labels = { gpu = "1", zone = "b" }
work_dir = "/srv"
containment = "cgroup"
env = { LANG = "C" }
users = ["build", "nobody"]
workspaces = "/srv/workspaces"
workspaces_per_guild = "20GiB"
[controller]
join = "qwj1.x"
)",
                                    "worker.toml");
  REQUIRE(s);
  CHECK(s->name == "w1");
  CHECK(s->slots == 12U);
  CHECK(s->labels.at("zone") == "b");
  CHECK(s->least == containment::cgroup);
  CHECK(s->env.at("LANG") == "C");
  CHECK(s->join == "qwj1.x");
  CHECK(s->users == std::vector<std::string>{"build", "nobody"});
  CHECK(s->workspaces == "/srv/workspaces");
  CHECK(s->workspaces_per_guild == 20ULL << 30);
  CHECK(settings_as_toml(*s).find("workspaces_per_guild = 21474836480") != std::string::npos);
}

TEST_CASE("users that tasks may ask for are a list, and only root can permit others", "[settings]") {
  CHECK(error_text("[worker]\nusers = \"nobody\"\n").find("worker.users must be a list") != std::string::npos);
  CHECK(error_text("[worker]\nusers = [1]\n").find("must hold strings") != std::string::npos);
  CHECK(settings_from_environment({{"QUELL_WORKER_WORKER_USERS", "a,b"}})->users == std::vector<std::string>{"a", "b"});
  CHECK(account_table::look_up({"no-such-user"}).error().detail.find("no-such-user") != std::string::npos);
  const account_table own;
  CHECK(*own.find(std::nullopt) == nullptr);
  CHECK(own.find("no-such-user").error().code == "not_permitted");
  if (::geteuid() != 0) return;
  const auto accounts = account_table::look_up({"nobody", "root"});
  REQUIRE(accounts);
  CHECK(*accounts->find("root") == nullptr);
  REQUIRE(*accounts->find("nobody"));
  CHECK((*accounts->find("nobody"))->account.uid != 0);
  CHECK(accounts->find("daemon").error().detail.find("nobody") != std::string::npos);
}

TEST_CASE("a wrong configuration says where and what", "[settings]") {
  CHECK(error_text("[worker]\nslot = 3\n")
            .find("worker.toml:2: unknown key worker.slot; the nearest known one is worker.slots") == 0);
  CHECK(error_text("[controler]\njoin = \"x\"\n").find("controller.join") != std::string::npos);
  CHECK(error_text("[worker]\nslots = \"many\"\n").find("must be a whole number") != std::string::npos);
  CHECK(error_text("[worker]\nslots = 0\n").find("from 1 to 100000") != std::string::npos);
  CHECK(error_text("[worker]\nlabels = { gpu = 1 }\n").find("worker.labels.gpu must be a string") != std::string::npos);
  CHECK(error_text("[worker]\nworkspaces_per_guild = \"much\"\n").find("must be a size such as") != std::string::npos);
  CHECK(error_text("[worker]\ncontainment = \"vm\"\n").find("cgroup+pidns") != std::string::npos);
  CHECK(error_text("[worker\n").find("worker.toml:1") == 0);
  CHECK(settings_from_file("/no/such/file.toml").error().detail.find("/no/such/file.toml") != std::string::npos);
}

TEST_CASE("flags beat the environment, which beats the file", "[settings]") {
  settings_layer file, flags;
  file.slots = 1;
  file.name = "file";
  file.labels = {{"a", "1"}, {"b", "1"}};
  const auto environment = settings_from_environment({{"QUELL_WORKER_WORKER_SLOTS", "2"},
                                                      {"QUELL_WORKER_WORKER_WORK_DIR", "/env"},
                                                      {"QUELL_WORKER_WORKER_LABELS", "b=2,c=2"},
                                                      {"QUELL_WORKER", "a task's own variable configures nothing"}});
  REQUIRE(environment);
  file.workspaces_per_guild = 5;
  flags.slots = 3;
  const auto s = merged(merged(file, *environment), flags);
  CHECK(s.slots == 3U);
  CHECK(s.name == "file");
  CHECK(s.work_dir == "/env");
  CHECK(s.workspaces_per_guild == 5ULL);
  CHECK(s.labels == std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}, {"c", "2"}});
  CHECK_FALSE(settings_from_environment({{"QUELL_WORKER_WORKER_SLOT", "2"}}));
}

TEST_CASE("the printed configuration shows no secret", "[settings]") {
  settings_layer s;
  s.join = "qwj1.secret";
  s.env = {{"KEY", "hidden"}};
  const auto text = settings_as_toml(s);
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("hidden") == std::string::npos);
  CHECK(text.find("KEY") != std::string::npos);
}

TEST_CASE("usage and configuration errors exit with 2, help and version with 0", "[settings][program]") {
  const std::vector<std::pair<std::vector<std::string>, int>> cases{{{"--no-such-flag"}, 2},
                                                                    {{"--slots", "0", "--join", "x"}, 2},
                                                                    {{"--containment", "vm"}, 2},
                                                                    {{"--label", "novalue"}, 2},
                                                                    {{}, 2},
                                                                    {{"--join", "qwj1.AAAA"}, 2},
                                                                    {{"--join-file", "/no/such/file"}, 2},
                                                                    {{"--config", "/no/such/file"}, 2},
                                                                    {{"keygen"}, 2},
                                                                    {{"--help"}, 0},
                                                                    {{"--version"}, 0},
                                                                    {{"--print-config"}, 0}};
  for (const auto& [arguments, code] : cases) {
    worker_process worker(arguments);
    INFO((arguments.empty() ? "(nothing)" : arguments[0]));
    CHECK(worker.wait() == code);
    CHECK(worker.log().size() > 15);
  }
}

TEST_CASE("keygen keeps the secret half for its owner alone and prints the same public half again",
          "[settings][program]") {
  test::scratch_directory state;
  worker_process first({"keygen", "--state", state.path});
  REQUIRE(first.wait() == 0);
  worker_process second({"keygen", "--state", state.path});
  REQUIRE(second.wait() == 0);
  const auto key = first.log().substr(0, 40);
  CHECK(is_public_key(key));
  CHECK(second.log().find(key) != std::string::npos);
}

TEST_CASE("a task's environment is the base, its own over it, and ours on top", "[settings]") {
  const task_environment environment(task_environment::base_of({{"PATH", "/bin"}, {"HOME", "/root"}, {"SECRET", "x"}}),
                                     "/opt/quell");
  wire::start order;
  order.grace = milliseconds{1500};
  order.spec.env = {{"HOME", "/work"}, {"QUELL_SCOPE", "forged"}, {"BAD=NAME", "x"}, {"QUELL_TOKEN", "stale"}};
  order.deadline = wall_time{milliseconds{1'700'000'000'123}};
  const auto list = environment.of(order, "w9", "http://127.0.0.1:1");
  const auto has = [&](const std::string& line) { return std::find(list.begin(), list.end(), line) != list.end(); };
  CHECK(has("PATH=/opt/quell:/bin"));
  CHECK(has("HOME=/work"));
  CHECK(has("QUELL_SCOPE=default"));
  CHECK(has("QUELL_GRACE_MS=1500"));
  CHECK(has("QUELL_DEADLINE=2023-11-14T22:13:20.123Z"));
  CHECK(has("QUELL_WORKER=w9"));
  for (const auto& line : list) {
    CHECK(line.find("SECRET=") != 0);
    CHECK(line.find("BAD=") != 0);
    CHECK(line.find("QUELL_TOKEN=") != 0); // it was given no token
  }
}
