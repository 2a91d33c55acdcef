// What a full disk refused: kept, known, owed for, and written again in front of what is newer.
#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/core.hpp"

namespace quell::controller {

namespace {

/// Rows of conversations: inserts, and results of which the first stays. No newer row can have overtaken them.
bool is_history(const storage::entry& e) {
  return std::holds_alternative<storage::put_message>(e) || std::holds_alternative<storage::put_call>(e) ||
         std::holds_alternative<storage::put_call_result>(e) || std::holds_alternative<storage::discard_message>(e) ||
         std::holds_alternative<storage::acknowledge_message>(e);
}

} // namespace

/// A result that came again while the end that it belongs to waits for its second try, here or on its way to the disk:
/// it is acknowledged with that end.
bool core::is_acknowledged_later(const std::string& worker, const operation_id& id) {
  if (unwritten_.take_result(worker, id)) return true;
  for (auto& later : gate_) {
    if (!later.took_up || !holds_end_of(later.retry, id)) continue;
    later.stored.emplace_back(worker, id);
    return true;
  }
  return false;
}

std::optional<storage::operation_hot> core::beyond_disk(const operation_id& id, moment now) const {
  if (auto live = ledger_->view(id, now)) return std::move(live->hot);
  if (const auto* hot = newest_row(batch_, id)) return *hot;
  for (auto waiting = gate_.rbegin(); waiting != gate_.rend(); ++waiting)
    if (const auto* hot = newest_row(waiting->retry, id)) return *hot;
  if (const auto* hot = unwritten_.find(id)) return *hot;
  return std::nullopt;
}

/// What stands behind it in the gate is newer: it may reach the disk first.
void core::keep_for_later(gated& g) {
  // A mismatch means that newer rows of the same operations were written meanwhile.
  if (g.failure->code == "store_mismatch") std::erase_if(g.retry, [](const auto& e) { return !is_history(e); });
  if (g.retry.empty() && g.stored.empty() && g.ended.empty()) return;
  unwritten_.add({std::move(g.retry), std::move(g.stored), std::move(g.ended)});
  for (const auto& later : gate_) {
    unwritten_.overtaken_by(row_keys(later.retry));
    unwritten_.overtaken_by(later.keys);
  }
}

void core::write_again(moment now) {
  end_turn(now);
  if (unwritten_.empty()) return; // the end of that turn took it along
  take_up_unwritten();
  end_turn(now);
}

/// In front of this turn and in one transaction with it: what ends now may build on an end that was refused.
void core::take_up_unwritten() {
  auto refused = unwritten_.take();
  turn_.took_up = true;
  std::vector<storage::entry> rows;
  for (auto& row : refused.rows) {
    // Later events have been told meanwhile, and numbers grow.
    if (auto* event = std::get_if<storage::put_event>(&row))
      ledger_->add_event(std::move(event->record), now_);
    else
      rows.push_back(std::move(row));
  }
  std::move(batch_.begin(), batch_.end(), std::back_inserter(rows));
  batch_ = std::move(rows);
  turn_.stored.insert(turn_.stored.begin(), refused.stored.begin(), refused.stored.end());
  turn_.ended.insert(turn_.ended.begin(), refused.ended.begin(), refused.ended.end());
  absorb(now_);
}

} // namespace quell::controller
