// Telegram: the order of a batch, and what of it is known over a restart.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "integrations/chat/telegram/done_updates.hpp"
#include "integrations/chat/telegram/update_lines.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using telegram::update_lines;

namespace {

using update_ids = std::vector<std::int64_t>;

update_lines::entry update_in(const std::string& chat, std::int64_t id, bool is_stop = false,
                              const std::string& topic = "") {
  return {id, chat, *scope_path::parse("telegram/" + chat + topic), is_stop};
}

} // namespace

TEST_CASE("a chat of Telegram waits for no other, and keeps its own order", "[chat][telegram]") {
  update_lines lines;
  lines.assign({update_in("5", 1), update_in("5", 2), update_in("77", 3)}, 3);
  CHECK(lines.due() == update_ids{1, 3});
  CHECK(lines.due().empty());
  lines.done(3);
  CHECK_FALSE(lines.is_over());
  CHECK(lines.due().empty()); // 1 is still being taken
  lines.done(1);
  CHECK(lines.due() == update_ids{2});
  lines.done(2);
  CHECK(lines.is_over());
  CHECK_FALSE(lines.first_held());
}

TEST_CASE("a refused update holds back its own chat alone, from itself on", "[chat][telegram]") {
  update_lines lines;
  lines.assign({update_in("77", 1), update_in("5", 2), update_in("5", 3), update_in("77", 4)}, 4);
  CHECK(lines.due() == update_ids{2, 1});
  const auto overtaken = lines.refused(2);
  CHECK_FALSE(overtaken.stop);
  CHECK(overtaken.left_out.empty());
  lines.done(1);
  CHECK(lines.due() == update_ids{4});
  lines.done(4);
  CHECK(lines.is_over());
  CHECK(lines.first_held() == 2);
  lines.assign({update_in("5", 2), update_in("5", 3)}, 2); // it comes again
  CHECK_FALSE(lines.first_held());
  CHECK(lines.due() == update_ids{2});
}

TEST_CASE("a stop behind a refused message is taken next, and what it covers is not begun", "[chat][telegram]") {
  update_lines lines;
  lines.assign({update_in("5", 1), update_in("5", 2, false, "/9"), update_in("5", 3, true), update_in("5", 4)}, 4);
  CHECK(lines.due() == update_ids{1});
  const auto overtaken = lines.refused(1);
  CHECK(overtaken.stop == 3);
  CHECK(overtaken.left_out == update_ids{1, 2});
  CHECK(lines.due() == update_ids{3});
  lines.done(3);
  CHECK(lines.due() == update_ids{4});
  lines.done(4);
  CHECK(lines.is_over());
  CHECK_FALSE(lines.first_held());
}

TEST_CASE("a stop in a topic leaves what it does not cover to come again", "[chat][telegram]") {
  update_lines lines;
  lines.assign({update_in("5", 1), update_in("5", 2, false, "/9"), update_in("5", 3, true, "/9")}, 3);
  CHECK(lines.due() == update_ids{1});
  const auto overtaken = lines.refused(1);
  CHECK(overtaken.stop == 3);
  CHECK(overtaken.left_out == update_ids{2});
  CHECK(lines.due() == update_ids{3});
  CHECK_FALSE(lines.refused(3).stop); // even the stop is refused for the moment: it comes again, too
  CHECK(lines.is_over());
  CHECK(lines.first_held() == 1);
}

TEST_CASE("an update that is held back never hides a stop behind a hundred updates", "[chat][telegram]") {
  update_lines lines;
  std::int64_t offset = 1;
  std::set<std::int64_t> done;
  std::map<std::int64_t, int> answers; // the poll in which it was given up
  int stopped = 0;
  for (int poll = 1; poll <= 3 && stopped == 0; ++poll) {
    const std::int64_t newest = poll == 1 ? 10 : 101; // the rest is said while the first one is held back
    std::vector<update_lines::entry> batch;
    std::size_t fetched = 0;
    for (; fetched < 100 && offset <= newest; ++offset, ++fetched) {
      if (done.contains(offset)) continue;
      batch.push_back(offset == 1     ? update_in("5", offset)
                      : offset == 101 ? update_in("8", offset, true)
                                      : update_in("77", offset));
    }
    lines.assign(std::move(batch), fetched);
    for (auto due = lines.due(); !due.empty(); due = lines.due())
      for (const auto id : due) {
        if (id == 1 && lines.may_hold()) {
          lines.refused(id);
          continue;
        }
        if (id == 1) answers[id] = poll;
        if (id == 101) stopped = poll;
        done.insert(id);
        lines.done(id);
      }
    REQUIRE(lines.is_over());
    if (const auto held = lines.first_held()) offset = *held;
  }
  CHECK(answers == std::map<std::int64_t, int>{{1, 2}});
  CHECK(stopped == 3);
}

TEST_CASE("in the first batch nothing begins that a stop behind it covers", "[chat][telegram]") {
  update_lines lines;
  lines.assign({update_in("77", 1), update_in("5", 2), update_in("5", 3, false, "/9"), update_in("5", 4, true, "/9"),
                update_in("5", 5, true), update_in("77", 6), update_in("5", 7), update_in("8", 8, true)},
               8);
  const auto all = lines.leave_out_stopped();
  REQUIRE(all.size() == 2);
  CHECK(all[0].stop == 4);
  CHECK(all[0].left_out == update_ids{3});
  CHECK(all[1].stop == 5);
  CHECK(all[1].left_out == update_ids{2});
  update_ids taken;
  for (auto due = lines.due(); !due.empty(); due = lines.due())
    for (const auto id : due) {
      taken.push_back(id);
      lines.done(id);
    }
  std::sort(taken.begin(), taken.end());
  CHECK(taken == update_ids{1, 4, 5, 6, 7, 8}); // the stops are taken, and what was said after them or elsewhere
  CHECK(lines.is_over());
}

TEST_CASE("what a stop of Telegram covered is known over a restart, and only that is kept", "[chat][telegram]") {
  telegram::done_updates before;
  before.add("1");
  CHECK(before.changes() == 0);
  before.add_kept("2");
  before.add_kept("3");
  before.add_kept("2");
  CHECK(before.changes() == 2);
  CHECK(before.contains("1"));
  CHECK(before.contains("2"));
  telegram::done_updates after;
  after.recall(before.to_keep());
  CHECK_FALSE(after.contains("1")); // it was confirmed
  CHECK(after.contains("2"));
  CHECK(after.contains("3"));
  CHECK(after.to_keep() == before.to_keep());
  for (const auto* broken : {"", "{", "[]", R"({"done":1})", R"({"done":[1,null]})"}) after.recall(broken);
  CHECK(after.to_keep() == before.to_keep());
  for (int i = 0; i < 3000; ++i) after.add_kept("n" + std::to_string(i));
  CHECK(after.to_keep().find("\"n1999\"") == std::string::npos);
  CHECK(after.to_keep().find("\"n2000\"") != std::string::npos);
  CHECK(after.contains("2")); // in this process for longer
}
