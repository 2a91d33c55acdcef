// Batches that a full disk refused: they are kept, and written again in front of newer ones.
#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/commit_gate.hpp"
#include "controller/store_code.hpp"

namespace quell::controller {

namespace {

/// Rows that no newer row can replace: those of conversations (inserts, and results of which the first one stays),
/// what is added to a sum, and evidence that came after an end.
bool is_history(const records::entry& e) {
  return std::holds_alternative<records::put_message>(e) || std::holds_alternative<records::put_call>(e) ||
         std::holds_alternative<records::put_call_result>(e) || std::holds_alternative<records::discard_message>(e) ||
         std::holds_alternative<records::acknowledge_message>(e) || std::holds_alternative<records::add_cost>(e) ||
         std::holds_alternative<records::put_call_change>(e) || std::holds_alternative<records::put_turn_ending>(e) ||
         std::holds_alternative<records::put_late>(e);
}

} // namespace

/// True if a row of this operation was refused and is not on disk yet: it waits for its retry, or is on its way there.
bool commit_gate::awaits_retry(const operation_id& id) const {
  if (refused_batches_.find(id)) return true;
  return std::any_of(gate_.begin(), gate_.end(),
                     [&](const gated& later) { return later.took_up && newest_row(later.retry, id); });
}

bool commit_gate::awaits_retry(const records::cancel_record& cancel) const {
  return awaits_retry_of(row_key(records::put_cancel{cancel}));
}

/// The same for a row of the worker whose live session uses this route.
bool commit_gate::awaits_retry_of_worker(const std::string& route) const {
  if (!awaits_retry()) return false;
  const auto worker = fleet_->name_of_route(route);
  return worker && awaits_retry_of(row_key(records::drop_worker{*worker}));
}

/// The same for the newest row with this key (`row_key`).
bool commit_gate::awaits_retry_of(const std::string& key) const {
  if (refused_batches_.holds(key)) return true;
  return std::any_of(gate_.begin(), gate_.end(), [&](const gated& later) {
    return later.took_up && std::any_of(later.retry.begin(), later.retry.end(),
                                        [&](const records::entry& row) { return row_key(row) == key; });
  });
}

/// True if anything was refused and is not on disk yet.
bool commit_gate::awaits_retry() const {
  return !refused_batches_.empty() ||
         std::any_of(gate_.begin(), gate_.end(), [](const gated& later) { return later.took_up; });
}

/// True if the end that this repeated result belongs to waits for its retry, here or on its way to the disk: the result
/// is acknowledged with that end.
bool commit_gate::is_acknowledged_later(const std::string& worker, const operation_id& id) {
  if (refused_batches_.take_result(worker, id)) return true;
  for (auto& later : gate_) {
    if (!later.took_up || !holds_end_of(later.retry, id)) continue;
    later.stored.emplace_back(worker, id);
    return true;
  }
  return false;
}

std::optional<records::operation_hot> commit_gate::beyond_disk(const operation_id& id, moment now) const {
  if (auto live = ledger_->view(id, now)) return std::move(live->hot);
  if (const auto* hot = newest_row(batch_, id)) return *hot;
  for (auto waiting = gate_.rbegin(); waiting != gate_.rend(); ++waiting)
    if (const auto* hot = newest_row(waiting->retry, id)) return *hot;
  if (const auto* hot = refused_batches_.find(id)) return *hot;
  return std::nullopt;
}

/// The entries behind it in the gate are newer and can reach the disk first.
void commit_gate::defer_batch(gated& g) {
  // A mismatch means that newer rows of the same operations were written meanwhile.
  if (has_code(*g.failure, store_code::store_mismatch))
    std::erase_if(g.retry, [](const auto& e) { return !is_history(e); });
  if (g.retry.empty() && g.stored.empty() && g.ended.empty()) return;
  refused_batches_.add({std::move(g.retry), std::move(g.stored), std::move(g.ended)});
  for (const auto& later : gate_) {
    refused_batches_.overtaken_by(row_keys(later.retry));
    refused_batches_.overtaken_by(later.keys);
  }
}

void commit_gate::retry_refused(moment now) {
  end_transaction(now);
  if (refused_batches_.empty()) return; // the end of that transaction took it along
  take_up_refused();
  end_transaction(now);
}

/// Goes in front of this transaction's rows and is written with them: a new end can depend on an end that was refused.
void commit_gate::take_up_refused() {
  auto refused = refused_batches_.take();
  transaction_.took_up = true;
  std::vector<records::entry> rows;
  for (auto& row : refused.rows) {
    // Later events have been sent meanwhile, and ids must grow.
    if (auto* event = std::get_if<records::put_event>(&row))
      ledger_->add_event(std::move(event->record), now_);
    else
      rows.push_back(std::move(row));
  }
  std::move(batch_.begin(), batch_.end(), std::back_inserter(rows));
  batch_ = std::move(rows);
  transaction_.stored.insert(transaction_.stored.begin(), refused.stored.begin(), refused.stored.end());
  transaction_.ended.insert(transaction_.ended.begin(), refused.ended.begin(), refused.ended.end());
  absorb(now_);
}

} // namespace quell::controller
