// The first turn of a scope: it may begin before its message is on disk if the rest of its conversation is there.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;
using next_step = commands::taken_message::then;
using known_turn = std::shared_ptr<const first_turn>;

namespace {

struct first_turn_world : commands_world {
  static commands::take_message message(const std::string& scope, const std::string& text = "hi") {
    commands::take_message what;
    what.order.by = admin();
    what.order.scope = *scope_path::parse(scope);
    what.order.text = text;
    what.order.author.id = "ada";
    what.agent = commands::answering_agent{"main", milliseconds{0}, R"({"agent":"main"})"};
    what.message = message_id::fresh();
    what.turn = operation_id::fresh();
    what.cancel = cancel_id::fresh();
    return what;
  }
  /// Its turn as it is known at once. Nothing is written.
  known_turn first_of(const commands::take_message& what) {
    auto seen = std::make_shared<known_turn>();
    c->execute({what, {}, [seen](const commands::taken_message& taken) { *seen = taken.first; }}, now);
    return *seen;
  }
  /// Stops what runs in a scope: the message is part of its conversation, and no turn.
  void stop(const std::string& scope) {
    REQUIRE(done(task(scope)));
    auto word = message(scope, "stop");
    word.word = "stop";
    give(std::move(word));
  }
  void keep(const std::string& scope) {
    commands::keep_message what;
    what.message.id = message_id::fresh();
    what.message.scope = *scope_path::parse(scope);
    give(std::move(what));
  }
};

} // namespace

TEST_CASE("the first turn of a scope is known before it is on disk, as it will be there", "[turns]") {
  first_turn_world w;
  const auto what = w.message("a/b");
  const auto first = w.first_of(what);
  REQUIRE(first);
  CHECK(first->rest_is_on_disk);
  w.c->end_burst(w.now);
  const auto& batch = w.edges.batches.back();
  bool has_row = false, has_message = false;
  for (const auto& e : batch) {
    if (const auto* row = std::get_if<records::put_operation>(&e)) {
      has_row = true;
      CHECK(first->row == *row->record);
      CHECK(first->row.id == what.turn);
    }
    if (const auto* message = std::get_if<records::put_message>(&e)) {
      has_message = true;
      CHECK(first->message == message->record);
      CHECK(first->message.turn == what.turn);
    }
  }
  CHECK((has_row && has_message));
  CHECK_FALSE(w.first_of(w.message("a/b"))); // it waits behind the first
}

TEST_CASE("a turn waits for the messages of its scope that are on their way to the disk, and for no others",
          "[turns]") {
  first_turn_world w;
  SECTION("in a transaction that is being written") {
    w.keep("a");
    w.c->end_burst(w.now);
  }
  SECTION("in one of a stop") { w.stop("a"); }
  SECTION("in the same transaction") { w.keep("a"); }
  const auto other = w.first_of(w.message("b"));
  REQUIRE(other);
  CHECK(other->rest_is_on_disk);
  const auto below = w.first_of(w.message("a/b"));
  REQUIRE(below);
  CHECK(below->rest_is_on_disk);
  const auto same = w.first_of(w.message("a"));
  REQUIRE(same);
  CHECK_FALSE(same->rest_is_on_disk);
}

TEST_CASE("once they are there, it waits no more", "[turns]") {
  first_turn_world w;
  w.stop("a");
  w.c->end_burst(w.now);
  w.commit();
  const auto same = w.first_of(w.message("a"));
  REQUIRE(same);
  CHECK(same->rest_is_on_disk);
}

TEST_CASE("a turn waits for changes of conversations that name no scope", "[turns]") {
  first_turn_world w;
  commands::rewrite_history change;
  change.discarded = {operation_id::fresh()};
  w.give(std::move(change));
  SECTION("in the same transaction") {}
  SECTION("in one that is being written") { w.c->end_burst(w.now); }
  const auto first = w.first_of(w.message("a"));
  REQUIRE(first);
  CHECK_FALSE(first->rest_is_on_disk);
}

TEST_CASE("a turn waits for the ends of tasks, which may have been in the background of its conversation", "[turns]") {
  first_turn_world w;
  SECTION("that ran") {
    w.worker_joins();
    w.commit();
    const auto id = w.done(w.task("a")).value().id;
    const auto says = [&w](wire::message what) {
      w.c->frame("route", w.key, {w.session, ++w.worker_number, 0, std::move(what)}, w.now);
    };
    says(wire::task_started{id, 7, w.now.wall, containment::cgroup_pidns});
    w.c->end_burst(w.now);
    w.commit();
    wire::task_ended end;
    end.operation = id;
    end.exit.emplace();
    end.started_at = end.ended_at = w.now.wall;
    says(end);
  }
  SECTION("that waited for a worker") {
    const auto id = w.done(w.task("a")).value().id;
    w.give(w.cancel_of(id));
    REQUIRE_FALSE(w.c->operations().view(id, w.now));
  }
  const auto other = w.first_of(w.message("b"));
  REQUIRE(other);
  CHECK(other->rest_is_on_disk);
  const auto first = w.first_of(w.message("a"));
  REQUIRE(first);
  CHECK_FALSE(first->rest_is_on_disk);
}

TEST_CASE("a turn waits while the disk has refused a stop of its scope", "[turns]") {
  first_turn_world w;
  w.stop("a");
  w.refuse(w.edges.tickets);
  const auto same = w.first_of(w.message("a"));
  REQUIRE(same);
  CHECK_FALSE(same->rest_is_on_disk);
}

TEST_CASE("a turn begins with its first model call", "[turns]") {
  first_turn_world w;
  const auto message = w.message("a");
  REQUIRE(w.done(message).next == next_step::begin_turn);
  create_order o;
  o.by = w.admin();
  o.kind = kind::model_call;
  o.parent = message.turn;
  commands::begin_turn what{message.turn, {}, {}};
  what.first_call = commands::open_model_call{o, operation_id::fresh(), message.turn, {}};
  SECTION("in one transaction, which waits for nothing") {
    const auto before = w.edges.batches.size();
    const auto begun = w.give(what);
    CHECK_FALSE(w.c->expects_more());
    w.c->end_burst(w.now);
    REQUIRE(w.edges.batches.size() == before + 1);
    CHECK(std::any_of(w.edges.batches.back().begin(), w.edges.batches.back().end(),
                      [](const auto& e) { return std::holds_alternative<records::put_operation>(e); }));
    CHECK_FALSE(begun->has_value()); // not before it is on disk
    w.commit();
    REQUIRE(begun->value().first_call);
    CHECK(begun->value().first_call->value().id == what.first_call->id);
    CHECK(w.c->operations().view(what.first_call->id, w.now));
  }
  SECTION("but not if it was told to stop before it began") {
    w.done(w.cancel_of(message.turn));
    const auto begun = w.done(what);
    CHECK_FALSE(begun.may_run);
    CHECK_FALSE(begun.first_call);
    CHECK_FALSE(w.c->operations().view(what.first_call->id, w.now));
  }
}
