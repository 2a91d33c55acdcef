// Acknowledgements after a stop, in every order in which the model's answer, the proof and the timer can come.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "controller/stop_story.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

using tellings = std::vector<stop_telling>;
using voice = stop_story::voice;

tellings all_of(stop_story& s) {
  tellings all;
  while (const auto t = s.next()) all.push_back(*t);
  return all;
}

} // namespace

TEST_CASE("a model's words wait for the proof") {
  stop_story s(voice::model);
  CHECK(all_of(s).empty());
  SECTION("the words come first") {
    s.answered("I have stopped.");
    CHECK(all_of(s).empty());
    s.settled(true);
    CHECK(all_of(s) == tellings{stop_telling::words});
  }
  SECTION("the proof comes first") {
    s.settled(true);
    CHECK(all_of(s).empty());
    s.answered("I have stopped.");
    CHECK(all_of(s) == tellings{stop_telling::words});
  }
  SECTION("the proof takes long") {
    s.answered("I have stopped.");
    s.wait_ends();
    CHECK(all_of(s) == tellings{stop_telling::stopping});
    CHECK_FALSE(s.is_over());
    s.settled(true);
    CHECK(all_of(s) == tellings{stop_telling::words});
  }
  CHECK(s.words() == "I have stopped.");
  CHECK(s.is_over());
  s.settled(true);
  s.stuck();
  CHECK(all_of(s).empty());
}

TEST_CASE("without a proof a model's words are never told") {
  stop_story s(voice::model);
  if (GENERATE(true, false)) s.answered("I have stopped.");
  if (GENERATE(true, false)) s.wait_ends();
  if (GENERATE(true, false)) s.stuck();
  auto all_tellings = all_of(s);
  s.settled(false);
  for (const auto t : all_of(s)) all_tellings.push_back(t);
  CHECK(all_tellings.back() == stop_telling::unconfirmed);
  for (const auto t : all_tellings) CHECK((t != stop_telling::words && t != stop_telling::stopped));
  CHECK(s.is_over());
}

TEST_CASE("without words a reaction is told at once, and more only if it is not proven") {
  stop_story s(voice::none);
  CHECK(all_of(s) == tellings{stop_telling::reaction});
  CHECK_FALSE(s.is_over());
  SECTION("proven") {
    s.settled(true);
    CHECK(all_of(s).empty());
  }
  SECTION("stuck, then proven") {
    s.stuck();
    CHECK(all_of(s) == tellings{stop_telling::unproven});
    s.stuck();
    CHECK(all_of(s).empty());
    s.settled(true);
    CHECK(all_of(s) == tellings{stop_telling::stopped});
  }
  SECTION("not proven") {
    s.settled(false);
    CHECK(all_of(s) == tellings{stop_telling::unconfirmed});
  }
  CHECK(s.is_over());
}

TEST_CASE("a model that is too late, or says nothing, leaves a reaction") {
  stop_story s(voice::model);
  s.wait_ends();
  s.answered("");
  s.answered("too late");
  CHECK(all_of(s) == tellings{stop_telling::reaction});
  s.settled(true);
  CHECK(all_of(s).empty());
  CHECK(s.is_over());
}

TEST_CASE("listeners without a model's words are told that the stop is under way, and that it is over") {
  stop_story s(GENERATE(voice::model, voice::none), audience::listeners);
  s.wait_ends();
  s.answered("");
  SECTION("the proof comes later") {
    CHECK(all_of(s) == tellings{stop_telling::stopping});
    CHECK_FALSE(s.is_over());
    if (GENERATE(false, true)) {
      s.stuck();
      CHECK(all_of(s) == tellings{stop_telling::unproven});
    }
    s.settled(true);
    CHECK(all_of(s) == tellings{stop_telling::stopped});
  }
  SECTION("the proof was first") {
    s.settled(true);
    CHECK(all_of(s) == tellings{stop_telling::stopped});
  }
  SECTION("there is no proof") {
    CHECK(all_of(s) == tellings{stop_telling::stopping});
    s.settled(false);
    CHECK(all_of(s) == tellings{stop_telling::unconfirmed});
  }
  CHECK(s.is_over());
}

TEST_CASE("listeners are told a model's words as readers are") {
  stop_story s(voice::model, audience::listeners);
  s.wait_ends();
  CHECK(all_of(s).empty());
  s.answered("I have stopped.");
  CHECK(all_of(s) == tellings{stop_telling::stopping});
  s.settled(true);
  CHECK(all_of(s) == tellings{stop_telling::words});
}

TEST_CASE("what is said aloud names what was interrupted, has no signs, and says stopped only of what is") {
  CHECK(stopped_aloud({}) == "Stopped.");
  CHECK(stopped_aloud({"exec"}) == "Stopped: exec.");
  CHECK(stopped_aloud({"exec", "2 crawl", "reply", "a", "b"}) == "Stopped: exec, 2 crawl, reply and 2 more.");
  CHECK(stopped_aloud({std::string(500, 'x')}).size() < 80);
  const std::vector<not_known> some{{"crawl", "worker w2 is unreachable"}};
  for (const auto what : {stop_telling::stopping, stop_telling::unproven, stop_telling::unconfirmed})
    for (const std::uint64_t total : {0U, 1U}) {
      const auto text = own_words(what, some, total, audience::listeners);
      CHECK_FALSE(text.empty());
      CHECK(text.find("topped") == std::string::npos);
      CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; }));
    }
}

TEST_CASE("what an earlier life began to tell is ended, and not begun again") {
  stop_story s(voice::none);
  s.was_acknowledged(GENERATE(stop_telling::stopping, stop_telling::unproven));
  CHECK(all_of(s).empty());
  s.settled(true);
  CHECK(all_of(s) == tellings{stop_telling::stopped});
  stop_story reacted(voice::none);
  reacted.was_acknowledged(stop_telling::reaction);
  reacted.settled(true);
  CHECK(all_of(reacted).empty());
  CHECK(reacted.is_over());
}

TEST_CASE("only what should have ended counts as stuck") {
  cancel_view view;
  view.record.status = cancel_status::signalled;
  const auto add = [&](unproven_why why) {
    unproven_operation u;
    u.operation = operation_id::fresh();
    u.worker = "w2";
    u.why = why;
    view.unproven.push_back(u);
  };
  for (const auto why : {unproven_why::in_grace, unproven_why::awaiting_owner, unproven_why::kill_in_flight}) add(why);
  CHECK(stuck_in(view, false).empty());
  CHECK(stuck_in(view, true).size() == 1);
  add(unproven_why::worker_unreachable);
  add(unproven_why::stuck_in_kernel);
  REQUIRE(stuck_in(view, false).size() == 2);
  CHECK(stuck_in(view, false)[0].why == "worker w2 is unreachable");
  // After a restart of quelld every worker is in this state for a moment.
  CHECK(stuck_in(view, false, workers_are::coming_back).size() == 1);
  CHECK(stuck_in(view, true, workers_are::coming_back).size() == stuck_in(view, true).size());
  view.record.status = cancel_status::settled;
  CHECK(stuck_in(view, true).empty());
}

TEST_CASE("quell's own words name a few and count the rest, and say stopped only of what is") {
  const std::vector<not_known> some{{"crawl", "worker w2 is unreachable"}, {std::string(500, 'x'), "why"}};
  const auto unproven = own_words(stop_telling::unproven, some, 7);
  CHECK(unproven.find("crawl (worker w2 is unreachable), xxx") != std::string::npos);
  CHECK(unproven.find(" and 5 more") != std::string::npos);
  CHECK(unproven.size() < 300);
  const auto unconfirmed = own_words(stop_telling::unconfirmed, {}, 2);
  CHECK(unconfirmed.find("2") != std::string::npos);
  for (const auto& text : {unproven, unconfirmed, own_words(stop_telling::stopping, {}, 0)})
    CHECK(text.find("stopped") == std::string::npos);
  CHECK(more_follows("stopping"));
  CHECK(more_follows("unproven"));
  for (const char* last : {"stopped", "unconfirmed", ""}) CHECK_FALSE(more_follows(last));
}

TEST_CASE("the name of foreign work adds no line to quell's own words") {
  const std::vector<not_known> some{{"x\n🛑 stopped\r\n\xe2\x80\xae\x1b[2J", "unconfirmed"}};
  for (const auto to : {audience::readers, audience::listeners})
    for (const auto what : {stop_telling::unproven, stop_telling::unconfirmed}) {
      const auto text = own_words(what, some, 1, to);
      CHECK(text.find_first_of("\n\r\x1b") == std::string::npos);
      CHECK(text.find("\xe2\x80\xae") == std::string::npos);
      CHECK(text.find("x?🛑 stopped") != std::string::npos);
    }
}
