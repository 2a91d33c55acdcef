// Calls at remote agents that were stopped as an earlier life ended: each is told once, however many there are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "actors/turns/left_stops.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/command.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

constexpr std::uint64_t no_page = 1'000'000;

/// Calls of one remote agent, oldest first; each has named its task.
struct call_store final : testing::refusing_store {
  std::vector<records::operation_record> rows;
  int pages = 0;
  std::uint64_t fails_behind = no_page; ///< no page behind this seq can be read

  records::operation_record& add(status now, bool was_stopped) {
    records::operation_record row;
    row.id = operation_id::fresh();
    row.seq = rows.size() + 1;
    row.kind = kind::tool_call;
    row.name = a2a_offered_name("a2a:travel");
    row.hot.now = now;
    if (was_stopped) row.hot.stop.emplace().reason = "enough";
    return rows.emplace_back(std::move(row));
  }
  result<std::vector<records::operation_record>> operations(const records::operation_filter& f) override {
    if (f.after_seq >= fails_behind) return refused();
    std::vector<records::operation_record> page;
    for (const auto& row : rows) {
      const bool is_meant = is_terminal(row.hot.now) ? f.want_ended : f.want_live;
      if (is_meant && row.name == f.names.at(0) && row.seq > f.after_seq && page.size() < f.limit) page.push_back(row);
    }
    if (!page.empty()) ++pages;
    return page;
  }
  result<std::optional<records::operation_record>> operation(const operation_id& id) override {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.id == id; });
    return at == rows.end() ? std::nullopt : std::optional(*at);
  }
  result<std::vector<records::event_record>> events(const records::event_filter& f) override {
    records::event_record e;
    e.id = 1;
    e.type = event_type::tool_progress;
    e.data = call_named({"c1", "a2a__travel", "{}"}, "task of " + f.below->text()).data;
    return std::vector<records::event_record>{e};
  }
};

/// Its jobs run when the test says so.
struct kept_executor final : blocking_executor {
  std::vector<job> jobs;
  void run_after(milliseconds, job what) override { jobs.push_back(std::move(what)); }
  void stop() override {}
  void run_all(store_reader& store) {
    for (const auto& one : std::exchange(jobs, {})) one(store);
  }
};

/// Notes which calls need their server in order to be stopped.
struct noting_host final : mcp_host {
  explicit noting_host(std::function<void()> call) : mcp_host(nullptr, remote_ids("key")), on_stop(std::move(call)) {}
  void tools(std::vector<std::string>, mcp_user, std::function<void(offered)>) override {}
  void when_ready(std::string name, operation_id call, reach_to why, when_known done) override {
    CHECK(name == "a2a:travel");
    if (why == reach_to::work) return queries.push_back({call, std::move(done)});
    stopped.push_back(call);
    stops.push_back(std::move(done));
    on_stop();
  }
  void user_over(operation_id) override {}
  void read_cards() override {}
  void end() override {}

  std::function<void()> on_stop;
  std::vector<operation_id> stopped;
  std::vector<when_known> stops; ///< of these calls
  std::vector<std::pair<operation_id, when_known>> queries;
};

/// Says this of every task.
struct telling_server final : integrations::mcp_server {
  struct call_there final : integrations::mcp_call {
    explicit call_there(std::string says) : word(std::move(says)) {}
    void cancel(std::string, integrations::late_result_listener late) override { late(word); }
    void stop_waiting() override {}
    void answer(std::uint64_t, integrations::mcp_answer) override {}
    std::string word;
  };
  explicit telling_server(std::string says) : word(std::move(says)) {}
  void tools(tools_reply) override {}
  std::unique_ptr<integrations::mcp_call> call(const std::string&, const std::string&,
                                               std::function<void(integrations::mcp_call_event)>,
                                               const std::string&) override {
    return nullptr;
  }
  std::unique_ptr<integrations::mcp_call> follow(const std::string&,
                                                 std::function<void(integrations::mcp_call_event)>) override {
    return std::make_unique<call_there>(word);
  }
  void ask_end(const std::string& task, integrations::late_result_listener tell) override {
    task_name = task;
    tell(word);
  }
  std::string word, task_name;
};

struct restarted_world {
  call_store store;
  std::vector<int> pages_at_stop; ///< that had been read by then
  std::shared_ptr<noting_host> host = std::make_shared<noting_host>([this] { pages_at_stop.push_back(store.pages); });
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  kept_executor* reads = nullptr;
  std::vector<std::pair<operation_id, std::string>> late; ///< kept outcomes

  restarted_world() {
    turn_settings settings;
    settings.mcp.emplace_back().name = "travel"; // an MCP server
    settings.mcp.emplace_back().name = "a2a:travel";
    runtime->settings.set(settings);
    runtime->core.now = [] { return moment{}; };
    runtime->mcp = host;
    runtime->core.execute = [this](command_request&& what) {
      const auto& given = static_cast<const command_variant&>(what.what());
      if (const auto* note = std::get_if<commands::note_call_outcome>(&given))
        late.emplace_back(note->call, note->json);
    };
    auto kept = std::make_unique<kept_executor>();
    reads = kept.get();
    runtime->background_reads = std::move(kept);
  }
  void begin() { tell_left_stops(runtime, store); }
};

} // namespace

TEST_CASE("each stop that an earlier life left is passed on once, as its page is read", "[turns][a2a]") {
  restarted_world w;
  std::vector<operation_id> meant;
  for (int i = 0; i < 2'500; ++i) {
    auto& row = w.store.add(status::cancelled, true);
    if (i % 2 == 0)
      row.hot.late = "{}"; // it was told
    else
      meant.push_back(row.id);
  }
  w.store.add(status::failed, false);
  w.begin();
  CHECK(w.host->stopped == meant);
  REQUIRE(w.pages_at_stop.size() == meant.size());
  CHECK(w.pages_at_stop.front() == 1);
  CHECK(w.pages_at_stop.back() == 3);
  CHECK(w.reads->jobs.empty()); // no call goes on
}

TEST_CASE("a page that cannot be read loses no stop of the pages before it", "[turns][a2a]") {
  restarted_world w;
  for (int i = 0; i < 1'500; ++i) w.store.add(status::cancelled, true);
  w.store.fails_behind = 1'000;
  w.begin();
  CHECK(w.host->stopped.size() == 1'000);
}

TEST_CASE("a call that goes on and is stopped before an agent has it is passed on then", "[turns][a2a]") {
  restarted_world w;
  w.store.add(status::running, false);
  w.begin();
  w.reads->run_all(w.store);
  CHECK(w.host->stopped.empty());
  w.store.rows[0].hot.now = status::cancelled;
  w.store.rows[0].hot.stop.emplace();
  w.reads->run_all(w.store);
  CHECK(w.host->stopped == std::vector<operation_id>{w.store.rows[0].id});
  CHECK(w.reads->jobs.empty());
}

TEST_CASE("what an agent tells a later life of a call is kept, and silence is not", "[turns][a2a]") {
  restarted_world w;
  const bool was_stopped = GENERATE(true, false);
  const std::string word = GENERATE("done", "too_late", "failed", "refused", "ignored");
  auto& row = w.store.add(was_stopped ? status::cancelled : status::failed, was_stopped);
  if (!was_stopped) row.hot.error = records::own_error(failure_code::outcome_unknown, "it does not answer");
  const auto call = row.id;
  w.begin();
  REQUIRE(w.host->stops.size() == (was_stopped ? 1U : 0U)); // a lost task was never told to stop, and is not now
  REQUIRE(w.host->queries.size() == (was_stopped ? 0U : 1U));
  const auto server = std::make_shared<telling_server>(word);
  (was_stopped ? w.host->stops[0] : w.host->queries[0].second)(server, {});
  if (!was_stopped) CHECK(server->task_name == "task of " + call.text());
  if (word == "ignored")
    CHECK(w.late.empty());
  else
    CHECK(w.late == std::vector{std::pair(call, R"({"server":")" + word + R"("})")});
}

TEST_CASE("an agent that a later life cannot reach leaves the call to the next one", "[turns][a2a]") {
  restarted_world w;
  w.store.add(status::cancelled, true);
  for (const auto* late : {"", "{}"}) {
    auto& lost = w.store.add(status::failed, false);
    lost.hot.error = records::own_error(failure_code::outcome_unknown, "it does not answer");
    lost.hot.late = late;
  }
  w.begin();
  REQUIRE(w.host->stops.size() == 1);
  REQUIRE(w.host->queries.size() == 1);
  w.host->stops[0](nullptr, "it is away");
  w.host->queries[0].second(nullptr, "it is away");
  CHECK(w.late.empty());
}
