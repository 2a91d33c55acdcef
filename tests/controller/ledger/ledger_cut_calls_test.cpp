// Model calls that a restart cut: what was expected of them counts, once, for the day and for the tree.
#include <catch2/catch.hpp>

#include "controller/costs/expected_use.hpp"
#include "controller/model_costs.hpp"
#include "tests/controller/ledger/actors_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

struct asking_world : actors_world {
  /// Lets a model call in, with an input of so many tokens that cost 3 billionths each; 0: nothing is known.
  bool asks_model(const std::string& name, const std::string& above, const std::string& top, std::uint64_t tokens,
                  std::uint64_t most_tokens = 0, std::uint64_t most_calls = 0) {
    create_order o;
    o.by.owner = {"alice", "Alice"};
    o.kind = kind::model_call;
    o.parent = id(above);
    o.name = "big";
    if (tokens > 0) o.kind_data = costs::text_of_expected({"main", {.input_tokens = tokens, .cost_nanos = 3 * tokens}});
    costs::tree_limits limits;
    limits.tokens = most_tokens;
    limits.model_calls = most_calls;
    const auto made = core->costs()->open_model_call(o, next_operation(), id(top), limits, now);
    if (made) names[name] = made->id;
    take();
    return made.has_value();
  }
  void answered(const std::string& name, const std::string& top, std::uint64_t tokens) {
    model_call_end end;
    end.call = id(name);
    end.turn = id(top);
    end.used = {in("s"), "alice", "main", "big", {.input_tokens = tokens}};
    core->costs()->close_model_call(end, now);
    take();
  }
  tree_cost used_by(const std::string& top) const { return resumed_of(*core).used_by(id(top)); }
  /// The use of calls, as watchers and the metrics learn of it.
  std::vector<records::event_record> news() const {
    std::vector<records::event_record> all;
    for (const auto& e : store.events)
      if (e.type == event_type::model_usage) all.push_back(e);
    return all;
  }
};

} // namespace

TEST_CASE("a model call that a restart cut is charged once with what was expected of it") {
  asking_world w;
  w.turn("turn");
  REQUIRE(w.asks_model("first", "turn", "turn", 500));
  w.answered("first", "turn", 700);
  REQUIRE(w.asks_model("cut", "turn", "turn", 800));
  REQUIRE(w.store.costs.size() == 1); // what is under way costs nothing yet
  for (int i = 0; i < 2; ++i) {
    w.restart();
    w.roll_out();
    CHECK(w.row("cut").error->code == "interrupted");
    REQUIRE(w.store.costs.size() == 2);
    const auto& charged = w.store.costs.back();
    CHECK((charged.scope == in("s") && charged.author == "alice" && charged.agent == "main" && charged.model == "big"));
    CHECK((charged.calls == 1 && charged.estimated == 1));
    CHECK((charged.usage.input_tokens == 800 && charged.usage.output_tokens == 0 && charged.usage.cost_nanos == 2'400));
    const auto& sum = w.store.turn_costs.at(w.id("turn")).usage;
    CHECK((sum.input_tokens == 1'500 && sum.estimated));
    CHECK(w.used_by("turn") == tree_cost{1, sum});
    REQUIRE(w.news().size() == 1);
    CHECK((w.news()[0].operation == w.id("turn") && w.news()[0].root == w.id("turn")));
    CHECK(
        w.news()[0].data ==
        R"({"operation":")" + w.id("cut").text() +
            R"(","model":"big","usage":{"input_tokens":800,"output_tokens":0,"cached_input_tokens":0,"cost":0.000002,)"
            R"("estimated":true},"tree":{"model_calls":1,"input_tokens":1500,"output_tokens":0,)"
            R"("cached_input_tokens":0,"cost":0.000002,"estimated":true}})");
  }
  CHECK(w.row("cut").result.find(R"("input_tokens":800)") != std::string::npos);
  CHECK(w.row("cut").result.find(R"("estimated":true)") != std::string::npos);
  REQUIRE(w.goes_on("turn"));
  REQUIRE(w.turn_ends("turn"));
  CHECK(w.row("turn").result.find(R"("input_tokens":1500)") != std::string::npos);
  CHECK(w.store.turn_costs.empty());
}

TEST_CASE("a cut call below a sub-agent uses the budget of its turn, which stops at the next call") {
  asking_world w;
  w.turn("turn");
  REQUIRE(w.call("spawn", "turn"));
  REQUIRE(w.begin("spawn"));
  REQUIRE(w.agent("agent", "spawn"));
  REQUIRE(w.asks_model("cut", "agent", "turn", 1'000, 1'000));
  w.restart();
  CHECK((w.used_by("turn").calls == 0 && w.used_by("turn").usage.input_tokens == 1'000));
  REQUIRE(w.news().size() == 1);
  CHECK((w.news()[0].operation == w.id("agent") && w.news()[0].root == w.id("turn")));
  REQUIRE(w.goes_on("turn"));
  CHECK_FALSE(w.asks_model("again", "agent", "turn", 10, 1'000));
  REQUIRE(w.row("turn").stop);
  CHECK(w.row("turn").stop->cause == stop_cause::budget);
}

TEST_CASE("a cut call is none of the calls that its turn may make, also if another one has ended beside it") {
  asking_world w;
  w.turn("turn");
  for (const auto* spawn : {"left", "right"}) {
    REQUIRE(w.call(spawn, "turn"));
    REQUIRE(w.begin(spawn));
    REQUIRE(w.agent(std::string(spawn) + " agent", spawn));
  }
  REQUIRE(w.asks_model("first", "left agent", "turn", 10, 0, 3));
  REQUIRE(w.asks_model("cut", "right agent", "turn", 10, 0, 3));
  w.answered("first", "turn", 20);
  for (int i = 0; i < 2; ++i) {
    w.restart();
    REQUIRE(w.goes_on("turn"));
    REQUIRE(w.asks_model("again", "right agent", "turn", 10, 0, 3)); // the second of three; cut once more
  }
  w.answered("again", "turn", 20);
  REQUIRE(w.asks_model("third", "left agent", "turn", 10, 0, 3));
  CHECK_FALSE(w.asks_model("fourth", "right agent", "turn", 10, 0, 3));
  REQUIRE(w.row("turn").stop);
  CHECK(w.row("turn").stop->cause == stop_cause::budget);
}

TEST_CASE("a cut call that was told to stop is charged, too, and one without an estimate is not") {
  asking_world w;
  w.turn("turn");
  w.turn("other");
  REQUIRE(w.asks_model("stopped", "turn", "turn", 60));
  REQUIRE(w.asks_model("unknown", "other", "other", 0));
  w.cancels("turn");
  w.restart();
  w.roll_out();
  REQUIRE(w.store.costs.size() == 1);
  CHECK(w.store.costs[0].usage.input_tokens == 60);
  CHECK(w.status_of("stopped") == "cancelled");
  CHECK(w.row("unknown").error->code == "interrupted");
}

TEST_CASE("calls that crashes cut one after the other count once each, to the end of a turn that is given up") {
  asking_world w;
  w.turn("turn");
  for (std::uint64_t i = 1; i <= 4; ++i) {
    REQUIRE(w.asks_model("cut " + std::to_string(i), "turn", "turn", 100 * i));
    w.restart();
    w.roll_out();
    CHECK(w.news().size() == i);
    if (i == 4) break;
    CHECK(w.used_by("turn").usage.input_tokens == 50 * i * (i + 1));
    REQUIRE(w.goes_on("turn"));
  }
  CHECK(w.row("turn").error->code == "interrupted");
  CHECK(w.row("turn").result.find(R"("tree":{"model_calls":0,"input_tokens":1000,)") != std::string::npos);
  CHECK(w.store.turn_costs.empty());
}

TEST_CASE("a cut call counts for its turn, also if that has no agent any more") {
  asking_world w;
  w.turn("turn");
  REQUIRE(w.call("spawn", "turn"));
  REQUIRE(w.begin("spawn"));
  REQUIRE(w.agent("agent", "spawn"));
  REQUIRE(w.asks_model("cut", "agent", "turn", 70));
  const bool was_restarted = GENERATE(true, false);
  if (was_restarted) w.restart();
  w.cancels("turn");
  if (was_restarted)
    w.give_up("turn");
  else
    w.turn_ends("turn", false);
  w.restart();
  w.roll_out();
  CHECK(w.status_of("turn") == "cancelled");
  REQUIRE(w.store.costs.size() == 1);
  CHECK(w.row("turn").result.find(R"("input_tokens":70,)") != std::string::npos);
  CHECK(w.news().size() == 1);
}

TEST_CASE("what is expected is read as it was written, and nothing else is") {
  const auto read = costs::read_expected(costs::text_of_expected({"main_2-b", {.input_tokens = 7, .cost_nanos = 21}}));
  REQUIRE(read);
  CHECK((read->agent == "main_2-b" && read->usage.input_tokens == 7 && read->usage.cost_nanos == 21));
  CHECK(read->usage.estimated);
  const std::string whole = costs::text_of_expected({"a", {.input_tokens = 7}});
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK_FALSE(costs::read_expected(whole.substr(0, i)));
  for (const auto* text : {"7", "{}", R"({"agent":"a"})", R"({"input_tokens":-1,"cost_nanos":0,"agent":"a"})",
                           R"({"input_tokens":0,"cost_nanos":0,"agent":"a"})"})
    CHECK_FALSE(costs::read_expected(text));
}
