// For every text, every way to cut it and every refusal of the service: each code point arrives once and in order.
#include <rapidcheck.h>

#include "protocol/utf8.hpp"
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

std::string without_space(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (c != ' ' && c != '\n' && c != '\r') kept += c;
  return kept;
}

std::string random_text(std::size_t count) {
  static const std::vector<std::string> characters{"a", "b",  "Z",  " ", " ", "\n", "\n\n", "é",
                                                   "ß", "漢", "字", "👍", "𝄞", "\"", "\\"};
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += *rc::gen::elementOf(characters);
  return text;
}

outbox_rules random_rules() {
  outbox_rules r;
  r.unit = *rc::gen::element(length_unit::bytes, length_unit::utf16, length_unit::characters);
  r.most_length = *rc::gen::inRange<std::size_t>(64, 200);
  r.can_edit = *rc::gen::arbitrary<bool>();
  r.can_react = r.can_edit;
  r.one_line = !r.can_edit && *rc::gen::arbitrary<bool>();
  r.has_buttons = r.can_edit && *rc::gen::arbitrary<bool>();
  r.posts_repeat = *rc::gen::arbitrary<bool>();
  r.of_place = {milliseconds{*rc::gen::inRange(0, 3000)}, *rc::gen::inRange(1U, 5U)};
  r.of_all = {milliseconds{*rc::gen::inRange(0, 500)}, *rc::gen::inRange(1U, 9U)};
  return r;
}

/// An unreliable service: refuses temporarily, breaks connections after having performed the request.
void moody_pump(played_service& s) {
  for (const auto& a : s.box.due(s.now)) {
    s.sent_actions.push_back(a);
    const int mood = *rc::gen::inRange(0, 10);
    if (mood == 0) {
      s.box.done(a.number, {outcome::later, {}, milliseconds{300}, true}, s.now);
    } else if (mood == 1) {
      s.box.done(a.number, {outcome::not_sent}, s.now);
    } else if (mood == 2) {
      s.perform(a);
      s.box.done(a.number, {outcome::unknown}, s.now);
    } else {
      s.box.done(a.number, s.perform(a), s.now);
    }
  }
}

} // namespace

TEST_CASE("every code point of a reply arrives exactly once and in order, and never above the limits") {
  CHECK(rc::check("whole and in order", [] {
    played_service s{random_rules()};
    const auto turn = operation_id::fresh();
    const auto text = random_text(*rc::gen::inRange<std::size_t>(0, 700));
    s.start(turn);
    std::string_view rest = text;
    std::uint64_t offset = 0;
    while (!rest.empty() && *rc::gen::inRange(0, 40) != 0) {
      auto piece = utf8_prefix(rest, *rc::gen::inRange<std::size_t>(1, 60));
      if (piece.empty()) piece = utf8_prefix(rest, 4);
      s.delta(turn, offset, std::string(piece));
      offset += code_points(piece);
      rest.remove_prefix(piece.size());
      if (*rc::gen::arbitrary<bool>()) moody_pump(s);
      s.pass(milliseconds{*rc::gen::inRange(0, 1500)});
      if (*rc::gen::inRange(0, 8) == 0) s.tell("tool_start", turn, R"({"call":"c","name":"exec","input":{}})");
    }
    s.complete(turn, text);
    for (int i = 0; i < 20; ++i) {
      moody_pump(s);
      s.pass(milliseconds{700});
    }
    s.run_dry();
    RC_ASSERT(s.box.dropped() == 0U);
    RC_ASSERT(s.box.waiting() == 0U);
    // A working line can stay in a message that could not be edited any more.
    std::string all;
    for (const auto& id : s.order) {
      auto one = s.messages.at(id);
      if (const auto status = one.find("⏳ exec"); status != std::string::npos) one.resize(status);
      all += one;
    }
    RC_ASSERT(without_space(all) == without_space(text));
    if (s.rules.can_edit && all.size() == text.size()) RC_ASSERT(all == text);
  }));
}

TEST_CASE("after a stop nothing of the reply is sent that was not in flight, whenever the stop comes") {
  CHECK(rc::check("nothing more", [] {
    played_service s{random_rules()};
    const auto turn = operation_id::fresh();
    const auto text = random_text(400);
    s.start(turn);
    std::string_view rest = text;
    std::uint64_t offset = 0;
    const int steps = *rc::gen::inRange(0, 12);
    for (int i = 0; i < steps && !rest.empty(); ++i) {
      auto piece = utf8_prefix(rest, 30);
      s.delta(turn, offset, std::string(piece));
      offset += code_points(piece);
      rest.remove_prefix(piece.size());
      moody_pump(s);
      s.pass(milliseconds{*rc::gen::inRange(0, 1500)});
    }
    const auto flying = s.box.due(s.now);
    s.tell("message_decided", turn,
           R"({"message":")" + message_id::fresh().text() + R"(","id":"m9","decision":"cancel","why":"cancel_word"})");
    s.delta(turn, offset, std::string(rest));
    s.tell("acknowledgement", turn, R"({"message":"","cancel":null,"text":"Stopped it.","reaction":null})");
    s.abort(turn);
    for (const auto& a : flying) s.box.done(a.number, s.perform(a), s.now);
    const auto before = s.messages;
    const auto count = s.sent_actions.size();
    s.run_dry();
    // The acknowledgement comes first, then at most closing edits with text that is already shown.
    RC_ASSERT(s.sent_actions.size() > count);
    const std::string word = s.rules.one_line ? "🛑 stopped Stopped it." : "🛑 stopped\nStopped it.";
    RC_ASSERT(s.sent_actions[count].text == word);
    for (const auto& id : s.order) {
      auto one = s.messages.at(id);
      if (one == word) continue;
      if (const auto mark = one.find("⏹ stopping…"); mark != std::string::npos) one.resize(mark);
      // An edit whose fate was unknown can be reverted; nothing is added, and no message is new.
      RC_ASSERT(before.contains(id));
      RC_ASSERT(without_space(before.at(id)).starts_with(without_space(one)));
    }
  }));
}
