// A played chat service for an outbox: it keeps its messages and enforces its rules; time is passed in.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "integrations/chat/outbox.hpp"

namespace quell::integrations::chat::testing {

struct played_service {
  explicit played_service(outbox_rules r) : rules(r), box(r) {}

  outbox_rules rules;
  outbox box;
  boot_time now{1'000'000'000'000};
  std::uint64_t events = 0;
  std::vector<action> sent_actions;            ///< everything, in order
  std::vector<std::string> order;              ///< ids of messages as posted
  std::map<std::string, std::string> messages; ///< id → text
  std::map<std::uint64_t, std::string> keys;   ///< of posts → id, where posts may be repeated
  std::vector<std::string> posted_texts;       ///< "post x", "edit 1 x", "react m x"

  static scope_path place(const std::string& text = "slack/T1/C1") { return *scope_path::parse(text); }

  /// Whether nothing is left that a later process would have to send or to end.
  bool keeps_nothing() const {
    const auto kept = nlohmann::json::parse(box.kept());
    return kept["parts"].empty() && kept["stops"].empty();
  }

  /// quelld's decision about a message.
  static decision taken(const message_id& m) {
    decision d;
    d.what = decided::turn;
    d.message = m;
    return d;
  }

  void tell(const std::string& type, const operation_id& turn, const std::string& data,
            const scope_path& at = place()) {
    event e;
    e.id = ++events;
    e.type = event_type_of(type).value();
    e.scope = at;
    e.operation = turn;
    e.root = turn;
    e.data = data;
    box.on_event(e, now);
  }
  void start(const operation_id& turn, const std::string& message = "") {
    tell("turn_start", turn, R"({"turn":")" + turn.text() + R"(","message":")" + message + R"("})");
  }
  void delta(const operation_id& turn, std::uint64_t offset, const std::string& text) {
    tell("text_delta", turn, R"({"offset":)" + std::to_string(offset) + R"(,"text":)" + quoted(text) + "}");
  }
  void complete(const operation_id& turn, const std::string& text, const std::string& stop_reason = "end") {
    tell("turn_complete", turn,
         R"({"text":)" + quoted(text) + R"(,"usage":{},"stop_reason":")" + stop_reason + R"("})");
  }
  void abort(const operation_id& turn, const std::string& reason = "user") {
    tell("turn_abort", turn, R"({"reason":")" + reason + R"("})");
  }
  static std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char c : text) {
      if (c == '\n') {
        made += "\\n";
        continue;
      }
      if (c == '\r') {
        made += "\\r";
        continue;
      }
      if (c == '"' || c == '\\') made += '\\';
      made += c;
    }
    return made + "\"";
  }

  /// Performs the action, and checks the limits that the service would enforce.
  done_how perform(const action& a) {
    if (a.what == action_kind::react) {
      posted_texts.push_back("react " + a.message + " " + a.text);
      return {};
    }
    if (a.what == action_kind::unreact) {
      CHECK(rules.can_take_back);
      posted_texts.push_back("unreact " + a.message + " " + a.text);
      return {};
    }
    if (a.what == action_kind::remove) {
      CHECK(rules.can_take_back);
      CHECK(messages.erase(a.message) == 1);
      posted_texts.push_back("remove " + a.message);
      return {};
    }
    CHECK(length_of(a.text, rules.unit) <= rules.most_length);
    CHECK_FALSE(a.text.empty());
    if (rules.one_line) CHECK(a.text.find_first_of("\r\n") == std::string::npos);
    if (a.what == action_kind::edit) {
      CHECK(rules.can_edit);
      REQUIRE(messages.contains(a.message));
      messages[a.message] = a.text;
      posted_texts.push_back("edit " + a.message + " " + a.text);
      return {};
    }
    if (rules.posts_repeat && keys.contains(a.key)) return made(keys.at(a.key));
    const auto id = std::to_string(order.size() + 1);
    keys[a.key] = id;
    order.push_back(id);
    messages[id] = a.text;
    posted_texts.push_back("post " + a.text);
    return made(id);
  }
  done_how made(const std::string& id) const {
    done_how how;
    how.message = id;
    how.text = messages.at(id);
    return how;
  }
  /// Sends everything that may be sent now, and completes it at once.
  void pump() {
    for (int round = 0; round < 1000; ++round) {
      const auto actions = box.due(now);
      if (actions.empty()) return;
      for (const auto& a : actions) {
        sent_actions.push_back(a);
        box.done(a.number, perform(a), now);
      }
    }
    FAIL("the outbox never rests");
  }
  /// Advances time until nothing waits.
  void run_dry() {
    for (int round = 0; round < 100'000; ++round) {
      pump();
      const auto next = box.next_at(now);
      if (!next) return;
      REQUIRE(*next > now);
      now = *next;
    }
    FAIL("the outbox never runs dry");
  }
  void pass(milliseconds d) { now = now + d; }
  /// The one action that is due; it is under way then.
  action only_due() {
    auto actions = box.due(now);
    REQUIRE(actions.size() == 1);
    return actions.front();
  }
  std::string all() const {
    std::string whole;
    for (const auto& id : order) whole += messages.at(id);
    return whole;
  }
};

/// The next life of a service that continues: it knows its messages.
struct next_life : played_service {
  explicit next_life(const played_service& before) : played_service(before.rules) {
    order = before.order;
    messages = before.messages;
    now = before.now;
    events = before.events;
  }
};

} // namespace quell::integrations::chat::testing
