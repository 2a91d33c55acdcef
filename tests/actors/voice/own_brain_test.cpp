// The built-in brain between the gateway and the turn scheduler, on a loop that this test turns by hand.
#include <catch2/catch.hpp>

#include "actors/turns/endings.hpp"
#include "actors/turns/workspace_rows.hpp"
#include "actors/voice/own_brain.hpp"
#include "controller/commands/command.hpp"
#include "integrations/voice/words.hpp"
#include "tests/actors/voice/voice_doubles.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::voice;
using namespace quell::controller::voice::testing;
using integrations::voice::frame;
using integrations::voice::tag;

namespace {

struct played_talk {
  played_scheduler scheduler;
  std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
  std::shared_ptr<turns::agent_runtime> work = std::make_shared<turns::agent_runtime>();
  moment now{{}, boot_time{1'000'000'000}};
  voice_context_ref house;
  std::shared_ptr<brain_port> brain;
  std::vector<frame> spoken; ///< frames that reached the gateway
  const operation_id exchange = operation_id::fresh();
  std::vector<std::string> questions;            ///< to its speaker
  std::vector<operation_id> unanswered;          ///< exchanges whose turns were stopped
  std::vector<records::put_turn_ending> endings; ///< on their way to the disk
  std::vector<std::function<void()>> written;    ///< tell that they are there

  explicit played_talk(bool asks = false) {
    turns::turn_settings settings;
    settings.agents.emplace_back();
    settings.agents.back().name = "main";
    work->settings.set(std::move(settings));
    work->core.now = [this] { return now; };
    work->core.execute = [this](command_request&& what) {
      std::move(what).hand_to([this](const auto& given, auto takers) {
        if constexpr (std::is_same_v<std::decay_t<decltype(given)>, commands::rewrite_history>) {
          endings.insert(endings.end(), given.retracted.begin(), given.retracted.end());
          written.push_back([done = takers.done] { done({}); });
        } else {
          FAIL("this command is not played here");
        }
      });
    };
    voice_settings voice;
    voice.feedback = asks;
    house = std::make_shared<voice_context>(voice_context{voice, {}, scheduler, work, loop, nullptr});
    connect();
  }

  void connect(const std::string& author = "ada", const std::string& scope = "talk/room") {
    speaker who;
    who.scope = *scope_path::parse(scope);
    who.author = {author, author};
    auto made = own_brain(house, std::move(who));
    REQUIRE(made);
    brain = std::move(*made);
    brain->begin({[this](const frame& f) { spoken.push_back(f); }, [](const std::string&) {},
                  [this] { return std::optional(exchange); },
                  [this](const operation_id& id) { unanswered.push_back(id); },
                  [this](const std::string& question) { questions.push_back(question); }});
  }

  void say(const std::string& words) { brain->take({tag::transcript, words}); }
  void cancel() { brain->take({tag::brain_cancel, {}}); }
  /// The newest turn completes.
  void complete(const std::string& text) {
    records::event_record e;
    e.type = event_type::turn_complete;
    e.operation = scheduler.messages.back().turn;
    e.data = R"({"text":")" + text + "\"}";
    brain->on_event(e);
  }
  /// The newest turn fails.
  void fail(const std::string& reason = "no such model") {
    records::event_record e;
    e.type = event_type::turn_abort;
    e.operation = scheduler.messages.back().turn;
    e.data = R"({"reason":")" + reason + "\"}";
    brain->on_event(e);
  }
  const std::string& context() const { return scheduler.messages.back().order.context; }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& f : spoken) all.push_back(f.payload);
    return all;
  }
};

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("an answer of the own brain reaches the gateway once", "[voice]") {
  played_talk c;
  c.say("one");
  c.loop->run();
  c.complete("First.");
  c.complete("First.");
  c.loop->run();
  CHECK(c.texts() == texts{"First."});
}

TEST_CASE("an answer that was posted before a cancel does not answer the next words", "[voice]") {
  const bool asks = GENERATE(false, true);
  played_talk c(asks);
  c.say("one");
  c.loop->run();
  c.complete("First."); // on its way to the gateway
  c.cancel();
  c.say("two");
  c.loop->run();
  CHECK(c.texts().empty());
  c.complete("Second.");
  c.loop->run();
  CHECK(c.texts() == texts{"Second."});
}

TEST_CASE("a turn that ends behind the cancel of its words answers nothing", "[voice]") {
  played_talk c;
  c.say("one");
  c.loop->run();
  c.cancel();
  c.complete("First.");
  c.loop->run();
  CHECK(c.texts().empty());
  c.say("two");
  c.loop->run();
  REQUIRE(c.scheduler.messages.size() == 2);
  CHECK_FALSE(c.scheduler.messages.back().order.context.empty()); // it is told of the cancel
}

TEST_CASE("a turn that is stopped alone is not a failure: its exchange follows it, and nothing is said", "[voice]") {
  const std::string reason = GENERATE("user", "superseded", "disconnect", "parent");
  played_talk c;
  c.say("one");
  c.loop->run();
  c.fail(reason);
  c.fail(reason); // told twice
  c.loop->run();
  CHECK(c.texts().empty());
  CHECK(c.unanswered == std::vector{c.exchange});
  c.cancel(); // what its exchange's cancel tells
  c.say("two");
  c.loop->run();
  CHECK(c.context() == integrations::voice::cancel_context);
}

TEST_CASE("a turn that fails is told, with the reason", "[voice]") {
  const std::string reason = GENERATE("error", "timeout", "budget", "interrupted");
  played_talk c;
  c.say("one");
  c.loop->run();
  c.fail(reason);
  c.loop->run();
  CHECK(c.texts() == texts{"That did not work: " + reason + "."});
  CHECK(c.unanswered.empty());
}

TEST_CASE("a cancel before the first prompt is told in it, if an exchange had begun", "[voice]") {
  const bool has_begun = GENERATE(false, true);
  const std::string due(has_begun ? integrations::voice::cancel_context : "");
  played_talk c;
  if (has_begun) c.brain->exchange_begins();
  for (int i = GENERATE(1, 2); i > 0; --i) c.cancel();
  c.say("one");
  c.loop->run();
  CHECK(c.context() == due);
  c.fail();
  c.say("two");
  c.loop->run();
  CHECK(c.context() == due); // the first query failed
  c.complete("Second.");
  c.say("three");
  c.loop->run();
  CHECK(c.context().empty());
}

TEST_CASE("an answer that is taken back is marked once, and that is told when it is durable", "[voice]") {
  played_talk c;
  c.say("one");
  c.loop->run();
  c.complete("First.");
  c.cancel();
  int done = 0;
  c.brain->retract([&done] { ++done; });
  c.loop->run();
  CHECK(done == 0);
  REQUIRE(c.endings.size() == 1);
  CHECK(c.endings[0].turn == c.scheduler.messages.back().turn);
  const auto ending = turns::ending_in(c.endings[0].ending);
  REQUIRE(ending);
  CHECK(ending->as == turns::turn_ending::how::cancelled);
  CHECK_FALSE(ending->why.empty()); // its answer is left out of later prompts
  for (const auto& tell : c.written) tell();
  c.loop->run();
  CHECK(done == 1);
  c.brain->retract([&done] { ++done; }); // there is no other answer
  CHECK(done == 2);
  CHECK(c.endings.size() == 1);
}

TEST_CASE("only an answer can be taken back, and only the last one", "[voice]") {
  played_talk c;
  int done = 0;
  c.brain->retract([&done] { ++done; });
  CHECK(done == 1);
  c.say("one");
  c.loop->run();
  c.complete("First.");
  c.say("two"); // it is not answered yet
  c.loop->run();
  c.brain->retract([&done] { ++done; });
  CHECK(done == 2);
  CHECK(c.endings.empty());
}

TEST_CASE("a cancel that no prompt has told is told to the same speaker's next client, once", "[voice]") {
  const bool is_answered = GENERATE(false, true);
  played_talk c;
  c.say("one");
  c.loop->run();
  c.cancel();
  if (is_answered) {
    c.say("two");
    c.loop->run();
    c.complete("Two.");
    c.loop->run();
  }
  c.brain->client_left();
  c.cancel(); // of what it left
  c.connect();
  c.say("three");
  c.loop->run();
  CHECK(c.context() == std::string(is_answered ? "" : integrations::voice::cancel_context));
  c.complete("Three.");
  c.loop->run();
  c.brain->client_left();
  c.connect();
  c.say("four");
  c.loop->run();
  CHECK(c.context().empty());
}

TEST_CASE("a client that leaves in an exchange has not cancelled it", "[voice]") {
  played_talk c;
  c.say("one");
  c.loop->run();
  c.brain->client_left();
  c.cancel();
  c.connect();
  c.say("two");
  c.loop->run();
  CHECK(c.context().empty());
}

TEST_CASE("a cancel of another speaker, in another scope, or of ten minutes ago is not told", "[voice]") {
  played_talk c;
  c.say("one");
  c.loop->run();
  c.cancel();
  c.brain->client_left();
  c.connect("rob");
  c.say("two");
  c.loop->run();
  CHECK(c.context().empty());
  c.connect("ada", "talk/other");
  c.say("three");
  c.loop->run();
  CHECK(c.context().empty());
  c.now.boot = c.now.boot + parted_cancel_lasts;
  c.connect();
  c.say("four");
  c.loop->run();
  CHECK(c.context().empty());
}

TEST_CASE("what the turn of an exchange asks is spoken with its choices, and nothing that others ask or approve",
          "[voice]") {
  played_talk c;
  records::event_record e;
  e.type = event_type::approval_required;
  e.root = c.exchange;
  e.data = R"({"question":{"asked_by":"agent","message":"Which one?",)"
           R"("form":{"properties":{"answer":{"enum":["red","blue"]}}}}})";
  c.brain->on_event(e); // nothing of this brain's runs
  CHECK(c.questions.empty());
  c.say("choose");
  c.loop->run();
  c.brain->on_event(e);
  CHECK(c.questions == texts{"Which one? red, or blue?"});
  e.data = R"({"question":{"asked_by":"agent","message":"And where?","form":{"properties":{"answer":{}}}}})";
  c.brain->on_event(e);
  CHECK(c.questions.back() == "And where?");
  for (const auto* other : {R"({"name":"exec"})", R"({"question":{"asked_by":"server","message":"Sure?"}})", "[]"}) {
    e.data = other;
    c.brain->on_event(e);
  }
  e.root = operation_id::fresh();
  e.data = R"({"question":{"asked_by":"agent","message":"Elsewhere?"}})";
  c.brain->on_event(e);
  CHECK(c.questions.size() == 2);
  c.complete("Blue it is.");
  c.loop->run();
  CHECK(c.texts() == texts{"Blue it is."});
}
