// The MCP host on CAF's test coordinator with its clock, with servers that the test plays.
#pragma once

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/mcp_host_actor.hpp"
#include "actors/turns/agent_runtime.hpp"

namespace quell::testing {

using namespace quell::actors;
using namespace quell::controller::turns;

using offered_list = result<std::vector<integrations::mcp_tool>>;

inline offered_list one_tool(const std::string& name) {
  return std::vector<integrations::mcp_tool>{{name, "", R"({"type":"object"})", false, false, ""}};
}
inline offered_list nothing(const std::string& code) { return tl::unexpected(fault{code, "it is ill", {}}); }

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
  void ask_end(const std::string&, integrations::late_result_listener tell) override { tell("ignored"); }

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
  /// The host's.
  caf::actor actor() {
    host->when_ready("none", operation_id::fresh(), reach_to::stop, [](const auto&, const auto&) {}); // changes nothing
    return caf::actor_cast<caf::actor>(scheduler.next_job<caf::scheduled_actor>().address());
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

inline bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace quell::testing
