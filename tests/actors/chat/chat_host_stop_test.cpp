// A Stop button stops what runs where it was pressed, and nothing else; and messages that the host refuses.
#include "actors/chat/chat_host.hpp"

#include <catch2/catch.hpp>

#include "actors/turns/agent_runtime.hpp"
#include "tests/actors/chat/ledger_service.hpp"
#include "tests/actors/refusing_store.hpp"
#include "tests/actors/voice/voice_doubles.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::integrations::chat;

namespace {

/// Knows the scopes of turns that ended long ago.
struct ended_turns_store final : testing::refusing_store {
  std::map<operation_id, scope_path> scope_of;
  bool is_down = false;

  result<std::optional<records::operation_record>> operation(const operation_id& id) override {
    if (is_down) return refused();
    const auto at = scope_of.find(id);
    if (at == scope_of.end()) return std::optional<records::operation_record>{};
    records::operation_record row;
    row.id = id;
    row.scope = at->second;
    return std::optional(std::move(row));
  }
};

/// Runs each job at once, and counts them.
struct counted_reads final : turns::blocking_executor {
  explicit counted_reads(store_reader& s) : store(s) {}
  void run_after(std::chrono::milliseconds, job what) override {
    ++count;
    what(store);
  }
  void stop() override {}
  store_reader& store;
  int count = 0;
};

struct pressed_buttons {
  pressed_buttons() {
    scheduler.shared = std::make_shared<turns::agent_runtime>();
    auto own = std::make_unique<counted_reads>(store);
    reads = own.get();
    scheduler.shared->priority_reads = std::move(own);
    at = quell::controller::chat::make_host(core, scheduler);
  }
  /// The outcome of the stop, or the code and the detail of its refusal.
  std::string press(const std::string& place, const operation_id& target) {
    std::string answer = "nothing";
    at->stop({*scope_path::parse(place), target, {"5", "Mia", "5"}, "Stop button"},
             [&](const result<stop_answer>& a) { answer = a ? a->outcome : a.error().code + ": " + a.error().detail; });
    return answer;
  }

  ended_turns_store store;
  quell::controller::chat::testing::ledger_service core;
  quell::controller::voice::testing::played_scheduler scheduler;
  counted_reads* reads = nullptr;
  std::unique_ptr<quell::integrations::chat::host> at;
};

const std::string refused_elsewhere = "operation_not_found: nothing of that id runs here";

} // namespace

TEST_CASE("a Stop button pressed in another place stops nothing", "[chat]") {
  pressed_buttons b;
  const auto turn = b.core.turn_at("discord/9/7");
  for (const char* place :
       {"discord/10/7", "discord/9/8", "discord/9/70", "discord/dm/7", "discord/9/7/1", "slack/9/7"})
    CHECK(b.press(place, turn) == refused_elsewhere);
  CHECK(b.core.goes_on(turn));
}

TEST_CASE("a Stop button stops its turn without a read of the store, and has then finished", "[chat]") {
  pressed_buttons b;
  const auto turn = b.core.turn_at("slack/T/C/1.2"), second = b.core.turn_at("slack/T/C/1.2");
  CHECK(b.press("slack/T/C/1.2", turn) == "stopping");
  CHECK_FALSE(b.core.goes_on(turn));
  CHECK(b.core.goes_on(second));
  CHECK(b.press("slack/T/C", second) == "stopping"); // a thread lies below its channel
  CHECK(b.press("slack/T/C/1.2", turn) == "already_finished");
  CHECK(b.reads->count == 0);
  CHECK(b.press("slack/T/C2", turn) == refused_elsewhere);
}

TEST_CASE("a turn that ended long ago has finished where it ran, and is nothing elsewhere", "[chat]") {
  pressed_buttons b;
  const auto turn = operation_id::fresh();
  b.store.scope_of[turn] = *scope_path::parse("telegram/5");
  CHECK(b.press("telegram/5", turn) == "already_finished");
  CHECK(b.press("telegram/-555", turn) == refused_elsewhere);
  CHECK(b.press("telegram/5", operation_id::fresh()) == refused_elsewhere);
  b.store.is_down = true;
  CHECK(b.press("telegram/5", turn) == refused_elsewhere); // it is not live there, whatever else it is
}

TEST_CASE("the account of a message's author goes with it where it is not the author's id", "[chat]") {
  pressed_buttons b;
  const auto account_of = [&](const std::string& id, const std::string& account) {
    incoming_message message;
    message.scope = *scope_path::parse("irc/net/~23dev");
    message.author = {id, id, account};
    message.text = "hello";
    b.at->say(message, [](const auto&) {});
    const auto& order = b.scheduler.messages.back().order;
    CHECK(order.author.id == id);
    return order.account;
  };
  CHECK(account_of("mia|away", "mia") == "mia");
  CHECK(account_of("U1", "U1").empty());
  CHECK(account_of("mia", "").empty());
}

TEST_CASE("a message of a chat cannot take an id of quell's own messages", "[chat]") {
  pressed_buttons b;
  incoming_message message;
  message.scope = *scope_path::parse("chat/a");
  message.author = {"5", "Mia", "5"};
  message.text = "hello";
  message.id = std::string(turns::summary_client_id);
  std::string code;
  b.at->say(message, [&](const auto& d) { code = d ? "taken" : d.error().code; });
  CHECK(code == "invalid_field");
}
