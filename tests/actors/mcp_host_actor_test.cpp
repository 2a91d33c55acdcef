// The MCP host on CAF's test coordinator with its clock: servers that are silent, late, out of reach or broken, and
// what a turn is told about each.
#include "actors/mcp_host_actor.hpp"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/turns/agent_runtime.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

using offered_list = result<std::vector<integrations::mcp_tool>>;

offered_list one_tool(const std::string& name) {
  return std::vector<integrations::mcp_tool>{{name, "", R"({"type":"object"})", false, false, ""}};
}
offered_list nothing(const std::string& code) { return tl::unexpected(fault{code, "it is ill", {}}); }

/// A server as the test plays it.
struct script {
  std::optional<offered_list> answer; ///< none: it is silent
  bool throws = false;
  int requests = 0;
  std::thread::id ended_on{}; ///< the thread that destroyed the server
  std::vector<integrations::mcp_server::tools_reply> waiting{};

  void answers(const offered_list& what) {
    auto replies = std::exchange(waiting, {});
    for (const auto& reply : replies) reply(what);
  }
};

class played_server final : public integrations::mcp_server {
 public:
  explicit played_server(script& what) : what_(what) {}
  ~played_server() override { what_.ended_on = std::this_thread::get_id(); }
  played_server(const played_server&) = delete;
  played_server& operator=(const played_server&) = delete;
  void tools(tools_reply reply) override {
    ++what_.requests;
    if (what_.throws) throw std::runtime_error("played");
    if (what_.answer) return reply(*what_.answer);
    what_.waiting.push_back(std::move(reply));
  }
  std::unique_ptr<integrations::mcp_call> call(const std::string&, const std::string&,
                                               std::function<void(integrations::mcp_call_event)>,
                                               const std::string&) override {
    return nullptr;
  }
  std::unique_ptr<integrations::mcp_call> follow(const std::string&,
                                                 std::function<void(integrations::mcp_call_event)>) override {
    return nullptr;
  }

 private:
  script& what_;
};

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// The servers `a` and `b` at urls, and turns that want their tools. One message at a time.
struct mcp_world {
  std::map<std::string, script> servers{{"a", {}}, {"b", {}}};
  std::map<std::string, int> connected;
  stepped_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<mcp_accounts> accounts;
  std::shared_ptr<mcp_host> host;

  mcp_world() {
    turn_settings settings;
    for (const auto& [name, what] : servers) {
      mcp_settings one;
      one.name = name;
      one.url = "http://127.0.0.1:1/" + name;
      one.key_env = "KEY";
      settings.mcp.push_back(one);
    }
    accounts = *mcp_accounts::open("", settings.mcp);
    runtime->settings.set(settings);
    runtime->core.now = [this] {
      return moment{{}, boot_time{} + (scheduler.clock().now() - caf::actor_clock::time_point{})};
    };
    host = spawn_mcp_host(system, {runtime, accounts, remote_ids("key")},
                          [this](const mcp_settings& m, mcp_accounts&,
                                 const integrations::mcp_hooks&) -> result<std::shared_ptr<integrations::mcp_server>> {
                            ++connected[m.name];
                            return std::make_shared<played_server>(servers.at(m.name));
                          });
  }
  ~mcp_world() {
    host.reset();
    scheduler.run();
    for (auto& [name, what] : servers) what.waiting.clear();
  }
  mcp_world(const mcp_world&) = delete;
  mcp_world& operator=(const mcp_world&) = delete;

  struct turn {
    int times = 0;
    offered_tools offered;
    std::string names() const {
      std::string all;
      for (const auto& one : offered.tools) all += one.offer.name + " ";
      return all;
    }
  };
  /// A turn that wants the tools of these servers; nothing of it has run yet.
  std::shared_ptr<turn> turn_with(const std::vector<std::string>& names) {
    const auto made = std::make_shared<turn>();
    host->tools(names, {operation_id::fresh(), operation_id::fresh(), {}}, [made](offered_tools what) {
      ++made->times;
      made->offered = std::move(what);
    });
    return made;
  }
  void run() { scheduler.run(); }
  void passes(milliseconds time) {
    scheduler.advance_time(time);
    scheduler.run();
  }
  std::string trouble(const std::string& name) const {
    for (const auto& one : accounts->all())
      if (one.settings.name == name) return one.trouble;
    return "no such server";
  }
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("a turn gets the tools of its servers, which are connected once", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  w.servers["b"].answer = one_tool("y");
  const auto first = w.turn_with({"b", "a"}), second = w.turn_with({"a"});
  CHECK(first->times == 0);
  w.run();
  CHECK(first->times == 1);
  CHECK(first->names() == "mcp__b__y mcp__a__x ");
  CHECK(second->names() == "mcp__a__x ");
  CHECK(w.connected == std::map<std::string, int>{{"a", 1}, {"b", 1}});
  CHECK(w.trouble("a").empty());
}

TEST_CASE("a turn goes on only once it is known that a server is silent: the next one does not wait for it", "[mcp]") {
  mcp_world w;
  w.servers["b"].answer = one_tool("y");
  const auto first = w.turn_with({"a", "b"});
  w.run();
  w.passes(19'999ms);
  CHECK(first->times == 0);
  w.passes(1ms);
  CHECK(first->times == 1);
  CHECK(first->names() == "mcp__b__y ");
  CHECK(says(first->offered.note, "MCP server a has not answered within 20000 ms"));
  CHECK(says(w.trouble("a"), "is not waited for until it does"));
  const auto next = w.turn_with({"a", "b"});
  w.run();
  CHECK(next->times == 1);
  CHECK(next->names() == "mcp__b__y ");
  CHECK(w.servers["a"].requests == 1);
}

TEST_CASE("a late answer contributes nothing to its turn and ends the silence", "[mcp]") {
  mcp_world w;
  const auto late = w.turn_with({"a"});
  w.run();
  w.passes(20s);
  REQUIRE(late->times == 1);
  w.servers["a"].answers(one_tool("x"));
  w.run();
  CHECK(late->times == 1);
  CHECK(late->names().empty());
  CHECK(w.trouble("a").empty());
  w.servers["a"].answer = one_tool("x");
  const auto next = w.turn_with({"a"});
  w.run();
  CHECK(next->names() == "mcp__a__x ");
}

TEST_CASE("an answer that crosses its time limit leaves no silence behind, in either order", "[mcp]") {
  for (const bool answer_first : {true, false}) {
    mcp_world w;
    const auto turn = w.turn_with({"a"});
    w.run();
    if (answer_first) {
      w.servers["a"].answers(one_tool("x"));
      w.scheduler.advance_time(20s);
    } else {
      w.scheduler.advance_time(20s);
      w.servers["a"].answers(one_tool("x"));
    }
    w.run();
    CHECK(turn->times == 1);
    CHECK(w.trouble("a").empty());
    w.servers["a"].answer = one_tool("x");
    const auto next = w.turn_with({"a"});
    w.run();
    CHECK(next->names() == "mcp__a__x ");
  }
}

TEST_CASE("a url that failed is tried again after growing pauses, and turns do without it meanwhile", "[mcp]") {
  mcp_world w;
  auto& a = w.servers["a"];
  a.answer = nothing("mcp_unreachable");
  const auto first = w.turn_with({"a"});
  w.run();
  CHECK(says(first->offered.note, "has no tools to offer now: it is ill"));
  CHECK(says(w.trouble("a"), "it is tried again in the background"));
  REQUIRE(a.requests == 1);
  int requests = 1;
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    w.passes(pause - 1ms);
    CHECK(a.requests == requests);
    w.passes(1ms);
    CHECK(a.requests == ++requests);
    const auto meanwhile = w.turn_with({"a"});
    w.run();
    CHECK(meanwhile->times == 1);
    CHECK(a.requests == requests);
  }
  a.answer = one_tool("x");
  w.passes(60s);
  CHECK(w.trouble("a").empty());
  w.passes(1h);
  CHECK(a.requests == requests + 1);
}

TEST_CASE("a server that wants a login is named to the turn, and requests again after one", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = nothing("mcp_login_needed");
  const auto first = w.turn_with({"a"});
  w.run();
  CHECK(first->offered.logins == std::vector<std::string>{"a"});
  const auto second = w.turn_with({"a"});
  w.run();
  CHECK(second->offered.logins == std::vector<std::string>{"a"});
  CHECK(w.servers["a"].requests == 1);
}

TEST_CASE("a step that throws answers its caller and harms neither the host nor other servers", "[mcp]") {
  mcp_world w;
  w.servers["a"].throws = true;
  w.servers["b"].answer = one_tool("y");
  const auto broken = w.turn_with({"a", "b"}), other = w.turn_with({"b"});
  w.run();
  CHECK(broken->times == 1);
  CHECK(says(broken->offered.note, "asking for them failed"));
  CHECK(other->names() == "mcp__b__y ");
  w.servers["a"].throws = false;
  w.servers["a"].answer = one_tool("x");
  const auto next = w.turn_with({"a", "b"});
  w.run();
  CHECK(next->names() == "mcp__a__x mcp__b__y ");
}

TEST_CASE("a call gets its server, or the reason why there is none", "[mcp]") {
  mcp_world w;
  std::vector<std::pair<bool, std::string>> got;
  const auto keep = [&got](const std::shared_ptr<integrations::mcp_server>& server, const std::string& why) {
    got.emplace_back(server != nullptr, why);
  };
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, keep);
  w.host->when_ready("absent", operation_id::fresh(), reach_to::work, keep);
  w.run();
  REQUIRE(got.size() == 2);
  CHECK(got[0] == std::pair{true, std::string()});
  CHECK(got[1] == std::pair{false, std::string("there is no MCP server absent configured")});
}

TEST_CASE("a stop that needs a server overtakes everything that waits at the host", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  std::string order;
  const auto note = [&order](const std::string& name) {
    return [&order, name](const std::shared_ptr<integrations::mcp_server>&, const std::string&) { order += name; };
  };
  const auto turn = w.turn_with({"a"});
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, note("1"));
  w.host->when_ready("a", operation_id::fresh(), reach_to::work, note("2"));
  w.host->when_ready("a", operation_id::fresh(), reach_to::stop, note("stop "));
  w.run();
  CHECK(order == "stop 12");
  CHECK(turn->times == 1);
}

TEST_CASE("a callback that throws harms neither the host nor those who wait with it", "[mcp]") {
  mcp_world w;
  w.servers["a"].answer = one_tool("x");
  int calls = 0;
  w.host->tools({"a"}, {operation_id::fresh(), operation_id::fresh(), {}}, [&calls](const offered_tools&) {
    ++calls;
    throw std::runtime_error("played");
  });
  const auto other = w.turn_with({"a"});
  w.host->when_ready("a", operation_id::fresh(), reach_to::work,
                     [&calls](const std::shared_ptr<integrations::mcp_server>&, const std::string&) {
                       ++calls;
                       throw 7;
                     });
  const auto next = w.turn_with({"a"});
  w.passes(1h);
  CHECK(calls == 2);
  CHECK(other->names() == "mcp__a__x ");
  CHECK(next->names() == "mcp__a__x ");
  CHECK(w.trouble("a").empty());
}

TEST_CASE("a server that throws when a call needs it, or when it is connected, answers that call", "[mcp]") {
  mcp_world w;
  w.servers.erase("b"); // connecting throws
  std::vector<std::string> got;
  for (int i = 0; i < 2; ++i)
    w.host->when_ready("b", operation_id::fresh(), i == 0 ? reach_to::work : reach_to::stop,
                       [&got](const std::shared_ptr<integrations::mcp_server>& server, const std::string& why) {
                         got.push_back(server ? "a server" : why);
                       });
  w.run();
  CHECK(got == std::vector<std::string>(2, "the start of this server failed"));
}

TEST_CASE("whenever the host dies, each turn that waits for it is answered once", "[mcp]") {
  for (int at = 0;; ++at) {
    mcp_world w;
    w.servers["b"].answer = one_tool("y");
    const auto first = w.turn_with({"a", "b"}), second = w.turn_with({"b"});
    bool goes_on = true;
    for (int i = 0; i < at && goes_on; ++i) goes_on = w.scheduler.try_run_once();
    CAPTURE(at);
    w.host.reset();
    w.run();
    w.servers["a"].answers(one_tool("late"));
    w.passes(1h);
    CHECK(first->times == 1);
    CHECK(second->times == 1);
    if (!goes_on) break;
    REQUIRE(at < 1000);
  }
}

TEST_CASE("once a host has ended nobody is called back, and its servers are released", "[mcp]") {
  caf::actor_system_config config;
  caf::actor_system system(config);
  const auto runtime = std::make_shared<agent_runtime>();
  turn_settings settings;
  mcp_settings one;
  one.name = "a";
  one.url = "http://127.0.0.1:1/a";
  one.key_env = "KEY";
  settings.mcp.push_back(one);
  runtime->settings.set(settings);
  runtime->core.now = [] { return moment{}; };
  script silent;
  std::promise<void> connected;
  std::weak_ptr<integrations::mcp_server> server;
  const auto host =
      spawn_mcp_host(system, {runtime, *mcp_accounts::open("", settings.mcp), remote_ids("key")},
                     [&](const mcp_settings&, mcp_accounts&,
                         const integrations::mcp_hooks&) -> result<std::shared_ptr<integrations::mcp_server>> {
                       auto made = std::make_shared<played_server>(silent);
                       server = made;
                       connected.set_value();
                       return made;
                     });
  int times = 0;
  const auto count = [&times](const offered_tools&) { ++times; };
  host->tools({"a"}, {}, count);
  REQUIRE(connected.get_future().wait_for(60s) == std::future_status::ready);
  host->end();
  CHECK(server.expired());
  CHECK(silent.ended_on == std::this_thread::get_id()); // no thread of the scheduler waits for the end of a server
  host->tools({"a"}, {}, count);
  silent.answers(one_tool("late"));
  host->end();
  CHECK(times == 0);
}
