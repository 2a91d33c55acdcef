// A ledger with turns and calls, whose actors answer as the test tells them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "controller/open_questions.hpp"
#include "controller/resumed_agents.hpp"
#include "tests/controller/ledger/world.hpp"

namespace quell::controller::testing {

inline const records::call_outcome done_result{true, false, R"({"ok":true,"result":1})"};
inline const records::call_outcome failed_result{false, false,
                                                 R"({"ok":false,"error":{"code":"error","message":"no"}})"};
inline const records::call_outcome late_result{false, false,
                                               R"({"ok":false,"error":{"code":"timeout","message":"[TIMEOUT]"}})"};

class actors_world : public world {
 public:
  void turn(const std::string& name, const std::string& scope = "s", bool later = false, kind what = kind::turn) {
    create_order o;
    o.by.owner = {"alice", "Alice"};
    o.kind = what;
    o.scope = in(scope);
    o.name = name;
    o.start = later ? start_when::later : start_when::now;
    make(name, std::move(o));
  }
  bool call(const std::string& name, const std::string& turn) {
    create_order o;
    o.by.owner = {"alice", "Alice"};
    o.kind = kind::tool_call;
    o.parent = id(turn);
    o.name = name;
    o.start = start_when::later;
    o.call = records::call_record{{}, core->last_seq(), 0, name, name, "{}", {}};
    return make(name, std::move(o));
  }
  bool agent(const std::string& name, const std::string& call, kind what = kind::sub_agent) {
    create_order o;
    o.by.owner = {"alice", "Alice"};
    o.kind = what;
    o.parent = id(call);
    o.name = name;
    return make(name, std::move(o));
  }
  /// Its agent is back after a restart. False: it had only waited.
  bool goes_on(const std::string& name) { return did(resumed_of(*core).resume(id(name))); }
  /// It is given up before its agent is back.
  void give_up(const std::string& name) {
    resumed_of(*core).interrupt_below(id(name), now);
    turn_ends(name, false);
  }
  /// Its actor has thrown.
  void actor_dies(const std::string& name) {
    turn_ends(name, false);
    resumed_of(*core).end_calls_of_dead(id(name), now);
    take();
  }
  bool begin(const std::string& name) { return did(core->actors()->start_local(id(name), now).has_value()); }
  bool pause(const std::string& name) { return did(begin(name) && core->actors()->pause(id(name), now)); }
  bool decide(const std::string& name, bool yes) {
    decision d{approved_or_denied(yes), "because", {"ann", "Ann"}, R"({"decision":"x"})"};
    return did(core->actors()->decide(id(name), d, failed_result, now).has_value());
  }
  bool asks(const std::string& name, const std::string& question = "question",
            question_source who = question_source::server) {
    return did(questions_of(*core).ask(id(name), {question_id(question), R"({"message":"Sure?"})", who}, now));
  }
  bool takes_back(const std::string& name, const std::string& question = "question") {
    return did(questions_of(*core).take_back(id(name), question_id(question), now));
  }
  bool answer(const std::string& name, bool yes, const std::string& question = "question") {
    const human_answer given{question_id(question), yes, false, "{}", "because", {"ann", "Ann"}, R"({"decision":"x"})"};
    return did(questions_of(*core).answer(id(name), given, now).has_value());
  }
  bool ends(const std::string& name, const records::call_outcome& result = done_result) {
    own_outcome end;
    end.as = result.ok ? status::completed : status::failed;
    if (!result.ok) end.error = records::operation_error{"error", "no"};
    end.call = result;
    return did(core->actors()->finish_local(id(name), end, now));
  }
  bool turn_ends(const std::string& name, bool well = true) {
    own_outcome end;
    end.as = well ? status::completed : status::failed;
    if (well) end.completed_data = R"({"text":""})";
    return did(core->actors()->finish_local(id(name), end, now));
  }
  bool times_out(const std::string& name) {
    return did(core->actors()->stop_local(id(name), stop_cause::timeout, late_result, now));
  }
  void cancels(const std::string& name) {
    (void)try_cancel(order(records::target_operation{id(name)}));
    roll_out();
  }

  /// All results ever reported for a call; the first stands (the table refuses another).
  std::vector<records::call_outcome> results(const std::string& name) const {
    std::vector<records::call_outcome> given;
    for (const auto& batch : batches)
      for (const auto& e : batch)
        if (const auto* r = std::get_if<records::put_call_result>(&e); r && r->operation == id(name))
          given.push_back(r->outcome);
    return given;
  }
  records::call_outcome result(const std::string& name) const {
    const auto given = results(name);
    if (given.empty()) FAIL("call " << name << " has no result");
    return given.front();
  }
  std::vector<std::string> overs(const std::string& name) const {
    std::vector<std::string> given;
    for (const auto& e : store.events)
      if (e.operation == id(name) && (e.type == event_type::turn_abort || e.type == event_type::turn_complete))
        given.push_back(std::string(text_of(e)) + " " + e.data);
    return given;
  }
  bool discarded(const std::string& name) const {
    for (const auto& batch : batches)
      for (const auto& e : batch)
        if (const auto* d = std::get_if<records::discard_message>(&e); d && d->turn == id(name)) return true;
    return false;
  }

 private:
  operation_id question_id(const std::string& question) {
    if (!names.contains(question)) names[question] = next_operation();
    return names[question];
  }
  bool make(const std::string& name, create_order o) {
    const auto made = core->create(o, next_operation(), now);
    if (made) names[name] = made->id;
    return did(made.has_value());
  }
  bool did(bool what) {
    take();
    return what;
  }
};

/// A turn with one call, in the state that `steps` leads to.
enum class stage { pending, running, paused, approved, denied, asking, answered, ended, timed_out };
inline constexpr std::array stages{stage::pending, stage::running,  stage::paused, stage::approved, stage::denied,
                                   stage::asking,  stage::answered, stage::ended,  stage::timed_out};

inline void go_to(actors_world& w, stage s) {
  w.turn("turn");
  REQUIRE(w.call("call", "turn"));
  if (s == stage::pending) return;
  if (s == stage::paused || s == stage::approved || s == stage::denied)
    REQUIRE(w.pause("call"));
  else
    REQUIRE(w.begin("call"));
  if (s == stage::approved || s == stage::denied) REQUIRE(w.decide("call", s == stage::approved));
  if (s == stage::asking || s == stage::answered) REQUIRE(w.asks("call"));
  if (s == stage::answered) REQUIRE(w.answer("call", false));
  if (s == stage::ended) REQUIRE(w.ends("call"));
  if (s == stage::timed_out) REQUIRE(w.times_out("call"));
}

inline bool is_over(stage s) { return s == stage::denied || s == stage::ended; }

inline void ends_once(const actors_world& w, const std::string& name) {
  CHECK(w.store.terminal_events.at(w.id(name)) == 1);
  CHECK(is_terminal(w.row(name).now));
}

} // namespace quell::controller::testing
