// The fixture's store checks each row against the one before it: only legal moves, terminal is final, the sums of a
// report hold.
#include <algorithm>
#include <deque>
#include <numeric>

#include "protocol/lifecycle.hpp"
#include "tests/controller/ledger/world.hpp"

namespace quell::controller::testing {

void remembered_store::apply(const std::vector<records::entry>& batch) {
  for (const auto& e : batch) {
    if (const auto* put = std::get_if<records::put_operation>(&e)) {
      if (!operations.emplace(put->record->id, *put->record).second)
        broken.push_back("an operation was inserted twice");
      if (put->record->seq >= seq_limit) broken.push_back("a seq was used that is not reserved");
    } else if (const auto* update = std::get_if<records::update_operation>(&e)) {
      auto& hot = operations.at(update->id).hot;
      const status from = hot.now, to = update->hot.now;
      if (from != to && !may_move(from, to))
        broken.push_back("illegal move " + std::string(name_of(from)) + " to " + std::string(name_of(to)));
      if (is_terminal(from) && !(hot.stop == update->hot.stop && hot.ended_seq == update->hot.ended_seq))
        broken.push_back("a terminal row was changed");
      if (is_terminal(to) != (update->hot.ended_seq != 0))
        broken.push_back("ended_seq does not say what the status says");
      if (hot.stop && (!update->hot.stop || update->hot.stop->seq != hot.stop->seq))
        broken.push_back("the first stop of an operation was changed");
      hot = update->hot;
    } else if (const auto* late = std::get_if<records::put_late>(&e)) {
      const auto at = operations.find(late->operation);
      if (at != operations.end() && at->second.hot.ended_seq != 0 && at->second.hot.late.empty())
        at->second.hot.late = late->late;
    } else if (const auto* cancel = std::get_if<records::put_cancel>(&e)) {
      const auto& report = cancel->record.report;
      const auto receipts = std::accumulate(report.receipts.begin(), report.receipts.end(), std::uint64_t{0});
      const auto proofs = std::accumulate(report.proofs.begin(), report.proofs.end(), std::uint64_t{0});
      if (receipts != proofs || receipts > report.operations) broken.push_back("the sums of a report do not hold");
      if (cancel->record.status == cancel_status::settled && receipts != report.operations)
        broken.push_back("a cancel is settled with work left");
      const auto known = cancels.find(cancel->record.id);
      if (known != cancels.end() && known->second.status > cancel->record.status)
        broken.push_back("a cancel's status went back");
      if (known != cancels.end() && known->second.report.operations != report.operations)
        broken.push_back("a report's operations changed");
      cancels.insert_or_assign(cancel->record.id, cancel->record);
    } else if (const auto* cutoff = std::get_if<records::put_cutoff>(&e)) {
      cutoffs.insert_or_assign(cutoff->record.scope, cutoff->record);
    } else if (const auto* dropped = std::get_if<records::drop_cutoff>(&e)) {
      cutoffs.erase(dropped->scope);
    } else if (const auto* grave = std::get_if<records::put_tombstone>(&e)) {
      tombstones.insert_or_assign(grave->record.id, grave->record);
    } else if (const auto* gone = std::get_if<records::drop_tombstone>(&e)) {
      tombstones.erase(gone->id);
    } else if (const auto* event = std::get_if<records::put_event>(&e)) {
      if (event->record.id < next_event) broken.push_back("an event id was used twice");
      next_event = event->record.id + 1;
      if (event->record.operation && ends_operation(event->record.type) &&
          ++terminal_events[*event->record.operation] > 1)
        broken.push_back("an operation ended twice");
      events.push_back(event->record);
    } else if (const auto* cost = std::get_if<records::add_cost>(&e)) {
      costs.push_back(cost->record);
    } else if (const auto* sum = std::get_if<records::put_turn_cost>(&e)) {
      turn_costs.insert_or_assign(sum->record.turn, sum->record);
    } else if (const auto* closed = std::get_if<records::drop_turn_cost>(&e)) {
      turn_costs.erase(closed->turn);
    } else if (const auto* reserve = std::get_if<records::reserve_seq>(&e)) {
      if (reserve->limit <= seq_limit) broken.push_back("a reservation went back");
      seq_limit = reserve->limit;
    }
  }
}

records::recovered_state remembered_store::recovered() const {
  records::recovered_state r;
  r.next_seq = seq_limit;
  r.next_event = next_event;
  for (const auto& [id, record] : operations)
    if (!is_terminal(record.hot.now)) r.live.push_back(record);
  std::sort(r.live.begin(), r.live.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  for (const auto& [id, record] : cancels)
    if (record.status != cancel_status::settled) r.open_cancels.push_back(record);
  std::sort(r.open_cancels.begin(), r.open_cancels.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  for (const auto& [scope, record] : cutoffs) r.cutoffs.push_back({record, cancels.at(record.cancel).via_token_id});
  for (const auto& [id, record] : tombstones) r.tombstones.push_back(record);
  for (const auto& [id, record] : turn_costs) r.turn_costs.push_back(record);
  r.costs = costs;
  return r;
}

records::recovered_state in_parts(records::recovered_state state) {
  std::deque<records::operation_record> rest(state.live.begin(), state.live.end());
  const auto take = [](std::deque<records::operation_record>& from, std::size_t most) {
    std::vector<records::operation_record> some;
    for (; some.size() < most && !from.empty(); from.pop_front()) some.push_back(std::move(from.front()));
    return some;
  };
  state.live = take(rest, 1);
  state.more_live = [rest = std::move(rest), take]() mutable { return take(rest, 2); };
  return state;
}

} // namespace quell::controller::testing
