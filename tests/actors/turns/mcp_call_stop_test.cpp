// The stop of a call of an MCP server or a remote agent, at each step of its start.
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "actors/turns/mcp_host.hpp"
#include "controller/commands/command.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// A host whose answers the test gives.
struct held_host final : mcp_host {
  struct request {
    std::string name;
    reach_to why;
    when_known done;
  };
  held_host() : mcp_host(*mcp_accounts::open("", {}), remote_ids("key")) {}
  void tools(std::vector<std::string>, mcp_user, std::function<void(offered)>) override {}
  void when_ready(std::string name, operation_id, reach_to why, when_known done) override {
    requests.push_back({std::move(name), why, std::move(done)});
  }
  void user_over(operation_id) override {}
  void read_cards() override {}
  void end() override {}
  std::vector<request> requests;
};

/// A server that notes what it is asked for.
struct noting_server final : integrations::mcp_server {
  struct call_there final : integrations::mcp_call {
    explicit call_there(std::string& notes) : notes_(notes) {}
    void cancel(std::string reason, integrations::late_result_listener late) override {
      notes_ += "cancel:" + reason + " ";
      if (late) late("done");
    }
    void stop_waiting() override {}
    void answer(std::uint64_t, integrations::mcp_answer) override {}

   private:
    std::string& notes_;
  };

  void tools(tools_reply) override {}
  std::unique_ptr<integrations::mcp_call> call(const std::string& tool, const std::string&,
                                               std::function<void(integrations::mcp_call_event)>,
                                               const std::string&) override {
    return note("call:" + tool);
  }
  std::unique_ptr<integrations::mcp_call> follow(const std::string& task,
                                                 std::function<void(integrations::mcp_call_event)>) override {
    return note("follow:" + task);
  }
  void ask_end(const std::string&, integrations::late_result_listener tell) override { tell("ignored"); }
  std::unique_ptr<integrations::mcp_call> note(const std::string& what) {
    notes += what + " ";
    if (throws) throw std::runtime_error("played");
    return std::make_unique<call_there>(notes);
  }

  std::string notes;
  bool throws = false;
};

struct dropping_executor final : blocking_executor {
  void run_after(std::chrono::milliseconds, job) override {}
  void stop() override {}
};

/// One call of the agent `travel`, which is a new one, or follows the task of an earlier life.
struct call_world {
  explicit call_world(const std::string& task) {
    runtime->background_reads = std::make_unique<dropping_executor>();
    runtime->core.execute = [this](command_request&& what) {
      const auto& given = static_cast<const command_variant&>(what.what());
      if (const auto* note = std::get_if<commands::note_call_outcome>(&given)) late.push_back(note->json);
    };
    tool_definition tool;
    tool.how = tool_definition::runs::mcp;
    tool.mcp_server = "a2a:travel";
    tool.mcp_tool = "send";
    tool.offer.name = "a2a__travel";
    tool.offer.input_schema = R"({"type":"object"})";
    agent_context who;
    who.operation = operation_id::fresh();
    work = host->work_for(std::make_shared<turn_port>(runtime, who), operation_id::fresh(), tool,
                          {"c1", "a2a__travel", "{}"}, task);
  }
  void start() {
    work->start([](const std::function<void()>& step) { step(); },
                [this](const actors::work_end& how) { ends.push_back(how.result); });
  }
  void reaches(std::size_t number) { host->requests.at(number).done(server, {}); }
  void does_not_reach(std::size_t number) { host->requests.at(number).done(nullptr, "it is away"); }
  bool ended_with(const std::string& code) const {
    return ends.size() == 1 && ends[0].find('"' + code + '"') != std::string::npos;
  }

  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  std::shared_ptr<held_host> host = std::make_shared<held_host>();
  std::shared_ptr<noting_server> server = std::make_shared<noting_server>();
  std::vector<std::string> late, ends;
  std::unique_ptr<actors::tool_work> work;
};

} // namespace

TEST_CASE("the stop of a call that will follow a task ends it at once and overtakes at the host", "[turns][a2a]") {
  const bool stop_comes_first = GENERATE(true, false);
  call_world w("task-7");
  w.start();
  REQUIRE(w.host->requests.size() == 1);
  CHECK(w.host->requests[0].why == reach_to::work);
  w.work->stop("enough");
  w.work->stop("enough");
  CHECK(w.ended_with("outcome_unknown"));
  REQUIRE(w.host->requests.size() == 2);
  CHECK(w.host->requests[1].why == reach_to::stop);
  for (const std::size_t i : {stop_comes_first ? 1U : 0U, stop_comes_first ? 0U : 1U}) w.reaches(i);
  CHECK(w.server->notes == "follow:task-7 cancel:enough ");
  CHECK(w.late.size() == 1);
  CHECK(w.ends.size() == 1);
}

TEST_CASE("a remote task that is stopped and cannot be reached is recorded as ignored", "[turns][a2a]") {
  call_world w("task-7");
  const bool is_started = GENERATE(true, false);
  if (is_started) w.start();
  w.work->stop("enough");
  for (std::size_t i = 0; i < w.host->requests.size(); ++i) w.does_not_reach(i);
  CHECK(w.late == std::vector<std::string>{R"({"server":"ignored"})"});
  if (!is_started) w.start();
  CHECK(w.ended_with("outcome_unknown"));
}

TEST_CASE("the stop of a call that follows a task cancels it there", "[turns][a2a]") {
  call_world w("task-7");
  w.start();
  w.reaches(0);
  w.work->stop("enough");
  CHECK(w.host->requests.size() == 1);
  CHECK(w.server->notes == "follow:task-7 cancel:enough ");
  CHECK(w.ended_with("outcome_unknown"));
}

TEST_CASE("a call that is stopped before its server is there is never sent", "[turns][mcp]") {
  call_world w("");
  w.start();
  w.work->stop("enough");
  CHECK(w.ends.size() == 1);
  w.reaches(0);
  CHECK(w.server->notes.empty());
  CHECK(w.late == std::vector<std::string>{R"({"server":"not_sent"})"});
  CHECK(w.ends.size() == 1);
}

TEST_CASE("a call that is stopped before it starts ends without its server", "[turns][mcp]") {
  call_world w("");
  w.work->stop("enough");
  w.start();
  CHECK(w.host->requests.empty());
  CHECK(w.ended_with("not_sent"));
}

TEST_CASE("a server that throws at a call leaves the caller an unknown outcome", "[turns][mcp]") {
  call_world w(GENERATE(std::string(), std::string("task-7")));
  w.server->throws = true;
  w.start();
  w.reaches(0);
  REQUIRE(w.ends.size() == 1);
  CHECK(w.ends[0].find("outcome_unknown") != std::string::npos);
  w.work->stop("enough");
  CHECK(w.ends.size() == 1);
}
