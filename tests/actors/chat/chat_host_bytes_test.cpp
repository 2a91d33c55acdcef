// Messages of chats take their share of a day's bytes; a stop takes none and is never refused.
#include "actors/chat/chat_host.hpp"

#include <catch2/catch.hpp>

#include "actors/turns/agent_runtime.hpp"
#include "integrations/chat/chat.hpp"
#include "tests/actors/chat/ledger_service.hpp"
#include "tests/actors/chat/played_byte_quota.hpp"
#include "tests/actors/voice/voice_doubles.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::integrations::chat;

namespace {

struct speaking {
  speaking() {
    scheduler.shared = std::make_shared<turns::agent_runtime>();
    at = quell::controller::chat::make_host(
        core, scheduler,
        {&quota, [](const scope_path&, const std::string& text, const auto&) { return text == "stop"; }});
  }
  std::string say(const std::string& text, std::optional<bool> addressed = true) {
    incoming_message message;
    message.scope = *scope_path::parse("discord/9/7");
    message.author = {"5", "Mia", "5"};
    message.text = text;
    message.addressed = addressed;
    std::string answer = "nothing";
    at->say(message, [&](const result<quell::integrations::chat::decision>& d) {
      answer = d ? "taken" : d.error().code + ": " + d.error().detail;
    });
    return answer;
  }

  quell::controller::chat::testing::played_byte_quota quota;
  quell::controller::chat::testing::ledger_service core;
  quell::controller::voice::testing::played_scheduler scheduler;
  std::unique_ptr<quell::integrations::chat::host> at;
};

} // namespace

TEST_CASE("a chat's message counts for its service, its author and its scope", "[chat]") {
  speaking s;
  CHECK(s.say("hello") == "taken");
  REQUIRE(s.quota.taken.size() == 1);
  const auto& [from, bytes] = s.quota.taken.front();
  CHECK(bytes == 5);
  CHECK(from.token == "service:discord");
  CHECK(from.author == "5");
  CHECK(from.scope->text() == "discord/9/7");
}

TEST_CASE("a message beyond the day's bytes is refused once and for all, a stop never", "[chat]") {
  speaking s;
  s.quota.room = 4;
  CHECK(s.say("hello") == "rate_limited: the day is full");
  CHECK(s.scheduler.messages.empty());
  CHECK_FALSE(is_transient(coded_fault{error_code::rate_limited, "the day is full"})); // no service brings it again
  s.quota.room = 0;
  CHECK(s.say("stop") == "taken");
  CHECK(s.quota.taken.empty());
}

TEST_CASE("people who did not speak to the bot are counted and not told", "[chat]") {
  speaking s;
  s.quota.room = 0;
  CHECK(s.say("hello", false) == "taken");
  REQUIRE(s.quota.added.size() == 1);
  CHECK(s.quota.added.front().second == 5);
}
