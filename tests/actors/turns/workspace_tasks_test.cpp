// Whether tasks keep a workspace whose row is old.
#include "actors/turns/workspace_tasks.hpp"

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
    if (f.want_live) return living;
    REQUIRE(f.ended_since);
    std::vector<operation_record> found;
    for (const auto& task : ended)
      if (*task.hot.ended_at >= *f.ended_since) found.push_back(task);
    return found;
  }
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
