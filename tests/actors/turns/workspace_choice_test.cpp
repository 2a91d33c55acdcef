// The worker of a conversation: where its files are, or where a new workspace begins.
#include "actors/turns/workspace_choice.hpp"

#include <catch2/catch.hpp>

#include <stdexcept>

#include "actors/turns/workspace_rows.hpp"
#include "protocol/workspace_place.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

using choice_kind = workspace_choice::kind;

/// Workers that are only looked at.
class known_workers final : public fleet {
 public:
  std::map<std::string, worker_view> all;

  worker_view& add(const std::string& name, bool can_hold = true) {
    auto& w = all[name];
    w.record.name = name;
    w.record.slots = 4;
    w.record.joined_at = wall_time{1s};
    w.status = worker_status::ready;
    if (can_hold) w.record.labels[workspaces_label] = workspaces_label_value;
    return w;
  }

  std::optional<worker_view> worker(const std::string& name, moment) const override {
    const auto at = all.find(name);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  }
  std::vector<worker_view> workers(moment) const override {
    std::vector<worker_view> out;
    for (const auto& [name, w] : all) out.push_back(w);
    return out;
  }
  bool knows(const std::string& name) const override { return all.contains(name); }

  fleet_effects take() override { return {}; }
  void frame(const std::string&, const std::string&, const wire::envelope&, moment, std::optional<boot_time>) override {
  }
  void unsupported_version(const std::string&, const std::string&, std::uint32_t, moment) override {}
  void enqueue(const requirement&, const std::vector<operation_id>&) override {}
  void send_stop(const stop_order&, moment) override {}
  void slots_freed(const std::string&, std::uint32_t, moment) override {}
  void result_stored(const std::string&, const operation_id&, moment) override {}
  bool place(moment) override { return false; }
  void frame_left(const std::string&, std::uint64_t, moment) override {}
  void frame_withheld(const std::string&, moment) override {}
  result<worker_view> enrol(const std::string&, const std::string&, std::map<std::string, std::string>,
                            moment) override {
    throw std::logic_error("nobody enrols here");
  }
  result<worker_view> drain(const std::string&, const std::string&, std::optional<milliseconds>, worker_tasks, moment,
                            std::optional<records::person>) override {
    throw std::logic_error("nobody drains here");
  }
  result<worker_view> resume(const std::string&, moment) override { throw std::logic_error("nobody resumes here"); }
  result<worker_view> remove(const std::string&, worker_tasks, moment, std::optional<records::person>) override {
    throw std::logic_error("nobody removes here");
  }
  result<void> resize(const operation_id&, const std::string&, std::uint16_t, std::uint16_t, moment) override {
    return {};
  }
  void hand_over(moment) override {}
  void next_controller_key(const std::string&, moment) override {}
  std::optional<boot_time> tick(moment) override { return {}; }
  reachability reach(const std::string&) const override { return {}; }
  std::optional<session_id> session_of_key(const std::string&) const override { return {}; }
  std::optional<std::string> name_of_key(const std::string&) const override { return {}; }
  std::optional<std::string> name_of_route(const std::string&) const override { return {}; }
};

struct world {
  known_workers workers;
  workspace_need need;
  moment now{wall_time{1'800'000'000'000ms}, boot_time{1}};
  std::optional<workspace_row> row;

  world() {
    need.scope = *scope_path::parse("guild/room");
    need.key = need.scope.text();
    need.mark = "m";
    need.keep = milliseconds{10'000};
  }
  void holds(const std::string& worker) {
    row.emplace();
    row->key = need.key;
    row->worker = worker;
    row->name = "w-guild%room~old";
    row->used = true;
    row->used_at = now.wall;
    row->keep = need.keep;
  }
  workspace_choice choice() const { return choose_workspace(row, need, workers, now); }
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("the first call goes to the worker with the most free slots that keeps workspaces apart",
          "[turns][workspace]") {
  world w;
  CHECK(w.choice().what == choice_kind::wait);
  w.workers.add("open", false).record.slots = 64;
  const auto refused = w.choice();
  CHECK(refused.what == choice_kind::refuse);
  CHECK(refused.why.code == "workspace_isolation");
  CHECK(says(refused.why.detail, "worker open"));
  w.workers.add("w1").slots_used = 3;
  w.workers.add("w2");
  const auto fresh = w.choice();
  REQUIRE(fresh.what == choice_kind::fresh);
  CHECK(fresh.row.worker == "w2");
  CHECK(fresh.row.name == "w-guild%room~m");
  CHECK(fresh.row.lost.empty());
  w.need.wanted_worker = "w1";
  CHECK(w.choice().row.worker == "w1");
  w.need.wanted_worker = "w3";
  CHECK(w.choice().what == choice_kind::wait);
}

TEST_CASE("later calls follow the files, and no call leaves them", "[turns][workspace]") {
  world w;
  w.workers.add("w1").slots_used = 4;
  w.workers.add("w2");
  w.holds("w1");
  const auto stays = w.choice();
  CHECK(stays.what == choice_kind::use);
  CHECK(stays.row == *w.row);
  w.need.wanted_worker = "w2";
  CHECK(says(w.choice().why.detail, "are on worker w1"));
  w.need.wanted_worker.reset();
  w.need.wanted_on = {{"gpu", "1"}};
  CHECK(w.choice().what == choice_kind::refuse);
  w.need.wanted_on.clear();
  for (const auto status : {worker_status::unreachable, worker_status::draining}) {
    w.workers.all["w1"].status = status;
    CHECK(w.choice().what == choice_kind::wait);
  }
}

TEST_CASE("a conversation moves on only when its worker is lost and another one can take over", "[turns][workspace]") {
  world w;
  w.workers.add("w1").status = worker_status::lost;
  w.holds("w1");
  CHECK(w.choice().what == choice_kind::wait);
  w.workers.add("open", false);
  CHECK(w.choice().what == choice_kind::wait);
  w.workers.add("w2");
  const auto moved = w.choice();
  REQUIRE(moved.what == choice_kind::fresh);
  CHECK(moved.row.worker == "w2");
  CHECK(says(moved.row.lost, "worker w1"));
  CHECK_FALSE(moved.row.used);
  w.row->used = false; // nobody has lost anything
  CHECK(w.choice().row.lost.empty());
}

TEST_CASE("a worker that keeps workspaces apart no longer gets no call", "[turns][workspace]") {
  world w;
  w.workers.add("w1", false);
  w.workers.add("w2");
  w.holds("w1");
  const auto refused = w.choice();
  CHECK(refused.what == choice_kind::refuse);
  CHECK(refused.why.code == "workspace_isolation");
}

TEST_CASE("files that were not used for long count as removed a little before they are", "[turns][workspace]") {
  world w;
  w.workers.add("w1");
  w.holds("w1");
  w.now.wall += milliseconds{9'000};
  CHECK(w.choice().what == choice_kind::use);
  w.now.wall += milliseconds{1};
  const auto fresh = w.choice();
  REQUIRE(fresh.what == choice_kind::fresh);
  CHECK(says(fresh.row.lost, "not used for 10s"));
  w.need.is_in_use = true; // its worker removes nothing under a task
  w.now.wall += milliseconds{100'000};
  CHECK(w.choice().what == choice_kind::use);
  w.need.is_in_use = false;
  w.row->keep = milliseconds{0};
  CHECK(w.choice().what == choice_kind::use);
}

TEST_CASE("only the start of a turn follows a configuration that names other workers", "[turns][workspace]") {
  world w;
  w.workers.add("w1");
  w.workers.add("w2");
  w.holds("w1");
  w.need.worker = w.need.wanted_worker = "w2";
  CHECK(w.choice().what == choice_kind::refuse);
  w.need.is_turn_start = true;
  const auto moved = w.choice();
  REQUIRE(moved.what == choice_kind::fresh);
  CHECK(moved.row.worker == "w2");
}

TEST_CASE("no scope has the key of a turn's workspace", "[turns][workspace]") {
  const auto turn = operation_id::fresh().text();
  CHECK_FALSE(scope_path::parse(key_of_turn(turn)));
  CHECK(key_of_turn(turn).ends_with(turn));
  CHECK(scope_path::parse("turn:" + turn)); // such a scope is legal, and another conversation
}
