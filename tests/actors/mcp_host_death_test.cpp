// The MCP host on CAF's test coordinator: exits that are not its own, and callers that come after its death.
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "actors/mcp_host_actor.hpp"
#include "actors/turns/agent_runtime.hpp"

using namespace quell;
using namespace quell::actors;
using namespace quell::controller::turns;

namespace {

struct stepped_config : caf::actor_system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// Counts its jobs and runs none.
struct counting_executor final : blocking_executor {
  int jobs = 0;
  void run_after(milliseconds, job) override { ++jobs; }
  void stop() override {}
};

/// Three servers that cannot be connected: one of MCP, two remote agents.
struct broken_world {
  stepped_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<mcp_host> host;
  int connects = 0;

  broken_world() {
    turn_settings settings;
    for (const auto* name : {"a", "a2a:b", "a2a:c"}) {
      mcp_settings one;
      one.name = name;
      one.url = "http://127.0.0.1:1/";
      one.key_env = "KEY";
      settings.mcp.push_back(one);
    }
    runtime->settings.set(settings);
    runtime->core.now = [] { return moment{}; };
    host = spawn_mcp_host(system, {runtime, *mcp_accounts::open("", settings.mcp), remote_ids("key")},
                          [this](const mcp_settings&, mcp_accounts&,
                                 const integrations::mcp_hooks&) -> result<std::shared_ptr<integrations::mcp_server>> {
                            ++connects;
                            throw std::runtime_error("played");
                          });
    scheduler.run();
  }
  ~broken_world() {
    host.reset();
    scheduler.run();
  }
  broken_world(const broken_world&) = delete;
  broken_world& operator=(const broken_world&) = delete;

  caf::actor actor() {
    host->when_ready("none", operation_id::fresh(), reach_to::stop, [](const auto&, const auto&) {}); // changes nothing
    return caf::actor_cast<caf::actor>(scheduler.next_job<caf::scheduled_actor>().address());
  }
  bool answers() {
    int times = 0;
    host->tools({"a"}, {operation_id::fresh(), operation_id::fresh(), {}}, [&times](const offered_tools&) { ++times; });
    scheduler.run();
    return times == 1;
  }
};

} // namespace

TEST_CASE("the cards of remote agents whose reading throws harm nothing else", "[mcp]") {
  broken_world w;
  auto reads = std::make_unique<counting_executor>();
  const auto& jobs = reads->jobs;
  w.runtime->background_reads = std::move(reads);
  w.host->read_cards();
  w.scheduler.run();
  CHECK(w.connects == 2);
  CHECK(jobs == 1); // passes on the stops of an earlier life
  CHECK(w.answers());
}

TEST_CASE("the end of an agent wakes no MCP host that nobody has used", "[mcp]") {
  broken_world w;
  w.scheduler.run();
  w.host->user_over(operation_id::fresh());
  CHECK_FALSE(w.scheduler.has_job());
  CHECK(w.answers());
  w.host->user_over(operation_id::fresh());
  CHECK(w.scheduler.has_job());
  w.scheduler.run();
}

TEST_CASE("foreign, doubled and late exits and DOWNs change nothing at the MCP host", "[mcp]") {
  broken_world w;
  const auto stranger = w.system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  w.scheduler.run();
  const auto actor = w.actor();
  for (int i = 0; i < 2; ++i)
    for (const auto reason : {caf::exit_reason::user_shutdown, caf::exit_reason::remote_link_unreachable}) {
      caf::anon_send(actor, caf::exit_msg{stranger.address(), reason});
      caf::anon_send(actor, caf::down_msg{stranger.address(), reason});
    }
  w.scheduler.run();
  const auto before = w.connects;
  CHECK(w.answers());
  CHECK(w.connects == before + 1); // by the host, which lives
  caf::anon_send_exit(stranger, caf::exit_reason::user_shutdown);
}

TEST_CASE("a caller of an MCP host that has died is answered, may come back from its answer, and may throw", "[mcp]") {
  broken_world w;
  caf::anon_send_exit(w.actor(), caf::exit_reason::kill);
  w.scheduler.run();
  int times = 0;
  w.host->tools({"a"}, {operation_id::fresh(), operation_id::fresh(), {}}, [&](const offered_tools& what) {
    ++times;
    CHECK(what.tools.empty());
    w.host->user_over(operation_id::fresh());
    throw std::runtime_error("played");
  });
  CHECK(times == 1);
  CHECK(w.connects == 0);
}
