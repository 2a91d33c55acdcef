// A conversation that is longer than the model's context.
#include "actors/turns/context_fit.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "protocol/note.hpp"
#include "protocol/utf8.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

user_message user_says(const std::string& text) { return {text}; }
assistant_message answered(const std::string& text, std::vector<tool_call> calls = {}) {
  return {text, std::move(calls), false};
}
tool_results results(const std::vector<std::pair<std::string, std::string>>& all) {
  tool_results r;
  for (const auto& [call, text] : all) r.results.push_back({call, "exec", true, false, text});
  return r;
}

std::string first_text(const conversation& c) { return std::get<user_message>(c.front()).text; }

/// The error in the order of calls and results, by rule 13; "" = none.
std::string broken(const conversation& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* answer = std::get_if<assistant_message>(&all[i]);
    const auto* found = std::get_if<tool_results>(&all[i]);
    if (answer && !answer->calls.empty()) {
      const auto* next = i + 1 < all.size() ? std::get_if<tool_results>(&all[i + 1]) : nullptr;
      if (!next || next->results.size() != answer->calls.size()) return "calls without results at " + std::to_string(i);
      for (std::size_t j = 0; j < answer->calls.size(); ++j)
        if (next->results[j].call != answer->calls[j].call) return "results in another order";
    }
    if (found) {
      const auto* before = i > 0 ? std::get_if<assistant_message>(&all[i - 1]) : nullptr;
      if (!before || before->calls.empty()) return "results without calls at " + std::to_string(i);
    }
  }
  return "";
}

} // namespace

TEST_CASE("what fits stays as it is", "[context]") {
  const conversation all{user_says("hello"), answered("hi"), user_says("again")};
  const auto fit = fit_into(all, 1000);
  CHECK(fit.messages == all);
  CHECK(fit.fits);
  CHECK(fit.tokens == estimated_tokens(all));
  CHECK(fit_into({}, 0).messages.empty());
}

TEST_CASE("old results are trimmed before anything is left out, and say so", "[context]") {
  const std::string big(20'000, 'x');
  const conversation all{user_says("read it"), answered("", {{"c1", "exec", "{}"}}), results({{"c1", big}}),
                         answered("read"), user_says("and now?")};
  const auto fit = fit_into(all, 1'000);
  REQUIRE(fit.messages.size() == all.size());
  CHECK(fit.trimmed_results == 1);
  CHECK(fit.left_out == 0);
  const auto trimmed = nlohmann::json::parse(std::get<tool_results>(fit.messages[2]).results[0].result);
  CHECK(trimmed["bytes"] == 20'000);
  CHECK(trimmed["trimmed"] == true);
  CHECK(fit.fits);
}

TEST_CASE("ten thousand messages become a note and the newest, with the first fact and the cancel in it", "[context]") {
  conversation all{user_says("My sister is called Ada."), answered("Noted."), user_says("delete the old backups"),
                   user_says(note("The user cancelled this request; do not do it unless asked again."))};
  for (int i = 0; i < 5'000; ++i) {
    all.push_back(user_says("question " + std::to_string(i) + " " + std::string(100, 'q')));
    all.push_back(answered("answer " + std::to_string(i)));
  }
  all.push_back(user_says("What is my sister called?"));
  const auto fit = fit_into(all, 8'000);
  CHECK(fit.fits);
  CHECK(fit.tokens <= 8'000);
  CHECK(fit.tokens > 5'000); // the room is used
  CHECK(fit.left_out > 9'000);
  const auto text = first_text(fit.messages);
  CHECK(is_note(text));
  CHECK(text.find("My sister is called Ada.") != std::string::npos);
  CHECK(text.find("delete the old backups") != std::string::npos);
  CHECK(text.find("cancelled this request") != std::string::npos);
  CHECK(text.find("more exchanges") != std::string::npos);
  CHECK(std::get<user_message>(fit.messages.back()).text == "What is my sister called?");
}

TEST_CASE("a turn of many rounds keeps its request and its newest round", "[context]") {
  conversation all{user_says("earlier"), answered("done"), user_says("read everything")};
  for (int i = 0; i < 210; ++i) {
    const auto id = "c" + std::to_string(i);
    all.push_back(answered("", {{id, "exec", "{}"}}));
    all.push_back(results({{id, "round " + std::to_string(i) + " " + std::string(5'000, 'y')}}));
  }
  const auto fit = fit_into(all, 40'000);
  CHECK(fit.fits);
  CHECK(broken(fit.messages).empty());
  const auto own = std::find_if(fit.messages.begin(), fit.messages.end(), [](const auto& e) {
    const auto* u = std::get_if<user_message>(&e);
    return u && u->text == "read everything";
  });
  REQUIRE(own != fit.messages.end());
  CHECK(fit.messages.end() - own == 421);
  CHECK(std::get<tool_results>(fit.messages.back()).results[0].result.size() > 5'000); // whole
}

TEST_CASE("one message that is too long is sent as it is, and known not to fit", "[context]") {
  const auto fit = fit_into({user_says(std::string(100'000, 'x'))}, 1'000);
  CHECK_FALSE(fit.fits);
  REQUIRE(fit.messages.size() == 1);
}

TEST_CASE("any conversation stays well formed in any room", "[context]") {
  REQUIRE(rc::check("fit", [] {
    conversation all;
    const auto exchanges = *rc::gen::inRange(1, 12);
    int call = 0;
    for (int e = 0; e < exchanges; ++e) {
      all.push_back(user_says(*rc::gen::arbitrary<bool>()
                                  ? "\xC3\xBC" + std::string(*rc::gen::inRange<std::size_t>(0, 900), 'q')
                                  : "short"));
      for (int r = *rc::gen::inRange(0, 3); r > 0; --r) {
        assistant_message a = answered("t");
        tool_results found;
        for (int k = *rc::gen::inRange(1, 4); k > 0; --k) {
          const auto id = "c" + std::to_string(call++);
          a.calls.push_back({id, "exec", "{}"});
          found.results.push_back(
              {id, "exec", true, false, std::string(*rc::gen::inRange<std::size_t>(0, 9'000), 'r')});
        }
        all.emplace_back(a);
        all.emplace_back(found);
      }
      if (e + 1 < exchanges && *rc::gen::arbitrary<bool>()) all.push_back(answered("the end"));
      if (e + 1 < exchanges && *rc::gen::inRange(0, 4) == 0) all.push_back(user_says(note("cancelled")));
    }
    const auto room = *rc::gen::inRange<std::size_t>(0, 20'000);
    const auto fit = fit_into(all, room);
    RC_ASSERT(broken(fit.messages).empty());
    RC_ASSERT(fit.tokens == estimated_tokens(fit.messages));
    RC_ASSERT(fit.fits == (fit.tokens <= room));
    RC_ASSERT(std::holds_alternative<user_message>(fit.messages.front()));
    if (estimated_tokens(all) <= room) RC_ASSERT(fit.messages == all);
    const auto twice = fit_into(fit.messages, room); // asking again changes nothing that fits
    if (fit.fits) RC_ASSERT(twice.messages == fit.messages);
  }));
}
