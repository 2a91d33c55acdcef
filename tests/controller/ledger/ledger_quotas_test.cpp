// Shares of tokens, authors and scopes: what one may have alive, and that it comes back with each end.
#include <catch2/catch.hpp>

#include "controller/ledger/invariants.hpp"
#include "controller/local_operations.hpp"
#include "tests/controller/ledger/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

std::string refused(const outcome<created>& made) {
  return made ? std::string() : std::string(text_of(made.error().error.code));
}

ledger_settings with(std::size_t per_author, std::size_t per_scope, std::size_t turns) {
  ledger_settings s;
  s.max_live_per_author = per_author;
  s.max_live_per_scope = per_scope;
  s.max_turns_per_author = turns;
  return s;
}

caller by_token(const std::string& token) {
  caller by;
  by.role = role::chat;
  by.token_id = by.token_name = token;
  return by;
}

} // namespace

TEST_CASE("an author has so many live operations and no more, and others are not held up", "[quotas]") {
  world w(with(2, 0, 0));
  w.task("a1", {.scope = in("s"), .owner = "alice"});
  w.task("a2", {.scope = in("t"), .owner = "alice"});
  const auto third = w.try_task("a3", {.scope = in("s"), .owner = "alice"});
  REQUIRE(refused(third) == "too_many_operations");
  CHECK(third.error().error.detail ==
        "author alice has 2 live operations, which is its limit (limits.operations_per_author); wait until some have "
        "ended, or cancel some");
  CHECK(refused(w.try_task("b1", {.scope = in("s"), .owner = "bob"})) == "");
  w.cancel_task("a1");
  w.roll_out();
  CHECK(refused(w.try_task("a4", {.scope = in("s"), .owner = "alice"})) == "");
}

TEST_CASE("what another token starts in an author's name takes nothing of that author's share", "[quotas]") {
  world w(with(2, 0, 1));
  const auto makes = [&](const std::string& name, const std::string& token, kind what) {
    return refused(w.try_task(name, {.scope = in("s"), .owner = "alice", .what = what, .by = by_token(token)}));
  };
  CHECK(makes("f1", "stranger", kind::turn).empty());
  CHECK(makes("f2", "stranger", kind::task).empty());
  CHECK(makes("f3", "stranger", kind::task) == "too_many_operations");
  CHECK(makes("t1", "chat", kind::turn).empty());
  CHECK(makes("t2", "chat", kind::turn) == "too_many_operations");
  w.restart();
  CHECK(makes("t3", "chat", kind::task).empty());
  CHECK(makes("t4", "chat", kind::task) == "too_many_operations");
  w.cancel_task("f2");
  w.roll_out();
  CHECK(makes("t5", "chat", kind::task) == "too_many_operations");
  CHECK(makes("f4", "stranger", kind::task).empty());
}

TEST_CASE("a scope and what lies below it share one limit", "[quotas]") {
  world w(with(0, 2, 0));
  w.task("x", in("team/a"));
  w.task("y", in("team/b/c"));
  CHECK(refused(w.try_task("z", {.scope = in("team/d")})) == "too_many_operations");
  CHECK(refused(w.try_task("z", {.scope = in("team")})) == "too_many_operations");
  CHECK(refused(w.try_task("z", {.scope = in("teams")})) == "");
}

TEST_CASE("what a restart finds alive counts", "[quotas]") {
  world w(with(1, 0, 0));
  w.task("x", in("s"));
  w.restart();
  CHECK(refused(w.try_task("y", {.scope = in("s")})) == "too_many_operations");
}

TEST_CASE("an author has so many live turns and no more; other work does not count", "[quotas]") {
  world w(with(0, 0, 2));
  const auto turn = [&](const std::string& name, const std::string& scope, const std::string& owner) {
    return refused(w.try_task(name, {.scope = in(scope), .owner = owner, .what = kind::turn}));
  };
  CHECK(turn("t1", "s", "alice").empty());
  CHECK(turn("t2", "t", "alice").empty());
  CHECK(turn("t3", "u", "alice") == "too_many_operations");
  CHECK(turn("t4", "u", "bob").empty());
  CHECK(refused(w.try_task("a1", {.scope = in("s"), .owner = "alice"})).empty());
  w.restart();
  CHECK(turn("t5", "u", "alice") == "too_many_operations");
  REQUIRE(w.core->actors()->finish_local(w.id("t1"), {status::failed}, w.now));
  CHECK(turn("t6", "u", "alice").empty());
}

TEST_CASE("a scope and what lies below it have so many live turns; other work does not count", "[quotas]") {
  ledger_settings s;
  s.max_turns_per_scope = 2;
  world w(s);
  const auto turn = [&](const std::string& name, const std::string& scope) {
    return w.try_task(name, {.scope = in(scope), .owner = "of " + name, .what = kind::turn, .by = by_token(name)});
  };
  CHECK(refused(turn("t1", "team/a")).empty());
  CHECK(refused(turn("t2", "team/b/c")).empty());
  const auto third = turn("t3", "team/d");
  REQUIRE(refused(third) == "too_many_operations");
  CHECK(third.error().error.detail == "scope team has 2 live turns, which is its limit (limits.turns_per_scope); wait "
                                      "until some have ended, or cancel some");
  CHECK(refused(turn("t3", "team")) == "too_many_operations");
  CHECK(refused(turn("t3", "teams")).empty());
  w.task("call", {.below = "t1", .what = kind::tool_call});
  w.task("agent", {.below = "call", .what = kind::sub_agent});
  CHECK(refused(w.try_task("other", {.scope = in("team/d")})).empty());
  w.restart();
  CHECK(refused(turn("t4", "team/d")) == "too_many_operations");
  for (const auto& sentence : broken_invariants(*w.core)) FAIL(sentence);
  REQUIRE(w.core->actors()->finish_local(w.id("t2"), {status::failed}, w.now));
  CHECK(refused(turn("t4", "team/d")).empty());
  CHECK(refused(turn("t5", "team/b")) == "too_many_operations");
  for (const auto& sentence : broken_invariants(*w.core)) FAIL(sentence);
}

TEST_CASE("a token may cancel so many idle scopes, and always one in which work lives") {
  world w;
  w.task("work", in("busy/room"));
  const auto cancel = [&](const std::string& scope, const char* token) {
    auto order = w.order(records::target_scope{in(scope)});
    order.by_token.token_id = token;
    const auto done = w.core->cancel(order, w.next_cancel(), w.now);
    if (done) w.core->cancel_fenced(done->record.id, true, w.now);
    w.store.apply(w.core->take().journal);
    return done ? std::string() : std::string(text_of(done.error().error.code)) + done.error().error.pointer;
  };
  for (int i = 0; i < 10'000; ++i)
    if (const auto refused = cancel("idle/" + std::to_string(i), "one"); !refused.empty()) FAIL(i << " " << refused);
  CHECK(cancel("more", "one") == "too_many_operations/scope");
  CHECK(cancel("idle/7", "one").empty()); // it is remembered already
  CHECK(cancel("more", "other").empty());
  CHECK(cancel("more", "one").empty()); // and counts for it now
  auto look = w.order(records::target_scope{in("never")});
  look.by_token.token_id = "one";
  look.mode = cancel_mode::dry_run;
  CHECK(w.core->cancel(look, w.next_cancel(), w.now).has_value());
  CHECK(cancel("busy", "one").empty());
  CHECK(cancel("never", "one") == "too_many_operations/scope");
  w.restart();
  CHECK(cancel("never", "one") == "too_many_operations/scope");
  CHECK(cancel("never", "other").empty());
  for (const auto* free : {"", "bootstrap"}) CHECK(cancel(std::string("free/") + free + "x", free).empty());
  for (const auto& sentence : broken_invariants(*w.core)) FAIL(sentence);
}

TEST_CASE("a cutoff is kept for its time behind the last cancel of its scope, however often that is cancelled") {
  world w;
  w.cancel_scope("s");
  w.pass(std::chrono::hours{20});
  for (int i = 0; i < 100; ++i) w.cancel_scope("s");
  w.pass(std::chrono::hours{20});
  CHECK(w.store.cutoffs.size() == 1);
  w.pass(std::chrono::hours{4} + milliseconds{1});
  CHECK(w.store.cutoffs.empty());
}

TEST_CASE("where a thousand cancels are under way nothing starts that all of them and the next one would count") {
  world w;
  const auto tries = [&](const std::string& scope, const std::string& owner = "alice") {
    create_order o;
    o.scope = in(scope);
    o.by.owner = {owner, owner};
    const auto made = w.core->create(o, w.next_operation(), w.now);
    return made ? std::string() : std::string(text_of(made.error().error.code));
  };
  std::vector<cancel_id> open;
  const auto cancels = [&](records::cancel_target target) {
    const auto accepted = w.core->cancel(w.order(std::move(target)), w.next_cancel(), w.now);
    REQUIRE(accepted);
    open.push_back(accepted->record.id);
    return accepted->record.outcome;
  };
  const records::cancel_target team = records::target_scope{in("team")}, inner = records::target_scope{in("team/x")};
  for (std::size_t i = 0; i < 998; ++i) {
    REQUIRE(tries("team/x").empty());
    CHECK(cancels(i % 2 == 0 ? team : inner) == cancel_outcome::stopping);
  }
  REQUIRE(tries("team/x").empty());
  CHECK(cancels(records::target_everything{in("team")}) == cancel_outcome::stopping);
  REQUIRE(tries("team/x").empty());
  CHECK(cancels(records::target_owner{"alice", std::nullopt}) == cancel_outcome::stopping);
  CHECK(tries("team/x") == "too_many_operations");
  CHECK(tries("team/x/deeper/still") == "too_many_operations");
  CHECK(tries("team/x", "bob").empty()); // not the cancel of alice's
  CHECK(tries("team").empty());
  CHECK(tries("else").empty());
  CHECK(cancels(inner) == cancel_outcome::stopping); // no cancel is refused for it
  CHECK(tries("team/x", "bob") == "too_many_operations");
  for (const cancel_id& id : open) w.core->cancel_fenced(id, true, w.now);
  while (w.core->step(w.now)) (void)w.core->take();
  (void)w.core->take();
  CHECK(tries("team/x").empty());
}

TEST_CASE("the slots that a guild holds are counted on all workers, over a restart, and until the work is over",
          "[quotas]") {
  ledger_settings s;
  s.max_slots_per_guild = 3;
  world w(s);
  w.task("a", {.scope = in("chat/g1/x"), .slots = 2});
  w.task("b", {.scope = in("chat/g1")});
  w.task("c", {.scope = in("chat/g1/y")});
  w.task("d", {.scope = in("chat/g2/y"), .slots = 9});
  w.runs("a", "w1");
  CHECK(w.core->may_take_slots(w.id("b")));
  w.runs("b", "w2");
  CHECK_FALSE(w.core->may_take_slots(w.id("c")));
  CHECK(w.core->may_take_slots(w.id("d"))); // one that holds none may take any number
  w.restart();
  CHECK_FALSE(w.core->may_take_slots(w.id("c")));
  const auto before = w.core->guild_room();
  w.exits("b", 0);
  CHECK(w.core->guild_room() > before);
  CHECK(w.core->may_take_slots(w.id("c")));
  CHECK(broken_invariants(*w.core).empty());
}

TEST_CASE("a task that found no room in its guild comes before the guild's others, until it has room or is over",
          "[quotas]") {
  ledger_settings s;
  s.max_slots_per_guild = 3;
  world w(s);
  for (const char* name : {"a", "b", "c"}) w.task(name, {.scope = in("chat/g1/x")});
  w.task("large", {.scope = in("chat/g1/y"), .slots = 2});
  w.task("small", {.scope = in("chat/g1/z")});
  for (const char* name : {"a", "b", "c"}) w.runs(name, "w1");
  CHECK_FALSE(w.core->may_take_slots(w.id("large")));
  const auto before = w.core->guild_room();
  w.exits("a", 0);
  CHECK(w.core->guild_room() == before);
  CHECK_FALSE(w.core->may_take_slots(w.id("small"))); // there is room for it, but it came later
  CHECK(broken_invariants(*w.core).empty());
  SECTION("it has room") {
    w.exits("b", 0);
    CHECK(w.core->guild_room() > before);
    CHECK(w.core->may_take_slots(w.id("large")));
  }
  SECTION("it is over") {
    const auto c = w.cancel_task("large");
    w.core->cancel_fenced(c.record.id, true, w.now);
    while (w.core->step(w.now)) (void)w.core->take();
    CHECK(w.core->guild_room() > before);
    CHECK(w.core->may_take_slots(w.id("small")));
  }
  CHECK(broken_invariants(*w.core).empty());
}

TEST_CASE("a stopped task keeps no room for itself in its guild, although what is below it lives on", "[quotas]") {
  ledger_settings s;
  s.max_slots_per_guild = 2;
  world w(s);
  w.task("large", {.scope = in("chat/g1/b"), .slots = 2});
  w.task("below", {.below = "large"});
  w.task("next", {.scope = in("chat/g1/a")});
  w.runs("below", "w1");
  CHECK_FALSE(w.core->may_take_slots(w.id("large")));
  CHECK_FALSE(w.core->may_take_slots(w.id("next"))); // the large one comes first
  const auto before = w.core->guild_room();
  w.cancel_task("large");
  w.roll_out();
  REQUIRE(w.status_of("below") == "cancelling"); // its worker has not answered
  CHECK(w.core->guild_room() > before);
  CHECK(w.core->may_take_slots(w.id("next")));
  CHECK(broken_invariants(*w.core).empty());
}

TEST_CASE("with a limit of slots each guild waits in a line of its own", "[quotas]") {
  ledger_settings s;
  s.max_slots_per_guild = 3;
  world w(s);
  for (int i = 0; i < 3'000; ++i) {
    const auto name = std::to_string(i);
    w.task(name, {.scope = in("chat/g" + name + "/x")});
  }
  CHECK(w.lines.size() == 3'000);
}

TEST_CASE("a guild's own number of slots holds instead of the limit of all", "[quotas]") {
  ledger_settings s;
  s.max_slots_per_guild = 2;
  s.max_slots_of_guilds = {{"chat/g1", 1}, {"chat/g2", 3}};
  world w(s);
  for (const char* guild : {"g1", "g2", "g3"})
    for (const char* name : {"a", "b", "c", "d"})
      w.task(std::string(guild) + name, {.scope = in("chat/" + std::string(guild) + "/" + name)});
  const auto held = [&](const std::string& guild) {
    int count = 0;
    for (const char* name : {"a", "b", "c", "d"}) {
      if (!w.core->may_take_slots(w.id(guild + name))) break;
      w.runs(guild + name, "w1");
      ++count;
    }
    return count;
  };
  CHECK(held("g1") == 1);
  CHECK(held("g2") == 3);
  CHECK(held("g3") == 2);
  w.core->limit_slots({{"chat/g3", 3}});
  CHECK(w.core->may_take_slots(w.id("g1b")));
  CHECK_FALSE(w.core->may_take_slots(w.id("g2d"))); // it holds more than it may now
  CHECK(w.core->may_take_slots(w.id("g3c")));
  CHECK(broken_invariants(*w.core).empty());
}

TEST_CASE("a guild gets a limit while its tasks live, and loses it again", "[quotas]") {
  world w;
  for (const char* name : {"a", "b", "c"}) w.task(name, {.scope = in("chat/g1/x")});
  w.task("d", {.scope = in("chat/g2/x")});
  w.runs("a", "w1");
  const auto line = [&](const char* name) { return w.core->need_of(w.id(name))->guild_queue; };
  const auto line_of_b = line("b"), line_of_d = line("d");
  w.core->limit_slots({{"chat/g1", 1}});
  CHECK(w.core->moves_of_lines() > 0);
  CHECK_FALSE(w.core->may_take_slots(w.id("b"))); // the slot that it held before counts
  CHECK(line("b") != line_of_b);                  // it shares its line with no guild without a limit
  CHECK(line("b") == line("c"));
  CHECK(line("d") == line_of_d);
  CHECK(broken_invariants(*w.core).empty());
  const auto room = w.core->guild_room(), moves = w.core->moves_of_lines();
  w.core->limit_slots({{"chat/g1", 2}});
  CHECK(w.core->guild_room() > room);
  CHECK(w.core->moves_of_lines() == moves); // it has its line
  CHECK(w.core->may_take_slots(w.id("b")));
  w.core->limit_slots({{"chat/g1", 1}});
  CHECK_FALSE(w.core->may_take_slots(w.id("c")));
  w.core->limit_slots({});
  CHECK(w.core->may_take_slots(w.id("c")));
  CHECK(line("b") == line_of_b);
  w.exits("a", 0);
  CHECK(broken_invariants(*w.core).empty());
}
