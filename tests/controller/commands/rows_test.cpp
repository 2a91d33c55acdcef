// Commands that write rows of no state machine: tokens, audit, and the dropping of old rows.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;

TEST_CASE("a token is written at once and answered once it is on disk") {
  commands_world w;
  const auto tickets = w.edges.tickets;
  records::token_record record;
  record.id = token_id::fresh();
  const auto answer = w.give(commands::put_token{record});
  CHECK(w.edges.tickets == tickets + 1);
  CHECK_FALSE(*answer);
  w.commit();
  REQUIRE(*answer);
  CHECK(**answer);

  const auto dropped = w.give(commands::drop_token{record.id});
  w.refuse(w.edges.tickets);
  REQUIRE(*dropped);
  CHECK((**dropped).error().code == "storage_unavailable");
}

TEST_CASE("tokens are rows as given") {
  commands_world w;
  records::token_record record;
  record.id = token_id::fresh();
  record.hash = "hash";
  REQUIRE(apply(commands::put_token{record}, w.with()));
  REQUIRE(apply(commands::drop_token{record.id}, w.with()));
  REQUIRE(w.rows.size() == 2);
  CHECK(std::get<records::put_token>(w.rows[0]).record == record);
  CHECK(std::get<records::drop_token>(w.rows[1]).id == record.id);
}

TEST_CASE("an audit event is written although nobody waits for it") {
  commands_world w;
  w.c->execute({commands::write_audit{"read", "output", w.admin(), "api"}, {}}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  CHECK(w.events("audit") == 1);
}

TEST_CASE("old rows are dropped in the order in which they are given") {
  commands_world w;
  commands::drop_old_rows what;
  what.operations = {operation_id::fresh(), operation_id::fresh()};
  what.cancels = {cancel_id::fresh()};
  what.events_up_to = 7;
  what.endings = {{what.operations[0], "{}"}};
  CHECK(apply(what, w.with()));
  REQUIRE(w.rows.size() == 5);
  CHECK(std::get<records::put_turn_ending>(w.rows[0]).turn == what.operations[0]);
  w.rows.erase(w.rows.begin());
  CHECK(std::get<records::drop_operation>(w.rows[0]).id == what.operations[0]);
  CHECK(std::get<records::drop_operation>(w.rows[1]).id == what.operations[1]);
  CHECK(std::holds_alternative<records::drop_cancel>(w.rows[2]));
  CHECK(std::holds_alternative<records::drop_events>(w.rows[3]));
}

TEST_CASE("a failed drop of old rows says that it did not happen") {
  commands_world w;
  w.c->end_burst(w.now);
  w.commit();
  w.drop_old();
  w.refuse(w.edges.tickets);
  CHECK(*w.drop_answer == false);
}
