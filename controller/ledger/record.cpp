// The ledger's output to the journal: rows, events, numbers. A cancel's row is written once per batch, however often
// its counts changed.
#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {
constexpr std::uint64_t seq_block = 10'000;

/// The event data of a settled cancel, complete enough that a listener needs no lookup: JSON text.
std::string settled_data(const records::cancel_record& cancel) {
  const auto count = [&](receipt r) { return cancel.report.receipts[static_cast<std::size_t>(r)]; };
  const auto open = count(receipt::unconfirmed) + count(receipt::declared);
  return R"({"cancel":")" + cancel.id.text() + R"(","proven":)" + std::string(open == 0 ? "true" : "false") +
         R"(,"operations":)" + std::to_string(cancel.report.operations) + R"(,"not_confirmed":)" +
         std::to_string(open) + "}";
}
} // namespace

void live_ledger::reserve_seqs() {
  // Reserves half a block ahead, so that a number whose reservation a full disk refuses is not in use yet. Otherwise a
  // cancel performed without being written could send it to workers, and a restart would give it to something else.
  if (next_seq_ + seq_block / 2 < seq_limit_) return;
  seq_limit_ = next_seq_ + seq_block;
  effects_.journal.emplace_back(records::reserve_seq{seq_limit_});
}

std::uint64_t live_ledger::take_seq() {
  reserve_seqs();
  return next_seq_++;
}

records::operation_hot live_ledger::hot_of(index x) const {
  const operation_node& n = operations_[x];
  records::operation_hot hot;
  hot.now = n.now;
  if (n.worker != none) hot.worker = workers_[n.worker];
  if (n.has_begun()) hot.started_at = n.since;
  if (n.is_over()) hot.self_status = n.self_status;
  if (n.resumes + n.waits > 0 && !n.is_over()) hot.result = resumes_row({n.resumes, n.waits});
  if (!n.details) return hot;
  const operation_details& d = *n.details;
  hot.deadline_at = d.deadline_at;
  hot.stop = d.stop;
  hot.exit = d.exit;
  hot.error = d.error;
  hot.level = d.level;
  if (n.is_over() && !d.end_how) hot.self_evidence = d.end_evidence;
  hot.pid = d.pid;
  hot.output = d.output;
  if (d.question)
    hot.result = question_row(*d.question);
  else if (!d.result.empty())
    hot.result = d.result;
  return hot;
}

void live_ledger::write_row(index x) {
  if (fresh_row_) { // it begins as it is created: one row instead of an insert and an update
    auto& row = *std::get<records::put_operation>(effects_.journal[*fresh_row_]).record;
    if (row.id == operations_[x].id) {
      row.hot = hot_of(x);
      return;
    }
  }
  effects_.journal.emplace_back(records::update_operation{operations_[x].id, hot_of(x)});
}

void live_ledger::write_event(event_type type, index x, moment now) {
  const operation_node& n = operations_[x];
  records::event_record e;
  e.id = next_event_++;
  e.type = type;
  e.at = now.wall;
  e.scope = scopes_[n.scope].path;
  e.operation = n.id;
  index root = x;
  while (operation_parent(root) != none) root = operation_parent(root);
  e.root = operations_[root].id;
  if (n.details && n.details->stop) e.cancel = n.details->stop->cancel;
  if (n.worker != none) e.worker = workers_[n.worker];
  effects_.journal.emplace_back(records::put_event{std::move(e)});
}

void live_ledger::write_event(event_type type, const cancel_run& run, moment now) {
  records::event_record e;
  e.id = next_event_++;
  e.type = type;
  e.at = now.wall;
  e.cancel = run.record.id;
  if (const auto* o = std::get_if<records::target_operation>(&run.record.target)) e.operation = o->id;
  e.scope = run.event_scope;
  e.root = run.event_root;
  if (run.record.status == cancel_status::settled) e.data = settled_data(run.record);
  effects_.journal.emplace_back(records::put_event{std::move(e)});
}

void live_ledger::add_event(records::event_record e, moment now) {
  e.id = next_event_++;
  if (e.at == wall_time{}) e.at = now.wall;
  effects_.journal.emplace_back(records::put_event{std::move(e)});
}

void live_ledger::forget(const std::vector<operation_id>& ended, const std::vector<cancel_id>& settled) {
  for (const auto& id : ended) {
    recent_.forget(id);
    silent_ends_.forget(id); // evidence that comes now has no row to be kept in
  }
  for (const auto& id : settled) runs_.forget_settled(id);
}

ledger_effects live_ledger::take() {
  runs_.take_changes(effects_.journal, effects_.cancels_changed);
  return std::exchange(effects_, {});
}

} // namespace quell::controller::live
