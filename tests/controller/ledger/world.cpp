// Sentences of the fixture.
#include "tests/controller/ledger/world.hpp"

#include <catch2/catch.hpp>

#include "controller/ledger/invariants.hpp"

namespace quell::controller::testing {

scope_path in(const std::string& text) {
  auto parsed = scope_path::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

world::world(ledger_settings s) : settings(std::move(s)) {
  now.wall = wall_time{milliseconds{1'790'000'000'000}};
  now.boot = boot_time{1'000'000'000'000};
  core = ledger::make(settings, {}, now);
  connect();
}

void world::connect() {
  core->ask_reachability([this](const std::string& worker) {
    const auto at = reach.find(worker);
    return at == reach.end() ? reachability{} : at->second;
  });
}

operation_id world::next_operation() {
  std::array<std::uint8_t, 10> random{};
  ++made_;
  for (std::size_t i = 0; i < 8; ++i) random[9 - i] = static_cast<std::uint8_t>(made_ >> (8 * i));
  return {make_uuid7(now.wall, random)};
}

cancel_id world::next_cancel() { return {next_operation().bytes}; }

outcome<created> world::try_task(const std::string& name, task_options o) {
  create_order c;
  c.by = o.by;
  if (c.by.owner.id.empty()) c.by.owner = {o.owner, o.owner};
  c.id = o.id;
  c.kind = o.what;
  c.scope = o.scope;
  if (o.below) c.parent = id(*o.below);
  c.name = name;
  c.timeout = o.timeout;
  c.grace = o.grace;
  c.on_parent_end = o.edge;
  c.supersede = o.supersede;
  c.as_of_seq = o.as_of;
  c.task.command = {"true"};
  c.task.slots = o.slots;
  c.task.lease = o.lease;
  c.fingerprint = o.fingerprint;
  auto made = core->create(c, next_operation(), now);
  if (made) names[name] = made->id;
  take();
  return made;
}

operation_id world::task(const std::string& name, task_options o) {
  auto made = try_task(name, std::move(o));
  if (!made) FAIL("task " << name << " was refused: " << made.error().error.detail);
  return made->id;
}

cancel_order world::order(records::cancel_target target) const {
  cancel_order o;
  o.target = std::move(target);
  o.by_token.owner = {"alice", "Alice"};
  o.by_token.token_name = "laptop";
  o.by_token.token_id = "id-of-laptop";
  o.reason = "wrong branch";
  o.received = now.boot;
  return o;
}

outcome<cancel_view> world::try_cancel(cancel_order o) {
  auto answer = core->cancel(o, next_cancel(), now);
  take();
  if (!answer || o.is_dry_run()) return answer;
  core->cancel_fenced(answer->record.id, true, now);
  take();
  return answer;
}

cancel_view world::cancel(cancel_order o) {
  auto answer = try_cancel(std::move(o));
  if (!answer) FAIL("the cancel was refused: " << answer.error().error.detail);
  return *answer;
}

cancel_view world::cancel(records::cancel_target target) { return cancel(order(std::move(target))); }

std::optional<wire::start> world::place(const std::string& name, const std::string& worker) {
  auto start = core->assign(id(name), worker, now);
  take();
  return start;
}

void world::runs(const std::string& name, const std::string& worker) {
  REQUIRE(place(name, worker));
  core->started(worker, {id(name), 4242, now.wall, containment::cgroup_pidns}, now);
  take();
}

void world::exits(const std::string& name, int code) {
  wire::task_ended m;
  m.operation = id(name);
  m.exit = exit_state{code, {}};
  m.started_at = now.wall;
  m.ended_at = now.wall;
  const auto v = core->view(m.operation, now);
  REQUIRE(v);
  core->ended(v->hot.worker.value(), m, now);
  take();
}

void world::dies(const std::string& name, receipt how, proof evidence) {
  const auto v = core->view(id(name), now);
  REQUIRE(v);
  REQUIRE(v->hot.stop);
  wire::task_ended m;
  m.operation = id(name);
  m.stop_seq = v->hot.stop->seq;
  m.how = how;
  m.evidence = evidence;
  if (how != receipt::never_started) {
    m.exit = exit_state{{}, "TERM"};
    m.started_at = now.wall;
  }
  m.ended_at = now.wall;
  core->ended(v->hot.worker.value(), m, now);
  take();
}

void world::applied(const std::string& worker, const cancel_view& c) {
  core->stop_applied(worker, c.record.seq, now);
  take();
}

wire::hello world::hello() const {
  wire::hello h;
  h.level = containment::cgroup_pidns;
  h.absence_is_proof = true;
  return h;
}

void world::roll_out() {
  for (int i = 0; i < 100'000; ++i) {
    const bool more = core->step(now);
    take();
    if (!more) return;
  }
  FAIL("the roll-out never ends");
}

void world::pass(milliseconds d) {
  now.wall += d;
  now.boot = now.boot + d;
  core->tick(now);
  take();
}

void world::restart() {
  core = ledger::make(settings, in_parts(store.recovered()), now);
  connect();
  take();
}

void world::take() {
  ledger_effects e = core->take();
  store.apply(e.journal);
  for (const auto& sentence : store.broken) FAIL(sentence);
  if (!e.journal.empty()) batches.push_back(std::move(e.journal));
  stops.insert(stops.end(), e.stops.begin(), e.stops.end());
  for (const auto& [need, ids] : e.placeable) {
    placeable.insert(placeable.end(), ids.begin(), ids.end());
    lines.insert(need.guild_queue);
  }
  for (const auto& one : e.ended) ended.push_back(one.id);
  signals.insert(signals.end(), e.signals.begin(), e.signals.end());
  owner_signals.insert(owner_signals.end(), e.owner_signals.begin(), e.owner_signals.end());
  freed.insert(freed.end(), e.freed.begin(), e.freed.end());
  stored.insert(stored.end(), e.stored.begin(), e.stored.end());
  for (const auto& move : e.forbidden) {
    if (!provokes) FAIL("forbidden move from " << move.from << " to " << move.to);
    forbidden.push_back(std::string(move.from) + ">" + std::string(move.to));
    core->stop_forbidden(move, now);
  }
  if (!e.forbidden.empty()) take();
  constexpr std::size_t most_checked = 200; // tests with more operations are about quantity
  if (core->live_count() > most_checked) return;
  for (const auto& sentence : broken_invariants(*core)) FAIL(sentence);
}

std::string world::status_of(const std::string& name) const {
  if (const auto v = core->view(id(name), now)) return std::string(name_of(v->hot.now));
  return std::string(name_of(row(name).now));
}

records::cancel_record world::report(const cancel_view& c) const {
  const auto v = core->view_cancel(c.record.id, now);
  return v ? v->record : store.cancels.at(c.record.id);
}

std::uint64_t world::count(const cancel_view& c, receipt r) const {
  return report(c).report.receipts[static_cast<std::size_t>(r)];
}

std::uint64_t world::count(const cancel_view& c, proof p) const {
  return report(c).report.proofs[static_cast<std::size_t>(p)];
}

std::vector<std::string> world::event_types(const std::string& name) const {
  std::vector<std::string> types;
  for (const auto& e : store.events)
    if (e.operation == id(name)) types.emplace_back(text_of(e));
  return types;
}

} // namespace quell::controller::testing
