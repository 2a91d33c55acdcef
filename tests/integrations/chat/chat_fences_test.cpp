// Code blocks across the borders of messages.
#include "integrations/chat/fences.hpp"

#include <algorithm>

#include <rapidcheck/catch.h>

#include "integrations/chat/slack/write.hpp"
#include "integrations/chat/telegram/write.hpp"
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

const operation_id turn = operation_id::fresh();

outbox_rules fenced(std::size_t most) {
  outbox_rules r;
  r.unit = length_unit::utf16;
  r.most_length = most;
  r.has_fences = true;
  return r;
}

} // namespace

TEST_CASE("whether a text ends in code, and how that code began", "[fences]") {
  CHECK(open_fence("").empty());
  CHECK(open_fence("a `b` c").empty());
  CHECK(open_fence("```\na\n```").empty());
  CHECK(open_fence("a\n```cpp\nint a;") == "```cpp\n");
  CHECK(open_fence("a\n```\nint a;") == "```\n");
  CHECK(open_fence("see ```this is not a language") == "```\n");
  CHECK(open_fence("```a\n```\n```c++\nb") == "```c++\n");
  CHECK(closing_fence("```\na") == "\n```");
  CHECK(closing_fence("```\na\n") == "```");
  CHECK(closing_fence("a").empty());
}

TEST_CASE("a cut goes neither through a fence nor between it and its code", "[fences]") {
  const std::string text = "words\n```cpp\ncode\n```\n";
  const auto fence = text.find("```");
  CHECK(cut_outside_fence(text, fence + 1, 0) == fence);
  CHECK(cut_outside_fence(text, fence + 2, 0) == fence);
  CHECK(cut_outside_fence(text, text.find("code"), 0) == fence);
  CHECK(cut_outside_fence(text, text.find("code"), fence + 1) == text.find("code")); // the fence is already shown
  CHECK(cut_outside_fence(text, text.find("ode"), 0) == text.find("ode"));
  CHECK(cut_outside_fence(text, text.size(), 0) == text.size());
}

TEST_CASE("code that does not fit one message goes on as code in the next one", "[fences]") {
  played_service s{fenced(64)};
  s.start(turn);
  std::string text = "See:\n```py\n";
  for (int i = 0; i < 12; ++i) text += "line number " + std::to_string(i) + "\n";
  text += "```\ndone";
  for (std::size_t at = 0; at < text.size(); at += 7) {
    s.delta(turn, at, text.substr(at, 7));
    s.run_dry();
  }
  s.complete(turn, text);
  s.run_dry();
  REQUIRE(s.order.size() > 3);
  for (std::size_t i = 0; i < s.order.size(); ++i) {
    const auto& shown = s.messages.at(s.order[i]);
    CHECK(open_fence(shown).empty());
    if (i > 0) CHECK(shown.starts_with("```py\n"));
  }
}

TEST_CASE("Slack and Telegram take code over their borders, too, and no line is invented", "[fences]") {
  const bool is_slack = GENERATE(true, false);
  played_service s{is_slack ? slack::rules_of({}) : telegram::rules_of({})};
  std::string text = "See:\n```py\n", code;
  for (int i = 0; i < 900; ++i) code += "line(" + std::to_string(i) + ")\n";
  text += code + "```\nThat is all.";
  const auto place = played_service::place(is_slack ? "slack/T1/C1/1.2" : "telegram/5");
  s.tell("turn_start", turn, R"({"turn":"x","message":""})", place);
  for (std::size_t at = 0; at < text.size(); at += 500) {
    s.tell("text_delta", turn,
           R"({"offset":)" + std::to_string(at) + R"(,"text":)" + s.quoted(text.substr(at, 500)) + "}", place);
    s.run_dry();
  }
  s.tell("turn_complete", turn, R"({"text":)" + s.quoted(text) + R"(,"usage":{}})", place);
  s.run_dry();
  REQUIRE(s.order.size() > 2);
  std::string seen;
  for (std::size_t i = 0; i < s.order.size(); ++i) {
    auto shown = s.messages.at(s.order[i]);
    CHECK(open_fence(shown).empty());
    CHECK(shown.starts_with(i == 0 ? "See:\n```py\n" : "```\n"));
    for (std::size_t at; (at = shown.find("```")) != std::string::npos;) shown.erase(at, 3);
    seen += shown;
  }
  const auto squeezed = [](std::string all) {
    all.erase(std::remove(all.begin(), all.end(), '\n'), all.end());
    return all;
  };
  CHECK(squeezed(seen) == squeezed("See:py" + code + "That is all."));
}

TEST_CASE("the line below a reply does not stand in its code", "[fences]") {
  auto rules = fenced(2000);
  played_service s{rules};
  s.start(turn);
  s.delta(turn, 0, "```\nint a;");
  s.tell("operation_cancelling", turn, "{}");
  s.pump();
  CHECK(s.posted_texts.empty());
  const auto next = operation_id::fresh();
  s.tell("text_delta", next, R"({"offset":0,"text":"```\nint a;"})");
  s.pump();
  s.box.drop(next, s.now);
  s.run_dry();
  CHECK(s.messages.at("1") == "```\nint a;\n```\n⏹ stopping…");
}

TEST_CASE("no message is too long or ends within code, and no character is lost", "[fences]") {
  rc::prop("", [] {
    static const std::vector<std::string> pieces{"a",          "bc ", "\n",         "```", "```\n",
                                                 "\n```cpp\n", "`",   "long_word_", "é"};
    std::string text;
    const auto count = *rc::gen::inRange(1, 120);
    for (int i = 0; i < count; ++i) text += *rc::gen::elementOf(pieces);
    played_service s{fenced(*rc::gen::inRange<std::size_t>(80, 200))};
    s.start(turn);
    s.complete(turn, text); // `perform` checks the lengths
    s.run_dry();
    std::string bare, wanted;
    for (const auto& id : s.order) {
      const auto& shown = s.messages.at(id);
      RC_ASSERT(open_fence(shown).empty());
      for (const char c : shown)
        if (c != '`' && c != '\n') bare += c;
    }
    for (const char c : text)
      if (c != '`' && c != '\n') wanted += c;
    // The only added characters are fences and their language.
    std::size_t at = 0;
    for (const char c : wanted) {
      at = bare.find(c, at);
      RC_ASSERT(at != std::string::npos);
      ++at;
    }
  });
}
