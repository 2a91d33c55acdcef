// Commands of admins about workers and about work that is dead.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;
using quell::controller::core_tests::commands_world;

TEST_CASE("a worker is enrolled, drained, resumed and removed") {
  commands_world w;
  const auto enrolled = w.done(commands::enrol_worker{"w2", std::string(40, 'b'), {{"zone", "x"}}});
  REQUIRE(enrolled);
  CHECK(enrolled->record.labels.at("zone") == "x");
  CHECK(w.done(commands::enrol_worker{"w2", std::string(40, 'c'), {}}).error().code == "id_conflict");
  REQUIRE(w.done(commands::drain_worker{"w2", "new disks", {}, worker_tasks::go_on, w.admin().owner}));
  CHECK(w.done(commands::resume_worker{"w2"}));
  CHECK(w.done(commands::remove_worker{"w2", worker_tasks::go_on, w.admin().owner}));
  CHECK_FALSE(w.c->workers().knows("w2"));
  CHECK_FALSE(w.done(commands::resume_worker{"w2"}));
}

TEST_CASE("work is declared dead on a lost worker only, with an audit event") {
  commands_world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  const auto unknown = w.done(commands::declare_worker_dead{"w9", "gone", w.admin()});
  CHECK(unknown.error().error.code == error_code::worker_not_found);
  const auto busy = w.done(commands::declare_worker_dead{"w1", "gone", w.admin()});
  CHECK(busy.error().error.code == error_code::worker_busy);
  CHECK(w.events("audit") == 0);

  w.now.boot = w.now.boot + 60s;
  w.now.wall += 60s;
  w.c->tick(w.now);
  w.commit();
  const auto declared = w.done(commands::declare_worker_dead{"w1", "gone", w.admin()});
  REQUIRE(declared);
  CHECK(w.events("audit") == 1);
}

TEST_CASE("an operation is declared dead only while it is being stopped") {
  commands_world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  const auto id = (*w.created_answer)->value().id;
  CHECK_FALSE(w.done(commands::declare_dead{id, "gone", w.admin()}));
  CHECK(w.events("audit") == 0);
  REQUIRE(w.done(w.cancel_of(id)));
  const auto declared = w.done(commands::declare_dead{id, "gone", w.admin()});
  REQUIRE(declared);
  CHECK(*declared == id);
  CHECK(w.events("audit") == 2); // the cancel, and this
}

TEST_CASE("a terminal is resized only while its task is on a worker") {
  commands_world w;
  CHECK(w.done(commands::resize_terminal{operation_id::fresh(), 24, 80}).error().code == "not_found");
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  const auto before = w.edges.sent.size();
  CHECK(w.done(commands::resize_terminal{(*w.created_answer)->value().id, 24, 80}));
  CHECK(w.edges.sent.size() == before + 1);
}
