// The stored part of a decision about a message: written by the core, read by the actors.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "actors/turns/kept_decision.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using nlohmann::json;

TEST_CASE("a decision that is kept reads back as the same, and what was never written as an ordinary turn") {
  kept_decision d;
  d.why = "cancel_word";
  d.cancel_word = "forget it";
  d.standing = standing::only_human;
  d.modality = turns::modality::voice;
  d.cancel = cancel_id::fresh();
  d.cancel_outcome = "stopping";
  d.cancel_status = "fenced";
  d.operations = 7;
  d.queued = 2;
  d.interrupted = {operation_id::fresh(), operation_id::fresh()};
  const auto back = read_kept(kept_text(d));
  CHECK(back.why == d.why);
  CHECK(back.cancel_word == d.cancel_word);
  CHECK(back.standing == d.standing);
  CHECK(back.modality == d.modality);
  CHECK(back.cancel == d.cancel);
  CHECK(back.cancel_outcome == d.cancel_outcome);
  CHECK(back.cancel_status == d.cancel_status);
  CHECK(back.operations == 7);
  CHECK(back.queued == 2);
  CHECK(back.interrupted == d.interrupted);
  for (const char* nothing : {"", "f00d", "[]", "{", "null", R"({"why":3})"}) {
    INFO(nothing);
    const auto plain = read_kept(nothing);
    CHECK_FALSE(plain.cancel);
    CHECK_FALSE(plain.cancel_word);
  }
  CHECK(read_kept("").why == "no_cancel_word");
  CHECK(kept_text(kept_decision{}).empty());
  const auto origin = operation_id::fresh();
  CHECK_FALSE(origin_in(""));
  CHECK_FALSE(origin_in(R"({"edits":7})"));
  CHECK_FALSE(origin_in(kept_text(d)));
  CHECK(origin_in(decision_with_origin("", origin)) == origin);
  CHECK(origin_in(decision_with_origin(kept_text(d), origin)) == origin);
  CHECK(read_kept(decision_with_origin("", origin)).why == "no_cancel_word");
}

TEST_CASE("a decision about a running turn is kept, so that a repeat gets the same", "[during_turn]") {
  kept_decision kept;
  kept.why = "no_cancel_word";
  kept.during = during_turn::supersede;
  kept.met = operation_id::fresh();
  kept.supersedes_by = cancel_id::fresh();
  kept.cancel_outcome = "stopping";
  kept.operations = 3;
  const auto again = answer_of(read_kept(kept_text(kept)), message_id::fresh(), operation_id::fresh());
  CHECK(again.decision == message_answer::decided::turn);
  CHECK(again.during == during_turn::supersede);
  CHECK(again.met == kept.met);
  CHECK(again.cancel == kept.supersedes_by);
  CHECK(again.cancel_outcome == "stopping");
  CHECK(again.operations == 3);
}

TEST_CASE("decisions are written with their members in alphabetical order", "[during_turn]") {
  const auto id = cancel_id::fresh();
  const auto turn = operation_id::fresh();
  kept_decision stop;
  stop.why = "cancel_word";
  stop.cancel_word = "sto\x7fp \"now\"";
  stop.standing = standing::text;
  stop.cancel = id;
  stop.cancel_outcome = "stopping";
  stop.cancel_status = "fenced";
  stop.operations = 2;
  stop.interrupted = {turn};
  stop.modality = turns::modality::voice;
  auto as_written = json::parse(kept_text(stop));
  CHECK(as_written["cancel_word"] == *stop.cancel_word);
  stop.cancel_word = "stop";
  CHECK(kept_text(stop) == json::parse(kept_text(stop)).dump());

  message_answer a;
  a.why = "cancel_word";
  a.decision = message_answer::decided::cancel;
  a.cancel = id;
  a.cancel_outcome = "stopping";
  a.cancel_status = "fenced";
  a.interrupted = {"crawl", "2 queued messages"};
  a.words_follow = true;
  const auto of_stop = decision_json(message_order{}, a);
  auto j = json::parse(of_stop);
  CHECK(of_stop == j.dump());
  CHECK(j["cancel"]["words_follow"] == true);
  CHECK(j["cancel"]["interrupted"].size() == 2);
  CHECK(j["acknowledgement"] == "pending");

  a.decision = message_answer::decided::turn;
  a.words_follow = false;
  a.turn = turn;
  a.met = operation_id::fresh();
  a.during = during_turn::supersede;
  const auto of_turn = decision_json(message_order{}, a);
  j = json::parse(of_turn);
  CHECK(of_turn == j.dump());
  CHECK(j["cancel"].is_null());
  CHECK(j["turn"]["id"] == turn.text());
  CHECK(j["during_turn"]["manner"] == "supersede");
  CHECK(j["during_turn"]["cancel"]["id"] == id.text());
}
