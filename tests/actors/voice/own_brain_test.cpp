// The built-in brain between the gateway and the turn scheduler, on a loop that this test turns by hand.
#include <catch2/catch.hpp>

#include <deque>

#include "actors/turns/workspace_rows.hpp"
#include "actors/voice/own_brain.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::voice;
using integrations::voice::frame;
using integrations::voice::tag;

namespace {

/// Runs what was posted only when it is told to.
class manual_loop final : public integrations::voice::voice_loop {
 public:
  result<std::uint16_t> listen(const integrations::voice::listening_place&,
                               std::function<void(std::shared_ptr<integrations::voice::frame_link>)>) override {
    return failure("bad_address", "nothing listens in this test");
  }
  void post(std::function<void()> what) override { posted_.push_back(std::move(what)); }
  void after(std::chrono::milliseconds, std::function<void()> what) override { posted_.push_back(std::move(what)); }
  void stop() override { posted_.clear(); }
  void run() {
    while (!posted_.empty()) {
      const auto what = std::move(posted_.front());
      posted_.pop_front();
      what();
    }
  }

 private:
  std::deque<std::function<void()>> posted_;
};

/// Takes messages; each becomes a turn at once.
class played_scheduler final : public turns::turn_scheduler {
 public:
  struct taken {
    turns::message_order order;
    operation_id turn;
  };
  std::vector<taken> messages;

  void take(turns::message_order order, reply<outcome<turns::message_answer>> done) override {
    messages.push_back({std::move(order), operation_id::fresh()});
    turns::message_answer answer;
    answer.decision = turns::message_answer::decided::turn;
    answer.turn = messages.back().turn;
    done(answer);
  }
  void rewrite(turns::history_order, reply<outcome<turns::history_answer>>) override {}
  void decide(operation_id, decision, reply<outcome<operation_id>>) override {}
  void answer(operation_id, human_answer, reply<outcome<operation_id>>) override {}
  void decide_in_chat(operation_id, decision, turns::chat_approver, reply<outcome<operation_id>>) override {}
  bool may_decide(const std::string&) const override { return false; }
  void find_cancel(cancel_id, reply<result<bool>>) override {}
  void find_message(std::vector<scope_path>, std::string,
                    reply<result<std::optional<records::message_record>>>) override {}
  void disconnected(operation_id) override {}
  std::optional<turns::turn_now> look(const operation_id&) const override { return std::nullopt; }
  turns::mcp_accounts* accounts() override { return nullptr; }
  std::shared_ptr<turns::agent_runtime> runtime() override { return nullptr; }
  void signal(const actor_signal&) override {}
  void ended(const ended_operation&) override {}
  void on_event(const records::event_record&) override {}
  void reload(turns::turn_settings) override {}
  void stop() override {}
};

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
