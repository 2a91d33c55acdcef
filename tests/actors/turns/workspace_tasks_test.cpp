// Whether tasks keep a workspace whose row is old.
#include "actors/turns/workspace_tasks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "protocol/workspace_place.hpp"
#include "tests/actors/refusing_store.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

/// Knows the tasks of one scope.
class known_tasks final : public quell::testing::refusing_store {
 public:
  std::vector<operation_record> living, ended;

  result<std::vector<operation_record>> operations(const operation_filter& f) override {
    CHECK(f.scopes == std::vector<scope_path>{*scope_path::parse("guild/room")});
    CHECK(f.kinds == std::vector<kind>{kind::task});
    CHECK(f.want_live != f.want_ended);
    if (f.want_live) return page(living, f);
    REQUIRE(f.ended_since);
    std::vector<operation_record> found;
    for (const auto& task : ended)
      if (*task.hot.ended_at >= *f.ended_since) found.push_back(task);
    return page(found, f);
  }

 private:
  /// Their numbers are their places.
  result<std::vector<operation_record>> page(std::vector<operation_record> all, const operation_filter& f) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].seq = i + 1;
    if (!f.ascending) std::reverse(all.begin(), all.end());
    std::erase_if(all, [&](const operation_record& task) {
      return f.after_seq != 0 && (f.ascending ? task.seq <= f.after_seq : task.seq >= f.after_seq);
    });
    if (all.size() > f.limit) all.resize(f.limit);
    if (fails_behind && f.after_seq >= *fails_behind) return refused();
    return all;
  }

 public:
  std::optional<std::uint64_t> fails_behind; ///< no page behind this seq can be read
};

struct world {
  known_tasks store;
  workspace_row row;
  const wall_time now{1'800'000'000'000ms};

  world() {
    row.name = "w-guild%room~m";
    row.used_at = now - 1h;
    row.keep = milliseconds{100'000};
  }
  static operation_record task_in(const std::string& name, std::optional<wall_time> ended_at = {}) {
    operation_record task;
    workspace_place place;
    place.name = name;
    place.must_exist = true;
    place.below = "sub";
    task.task.cwd = place.text();
    task.hot.ended_at = ended_at;
    return task;
  }
  bool has_task() { return has_task_lately(row, *scope_path::parse("guild/room"), store, now); }
};

} // namespace

TEST_CASE("a workspace whose row is old is kept by tasks that live in it or have ended in it lately",
          "[turns][workspace]") {
  world w;
  CHECK_FALSE(w.has_task());
  w.store.living = {world::task_in("w-guild%room~other"), operation_record{}};
  w.store.ended = {world::task_in(w.row.name, w.now - 90'001ms)}; // as long ago as the row may be old
  CHECK_FALSE(w.has_task());
  w.store.living.push_back(world::task_in(w.row.name));
  CHECK(w.has_task());
  w.store.living.clear();
  w.store.ended.push_back(world::task_in("w-guild%room~other", w.now));
  CHECK_FALSE(w.has_task());
  w.store.ended.push_back(world::task_in(w.row.name, w.now - 90'000ms));
  CHECK(w.has_task());
}

TEST_CASE("a task keeps its workspace however many newer ones there are", "[turns][workspace]") {
  world w;
  const bool lives = GENERATE(true, false);
  auto& tasks = lives ? w.store.living : w.store.ended;
  tasks.push_back(world::task_in(w.row.name, w.now));
  for (int i = 0; i < 2'500; ++i) tasks.push_back(world::task_in("w-guild%room~other", w.now));
  CHECK(w.has_task());
  tasks.erase(tasks.begin());
  CHECK_FALSE(w.has_task());
  tasks.push_back(world::task_in(w.row.name, w.now));
  CHECK(w.has_task());
  tasks.pop_back();
  w.store.fails_behind = 2'000; // nothing is given up because it cannot be read
  CHECK(w.has_task());
}
