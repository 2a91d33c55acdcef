// The order in which fetches get the places in which files of chats are fetched.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "actors/chat/fetch_places.hpp"

using namespace quell;
using quell::controller::chat::fetch_places;

namespace {

struct places_world {
  explicit places_world(std::size_t most) : places(most) {}

  void enter(const std::string& scope) {
    places.enter(*scope_path::parse(scope), [this, scope] {
      inside.push_back(scope);
      began.push_back(scope);
    });
  }
  void leave(const std::string scope) { // a copy: it can be one of `inside`
    const auto at = std::find(inside.begin(), inside.end(), scope);
    REQUIRE(at != inside.end());
    inside.erase(at);
    places.leave(*scope_path::parse(scope));
  }
  std::size_t of(const std::string& prefix) const {
    return static_cast<std::size_t>(std::count_if(inside.begin(), inside.end(), [&](const std::string& s) {
      return s == prefix || s.starts_with(prefix + "/");
    }));
  }

  fetch_places places;
  std::vector<std::string> inside, began;
};

} // namespace

TEST_CASE("slow guilds leave places for those that come later", "[chatfiles]") {
  places_world w(16);
  for (int i = 0; i < 50; ++i) w.enter("discord/slow/" + std::to_string(i));
  CHECK(w.of("discord/slow") == 8);
  for (int i = 0; i < 50; ++i) w.enter("discord/second/" + std::to_string(i));
  CHECK(w.of("discord/second") == 4);
  for (const auto* guild : {"slack/T1/C", "telegram/5", "irc/net/c"}) {
    w.enter(guild);
    CHECK(w.of(guild) == 1);
  }
  CHECK(w.of("discord/slow") == 8);
  w.leave("telegram/5");
  CHECK(w.inside.size() == 14); // nobody who waits has fewer than the free ones
}

TEST_CASE("a slow channel leaves places for the others of its guild, and threads are parts of it", "[chatfiles]") {
  places_world w(16);
  for (int i = 0; i < 20; ++i) w.enter("discord/1/slow/thread" + std::to_string(i));
  CHECK(w.of("discord/1/slow") == 4);
  w.enter("discord/1/other");
  w.enter("discord/2/other");
  CHECK(w.of("discord/1/other") == 1);
  CHECK(w.of("discord/2/other") == 1);
}

TEST_CASE("who has fewer places is next, then who came first", "[chatfiles]") {
  places_world w(4);
  for (const auto* scope : {"a/1/x", "a/1/y", "a/1/z", "b/1/x", "b/1/y"}) w.enter(scope);
  CHECK(w.inside == std::vector<std::string>{"a/1/x", "a/1/y", "b/1/x"});
  w.enter("c/1/x");
  CHECK(w.began.back() == "c/1/x");
  w.leave("a/1/x");
  CHECK(w.inside.size() == 3); // a and b have one each, and one is free
  w.leave("c/1/x");
  CHECK(w.began.back() == "a/1/z"); // came before b/1/y
  w.leave("a/1/y");
  w.leave("a/1/z");
  CHECK(w.of("b/1") == 2);
}

TEST_CASE("one who leaves at once lets the next one in, without end", "[chatfiles]") {
  fetch_places places(1);
  const auto scope = *scope_path::parse("a/b/c");
  int runs = 0;
  for (int i = 0; i < 10'000; ++i)
    places.enter(scope, [&] {
      ++runs;
      places.leave(scope);
    });
  CHECK(runs == 10'000);
}

TEST_CASE("the shares hold at any time, nobody waits forever, and everybody gets one place", "[chatfiles]") {
  REQUIRE(rc::check([] {
    const auto most = static_cast<std::size_t>(*rc::gen::inRange(1, 20));
    places_world w(most);
    std::map<std::string, int> entered;
    const auto guilds_inside = [&] {
      std::map<std::string, std::size_t> all;
      for (const auto& s : w.inside) ++all[s.substr(0, 3)];
      return all;
    };
    for (int step = 0; step < 60; ++step) {
      if (*rc::gen::inRange(0, 3) > 0 || w.inside.empty()) {
        const auto scope =
            "g/" + std::to_string(*rc::gen::inRange(0, 5)) + "/" + std::to_string(*rc::gen::inRange(0, 3));
        const auto before = guilds_inside();
        const auto was_free = most - w.inside.size();
        w.enter(scope);
        ++entered[scope];
        const auto guild = scope.substr(0, 3);
        // Somebody without a place gets one if one is free.
        if (!before.contains(guild) && was_free > 0) RC_ASSERT(guilds_inside().contains(guild));
        if (was_free > 0 && before.contains(guild) && before.at(guild) >= was_free)
          RC_ASSERT(guilds_inside().at(guild) == before.at(guild));
      } else {
        w.leave(w.inside.at(static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(w.inside.size())))));
      }
      RC_ASSERT(w.inside.size() <= most);
      std::map<std::string, std::size_t> channels;
      for (const auto& s : w.inside) RC_ASSERT(++channels[s] <= std::max<std::size_t>(most / 4, 1));
    }
    while (!w.inside.empty()) w.leave(std::string(w.inside.front()));
    std::map<std::string, int> began;
    for (const auto& s : w.began) ++began[s];
    RC_ASSERT(began == entered);
  }));
}
