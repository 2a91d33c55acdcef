// Model calls against budgets, as commands: a used-up budget stops the turn, and every cost is on disk before its
// answer.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

namespace {

struct model_world : commands_world {
  const scope_path a = *scope_path::parse("a");
  const operation_id turn = operation_id::fresh();

  model_world() {
    create_order o;
    o.by = admin();
    o.kind = kind::turn;
    o.scope = a;
    REQUIRE(done(commands::create_local{std::move(o), turn}));
  }
  commands::open_model_call call(costs::tree_limits limits = {}) const {
    commands::open_model_call what;
    what.order.by = admin();
    what.order.kind = kind::model_call;
    what.order.parent = turn;
    what.id = operation_id::fresh();
    what.turn = turn;
    what.limits = limits;
    return what;
  }
  /// A call of a tool, which has not begun.
  operation_id call_of_turn() {
    create_order o;
    o.by = admin();
    o.kind = kind::tool_call;
    o.parent = turn;
    o.call = records::call_record{};
    const auto id = operation_id::fresh();
    REQUIRE(done(commands::create_local{std::move(o), id}));
    return id;
  }
  used_by_call used(std::uint64_t tokens) const {
    model_usage usage;
    usage.output_tokens = tokens;
    return {a, "ada", "main", "m", usage};
  }
  commands::close_model_call end_of(const operation_id& call, std::uint64_t tokens) const {
    commands::close_model_call what;
    what.what.call = call;
    what.what.turn = turn;
    what.what.used = used(tokens);
    return what;
  }
  bool is_stopped(const operation_id& id) const {
    const auto view = c->operations().view(id, now);
    return !view || view->hot.stop;
  }
  /// The tokens of all cost rows that were written.
  std::vector<std::uint64_t> written() const {
    std::vector<std::uint64_t> all;
    for (const auto& batch : edges.batches)
      for (const auto& e : batch)
        if (const auto* row = std::get_if<records::add_cost>(&e)) all.push_back(row->record.usage.output_tokens);
    return all;
  }
};

} // namespace

TEST_CASE("the cost of a model call is on disk with its end, and counts for its turn", "[costs]") {
  model_world w;
  const auto first = w.call();
  REQUIRE(w.done(first));
  auto end = w.end_of(first.id, 30);
  auto& event = end.what.reported.emplace();
  event.type = event_type::model_usage;
  event.operation = w.turn;
  event.data = "{}";
  // An attempt that gave way counts before the end of its call, and its call counts once.
  const auto early = w.done(commands::add_cost{{w.used(4), w.turn, event}});
  CHECK((early.calls == 1 && early.usage.output_tokens == 4));
  CHECK(w.events("model_usage") == 1);
  const auto answer = w.give(end);
  w.c->end_burst(w.now);
  CHECK_FALSE(answer->has_value()); // not before it is on disk
  w.commit();
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_this_end);
  CHECK((*answer)->tree.calls == 1);
  CHECK((*answer)->tree.usage.output_tokens == 34); // with the model that gave way
  CHECK(w.written() == std::vector<std::uint64_t>{4, 30});
  CHECK(w.events("model_usage") == 2);
  CHECK_FALSE(w.c->operations().view(first.id, w.now));
  CHECK_FALSE(w.is_stopped(w.turn));
}

TEST_CASE("a model call beyond the number that its turn may make is refused, and stops the turn", "[costs]") {
  model_world w;
  const costs::tree_limits one_call{0, 0, 1};
  const auto first = w.call(one_call), second = w.call(one_call);
  REQUIRE(w.done(first));
  REQUIRE(w.done(w.end_of(first.id, 1)).has_this_end);
  CHECK_FALSE(w.is_stopped(w.turn));
  const auto refused = w.done(second);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().error.code == error_code::stale_start);
  CHECK(w.is_stopped(w.turn));
  CHECK_FALSE(w.c->operations().view(second.id, w.now));
  CHECK(std::count(w.edges.signalled.begin(), w.edges.signalled.end(), w.turn) == 1);
}

TEST_CASE("a model call that uses up the tokens of its turn ends, and stops the turn unless it is the last",
          "[costs]") {
  const bool is_last = GENERATE(false, true);
  model_world w;
  const auto call = w.call({0, 20, 0});
  REQUIRE(w.done(call));
  auto end = w.end_of(call.id, 20);
  end.what.is_last = is_last;
  CHECK(w.done(end).has_this_end);
  CHECK(w.is_stopped(w.turn) == !is_last);
}

TEST_CASE("a model call that was stopped before its end still costs what it used", "[costs]") {
  model_world w;
  const auto call = w.call();
  REQUIRE(w.done(call));
  REQUIRE(w.done(w.cancel_of(w.turn)));
  const auto answer = w.done(w.end_of(call.id, 7));
  CHECK_FALSE(answer.has_this_end);
  CHECK(answer.tree.usage.output_tokens == 7);
  CHECK(w.written() == std::vector<std::uint64_t>{7});
}

TEST_CASE("a cost without an operation is one row, and a call without use has none", "[costs]") {
  model_world w;
  CHECK(w.done(commands::add_cost{{w.used(12)}}) == tree_cost{});
  CHECK(w.done(commands::add_cost{{w.used(0), operation_id::fresh()}}) == tree_cost{});
  CHECK(w.written() == std::vector<std::uint64_t>{12});
}

TEST_CASE("a task in the background is started with the end of its call in one batch", "[background]") {
  model_world w;
  const auto start = [&w](std::uint32_t limit, const operation_id& call) {
    auto task = w.task("a");
    task.order.on_parent_end = on_parent_end::detach;
    task.order.parent = call;
    own_outcome end;
    end.call = records::call_outcome{true, false, R"({"task":"x"})"};
    return commands::start_background{std::move(task.order), task.fresh, w.a, limit, call, std::move(end)};
  };
  const auto first = start(1, w.call_of_turn());
  const auto before = w.edges.batches.size();
  const auto began = w.done(first);
  CHECK_FALSE(began.refused);
  CHECK(began.call_ended);
  const auto holds = [](const std::vector<records::entry>& batch, const auto& fits) {
    return std::any_of(batch.begin(), batch.end(), fits);
  };
  REQUIRE(w.edges.batches.size() > before);
  CHECK(holds(w.edges.batches[before], [&](const records::entry& e) {
    const auto* row = std::get_if<records::put_operation>(&e);
    return row != nullptr && row->record->id == first.id && row->record->detached;
  }));
  CHECK(holds(w.edges.batches[before],
              [](const records::entry& e) { return std::holds_alternative<records::put_call_result>(e); }));

  // As many run as may at once: nothing is started, and the call goes on.
  const auto second = start(1, w.call_of_turn());
  const auto full = w.done(second);
  REQUIRE(full.refused);
  CHECK(has_code(*full.refused, failure_code::too_many_background));
  CHECK_FALSE(full.call_ended);
  CHECK_FALSE(w.c->operations().view(second.id, w.now));
  CHECK(w.c->operations().view(second.call, w.now));

  // The task goes on when the turn is stopped, and its own cancel makes room.
  REQUIRE(w.done(w.cancel_of(w.turn)));
  CHECK_FALSE(w.is_stopped(first.id));
  REQUIRE(w.done(w.cancel_of(first.id)));
  CHECK(w.is_stopped(first.id));
}

TEST_CASE("no task begins in the background for a call that was stopped before", "[background]") {
  model_world w;
  const auto call = w.call_of_turn();
  auto task = w.task("a");
  task.order.on_parent_end = on_parent_end::detach;
  task.order.parent = call;
  REQUIRE(w.done(w.cancel_of(w.turn)));
  const auto began = w.done(commands::start_background{task.order, task.fresh, w.a, 5, call, {}});
  REQUIRE(began.refused);
  CHECK_FALSE(began.call_ended);
  CHECK_FALSE(w.c->operations().view(task.fresh, w.now));
}
