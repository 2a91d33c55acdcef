// The guardian's enforcement of the lease: nothing starts without it, and everything is killed by its end.
#include <catch2/catch.hpp>

#include <csignal>

#include "protocol/lease.hpp"
#include "tests/patience.hpp"
#include "tests/worker/guardian/guardian_ward.hpp"

using namespace quell;
using namespace quell::worker;
using namespace quell::worker::test;

TEST_CASE("nothing starts before the first lease") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level, false);
      const auto& story = w.end_of(w.spawn({.command = {"true"}}));
      REQUIRE(story.spawn_failed);
      CHECK(story.spawn_failed->find("no lease yet") != std::string::npos);
      w.client->lease(now(), 60s);
      CHECK(w.end_of(w.shell("exit 0")).ended->exit->code == 0);
      w.close();
    }
  }
}

TEST_CASE("when the lease is over all is dead by its end, and nothing starts until a newer one comes") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      bool is_in_time = false;
      for (int i = 0; i < 5 && !is_in_time; ++i) { // this thread, or the guardian, can rest just then
        w.client->lease(now(), 1h);
        const auto mark = fresh_mark();
        const auto running = w.shell("trap '' TERM; sleep 1000." + mark + "; :", mark);
        const auto held = w.spawn({.command = {"sleep", "1000." + mark}});
        w.await_held(held);
        eventually("the child", [&] { return living(std::string("sleep") + '\0' + "1000." + mark).size() == 1; });
        const auto base = now();
        const auto lease = testing::patient(5s); // a tenth of it is the time for the kill
        w.client->lease(base, lease);
        const auto& story = w.end_of(running);
        CHECK(story.ended->sent == task_ended_here::force::killed);
        CHECK(story.ended_at >= base + lease - kill_margin(lease));
        is_in_time = story.ended_at < base + lease;
        CHECK(!w.end_of(held).ended->exit);
        CHECK(!w.go(held));
        CHECK(living(mark).empty());
      }
      CHECK(is_in_time);
      const auto refused = w.spawn({.command = {"true"}});
      REQUIRE(w.end_of(refused).spawn_failed);
      CHECK(w.stories[refused].spawn_failed->find("lease is over") != std::string::npos);
      w.client->lease(now(), 60s);
      CHECK(w.end_of(w.shell("exit 0")).ended->exit->code == 0);
      w.close();
    }
  }
}

TEST_CASE("a task with a lease of its own outlives the worker's") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto mark = fresh_mark();
      const auto longer = w.run({.command = {"sleep", "1000." + mark}, .lease = 1h});
      const auto usual = w.run({.command = {"sleep", "1001." + mark}});
      w.client->lease(now(), 300ms);
      CHECK(w.end_of(usual).ended->exit->signal == "KILL");
      CHECK(living("1000." + mark).size() == 1);
      w.client->lease(now(), 60s);
      w.stop(longer, 0ms);
      w.end_of(longer);
      w.close();
    }
  }
}

TEST_CASE("a task's own lease ends it by the margin before its end, not at its end") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto own = testing::patient(8s);
      bool is_in_time = false;
      for (int i = 0; i < 5 && !is_in_time; ++i) { // as above
        w.client->lease(now(), 1h);
        const auto longer = w.run({.command = {"sleep", "1000"}, .lease = own});
        const auto base = now();
        w.client->lease(base, testing::patient(300ms));
        const auto& story = w.end_of(longer);
        CHECK(story.ended->sent == task_ended_here::force::killed);
        CHECK(story.ended_at >= base + own - kill_margin(own));
        is_in_time = story.ended_at < base + own; // the kill is complete, not begun, by the end
      }
      CHECK(is_in_time);
      w.client->lease(now(), 60s);
      w.close();
    }
  }
}

TEST_CASE("a renewed lease keeps everything alive") {
  for (const auto level : levels_here()) {
    DYNAMIC_SECTION(name_of(level)) {
      ward w(level);
      const auto id = w.shell("sleep 6");
      const auto end = now() + testing::patient(60s);
      while (!w.stories[id].ended && now() < end) {
        w.client->lease(now(), testing::patient(4s));
        w.hear(50);
      }
      REQUIRE(w.stories[id].ended);
      CHECK(w.stories[id].ended->exit->code == 0);
      w.client->lease(now(), 60s);
      w.close();
    }
  }
}
