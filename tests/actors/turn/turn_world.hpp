// A turn with its whole environment played by hand: its effects are kept as a history, which must stay valid.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "actors/turn/turn.hpp"
#include "protocol/utf8.hpp"

namespace quell::testing {

using namespace actors;
using namespace std::chrono_literals;

struct plain_texts final : result_texts {
  std::string cancelled() const override { return "\"cancelled\""; }
  std::string not_started() const override { return "\"not started\""; }
  std::string timed_out(const std::string& tool, milliseconds) const override { return "\"timeout " + tool + "\""; }
  std::string denied(const std::string& reason) const override { return "\"denied " + reason + "\""; }
  std::string undecided(const std::string& reason) const override { return "\"undecided " + reason + "\""; }
  std::string failed(const std::string& code, const std::string&) const override { return "\"" + code + "\""; }
  std::string shortened(const std::string& result, bool) const override { return result.substr(0, 10); }
  std::string noted(const std::string& result, const std::string& note) const override {
    return result + " [quell: " + note + "]";
  }
};

/// Tools by name: "slow" and "fast" run side by side, "exec" alone, "danger" after a human's approval, "nothing" is
/// unknown.
inline tool_traits traits_of(const tool_call& c) {
  tool_traits t;
  t.timeout = 120s;
  if (c.name == "exec") t.exclusive = true, t.timeout = 0s;
  if (c.name == "danger") t.approval_rule = "dangerous";
  if (c.name == "nothing") t.unusable = fault{"unknown_tool", "there is no tool nothing", {}};
  return t;
}

class turn_world {
 public:
  explicit turn_world(turn_limits limits = {}) : turn_(limits, traits_of, texts_) {}

  void begin() { perform(turn_.begin({user_message{"do it"}}, now_)); }
  void says(const std::string& text) {
    perform(turn_.on_model_event(model_call_number, model_events::text{text}, now_));
  }
  void calls(const std::vector<std::string>& tools) {
    for (const auto& name : tools)
      perform(turn_.on_model_event(model_call_number, model_events::call{{"c" + std::to_string(++made_), name, "{}"}},
                                   now_));
  }
  void hears(model_event what) { perform(turn_.on_model_event(model_call_number, std::move(what), now_)); }
  void finishes() { perform(turn_.on_model_event(model_call_number, model_events::finished{}, now_)); }
  void breaks() {
    perform(turn_.on_model_event(model_call_number, model_events::failed{{"model_broken", "cut", {}}, {}}, now_));
  }
  void ends(call_number n, bool ok = true) { ends(n, ok, "\"result " + std::to_string(n) + "\""); }
  void ends(call_number n, bool ok, const std::string& result) {
    running.erase(n);
    perform(turn_.tool_ended(n, ok, result, now_));
  }
  void decide(call_number n, bool yes) { decide(n, approved_or_denied(yes)); }
  void decide(call_number n, approval_outcome how) { perform(turn_.human_decided(n, how, "no", now_)); }
  void waits(call_number n, human_wait what) { turn_.call_waits(n, what, now_); }
  void stop(abort_reason why = abort_reason::user) { perform(turn_.stop(why, now_)); }
  void pass(std::chrono::nanoseconds t) {
    now_ = now_ + t;
    perform(turn_.tick(now_));
  }
  void steer(const std::string& text) { (void)turn_.steered({{text, {}, true}}); }
  const turn& it() const { return turn_; }
  /// The stored result of this call; fails if there is none.
  tool_result result(call_number n) const {
    const auto at = results.find(n);
    if (at == results.end()) FAIL("call " << n << " has no result");
    return at->second;
  }
  /// The violation of rule 13 in the stored history; "" = the rule holds.
  std::string broken_rule() const {
    for (const auto& [n, c] : stored_calls) {
      const auto r = results.find(n);
      if (r == results.end()) return "call " + std::to_string(n) + " has no result";
      if (r->second.call != c.call) return "the result of call " + std::to_string(n) + " names another call";
    }
    return {};
  }

  std::uint32_t model_call_number = 0;
  bool hung_up = false;
  std::vector<assistant_message> answers; ///< stored
  std::map<call_number, tool_call> stored_calls;
  std::map<call_number, tool_result> results; ///< stored
  std::map<call_number, std::string> running; ///< tools that were started and have not ended
  std::vector<call_number> stopped, asking, reported;
  std::string reported_text, thinking;
  std::vector<model_note> notes;
  conversation sent; ///< with the newest request
  std::vector<turn_effects::end> ended;

 private:
  void perform(const std::vector<turn_effect>& effects) {
    for (const auto& e : effects) {
      REQUIRE(ended.empty()); // nothing follows the end
      std::visit([this](const auto& x) { take(x); }, e);
    }
  }
  void take(const turn_effects::ask_model& x) {
    // The model is asked only with a conversation in which every call has its result.
    std::size_t open = 0;
    for (const auto& m : x.messages) {
      if (const auto* a = std::get_if<assistant_message>(&m)) open = a->calls.size();
      if (const auto* r = std::get_if<tool_results>(&m)) {
        CHECK(r->results.size() == open);
        open = 0;
      }
    }
    CHECK(open == 0);
    model_call_number = x.number;
    sent = x.messages;
  }
  void take(const turn_effects::hang_up& x) {
    CHECK(x.number == model_call_number);
    hung_up = true;
  }
  void take(const turn_effects::store_answer& x) {
    answers.push_back(x.what);
    for (std::size_t i = 0; i < x.what.calls.size(); ++i)
      CHECK(stored_calls.emplace(x.first_call + static_cast<call_number>(i), x.what.calls[i]).second);
  }
  void take(const turn_effects::store_result& x) {
    CHECK(stored_calls.count(x.number) == 1);
    CHECK(results.emplace(x.number, x.what).second);
  }
  void take(const turn_effects::run_tool& x) {
    const auto& name = stored_calls.at(x.number).name;
    if (name == "exec") CHECK(running.empty());
    for (const auto& [n, other] : running)
      if (other == "exec") CHECK(results.count(n) == 1);
    CHECK(running.emplace(x.number, name).second);
  }
  void take(const turn_effects::ask_human& x) { asking.push_back(x.number); }
  void take(const turn_effects::stop_tool& x) {
    CHECK(running.count(x.number) == 1);
    CHECK(results.count(x.number) == 1);
    stopped.push_back(x.number);
  }
  void take(const turn_effects::say_text& x) {
    CHECK(x.offset == code_points(reported_text));
    reported_text += x.text;
  }
  void take(const turn_effects::say_thinking& x) {
    CHECK(x.offset == code_points(thinking));
    thinking += x.text;
  }
  void take(const turn_effects::say_model_note& x) { notes.push_back(x.what); }
  void take(const turn_effects::say_call_started&) {}
  void take(const turn_effects::say_call_timed_out&) {}
  void take(const turn_effects::say_call_progress& x) {
    CHECK(running.count(x.number) == 1);
    CHECK(results.count(x.number) == 0);
    progress.emplace_back(x.number, x.elapsed);
  }
  void take(const turn_effects::say_result& x) { reported.push_back(x.number); }
  void take(const turn_effects::end& x) { ended.push_back(x); }

  plain_texts texts_;
  turn turn_;
  boot_time now_{1'000'000'000};
  std::size_t made_ = 0;

 public:
  std::vector<std::pair<call_number, milliseconds>> progress;
};

} // namespace quell::testing
