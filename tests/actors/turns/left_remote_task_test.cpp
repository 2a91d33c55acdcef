// Which task of a remote agent a call of an earlier life has begun, by its events.
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
