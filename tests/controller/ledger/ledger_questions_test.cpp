// Questions of running calls to humans, as the ledger stores them.
#include "tests/controller/ledger/actors_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

TEST_CASE("what a begun call asks is answered once, by its name, and taken back by nobody else") {
  actors_world w;
  go_to(w, stage::asking);
  CHECK(w.status_of("call") == "paused");
  CHECK(w.row("call").result == R"({"question":")" + w.id("question").text() + R"(","asked":{"message":"Sure?"}})");
  CHECK_FALSE(w.asks("call", "another"));
  CHECK_FALSE(w.decide("call", true)); // an approval to begin, but the call has begun
  CHECK_FALSE(w.answer("call", true, "another"));
  CHECK_FALSE(w.takes_back("call", "another"));
  CHECK(w.answer("call", true));
  CHECK_FALSE(w.answer("call", true));
  CHECK(w.status_of("call") == "running");
  CHECK(w.row("call").result.empty());
  REQUIRE(w.asks("call", "another"));
  CHECK_FALSE(w.answer("call", true)); // a repeat of the first answer does not answer this question
  CHECK(w.takes_back("call", "another"));
  CHECK(w.status_of("call") == "running");
  REQUIRE(w.asks("call", "a third"));
  CHECK(w.ends("call")); // its server has answered without waiting
  CHECK(w.row("call").result.empty());
  CHECK(w.results("call").size() == 1);
  ends_once(w, "call");
}

TEST_CASE("what an agent asks waits on over any number of restarts, and its turn is not counted as resumed") {
  actors_world w;
  go_to(w, stage::running);
  REQUIRE(w.asks("call", "question", question_source::agent));
  for (int i = 0; i < 10; ++i) {
    w.restart();
    CHECK(w.status_of("turn") == "running");
    CHECK(w.status_of("call") == "paused");
    CHECK(w.core->view(w.id("call"), w.now)->waiting->what == "answer");
    CHECK_FALSE(w.goes_on("turn"));
    CHECK(w.begin("call")); // its agent is back, and begins nothing anew
    CHECK(w.status_of("call") == "paused");
  }
  CHECK(w.row("call").result ==
        R"({"question":")" + w.id("question").text() + R"(","by":"agent","asked":{"message":"Sure?"}})");
  CHECK_FALSE(w.answer("call", true, "another"));
  CHECK(w.answer("call", true));
  CHECK(w.ends("call"));
  CHECK(w.results("call").size() == 1);
  ends_once(w, "call");
}

TEST_CASE("what a server asks ends with the process, and a stop beats both") {
  actors_world w;
  go_to(w, stage::asking);
  w.restart();
  CHECK(w.status_of("call") == "failed");
  CHECK(w.status_of("turn") == "running");
  REQUIRE(w.call("own", "turn"));
  REQUIRE(w.begin("own"));
  REQUIRE(w.asks("own", "again", question_source::agent));
  w.cancels("turn");
  w.restart();
  for (const auto* name : {"turn", "own"}) {
    CHECK(w.status_of(name) == "cancelled");
    ends_once(w, name);
  }
  CHECK_FALSE(w.answer("own", true, "again"));
}
