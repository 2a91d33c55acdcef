// Retention over a real store: deleted rows, kept rows, and that every slice leaves a consistent store behind.
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <random>
#include <set>

#include "actors/turns/endings.hpp"
#include "quelld/retention.hpp"
#include "storage/journal.hpp"
#include "storage/queries.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

constexpr milliseconds keep = std::chrono::hours{24 * 30};
const wall_time now{1'800'000'000'000ms};
const wall_time long_ago = now - 2 * keep;

operation_id id_from(wall_time at) {
  static std::mt19937_64 random{4711};
  auto id = operation_id::fresh();
  const auto ms = static_cast<std::uint64_t>(at.time_since_epoch().count());
  for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(ms >> (8 * (5 - i)));
  for (std::size_t i = 9; i < 16; ++i) id.bytes[i] = static_cast<std::uint8_t>(random());
  return id;
}

cancel_id cancel_id_from(wall_time at) {
  cancel_id id;
  id.bytes = id_from(at).bytes;
  return id;
}

/// A store that is filled first and then inspected after retention.
struct old_store {
  test::temp_directory directory;
  std::vector<records::entry> rows;
  std::uint64_t seq = 0;
  std::map<operation_id, records::operation_record> operations;

  records::operation_record& add(const records::operation_record* parent = nullptr, bool detached = false,
                                 wall_time made = long_ago) {
    records::operation_record r;
    r.id = id_from(made);
    r.seq = r.as_of = ++seq;
    r.scope = *scope_path::parse("team/old");
    if (parent) r.parent = parent->id;
    r.root = parent && !detached ? parent->root : r.id;
    r.detached = detached;
    r.owner = {"alice", "Alice"};
    r.created_at = made;
    r.task.command = {"true"};
    return operations[r.id] = r;
  }
  static void end(records::operation_record& r, wall_time at = long_ago + 1h,
                  std::optional<cancel_id> by = std::nullopt) {
    r.hot.now = by ? status::cancelled : status::completed;
    r.hot.ended_at = at;
    r.hot.ended_seq = 1'000'000 + r.seq;
    if (!by) return;
    r.hot.stop = records::stop_state{stop_cause::cancel, 5, by, {}, {}, receipt::killed, proof::cgroup_empty};
  }
  cancel_id add_cancel(wall_time made = long_ago, cancel_status to = cancel_status::settled) {
    records::cancel_record c;
    c.id = cancel_id_from(made);
    c.seq = c.cutoff = ++seq;
    c.target = records::target_scope{*scope_path::parse("team/old")};
    c.status = to;
    c.created_at = made;
    c.report.settled_ms = 12.5;
    rows.emplace_back(records::put_cancel{c});
    return c.id;
  }
  void add_event(std::uint64_t id, wall_time at) {
    records::event_record e;
    e.id = id;
    e.type = event_type::operation_created;
    e.at = at;
    rows.emplace_back(records::put_event{e});
  }

  void write() {
    auto journal = storage::journal::open({.directory = directory.path()});
    REQUIRE(journal);
    std::promise<std::optional<fault>> written;
    (*journal)->on_commit([&](const auto& notice) { written.set_value(notice.failure); });
    std::vector<records::operation_record> sorted;
    for (const auto& [id, record] : operations) sorted.push_back(record);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
    for (const auto& record : sorted) {
      auto live = record;
      live.hot = {};
      rows.emplace_back(records::put_operation{live});
      if (record.hot.ended_at) rows.emplace_back(records::update_operation{record.id, record.hot});
    }
    (*journal)->submit(std::exchange(rows, {}));
    const auto failed = written.get_future().get();
    REQUIRE(!failed);
  }
};

/// A controller over that store, which can stop after a number of slices.
struct sweeper {
  explicit sweeper(const std::string& path) : directory(path) {
    auto opened = storage::journal::open({.directory = path});
    REQUIRE(opened);
    controller = std::make_unique<breaking>(std::move(*opened));
    auto found = storage::old_rows::open(path);
    REQUIRE(found);
    rows = std::move(*found);
    auto reader = storage::open_reader(path);
    REQUIRE(reader);
    store = std::move(*reader);
  }

  struct breaking final : test::fake_controller {
    using fake_controller::fake_controller;
    std::optional<int> left;
    std::stop_source stop;
    std::vector<old_things> slices;
    void drop_old(old_things what, reply<bool> done) override {
      if (left && (*left)-- == 0) {
        stop.request_stop();
        done(false);
        return;
      }
      slices.push_back(what);
      fake_controller::drop_old(std::move(what), std::move(done));
    }
  };
  struct folders final : test::memory_output {
    std::vector<operation_id> dropped;
    void drop(const operation_id& id) override { dropped.push_back(id); }
  };

  dropped_counts pass() {
    auto done = drop_old_things(*rows, *store, *controller, output, now, keep, controller->stop.get_token());
    REQUIRE(done);
    return *done;
  }

  std::string directory;
  std::unique_ptr<breaking> controller;
  std::unique_ptr<storage::old_rows> rows;
  std::unique_ptr<store_reader> store;
  folders output;
};

std::map<operation_id, records::operation_record> all_operations(const std::string& directory) {
  auto q = storage::open_reader(directory);
  REQUIRE(q);
  std::map<operation_id, records::operation_record> all;
  records::operation_filter f;
  f.limit = 100'000;
  const auto found = (*q)->operations(f);
  REQUIRE(found);
  for (const auto& r : *found) all[r.id] = r;
  return all;
}

bool has_cancel(const std::string& directory, const cancel_id& id) {
  auto q = storage::open_reader(directory);
  REQUIRE(q);
  return (*q)->cancel(id).value().has_value();
}

} // namespace

TEST_CASE("a tree goes when all of it ended before the limit, with its output, cancel and events") {
  old_store s;
  const auto cancel = s.add_cancel();
  auto& root = s.add();
  auto& child = s.add(&root);
  old_store::end(root, long_ago + 1h, cancel);
  old_store::end(child, long_ago + 1h, cancel);
  for (std::uint64_t i = 1; i <= 2'500; ++i) s.add_event(i, long_ago);
  s.add_event(2'501, now);
  s.write();

  sweeper w(s.directory.path());
  const auto done = w.pass();
  CHECK(done.operations == 2);
  CHECK(done.cancels == 1);
  CHECK(done.events == 2'500);
  CHECK(all_operations(w.directory).empty());
  CHECK(!has_cancel(w.directory, cancel));
  CHECK(w.output.dropped == std::vector<operation_id>{child.id, root.id});
  CHECK(w.rows->events_before(now + 1h)->oldest == 2'501);
  CHECK(w.pass().operations == 0);
}

TEST_CASE("a conversation still says how its turns ended when their rows are gone") {
  old_store s;
  const auto ask = [&s](const char* text) -> records::operation_record& {
    auto& turn = s.add();
    turn.kind = kind::turn;
    records::message_record m;
    m.id = message_id::fresh();
    m.seq = ++s.seq;
    m.scope = turn.scope;
    m.at = long_ago;
    m.turn = turn.id;
    m.text = text;
    s.rows.emplace_back(records::put_message{std::move(m)});
    return turn;
  };
  const auto cancel = s.add_cancel();
  auto& cancelled = ask("delete the old backups");
  auto& failed = ask("build it");
  auto& completed = ask("hello");
  old_store::end(cancelled, long_ago + 1h, cancel);
  old_store::end(failed);
  failed.hot.now = status::failed;
  failed.hot.error = records::operation_error{"timeout", "too long"};
  old_store::end(completed);
  s.write();

  sweeper w(s.directory.path());
  CHECK(w.pass().operations == 3);
  CHECK(all_operations(w.directory).empty());
  const auto reader = storage::open_reader(w.directory);
  REQUIRE(reader);
  records::message_filter f;
  f.scope = *scope_path::parse("team/old");
  const auto kept = (*reader)->messages(f);
  REQUIRE(kept);
  REQUIRE(kept->size() == 3);
  const auto facts = turns::facts_of(*kept, operation_id::fresh(), **reader);
  REQUIRE(facts.turns.contains(cancelled.id));
  CHECK(facts.turns.at(cancelled.id).as == turns::turn_ending::how::cancelled);
  REQUIRE(facts.turns.contains(failed.id));
  CHECK(facts.turns.at(failed.id).as == turns::turn_ending::how::unfinished);
  CHECK(facts.turns.at(failed.id).why == "it ran out of its time");
  CHECK_FALSE(facts.turns.contains(completed.id));
}

TEST_CASE("what lives, what is young and what something kept needs stays") {
  old_store s;
  const auto of_live_tree = s.add_cancel(), named_by_cutoff = s.add_cancel(), named_by_tombstone = s.add_cancel();
  const auto open = s.add_cancel(long_ago, cancel_status::signalled), young_cancel = s.add_cancel(now - 1h);
  const auto free_cancel = s.add_cancel();
  s.rows.emplace_back(records::put_cutoff{{*scope_path::parse("team/old"), 7, named_by_cutoff}});
  s.rows.emplace_back(records::put_tombstone{{id_from(long_ago), named_by_tombstone, now + 1h, "token", std::nullopt}});

  auto& live_root = s.add();
  auto& ended_child = s.add(&live_root);
  old_store::end(ended_child, long_ago + 1h, of_live_tree);
  auto& late_root = s.add();
  auto& early_child = s.add(&late_root);
  old_store::end(late_root, now - 1h);
  old_store::end(early_child);
  auto& above_detached = s.add();
  auto& beside_detached = s.add(&above_detached);
  auto& detached = s.add(&above_detached, true);
  old_store::end(above_detached);
  old_store::end(beside_detached);
  auto& repeatable = s.add(nullptr, false, long_ago);
  auto moved = repeatable; // its id is so young that a repeated create of it would be accepted
  s.operations.erase(repeatable.id);
  moved.id = moved.root = id_from(now - 11h);
  old_store::end(moved);
  s.operations[moved.id] = moved;
  s.write();

  sweeper w(s.directory.path());
  w.pass();
  std::set<operation_id> left;
  for (const auto& [id, record] : all_operations(w.directory)) left.insert(id);
  CHECK(left == std::set<operation_id>{live_root.id, ended_child.id, late_root.id, early_child.id, above_detached.id,
                                       detached.id, moved.id});
  CHECK(has_cancel(w.directory, of_live_tree));
  CHECK(has_cancel(w.directory, named_by_cutoff));
  CHECK(has_cancel(w.directory, named_by_tombstone));
  CHECK(has_cancel(w.directory, open));
  CHECK(has_cancel(w.directory, young_cancel));
  CHECK(!has_cancel(w.directory, free_cancel));
  CHECK(w.output.dropped == std::vector<operation_id>{beside_detached.id});
}

TEST_CASE("a pass that breaks off anywhere leaves whole chains, and the next one goes on") {
  std::mt19937 random{GENERATE(1u, 2u, 3u)};
  old_store s;
  std::vector<cancel_id> cancels;
  for (int i = 0; i < 20; ++i) cancels.push_back(s.add_cancel());
  std::vector<records::operation_record*> made;
  for (int i = 0; i < 1'200; ++i) {
    const bool fresh = made.empty() || random() % 4 == 0;
    auto* parent = fresh ? nullptr : made[made.size() - 1 - random() % std::min<std::size_t>(made.size(), 40)];
    made.push_back(&s.add(parent, !fresh && random() % 10 == 0));
  }
  std::set<operation_id> live_trees; // by root
  for (auto* r : made)
    if (random() % 100 == 0) live_trees.insert(r->root);
  for (auto* r : made) {
    const bool lives = live_trees.contains(r->root) && (r->root == r->id || random() % 2 == 0);
    if (!lives)
      old_store::end(*r, long_ago + 1h, random() % 2 == 0 ? std::optional(cancels[random() % 20]) : std::nullopt);
  }
  s.write();

  sweeper w(s.directory.path());
  std::size_t before = made.size();
  for (int slices = 1;; ++slices) {
    w.controller->stop = {};
    w.controller->left = slices;
    w.pass();
    const auto left = all_operations(w.directory);
    for (const auto& [id, record] : left) {
      INFO("after " << slices << " slices more");
      if (record.parent) REQUIRE(left.contains(*record.parent));
      REQUIRE(left.contains(record.root));
      if (record.hot.stop && record.hot.stop->cancel) REQUIRE(has_cancel(w.directory, *record.hot.stop->cancel));
    }
    for (const auto* r : made)
      if (live_trees.contains(r->root)) REQUIRE(left.contains(r->id));
    const bool is_done = !w.controller->stop.stop_requested();
    if (is_done) break;
    REQUIRE(left.size() <= before);
    before = left.size();
  }
  for (const auto& slice : w.controller->slices) {
    CHECK(slice.operations.size() + slice.cancels.size() <= 1'000);
  }
}
