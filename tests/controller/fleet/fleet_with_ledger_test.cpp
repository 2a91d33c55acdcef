// The fleet and the real ledger together: the outcome of a cancel, a lost frame, a restart and a silence.
#include <catch2/catch.hpp>

#include "controller/ledger/quotas.hpp"
#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

struct whole_world : fleet_world {
  std::unique_ptr<controller::ledger> real_ledger;
  std::map<operation_id, records::operation_hot> hot; ///< as on disk
  std::map<cancel_id, records::cancel_record> cancels;
  std::vector<std::string> events;

  explicit whole_world(ledger_settings s = {}) {
    records::recovered_state empty;
    empty.cluster = cluster;
    empty.epoch = epoch;
    real_ledger = controller::ledger::make(std::move(s), empty, now);
    real = real_ledger.get();
    pump = [this] { absorb(); };
    start();
    real_ledger->ask_reachability([this](const std::string& worker) { return f->reach(worker); });
  }

  /// As the core does: until both are idle, stops before any placement.
  void absorb() {
    for (;;) {
      auto e = real_ledger->take();
      if (e.empty()) break;
      for (auto& row : e.journal) note(row);
      for (auto& order : e.stops) f->send_stop(order, now);
      for (const auto& [need, ids] : e.placeable) f->enqueue(need, ids);
      for (auto& [worker, slots] : e.freed) f->slots_freed(worker, slots, now);
      for (auto& [worker, id] : e.stored) f->result_stored(worker, id, now);
    }
  }
  void note(const records::entry& row) {
    if (const auto* p = std::get_if<records::put_operation>(&row)) hot[p->record->id] = p->record->hot;
    if (const auto* u = std::get_if<records::update_operation>(&row)) hot[u->id] = u->hot;
    if (const auto* k = std::get_if<records::put_cancel>(&row)) cancels[k->record.id] = k->record;
    if (const auto* v = std::get_if<records::put_event>(&row)) events.emplace_back(text_of(v->record));
  }
  /// Steps until nothing changes any more.
  void turns() {
    for (int i = 0; i < 20; ++i) {
      real_ledger->step(now);
      settle();
      f->place(now);
      settle();
    }
  }
  operation_id task(const std::string& scope, std::optional<milliseconds> lease = {}, const std::string& token = {}) {
    create_order o;
    o.by.token_id = o.by.token_name = token;
    o.by.role = role::admin;
    o.by.owner = {"alice", "Alice"};
    o.scope = scope_path::parse(scope).value();
    o.task.command = {"true"};
    o.task.lease = lease;
    const auto made = real_ledger->create(o, id_of<operation_id>(++ids + 200'000), now);
    if (!made) throw std::logic_error(made.error().error.detail);
    turns();
    return made->id;
  }
  /// The task that was placed last.
  void runs_and_ends(const std::string& worker) {
    acknowledges(worker);
    const auto running = far.at(worker).all<wire::start>().back().operation;
    starts(worker, running);
    wire::task_ended m;
    m.operation = running;
    m.exit = exit_state{0, {}};
    m.started_at = m.ended_at = now.wall;
    reports(worker, m);
    turns();
  }
  cancel_id cancel(const std::string& scope) {
    cancel_order o;
    o.by_token.role = role::admin;
    o.by_token.owner = {"alice", "Alice"};
    o.target = records::target_scope{scope_path::parse(scope).value()};
    o.received = now.boot;
    const auto made = real_ledger->cancel(o, id_of<cancel_id>(++ids + 300'000), now);
    if (!made) throw std::logic_error(made.error().error.detail);
    const auto id = made->record.id;
    take();
    real_ledger->cancel_fenced(id, true, now);
    turns();
    return id;
  }
  void starts(const std::string& who, const operation_id& id) {
    wire::task_started m;
    m.operation = id;
    m.pid = 42;
    m.at = now.wall;
    m.level = containment::cgroup_pidns;
    reports(who, m);
    turns();
  }
  status status_of_task(const operation_id& id) const {
    const auto live = real_ledger->view(id, now);
    return live ? live->hot.now : hot.at(id).now;
  }
};

} // namespace

TEST_CASE(
    "a cancel is signalled when every worker with such work has acknowledged its stop, and settled with the proofs") {
  whole_world c;
  auto& w1 = c.worker_joins("w1", 1);
  auto& w2 = c.worker_joins("w2", 1);
  const auto a = c.task("team/a"), b = c.task("team/a");
  c.acknowledges("w1");
  c.acknowledges("w2");
  REQUIRE(w1.all<wire::start>().size() == 1);
  REQUIRE(w2.all<wire::start>().size() == 1);
  c.starts("w1", w1.all<wire::start>().front().operation);
  c.starts("w2", w2.all<wire::start>().front().operation);
  CHECK(c.status_of_task(a) == status::running);
  const auto k = c.cancel("team");
  REQUIRE(w1.all<wire::stop>().size() == 1);
  REQUIRE(w2.all<wire::stop>().size() == 1);
  CHECK(c.real_ledger->view_cancel(k, c.now)->record.status == cancel_status::fenced);
  c.acknowledges("w1");
  c.turns();
  CHECK(c.real_ledger->view_cancel(k, c.now)->record.status == cancel_status::fenced);
  c.acknowledges("w2");
  c.turns();
  CHECK(c.real_ledger->view_cancel(k, c.now)->record.status == cancel_status::signalled);
  for (auto* w : {&w1, &w2}) {
    wire::task_ended m;
    m.operation = w->all<wire::start>().front().operation;
    m.stop_seq = w->all<wire::stop>().front().seq;
    m.how = receipt::terminated;
    m.evidence = proof::cgroup_empty;
    m.exit = exit_state{std::nullopt, "TERM"};
    m.ended_at = c.now.wall;
    c.reports(w->name, m);
    c.turns();
  }
  CHECK(c.status_of_task(a) == status::cancelled);
  CHECK(c.status_of_task(b) == status::cancelled);
  CHECK(c.cancels.at(k).status == cancel_status::settled);
  CHECK(w1.all<wire::results_stored>().size() == 1);
  CHECK(c.see("w1").slots_used == 0);
}

TEST_CASE("a task that is cancelled while it waits for a slot never starts") {
  whole_world c;
  auto& w = c.worker_joins("w1", 1);
  const auto first = c.task("x");
  const auto second = c.task("team/a");
  CHECK(c.real_ledger->view(second, c.now)->waiting->what == "slot");
  c.cancel("team");
  CHECK(c.status_of_task(second) == status::cancelled);
  wire::task_ended m;
  m.operation = first;
  m.exit = exit_state{0, std::nullopt};
  m.started_at = m.ended_at = c.now.wall;
  c.reports("w1", m);
  c.turns();
  REQUIRE(w.all<wire::start>().size() == 1);
  CHECK(w.all<wire::start>().front().operation == first);
}

TEST_CASE("a START that is lost with its session is sent again in the next, once") {
  whole_world c;
  c.worker_joins("w1", 2);
  c.far.at("w1").deaf = true;
  const auto id = c.task("x");
  c.worker_joins("w1", 2); // a reconnect of the same process, with an empty inventory
  c.turns();
  CHECK(c.status_of_task(id) == status::pending);
  const auto starts = c.far.at("w1").all<wire::start>();
  REQUIRE(starts.size() == 1);
  CHECK(starts.front().operation == id);
  CHECK(c.see("w1").slots_used == 1);
}

TEST_CASE("a stop that is lost with its session is sent again behind the next welcome") {
  whole_world c;
  c.worker_joins("w1", 2);
  const auto id = c.task("team/a");
  c.acknowledges("w1");
  c.starts("w1", id);
  c.far.at("w1").deaf = true;
  const auto k = c.cancel("team");
  auto h = c.hello_of("w1", 2);
  h.inventory.push_back({id, wire::task_phase::running, 42, c.now.wall, 0});
  auto& w = c.says_hello("w1", h);
  c.turns();
  REQUIRE(w.got.size() >= 2);
  CHECK(std::holds_alternative<wire::welcome>(w.got[0]));
  CHECK(std::holds_alternative<wire::stop>(w.got[1]));
  CHECK(c.real_ledger->view_cancel(k, c.now)->record.status == cancel_status::fenced);
  c.acknowledges("w1");
  c.turns();
  CHECK(c.real_ledger->view_cancel(k, c.now)->record.status == cancel_status::signalled);
}

TEST_CASE("after a restart of its worker running work is lost, never run again") {
  whole_world c;
  c.worker_joins("w1", 2);
  const auto id = c.task("x");
  c.acknowledges("w1");
  c.starts("w1", id);
  auto h = c.hello_of("w1", 2);
  h.incarnation = id_of<incarnation_id>(101);
  auto& w = c.says_hello("w1", h);
  c.turns();
  CHECK(c.status_of_task(id) == status::failed);
  CHECK(c.hot.at(id).error->code == "worker_lost");
  CHECK(w.all<wire::start>().empty());
  CHECK(c.see("w1").slots_used == 0);
}

TEST_CASE("work on a silent worker is shown as unreachable and ends by the lease; a cancel of it settles so") {
  whole_world c;
  c.worker_joins("w1", 2);
  const auto plain = c.task("team/a");
  const auto longer = c.task("other", 60s);
  c.acknowledges("w1");
  c.starts("w1", plain);
  c.starts("w1", longer);
  c.silence(4s);
  REQUIRE(c.real_ledger->view(plain, c.now)->dead_by);
  CHECK(*c.real_ledger->view(longer, c.now)->dead_by > *c.real_ledger->view(plain, c.now)->dead_by + 40s);
  const auto k = c.cancel("team");
  CHECK(c.cancels.at(k).status != cancel_status::settled);
  const auto elsewhere = c.task("x"); // the slots stay taken until the lease ends
  CHECK(c.status_of_task(elsewhere) == status::pending);
  c.silence(8s);
  c.turns();
  CHECK(c.status_of_task(plain) == status::cancelled);
  CHECK(c.hot.at(plain).stop->evidence == proof::lease_expired);
  CHECK(c.cancels.at(k).status == cancel_status::settled);
  CHECK(c.status_of_task(longer) == status::running);
  c.silence(52s);
  c.turns();
  CHECK(c.status_of_task(longer) == status::failed);
  CHECK(std::count(c.events.begin(), c.events.end(), "worker_lost") == 1);
}

TEST_CASE("a removed worker goes when the real ledger has nothing left of it") {
  whole_world c;
  auto& w = c.worker_joins("w1", 2);
  const auto id = c.task("x");
  c.acknowledges("w1");
  c.starts("w1", id);
  REQUIRE(c.f->remove("w1", worker_tasks::are_cancelled, c.now));
  c.turns();
  REQUIRE(w.all<wire::stop>().size() == 1);
  CHECK(c.f->knows("w1"));
  wire::task_ended m;
  m.operation = id;
  m.stop_seq = w.all<wire::stop>().front().seq;
  m.how = receipt::terminated;
  m.evidence = proof::cgroup_empty;
  m.started_at = m.ended_at = c.now.wall;
  c.reports("w1", m);
  c.turns();
  CHECK_FALSE(c.f->knows("w1"));
  CHECK(c.status_of_task(id) == status::cancelled);
  CHECK(std::count(c.events.begin(), c.events.end(), "worker_removed") == 1);
}

TEST_CASE("a token gets no more turns by naming many scopes") {
  whole_world c;
  auto& w = c.worker_joins("w1", 1);
  for (int i = 0; i < 20; ++i) c.task("acme/" + std::to_string(i), {}, "token-of-acme");
  const auto late = c.task("other/1", {}, "token-of-other");
  for (int i = 0; i < 3; ++i) c.runs_and_ends("w1");
  const auto starts = w.all<wire::start>();
  REQUIRE(starts.size() == 4);
  CHECK(starts[2].operation == late);
}

TEST_CASE("the tasks of another guild take turns with those of a guild that has many channels waiting") {
  whole_world c;
  auto& w = c.worker_joins("w1", 1);
  const auto via = GENERATE(as<std::string>(), "bootstrap", "service:discord"); // as the tools of its turns are started
  std::vector<operation_id> flood, late;
  for (int i = 0; i < 20; ++i) flood.push_back(c.task("discord/g1/c" + std::to_string(i), {}, via));
  for (int i = 0; i < 3; ++i) late.push_back(c.task("discord/g2/c" + std::to_string(i), {}, via));
  for (int i = 0; i < 6; ++i) c.runs_and_ends("w1");
  const auto starts = w.all<wire::start>();
  REQUIRE(starts.size() == 7);
  for (std::size_t i = 0; i < 3; ++i) CHECK(starts[2 * i + 2].operation == late[i]);
}

TEST_CASE("a guild at its limit of slots waits for its own tasks, whatever is free, and others do not") {
  ledger_settings limited;
  limited.max_slots_per_guild = 1;
  whole_world c(limited);
  auto& w = c.worker_joins("w1", 8);
  const auto running = c.task("chat/g1/a"), waiting = c.task("chat/g1/b"), other = c.task("chat/g2/a");
  // Lines of guilds are shared by hash; limits are not.
  std::vector<operation_id> many;
  for (int i = 0; i < 5; ++i) many.push_back(c.task("chat/g" + std::to_string(100 + i) + "/a"));
  c.acknowledges("w1");
  CHECK(w.all<wire::start>().size() == 7);
  const auto why = c.real_ledger->view(waiting, c.now)->waiting;
  REQUIRE(why);
  CHECK(why->what == "slot");
  CHECK(why->detail.find("limits.slots_per_guild") != std::string::npos);
  c.starts("w1", running);
  c.starts("w1", other);
  const auto behind = c.task("chat/g1");
  c.cancel("chat/g1/b");
  CHECK(c.status_of_task(waiting) == status::cancelled);
  wire::task_ended m;
  m.operation = running;
  m.exit = exit_state{0, {}};
  m.started_at = m.ended_at = c.now.wall;
  c.reports("w1", m);
  c.turns();
  c.acknowledges("w1");
  CHECK(w.all<wire::start>().size() == 8);
  CHECK(w.all<wire::start>().back().operation == behind);
}

TEST_CASE("whoever holds a token has one limit of slots, however many scopes it names") {
  ledger_settings limited;
  limited.max_slots_per_guild = 2;
  whole_world c(limited);
  auto& w = c.worker_joins("w1", 8);
  const auto token = token_id::fresh().text();
  for (int i = 0; i < 5; ++i) c.task("bots/g" + std::to_string(i), {}, token);
  c.acknowledges("w1");
  CHECK(w.all<wire::start>().size() == 2);
}

TEST_CASE("a guild that comes under a limit leaves the line that it shares with another one") {
  whole_world c;
  auto& w = c.worker_joins("w1", 3);
  // Two guilds whose names meet in one line.
  std::string twin;
  for (int i = 2; twin.empty(); ++i)
    if (live::queue_of_guild("chat/g" + std::to_string(i)) == live::queue_of_guild("chat/g1"))
      twin = "chat/g" + std::to_string(i);
  std::vector<operation_id> loud;
  for (int i = 0; i < 5; ++i) loud.push_back(c.task("chat/g1/a"));
  const auto quiet = c.task(twin + "/a");
  CHECK(w.all<wire::start>().size() == 3);
  c.real_ledger->limit_slots({{"chat/g1", 2}});
  c.runs_and_ends("w1");
  CHECK(w.all<wire::start>().size() == 4); // g1 holds two still, and its others wait
  CHECK(w.all<wire::start>().back().operation == quiet);
  c.runs_and_ends("w1");
  CHECK(w.all<wire::start>().size() == 4);
  c.real_ledger->limit_slots({});
  c.turns();
  CHECK(w.all<wire::start>().size() == 5);
}
