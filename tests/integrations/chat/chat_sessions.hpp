// A chat session whose time the test sets, with its effects collected.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "integrations/chat/service_session.hpp"

namespace quell::testing {

using namespace std::chrono_literals;
namespace chat = quell::integrations::chat;

inline operation_id turn_number(std::uint8_t n) {
  operation_id id;
  id.bytes = {0x01, 0x9a, 0xa0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, n};
  return id;
}

/// Obeys a session as its link would.
class session_world {
 public:
  explicit session_world(chat::service_session& s) : speaker(s) {}

  void connect() {
    speaker.connected(now);
    take();
  }
  void says(std::string_view bytes) {
    speaker.received(bytes, now);
    take();
  }
  /// Wakes the session whenever it wants to be woken.
  void passes(std::chrono::milliseconds time) {
    const auto end = now + time;
    while (const auto due = speaker.due()) {
      if (*due > end || now >= end) break;
      now = std::max(*due, now + 1ms);
      speaker.tick(now);
      take();
    }
    now = std::max(now, end);
  }
  void tells(const std::string& type, const std::string& scope, const operation_id& turn, const std::string& data) {
    chat::event e;
    e.id = ++last_event;
    e.type = event_type_of(type).value();
    e.scope = *scope_path::parse(scope);
    e.operation = e.root = turn;
    e.data = data;
    speaker.on_event(e, now);
    take();
  }
  void answers(const std::string& scope, std::uint8_t turn, const std::string& text) {
    tells("turn_start", scope, turn_number(turn), R"({"turn":"x","message":"","agent":"main","model":"m"})");
    tells("text_delta", scope, turn_number(turn), R"({"offset":0,"text":")" + text + R"("})");
  }
  void completes(const std::string& scope, std::uint8_t turn, const std::string& text) {
    tells("turn_complete", scope, turn_number(turn), R"({"text":")" + text + R"(","usage":{}})");
  }
  void decides(const result<chat::decision>& what) {
    REQUIRE_FALSE(received_messages.empty());
    speaker.decided(received_messages.back().mark, what, now);
    take();
  }
  std::string sent() { return std::exchange(out, {}); }
  bool has_sent(std::string_view text) const { return out.find(text) != std::string::npos; }

  chat::service_session& speaker;
  boot_time now{1'000'000'000};
  std::uint64_t last_event = 0;
  std::string out;
  std::vector<chat::received_message> received_messages;
  std::vector<chat::message_change> changes;
  std::vector<chat::approval_word> approvals;
  std::optional<chat::disconnect_request> disconnect;

 private:
  void take() {
    out += speaker.to_send();
    for (auto& h : speaker.take_received()) received_messages.push_back(std::move(h));
    for (auto& c : speaker.take_changes()) changes.push_back(std::move(c));
    for (auto& a : speaker.approvals()) approvals.push_back(std::move(a));
    if (auto w = speaker.disconnect_wanted()) disconnect = std::move(w);
  }
};

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

} // namespace quell::testing
