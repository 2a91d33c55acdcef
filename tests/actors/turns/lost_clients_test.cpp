// Clients whose streams a restart broke: who may return to which turn, once, and what the turn's row says of them.
#include <catch2/catch.hpp>

#include "actors/turns/lost_clients.hpp"
#include "actors/turns/turn_json.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

lost_client lost(const operation_id& turn, const std::string& request) {
  return {turn, *scope_path::parse("team/web"), {"mia", "Mia"}, request, "openai"};
}

} // namespace

TEST_CASE("the block of a turn keeps its client for a restart, and shows it to nobody", "[turns][lost_clients]") {
  records::operation_record row;
  row.kind = kind::turn;
  row.kind_data = turn_block(message_id::fresh(), "main", "small", false);
  CHECK_FALSE(client_of(row));
  row.kind_data = with_client(row.kind_data, {"the request"}, "openai");
  const auto found = client_of(row);
  REQUIRE(found);
  CHECK(found->turn == row.id);
  CHECK(found->request == "the request");
  CHECK(found->via == "openai");
  CHECK(shown_turn_block(row.kind_data, "", {}).find("the request") == std::string::npos);
  CHECK(turn_started(row.id, row.kind_data).data.find("the request") == std::string::npos);
  CHECK(shown_turn_block(row.kind_data, "", {}).find("\"agent\":\"main\"") != std::string::npos);
  row.kind = kind::task; // of another kind
  CHECK_FALSE(client_of(row));
}

TEST_CASE("each turn is given back once, the oldest of equal requests first", "[turns][lost_clients]") {
  lost_clients clients;
  const auto first = operation_id::fresh(), second = operation_id::fresh(), own = operation_id::fresh();
  clients.may_return({lost(first, "same"), lost(second, "same"), lost(own, "")});
  CHECK_FALSE(clients.returns_with("other"));
  CHECK_FALSE(clients.returns_with("")); // is known by its message alone
  CHECK(clients.returns_with("same")->turn == first);
  CHECK(clients.returns_with("same")->turn == second);
  CHECK_FALSE(clients.returns_with("same"));
  CHECK(clients.returns(own));
  CHECK_FALSE(clients.returns(own));
  CHECK(clients.give_up().empty());
}

TEST_CASE("a client that was given up does not get its turn back", "[turns][lost_clients]") {
  lost_clients clients;
  const auto turn = operation_id::fresh();
  clients.may_return({lost(turn, "late")});
  const auto gone = clients.give_up();
  REQUIRE(gone.size() == 1);
  CHECK(gone.front().turn == turn);
  CHECK_FALSE(clients.returns_with("late"));
  CHECK_FALSE(clients.returns(turn));
}

TEST_CASE("a client that comes before it is known who may return waits for that", "[turns][lost_clients]") {
  lost_clients clients;
  int answers = 0;
  clients.when_known([&](bool) { ++answers; });
  CHECK_FALSE(clients.are_known());
  CHECK(answers == 0);
  clients.may_return({});
  CHECK(answers == 1);
  clients.when_known([&](bool) { ++answers; });
  CHECK(answers == 2);
  CHECK(clients.are_known());
}
