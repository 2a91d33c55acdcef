// The built-in brain between the gateway and the turn scheduler, on a loop that this test turns by hand.
#include <catch2/catch.hpp>

#include "actors/turns/workspace_rows.hpp"
#include "actors/voice/own_brain.hpp"
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
  std::shared_ptr<brain_port> brain;
  std::vector<frame> spoken; ///< frames that reached the gateway

  explicit played_talk(bool asks = false) {
    turns::turn_settings settings;
    settings.agents.emplace_back();
    settings.agents.back().name = "main";
    work->settings.set(std::move(settings));
    voice_settings voice;
    voice.feedback = asks;
    auto house = std::make_shared<voice_context>(voice_context{voice, {}, scheduler, work, loop, nullptr});
    speaker who;
    who.scope = *scope_path::parse("talk/room");
    auto made = own_brain(std::move(house), std::move(who));
    REQUIRE(made);
    brain = std::move(*made);
    brain->begin({[this](const frame& f) { spoken.push_back(f); }, [](const std::string&) {},
                  [] { return std::optional<operation_id>(); }});
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
