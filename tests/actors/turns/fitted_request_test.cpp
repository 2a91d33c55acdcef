// The request of an agent and the models that it can reach: one with a smaller context gets a request of its own.
#include "actors/turns/fitted_request.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "actors/turns/context_fit.hpp"
#include "controller/commands/command.hpp"
#include "tests/actors/turns/played_models.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace quell::testing;

namespace {

struct request_world {
  std::shared_ptr<agent_runtime> runtime = std::make_shared<agent_runtime>();
  played_models* models = nullptr;
  std::shared_ptr<agent_context> who = std::make_shared<agent_context>();
  placed_conversation conversation{};
  std::vector<std::function<void()>> steps; ///< of the agent
  std::vector<model_event> events;          ///< for the agent
  std::vector<records::message_record> summaries;
  moment now{};
  std::unique_ptr<actors::model_stream> stream;

  explicit request_world(integrations::model_settings model) {
    auto played = std::make_unique<played_models>();
    models = played.get();
    runtime->models = std::move(played);
    runtime->core.is_low = [] { return false; };
    runtime->core.now = [this] { return now; };
    runtime->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, const auto& reply) {
        using given_command = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<given_command, commands::open_model_call>)
          reply.done(created{given.id});
        else if constexpr (std::is_same_v<given_command, commands::store_summary>) {
          summaries.push_back(*given.summary);
          reply.done(closed_model_call{true, {}});
        } else if constexpr (std::is_same_v<given_command, commands::close_model_call>)
          reply.done(closed_model_call{true, {}});
      });
    };
    who->operation = who->root = operation_id::fresh();
    who->scope = *scope_path::parse("team/chat");
    who->tenant = "token-1";
    who->model = std::move(model);
    who->tree = std::make_shared<turn_tree>(who->operation, costs::tree_limits{}, 8);
    conversation.turn = who->operation;
  }
  void add(const std::string& user, const std::string& answer) {
    for (int i = 0; i < 2; ++i) conversation.begins.push_back(conversation.messages.size() + 1);
    conversation.messages.emplace_back(user_message{user});
    conversation.messages.emplace_back(assistant_message{answer, {}});
  }
  void add_with_result(const std::string& user, const std::string& result) {
    for (int i = 0; i < 3; ++i) conversation.begins.push_back(conversation.messages.size() + 1);
    conversation.messages.emplace_back(user_message{user});
    conversation.messages.emplace_back(assistant_message{"", {{"c1", "read", "{}"}}});
    conversation.messages.emplace_back(tool_results{{{"c1", "read", true, false, "\"" + result + "\""}}});
  }
  void ask(const std::string& text) {
    conversation.messages.emplace_back(user_message{text});
    fitted_request request;
    request.runtime = runtime;
    request.who = who;
    request.messages = conversation;
    request.post = [this](std::function<void()> step) { steps.push_back(std::move(step)); };
    request.listener = [this](model_event event) { events.push_back(std::move(event)); };
    request.compacted = [](const placed_conversation&, const compaction&) {};
    request.used_beside = [](const model_usage&) {};
    stream = ask_fitted(std::move(request));
    run();
  }
  void run() {
    while (!steps.empty())
      for (const auto& step : std::exchange(steps, {})) step();
  }
  void play(model_event event) {
    models->play(std::move(event));
    run();
  }
  void fail(failure_code code, std::uint64_t input_tokens = 0) {
    model_usage used;
    used.input_tokens = input_tokens;
    play(model_events::failed{failure_of(code, "played"), used});
  }
  template <class Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const auto& one : events)
      if (const auto* event = std::get_if<Event>(&one)) found.push_back(*event);
    return found;
  }
  std::size_t sent_tokens(std::size_t request) { return estimated_tokens(models->at(request).request.messages); }
};

integrations::model_settings with(integrations::model_settings model,
                                  std::vector<integrations::model_settings> fallbacks) {
  model.fallbacks = std::move(fallbacks);
  return model;
}

} // namespace

TEST_CASE("a fallback model with a smaller context gets a request that fits into it", "[compaction]") {
  request_world w(with(played_model("large", 100'000), {played_model("small", 6'000), played_model("other", 50'000)}));
  w.add_with_result("read it", long_text(20'000));
  w.ask("and now?");
  REQUIRE(w.models->requests.size() == 1);
  CHECK(w.models->at(0).fallbacks().empty()); // what is behind the smaller one waits, too: their order stays
  CHECK(w.models->at(0).request.tenant == "token-1");
  CHECK(w.sent_tokens(0) > 20'000);
  w.play(model_events::retrying{2, {}, "cut", "model_cut", "large", model_usage{.input_tokens = 4}});
  w.fail(failure_code::model_overloaded, 11);
  const auto falls = w.all<model_events::fell_back>();
  REQUIRE(falls.size() == 1);
  CHECK(falls[0].from == "large");
  CHECK(falls[0].to == "small");
  CHECK(has_code(falls[0].why, failure_code::model_overloaded));
  CHECK(falls[0].spent.input_tokens == 7);
  CHECK(w.models->at(1).settings.name == "small");
  CHECK(w.models->at(1).fallbacks() == std::vector<std::string>{"other"}); // the same request fits into it
  CHECK(w.sent_tokens(1) <= 5'000);
  CHECK(w.models->at(1).request.messages.size() == 4); // its result was trimmed, and nothing left out
  model_usage used;
  used.input_tokens = 5;
  w.play(model_events::finished{model_events::stop::end, used});
  REQUIRE(w.all<model_events::finished>().size() == 1);
  CHECK(w.all<model_events::finished>()[0].usage.input_tokens == 16);
  CHECK(w.all<model_events::failed>().empty());
}

TEST_CASE("a fallback model whose answer may be longer has less room for the conversation", "[compaction]") {
  request_world w(with(played_model("brief", 10'000, 1'000), {played_model("wordy", 10'000, 6'000)}));
  w.add_with_result("read it", long_text(6'000));
  w.ask("and now?");
  CHECK(w.sent_tokens(0) > 6'000);
  w.fail(failure_code::model_unavailable);
  CHECK(w.models->at(1).settings.name == "wordy");
  CHECK(w.sent_tokens(1) <= 4'000);
}

TEST_CASE("a smaller fallback model writes a summary of what it cannot read", "[compaction]") {
  request_world w(with(played_model("large", 100'000), {played_model("small", 6'000)}));
  for (int i = 0; i < 20; ++i) w.add(long_text(600, "question " + std::to_string(i)), long_text(600));
  w.ask("and now?");
  CHECK(w.sent_tokens(0) > 20'000);
  w.fail(failure_code::model_timeout);
  REQUIRE(w.models->requests.size() == 2);
  CHECK(w.models->at(1).settings.name == "small");
  CHECK_THAT(w.models->at(1).request.instructions, Catch::Contains("summary"));
  CHECK(w.models->at(1).request.tenant == "token-1");
  CHECK(w.sent_tokens(1) <= 6'000);
  w.play(model_events::text{"They spoke of words."});
  w.play(model_events::finished{});
  CHECK(w.summaries.size() == 1);
  REQUIRE(w.models->requests.size() == 3);
  CHECK(w.models->at(2).settings.name == "small");
  CHECK_THAT(w.models->at(2).first_text(), Catch::Contains("They spoke of words."));
  CHECK(w.sent_tokens(2) <= 5'000);
  CHECK(w.all<model_events::fell_back>().size() == 1);
  w.play(model_events::finished{});
  CHECK(w.all<model_events::finished>().size() == 1);
}

TEST_CASE("a model that takes the same request is left to the client of the models", "[compaction]") {
  request_world w(with(played_model("first", 50'000), {played_model("second", 20'000)}));
  w.ask("hello");
  CHECK(w.models->at(0).fallbacks() == std::vector<std::string>{"second"});
  w.play(model_events::fell_back{"first", "second", failure_of(failure_code::model_overloaded, "full"), {}});
  w.fail(failure_code::model_overloaded);
  CHECK(w.models->requests.size() == 1); // both have failed
  CHECK(w.all<model_events::fell_back>().size() == 1);
  CHECK(w.all<model_events::failed>().size() == 1);
}

TEST_CASE("a fallback model that counts more is asked again with less, and the first one is not", "[compaction]") {
  request_world w(with(played_model("first", 50'000), {played_model("second", 40'000)}));
  w.add_with_result("read it", long_text(20'000));
  w.ask("and now?");
  w.play(model_events::fell_back{"first", "second", failure_of(failure_code::model_overloaded, "full"), {}});
  w.fail(failure_code::context_overflow);
  REQUIRE(w.models->requests.size() == 2);
  CHECK(w.models->at(1).settings.name == "second");
  CHECK(w.sent_tokens(1) <= w.sent_tokens(0) / 2);
  REQUIRE(w.all<model_events::retrying>().size() == 1);
  CHECK(w.all<model_events::retrying>()[0].model == "second");
  // The second time is the end of the turn, and what was learned is that model's.
  w.fail(failure_code::context_overflow);
  CHECK(w.all<model_events::failed>().size() == 1);
  CHECK(w.runtime->overflows.room("team/chat\nfirst", 49'000) == 49'000);
  CHECK(w.runtime->overflows.room("team/chat\nsecond", 39'000) < 39'000);
}

TEST_CASE("no smaller model is asked about what was shown, refused or stopped", "[compaction]") {
  request_world w(with(played_model("large", 100'000), {played_model("small", 6'000)}));
  w.add_with_result("read it", long_text(20'000));
  w.ask("and now?");
  SECTION("shown") {
    w.play(model_events::text{"Well"});
    w.fail(failure_code::model_cut);
  }
  SECTION("refused") { w.fail(failure_code::model_refused); }
  SECTION("stopped") {
    w.stream->hang_up({});
    w.fail(failure_code::model_overloaded);
    CHECK(w.models->requests.size() == 1);
    return;
  }
  CHECK(w.models->requests.size() == 1);
  CHECK(w.all<model_events::failed>().size() == 1);
}

TEST_CASE("all requests for one answer wait for turns together, at whichever models", "[compaction]") {
  auto large = played_model("large", 100'000), small = played_model("small", 6'000),
       other = played_model("other", 5'000);
  for (auto* model : {&large, &small, &other}) model->queue_timeout = std::chrono::minutes(60);
  other.queue_timeout = std::chrono::minutes(90);
  request_world w(with(large, {small, other}));
  w.add_with_result("read it", long_text(20'000));
  w.ask("and now?");
  CHECK(w.models->at(0).settings.queue_timeout == std::chrono::minutes(60));
  w.play(model_events::queued{"large", 3});
  w.now.boot = w.now.boot + std::chrono::minutes(30);
  w.play(model_events::admitted{"large", std::chrono::minutes(30)});
  w.now.boot = w.now.boot + std::chrono::minutes(5); // it is asked, and no longer waits
  SECTION("the next model is asked") {
    w.fail(failure_code::model_unavailable);
    CHECK(w.models->at(1).settings.queue_timeout == std::chrono::minutes(30));
    w.play(model_events::queued{"small", 3});
    w.now.boot = w.now.boot + std::chrono::minutes(40);
    w.fail(failure_code::model_overloaded); // its turn did not come
    CHECK(w.models->at(2).settings.queue_timeout == std::chrono::minutes(20));
  }
  SECTION("the same one is asked again") {
    w.fail(failure_code::context_overflow);
    REQUIRE(w.models->requests.size() > 1); // a summary, or less of the conversation
    CHECK(w.models->at(1).settings.queue_timeout == std::chrono::minutes(30));
  }
}
