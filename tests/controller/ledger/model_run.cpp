// Orders and time of the simulated swarm, and the comparison with the model. Each move is one call of the ledger and
// one batch.
#include "tests/controller/ledger/model_run.hpp"

#include <algorithm>

#include "controller/ledger/invariants.hpp"

namespace quell::controller::testing {

namespace {

scope_path scope_of(const char* text) { return *scope_path::parse(text); }

const std::vector<scope_path>& some_scopes() {
  static const std::vector<scope_path> all{scope_of("a"),    scope_of("a/b"), scope_of("a/b/c"),
                                           scope_of("a/bb"), scope_of("ab"),  scope_of("d")};
  return all;
}

const std::vector<std::string> some_owners{"alice", "bob"};

} // namespace

std::uint32_t model_run::draw(std::uint32_t below) {
  return at_ < script_.size() && below > 0 ? script_[at_++] % below : 0;
}

int model_run::pick_operation() {
  const auto size = static_cast<std::uint32_t>(s_.truth.operations.size());
  return size == 0 ? -1 : static_cast<int>(size - 1 - draw(std::min<std::uint32_t>(size, 16)));
}

bool model_run::fail(const std::string& sentence) {
  if (wrong_.empty()) wrong_ = sentence;
  return false;
}

void model_run::commit() {
  ledger_effects e = ledger_->take();
  s_.store.apply(e.journal);
  if (!s_.store.broken.empty()) fail(s_.store.broken.front());
  for (const auto& over : e.ended) {
    const std::string sentence = s_.truth.ended(over.id, s_.store.operations.at(over.id).hot);
    if (!sentence.empty()) fail(sentence);
  }
  for (const auto& order : e.stops)
    for (const auto& worker : order.workers) s_.workers[worker].inbox.push_back(order.message);
  for (const auto& [worker, id] : e.stored) s_.workers[worker].results.erase(id);
  for (const auto& [worker, slots] : e.freed)
    if (s_.held[worker]-- == 0) fail("capacity was freed that nobody held");
  for (const auto& move : e.forbidden) fail("forbidden move to " + std::string(move.to));
  past_.push_back(s_);
}

void model_run::create() {
  model_operation o;
  const int parent = draw(2) == 0 ? -1 : pick_operation();
  o.parent = parent;
  o.scope = pick(some_scopes());
  if (parent >= 0 && draw(8) != 0 && !o.scope.is_at_or_below(s_.truth.operations[parent].scope))
    o.scope = s_.truth.operations[parent].scope;
  o.edge = static_cast<on_parent_end>(draw(3));
  o.detached = parent >= 0 && o.edge == on_parent_end::detach;
  o.owner = pick(some_owners);
  if (draw(6) == 0) o.key = "key";
  if (draw(8) == 0) o.timeout = milliseconds{1000};
  create_order c;
  c.by.owner = {o.owner, o.owner};
  c.scope = o.scope;
  if (parent >= 0) c.parent = s_.truth.operations[parent].id;
  c.on_parent_end = o.edge;
  c.timeout = o.timeout;
  if (!o.key.empty()) c.supersede = o.key;
  if (draw(6) == 0)
    c.as_of_seq =
        ledger_->last_seq() - draw(static_cast<std::uint32_t>(std::min<std::uint64_t>(ledger_->last_seq(), 9)));
  c.task.command = {"true"};
  std::array<std::uint8_t, 10> random{};
  ++made_;
  for (std::size_t i = 0; i < 8; ++i) random[9 - i] = static_cast<std::uint8_t>(made_ >> (8 * i));
  o.id = {make_uuid7(now_.wall, random)};
  const std::string expected = s_.truth.refusal(parent, o.detached, o.scope, c.as_of_seq, o.key);
  const auto made = ledger_->create(c, o.id, now_);
  if (!made) {
    // An operation that ended before a crash is only in the store: the HTTP front then answers for it as a parent.
    const bool is_forgotten =
        made.error().error.code == error_code::operation_not_found && parent >= 0 && s_.truth.operations[parent].over;
    if (text_of(made.error().error.code) != expected && !is_forgotten)
      fail("a create was refused as " + std::string(text_of(made.error().error.code)) + ", not '" + expected + "'");
    return;
  }
  if (!expected.empty()) return void(fail("a create was taken that is " + expected));
  o.seq = ledger_->last_seq();
  o.as_of = std::min(c.as_of_seq.value_or(o.seq), o.seq);
  // A superseded operation that was never sent can end in this very batch, after the new one was created.
  s_.truth.create(o);
  commit();
}

void model_run::cancel() {
  cancel_order o;
  const int x = pick_operation();
  switch (draw(6)) {
  case 0:
  case 1:
    o.target = records::target_scope{pick(some_scopes())};
    break;
  case 2:
  case 3:
    if (x < 0) return;
    o.target = records::target_operation{s_.truth.operations[x].id};
    break;
  case 4: {
    std::optional<scope_path> below;
    if (draw(2) == 0) below = pick(some_scopes());
    o.target = records::target_owner{pick(some_owners), below};
    break;
  }
  default:
    if (draw(4) != 0) return;
    o.target = records::target_everything{draw(2) == 0 ? std::nullopt : std::optional<scope_path>(pick(some_scopes()))};
  }
  if (draw(5) == 0)
    o.up_to_seq =
        ledger_->last_seq() - draw(static_cast<std::uint32_t>(std::min<std::uint64_t>(ledger_->last_seq(), 12)));
  o.received = now_.boot;
  model_cancel c;
  c.target = o.target;
  c.seq = ledger_->last_seq() + 1;
  c.cutoff = std::min(o.up_to_seq.value_or(c.seq), c.seq);
  c.covered = s_.truth.covered(c.target, c.cutoff, c.seq);
  const model_cancel* open = s_.truth.joined(c.target, c.cutoff, c.covered);
  std::array<std::uint8_t, 10> random{};
  ++made_;
  for (std::size_t i = 0; i < 8; ++i) random[9 - i] = static_cast<std::uint8_t>(made_ >> (8 * i));
  c.id = {make_uuid7(now_.wall, random)};
  const auto answer = ledger_->cancel(o, c.id, now_);
  if (!answer) return void(fail("a cancel was refused: " + answer.error().error.detail));
  if (answer->record.outcome == cancel_outcome::joined) {
    if (open == nullptr || open->id != answer->record.id) return void(fail("a cancel joined another than it should"));
  } else {
    if (open != nullptr) return void(fail("a cancel did not join the open one"));
    if (answer->record.report.operations != c.covered.size())
      return void(fail("a cancel covers " + std::to_string(answer->record.report.operations) + " operations, not " +
                       std::to_string(c.covered.size())));
    if (c.covered.empty() != (answer->record.status == cancel_status::settled))
      return void(fail("settled with work, or open without"));
    if (answer->record.id == c.id) s_.truth.accept(c); // else the tombstone of the first cancel
  }
  commit();
  if (draw(8) == 0) return; // a crash can come before the owner knows that it is durable; the next restart recovers it
  ledger_->cancel_fenced(answer->record.id, true, now_);
  commit();
}

void model_run::assign() {
  const int x = pick_operation();
  if (x < 0) return;
  auto& o = s_.truth.operations[x];
  const std::string& worker = pick(some_workers);
  const bool may = s_.truth.may_be_placed(x);
  auto start = ledger_->assign(o.id, worker, now_);
  if (start.has_value() != may)
    return void(fail(may ? "work that may start was not started" : "stale or taken work was started"));
  if (!start) return;
  o.worker = worker;
  o.was_held = true;
  ++s_.held[worker];
  s_.workers[worker].inbox.push_back(*start);
  commit();
}

void model_run::pass_time() {
  const milliseconds d{100 + draw(900)};
  now_.wall += d;
  now_.boot = now_.boot + d;
  s_.truth.time_passed(now_.boot);
  ledger_->tick(now_);
  commit();
}

void model_run::roll_out() {
  for (int i = 0; i < 10'000; ++i) {
    const bool more = ledger_->step(now_);
    commit();
    if (more && wrong_.empty()) continue;
    if (!wrong_.empty()) return;
    const std::string sentence = s_.truth.overdue();
    if (!sentence.empty()) fail(sentence);
    return;
  }
  fail("the roll-out never ends");
}

void model_run::compare_operation(int x) {
  const auto& o = s_.truth.operations[x];
  const auto v = ledger_->view(o.id, now_);
  if (v.has_value() == o.over)
    return void(fail(o.over ? "a terminal operation is looked at as live" : "a live operation is lost"));
  if (o.over) return;
  if (v->hot.stop.has_value() != o.stop.has_value())
    return void(fail(o.stop ? "a stop is not seen" : "a stop is seen that nobody ordered"));
  const status expected = o.stop ? status::cancelling : o.started ? status::running : status::pending;
  if (v->hot.now != expected)
    fail("seen as " + std::string(name_of(v->hot.now)) + ", not " + std::string(name_of(expected)));
  if (o.stop && (v->hot.stop->cause != o.stop->cause || v->hot.stop->cancel != o.stop->cancel))
    fail("seen under another stop: " + std::string(name_of(v->hot.stop->cause)) + ", not " +
         std::string(name_of(o.stop->cause)));
  if (ledger_->is_placeable(o.id) != s_.truth.may_be_placed(x)) fail("placeable is not what it should be");
}

void model_run::compare() {
  std::uint64_t live = 0;
  for (std::size_t i = 0; i < s_.truth.operations.size(); ++i) {
    compare_operation(static_cast<int>(i));
    if (!s_.truth.operations[i].over) ++live;
  }
  if (ledger_->live_count() != live) fail("the number of live operations is wrong");
  for (const auto& sentence : broken_invariants(*ledger_)) fail(sentence);
  for (const auto& worker : some_workers)
    if (ledger_->live_on(worker) != s_.held[worker]) fail("the number of held operations is wrong");
  for (const auto& [name, w] : s_.workers) {
    if (!w.inbox.empty()) continue;
    for (const auto& [id, t] : w.tasks) {
      const auto& o = s_.truth.operations[s_.truth.find(id)];
      if (o.worker == name && o.stop && t.stop_seq == 0) fail("a worker was not told to stop what is cancelled");
    }
  }
  for (auto& c : s_.truth.cancels) {
    const auto v = ledger_->view_cancel(c.id, now_);
    const auto stored = s_.store.cancels.at(c.id);
    const auto& record = v ? v->record : stored;
    for (const auto& [how, count] : c.receipts)
      if (record.report.receipts[static_cast<std::size_t>(how)] != count) fail("a receipt was not counted");
    for (const auto& [evidence, count] : c.proofs)
      if (record.report.proofs[static_cast<std::size_t>(evidence)] != count) fail("a proof was not counted");
    if (v && v->unproven_total != s_.truth.left(c)) fail("unproven_total is wrong");
    if (v && s_.truth.left(c) > 0 && v->unproven.empty()) fail("nothing is listed as unproven");
    if (record.status == cancel_status::settled && s_.truth.left(c) > 0) fail("settled with work left");
  }
}

std::string model_run::play() {
  now_.wall = wall_time{milliseconds{1'790'000'000'000}};
  now_.boot = boot_time{1'000'000'000'000};
  settings_.leaves_per_step = 3;
  ledger_ = ledger::make(settings_, {}, now_);
  past_.push_back(s_);
  while (at_ < script_.size() && wrong_.empty()) {
    switch (draw(24)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      create();
      break;
    case 6:
    case 7:
      cancel();
      break;
    case 8:
    case 9:
    case 10:
      assign();
      break;
    case 11:
    case 12:
    case 13:
    case 14:
      deliver();
      break;
    case 15:
    case 16:
      task_ends();
      break;
    case 17:
      report_results();
      break;
    case 18:
      ledger_->step(now_);
      commit();
      break;
    case 19:
      roll_out();
      break;
    case 20:
      pass_time();
      break;
    case 21:
      if (draw(3) == 0)
        worker_restarts();
      else
        worker_reconnects(pick(some_workers));
      break;
    case 22:
      if (draw(2) == 0)
        lease_ends();
      else
        declare();
      break;
    default:
      crash();
    }
    if (wrong_.empty()) compare();
  }
  return wrong_;
}

} // namespace quell::controller::testing
