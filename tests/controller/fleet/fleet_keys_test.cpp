// Workers that change their keys, and the controller's next key.
#include <catch2/catch.hpp>

#include "protocol/socket.hpp"
#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using namespace std::chrono_literals;

namespace {

struct key_world : fleet_world {
  std::string first = key_of("w1"), next = key_pair::generate().public_key;

  key_world() { worker_joins("w1"); }
  bool lets_in(const std::string& key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }
  void offers(const std::string& key, const std::string& who = "w1") { reports(who, wire::key_offer{key}); }
  wire::key_taken answer(const std::string& who = "w1") const {
    const auto all = far.at(who).all<wire::key_taken>();
    return all.empty() ? wire::key_taken{} : all.back();
  }
  /// A hello with this key, from the same life; the route is that of `place`.
  far_worker& comes_under(const std::string& key, const std::string& place = "-next") {
    pass(2ms);
    far_worker w;
    w.name = "w1";
    w.key = key;
    w.route = "route-" + std::to_string(++ids);
    w.hello = hello_of("w1", 2);
    w.hello.knows_keys = true;
    w.hello.proposed = session_id{make_uuid7(now.wall, {static_cast<std::uint8_t>(ids)})};
    w.hello_sent = now.boot;
    auto& mine = far["w1" + place];
    mine = w;
    repeats_hello("w1" + place);
    if (mine.refusals.empty()) acknowledges("w1" + place);
    return mine;
  }
};

std::string refusal_of(const far_worker& w) { return w.refusals.empty() ? "" : w.refusals.back().code; }

} // namespace

TEST_CASE("an offered key is good beside the old one until it is used", "[keys]") {
  key_world c;
  c.offers(c.next);
  CHECK(c.answer().public_key == c.next);
  CHECK(c.answer().refusal.empty());
  CHECK(c.lets_in(c.first));
  CHECK(c.lets_in(c.next));
  CHECK(c.rows.at("w1").next_key == c.next);
  // The controller dies here: both keys are still valid.
  c.restart();
  CHECK(c.lets_in(c.first));
  CHECK(c.lets_in(c.next));
  CHECK(c.comes_under(c.first, "-old").refusals.empty());
  CHECK(c.lets_in(c.next));
  CHECK(c.comes_under(c.next).refusals.empty());
  CHECK_FALSE(c.lets_in(c.first));
  CHECK(c.lets_in(c.next));
  CHECK(c.rows.at("w1").public_key == c.next);
  CHECK(c.rows.at("w1").next_key.empty());
  CHECK(c.see("w1").record.key_changed_at);
  CHECK(c.event_count("worker_key_changed") == 1);
  CHECK(c.event_count("audit") == 1);
  // The old key is refused from then on.
  CHECK(refusal_of(c.comes_under(c.first, "-old")) == "not_enrolled");
  c.restart();
  CHECK_FALSE(c.lets_in(c.first));
  CHECK(c.comes_under(c.next).refusals.empty());
}

TEST_CASE("the answer to an offer leaves behind the row that says so", "[keys]") {
  key_world c;
  c.says("w1", wire::key_offer{c.next}, ++c.far.at("w1").sent);
  c.take();
  CHECK(c.rows.at("w1").next_key == c.next);
  CHECK(c.answer().public_key.empty()); // the answer waits for the commit
  c.deliver();
  CHECK(c.answer().public_key == c.next);
}

TEST_CASE("a stop that is made while the worker moves to its next key reaches it behind the welcome", "[keys]") {
  key_world c;
  c.offers(c.next);
  const auto task = c.placed(c.needs());
  REQUIRE(c.where(task) == "w1");
  c.stops({"w1"}, 77); // to the old connection, which the worker has stopped reading
  c.wire_ordered.clear();
  auto& moved = c.comes_under(c.next);
  CHECK(c.f->session_of_key(c.next) == moved.session());
  REQUIRE(c.ledger.reconciled.size() == 2); // where the ledger sends its stops again
  CHECK(c.ledger.reconciled.back().same_life);
  c.stops({"w1"}, 78);
  c.deliver();
  REQUIRE(moved.all<wire::stop>().size() == 1);
  CHECK(moved.all<wire::stop>().front().seq == 78);
  CHECK(c.ledger.expired.empty());
}

TEST_CASE("a frame under the old key is of no session after the change", "[keys]") {
  key_world c;
  c.offers(c.next);
  c.comes_under(c.next);
  const auto before = c.far.at("w1").grants.size();
  c.beats("w1");
  CHECK(c.far.at("w1").grants.size() == before);
  CHECK(refusal_of(c.far.at("w1")) == "not_enrolled");
}

TEST_CASE("offers that are not taken say why, and change nothing", "[keys]") {
  key_world c;
  SECTION("no key") {
    c.offers("nonsense");
    CHECK_THAT(c.answer().refusal, Catch::Contains("not a public key"));
  }
  SECTION("another worker's") {
    c.worker_joins("w2");
    const auto theirs = key_pair::generate().public_key;
    c.offers(theirs, "w2");
    CHECK(c.answer("w2").refusal.empty());
    c.offers(theirs);
    CHECK_THAT(c.answer().refusal, Catch::Contains("worker w2"));
    CHECK(c.f->name_of_key(theirs) == "w2");
  }
  SECTION("from a copy of the key") {
    c.silence(13s);
    auto copy = c.hello_of("w1", 2);
    copy.state_id = "copied";
    copy.incarnation = id_of<incarnation_id>(500);
    REQUIRE(c.says_hello("w1", copy, "-copy").refusals.empty());
    c.acknowledges("w1-copy");
    c.offers(c.next, "w1-copy");
    CHECK_THAT(c.answer("w1-copy").refusal, Catch::Contains("used the present key first"));
  }
  CHECK_FALSE(c.lets_in(c.next));
  CHECK(c.lets_in(c.first));
  CHECK(c.rows.at("w1").next_key.empty());
}

TEST_CASE("an offer that comes again is answered again, and another one takes its place", "[keys]") {
  key_world c;
  c.offers(c.next);
  c.offers(c.next);
  CHECK(c.far.at("w1").all<wire::key_taken>().size() == 2);
  const auto other = key_pair::generate().public_key;
  c.offers(other);
  CHECK_FALSE(c.lets_in(c.next));
  CHECK(c.lets_in(other));
  CHECK(c.lets_in(c.first));
  // A worker that offers keys endlessly is told to stop, and no more keys accumulate.
  std::size_t refused = 0;
  for (int i = 0; i < 50; ++i) {
    c.offers(key_pair::generate().public_key);
    if (!c.answer().refusal.empty()) ++refused;
  }
  CHECK(refused >= 40);
  CHECK(c.keys.size() == 2);
}

TEST_CASE("a worker that is removed in the middle of a change is removed under both keys", "[keys]") {
  key_world c;
  c.offers(c.next);
  REQUIRE(c.f->remove("w1", worker_tasks::go_on, c.now));
  c.settle();
  CHECK(c.keys.empty());
  CHECK(refusal_of(c.comes_under(c.next)) == "not_enrolled");
  CHECK(refusal_of(c.comes_under(c.first)) == "not_enrolled");
}

TEST_CASE("the controller's next key is told to every worker that can know it, until it says that it has it",
          "[keys]") {
  key_world c;
  c.worker_joins("old"); // of a version that does not know the message
  auto& w = c.comes_under(c.first, "");
  CHECK_FALSE(c.see("w1").knows_controller_key);
  c.f->next_controller_key("the-next", c.now);
  c.settle();
  REQUIRE(w.all<wire::controller_key>().size() == 1);
  CHECK(w.all<wire::controller_key>().front().public_key == "the-next");
  CHECK(c.far.at("old").all<wire::controller_key>().empty());
  CHECK(c.see("w1").knows_controller_key == false);
  // Not acknowledged yet: the next session sends it again.
  CHECK(c.comes_under(c.first, "").all<wire::controller_key>().size() == 1);
  c.reports("w1", wire::controller_key_stored{"another"});
  CHECK(c.see("w1").knows_controller_key == false);
  c.reports("w1", wire::controller_key_stored{"the-next"});
  CHECK(c.see("w1").knows_controller_key == true);
  CHECK(c.see("old").knows_controller_key == false);
  CHECK(c.rows.at("w1").controller_key == "the-next");
  c.restart();
  c.f->next_controller_key("the-next", c.now);
  CHECK(c.see("w1").knows_controller_key == true);
  CHECK(c.comes_under(c.first, "").all<wire::controller_key>().empty());
  c.f->next_controller_key("", c.now);
  CHECK_FALSE(c.see("w1").knows_controller_key);
}
