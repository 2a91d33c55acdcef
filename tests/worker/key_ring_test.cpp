// The keys that a worker uses, over changes on both sides, crashes and a new enrolment.
#include <set>

#include <catch2/catch.hpp>

#include "worker/key_ring.hpp"

using namespace quell;
using namespace quell::worker;

namespace {

struct ring_world {
  key_pair given = key_pair::generate();
  std::string controller = key_pair::generate().public_key;
  key_ring ring = key_ring::read("", given, controller).value();

  /// The ring after a restart of the worker.
  key_ring again(const std::string& text) const { return key_ring::read(text, given, controller).value(); }
};

} // namespace

TEST_CASE("without a file the ring has the keys that the worker was given", "[key_ring]") {
  ring_world w;
  CHECK(w.ring.own().secret_key == w.given.secret_key);
  CHECK(w.ring.controller() == w.controller);
  CHECK_FALSE(w.ring.offer());
  CHECK_FALSE(w.ring.try_another());
  CHECK_FALSE(w.ring.worked());
  CHECK_FALSE(w.ring.try_next_controller());
}

TEST_CASE("a next key is offered until it is used, and only then the old one goes", "[key_ring]") {
  ring_world w;
  const auto next = key_pair::generate();
  w.ring.prepare(next);
  w.ring.prepare(key_pair::generate()); // one change at a time
  CHECK(w.ring.offer() == next.public_key);
  CHECK(w.ring.own().public_key == w.given.public_key);
  CHECK_FALSE(w.ring.worked()); // the connection used the old key
  auto later = w.again(w.ring.text());
  CHECK(later.offer() == next.public_key);
  CHECK(later.own().public_key == w.given.public_key);
  later.use_next();
  CHECK(later.own().public_key == next.public_key);
  CHECK(w.again(later.text()).own().public_key == w.given.public_key); // the controller may not have accepted it
  CHECK(later.worked());
  CHECK_FALSE(later.offer());
  const auto text = later.text();
  CHECK(text.find(w.given.secret_key) == std::string::npos);
  CHECK(w.again(text).own().secret_key == next.secret_key);
  CHECK(key_ring::look_at(text).public_key == next.public_key);
  CHECK_FALSE(key_ring::look_at(text).is_changing);
}

TEST_CASE("after a crash whichever key the controller takes is found, and stays", "[key_ring]") {
  const bool taken = GENERATE(false, true);
  ring_world w;
  const auto next = key_pair::generate();
  w.ring.prepare(next);
  auto later = w.again(w.ring.text());
  int refusals = 0;
  while ((later.own().public_key == next.public_key) != taken) {
    REQUIRE(later.try_another());
    REQUIRE(++refusals < 4);
  }
  CHECK(later.worked() == taken);
  CHECK(later.own().public_key == (taken ? next : w.given).public_key);
  CHECK(later.offer().has_value() == !taken);
}

TEST_CASE("with both sides about to change every combination has its turn", "[key_ring]") {
  ring_world w;
  w.ring.prepare(key_pair::generate());
  CHECK(w.ring.learn_controller(key_pair::generate().public_key));
  std::set<std::pair<std::string, std::string>> seen;
  for (int i = 0; i < 4; ++i) {
    seen.emplace(w.ring.own().public_key, w.ring.controller());
    CHECK(w.ring.try_another());
  }
  CHECK(seen.size() == 4);
}

TEST_CASE("a refused key is forgotten, with the reason", "[key_ring]") {
  ring_world w;
  w.ring.prepare(key_pair::generate());
  w.ring.refuse("it is\nanother worker's");
  CHECK_FALSE(w.ring.offer());
  CHECK(key_ring::look_at(w.ring.text()).refusal == "it is another worker's");
  auto later = w.again(w.ring.text());
  CHECK(later.own().public_key == w.given.public_key);
  later.prepare(key_pair::generate());
  CHECK(key_ring::look_at(later.text()).refusal.empty());
}

TEST_CASE("the controller's next key is kept beside the present one until one of them is welcomed", "[key_ring]") {
  ring_world w;
  const auto next = key_pair::generate().public_key;
  CHECK_FALSE(w.ring.learn_controller("no key"));
  CHECK_FALSE(w.ring.learn_controller(w.controller));
  CHECK(w.ring.learn_controller(next));
  CHECK_FALSE(w.ring.learn_controller(next)); // a repeat
  auto later = w.again(w.ring.text());
  CHECK(later.controller() == w.controller);
  CHECK(later.try_next_controller());
  CHECK(later.controller() == next);
  CHECK(later.try_another()); // it was only a lost connection
  CHECK(later.controller() == w.controller);
  CHECK(later.try_another());
  CHECK(later.worked());
  auto after = w.again(later.text());
  CHECK(after.controller() == next);
  CHECK_FALSE(after.try_next_controller());
}

TEST_CASE("a worker that is enrolled anew forgets what followed its earlier key", "[key_ring]") {
  ring_world w;
  w.ring.prepare(key_pair::generate());
  w.ring.use_next();
  CHECK(w.ring.worked());
  CHECK(w.ring.learn_controller(key_pair::generate().public_key));
  const auto fresh = key_pair::generate();
  auto later = key_ring::read(w.ring.text(), fresh, key_pair::generate().public_key).value();
  CHECK(later.own().public_key == fresh.public_key);
  CHECK_FALSE(later.try_another());
}

TEST_CASE("a damaged file is refused with its place", "[key_ring]") {
  ring_world w;
  const auto given = "given " + w.given.public_key + "\n";
  for (const std::string name : {"key", "next"}) {
    const auto r = key_ring::read(given + name + " nonsense\n", w.given, w.controller);
    REQUIRE_FALSE(r);
    CHECK(r.error().code == "bad_key");
    CHECK_THAT(r.error().detail, Catch::Contains("`" + name + "`"));
  }
  CHECK_FALSE(key_ring::read("given-controller " + w.controller + "\nnext-controller x\n", w.given, w.controller));
}
