// Which task of a remote agent a call of an earlier life has begun, by its events.
#include <algorithm>

#include <catch2/catch.hpp>

#include "actors/turns/left_work.hpp"
#include "actors/turns/turn_json.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// Every operation is a running call; the events are those of the call.
struct left_call_store final : testing::refusing_store {
  std::vector<records::event_record> all;

  void add(const event_text& what) {
    records::event_record e;
    e.id = all.size() + 1;
    e.type = what.type;
    e.data = what.data;
    e.at = wall_time{} + std::chrono::seconds(e.id);
    all.push_back(std::move(e));
  }
  result<std::vector<records::event_record>> events(const records::event_filter& f) override {
    std::vector<records::event_record> page;
    for (const auto& e : all)
      if (e.id > f.after && f.names(e.type) && page.size() < f.limit) page.push_back(e);
    return page;
  }
  result<std::optional<records::operation_record>> operation(const operation_id& id) override {
    records::operation_record row;
    row.id = id;
    row.hot.now = status::running;
    return std::optional(std::move(row));
  }
  result<std::vector<records::operation_record>> operations(const records::operation_filter&) override {
    return std::vector<records::operation_record>{};
  }
  result<cost_page> costs(const cost_filter&) override { return cost_page{}; }
};

} // namespace

TEST_CASE("a remote task is known after a restart, however late the agent has named it", "[turns][a2a]") {
  for (const int progresses : {0, 1, 2'500}) {
    left_call_store store;
    const tool_call what{"c1", "a2a__travel", "{}"};
    for (int i = 0; i < progresses; ++i) store.add(call_running(what, std::chrono::seconds(5 * (i + 1)), std::nullopt));
    model_history reported;
    assistant_message answer;
    answer.calls.push_back(what);
    reported.messages.emplace_back(answer);
    reported.calls.push_back(operation_id::fresh());
    const auto unnamed = read_left_work(store, {}, reported);
    REQUIRE(unnamed);
    REQUIRE(unnamed->calls.size() == 1);
    CHECK(unnamed->calls[0].remote_task.empty());
    store.add(call_named(what, "task-7"));
    const auto left = read_left_work(store, {}, reported);
    REQUIRE(left);
    REQUIRE(left->calls.size() == 1);
    CHECK(left->calls[0].remote_task == "task-7");
  }
}

namespace {

/// Calls, and what they have started, as the store lists it.
struct busy_store final : testing::refusing_store {
  std::vector<records::operation_record> rows; ///< in order of seq

  result<std::optional<records::operation_record>> operation(const operation_id& id) override {
    records::operation_record row;
    row.id = id;
    row.hot.now = status::running;
    return std::optional(std::move(row));
  }
  result<std::vector<records::operation_record>> operations(const records::operation_filter& f) override {
    std::vector<records::operation_record> page;
    for (const auto& row : rows) {
      const bool is_meant = std::find(f.kinds.begin(), f.kinds.end(), row.kind) != f.kinds.end() && row.parent &&
                            std::find(f.parents.begin(), f.parents.end(), *row.parent) != f.parents.end();
      if (is_meant && row.seq > f.after_seq && page.size() < f.limit) page.push_back(row);
    }
    return page;
  }
  result<std::vector<records::event_record>> events(const records::event_filter&) override {
    return std::vector<records::event_record>{};
  }
  result<cost_page> costs(const cost_filter&) override { return cost_page{}; }
};

} // namespace

TEST_CASE("the work of each call is found, however much another call has started", "[turns]") {
  busy_store store;
  model_history reported;
  assistant_message answer;
  answer.calls = {{"c1", "spawn_agent", "{}"}, {"c2", "list", "{}"}};
  reported.messages.emplace_back(answer);
  reported.calls = {operation_id::fresh(), operation_id::fresh()};
  constexpr std::uint64_t rows = 2'501, detached_from = 2'400;
  for (std::uint64_t seq = 1; seq <= rows; ++seq) {
    records::operation_record row;
    row.id = operation_id::fresh();
    row.seq = seq;
    row.kind = kind::task;
    row.parent = reported.calls[seq >= detached_from ? 1 : 0];
    row.detached = seq >= detached_from && seq < rows;
    store.rows.push_back(std::move(row));
  }
  const auto left = read_left_work(store, {}, reported);
  REQUIRE(left);
  REQUIRE(left->calls.size() == 2);
  REQUIRE_FALSE(left->calls[0].below.empty());
  CHECK(left->calls[0].below[0].id == store.rows.front().id);
  REQUIRE(left->calls[1].below.size() == 1); // else it would begin a second time
  CHECK(left->calls[1].below[0].id == store.rows.back().id);
}

TEST_CASE("the tokens of all calls count after a restart: of answers, of summaries, and of those that were cut",
          "[turns]") {
  busy_store store;
  records::operation_record agent;
  agent.id = operation_id::fresh();
  for (std::uint64_t seq = 1; seq <= 1'500; ++seq) {
    records::operation_record row;
    row.id = operation_id::fresh();
    row.seq = seq;
    row.kind = kind::model_call;
    row.parent = agent.id;
    row.title = seq % 2 == 0 ? std::string(summary_title) : "model call 1";
    row.hot.now = seq % 3 == 0 ? status::failed : status::completed;
    row.hot.result = R"({"usage":{"input_tokens":2,"output_tokens":1}})";
    store.rows.push_back(std::move(row));
  }
  const auto left = read_left_work(store, agent, {});
  REQUIRE(left);
  CHECK(left->own_use.input_tokens == 3'000);
  model_history reported;
  reported.past.usage.input_tokens = 7; // which the rows have, too
  const auto plan = plan_resume(reported, *left, {}, {});
  CHECK((reported.past.usage.input_tokens == 3'000 && reported.past.usage.output_tokens == 1'500));
  CHECK(plan.below == model_usage{});
}
