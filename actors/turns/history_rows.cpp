// Groups rows by their turns.
#include "actors/turns/history_rows.hpp"

#include <algorithm>
#include <map>

#include "actors/turns/history_reading.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/steering.hpp"
#include "actors/turns/summary.hpp"

namespace quell::controller::turns {
namespace {

/// The summary that a read conversation begins with.
conversation_summary summary_in(const std::vector<records::kept_message>& kept) {
  const auto mark = std::find_if(kept.rbegin(), kept.rend(), [](const auto& m) { return is_summary(m.message); });
  return mark == kept.rend() ? conversation_summary{} : summary_of(mark->message);
}

bool is_request(const records::message_record& m) { return m.role == records::message_role::user && !is_steering(m); }

} // namespace

result<std::vector<stored_exchange>> exchanges_of(store_reader& store, const scope_path& scope) {
  const auto stored = read_history(store, scope, std::nullopt);
  if (!stored) return tl::unexpected(stored.error());
  const auto summary = summary_in(stored->kept);
  std::vector<stored_exchange> all;
  std::map<operation_id, std::size_t> of_turn;
  for (const auto& one : stored->kept) {
    const auto& m = one.message;
    if (m.discarded || is_summary(m) || m.seq <= stored->gap_behind) continue;
    if (is_request(m)) {
      if (m.turn) of_turn[*m.turn] = all.size();
      all.push_back({m, m.turn, {m.id}, {}, 1, m.turn && m.turn == summary.turn && summary.rounds > 0});
      continue;
    }
    if (!m.turn) continue; // words about a stop
    const auto at = of_turn.find(*m.turn);
    if (at == of_turn.end()) continue;
    all[at->second].ids.push_back(m.id);
    ++all[at->second].messages;
    if (is_steering(m)) all[at->second].steering.push_back(m);
  }
  return all;
}

std::size_t find_exchange(const std::vector<stored_exchange>& all, const message_id& message) {
  const auto has_it = [&](const stored_exchange& one) {
    return std::find(one.ids.begin(), one.ids.end(), message) != one.ids.end();
  };
  return static_cast<std::size_t>(std::find_if(all.begin(), all.end(), has_it) - all.begin());
}

std::vector<records::kept_message> copies_of(const std::vector<records::kept_message>& kept, const scope_path& to,
                                             const history_facts& facts) {
  const auto summary = summary_in(kept);
  std::map<operation_id, operation_id> turns;
  std::map<operation_id, std::uint32_t> covered; ///< rounds of a turn that the summary stands for
  if (summary.turn) covered[*summary.turn] = summary.rounds;
  std::vector<records::kept_message> copies;
  if (!summary.is_clear()) {
    auto first = summary;
    first.up_to = 0;
    first.turn.reset();
    first.rounds = 0;
    copies.push_back({row_of(first, to), {}});
  }
  bool is_covered = false;
  for (const auto& one : kept) {
    const auto& m = one.message;
    if (m.discarded || is_summary(m)) continue;
    const bool begins = is_request(m);
    if (begins && m.seq <= summary.up_to) continue;
    if (!begins && m.turn && !turns.contains(*m.turn)) continue; // its beginning is gone
    if (m.role == records::message_role::assistant) {
      const auto rounds = m.turn ? covered.find(*m.turn) : covered.end();
      is_covered = rounds != covered.end() && rounds->second > 0;
      if (is_covered) --rounds->second;
    }
    if (!begins && is_covered) continue;
    auto copy = one;
    copy.message.id = message_id::fresh();
    copy.message.scope = to;
    copy.message.client_id.clear();
    if (!is_steering(m)) copy.message.decision = decision_with_files({}, files_in(m.decision));
    copy.message.acknowledged.reset();
    copy.message.usage = {};
    if (m.turn) {
      if (begins) {
        turns.emplace(*m.turn, operation_id::fresh());
        if (const auto end = facts.turns.find(*m.turn); end != facts.turns.end())
          copy.message.decision = decision_with_files(ending_text(end->second), files_in(m.decision));
        copy.message.decision = decision_of_copy(copy.message.decision, turn_that_brought(m).value_or(*m.turn));
      }
      copy.message.turn = turns.at(*m.turn);
    }
    for (auto& call : copy.calls) {
      if (!call.outcome)
        call.outcome = records::call_outcome{false, false, with_unknown_outcome(json_result_texts{}.interrupted())};
      else if (facts.unknown.contains(call.operation))
        call.outcome->result = with_unknown_outcome(call.outcome->result);
      if (const auto printed = facts.printed.find(call.operation); printed != facts.printed.end())
        call.outcome->result = with_printed(call.outcome->result, printed->second);
      call.operation = operation_id::fresh();
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

std::uint64_t bytes_of(const std::vector<records::kept_message>& rows) {
  std::uint64_t all = 0;
  for (const auto& one : rows) {
    all += one.message.text.size();
    for (const auto& call : one.calls) all += call.input.size() + (call.outcome ? call.outcome->result.size() : 0);
  }
  return all;
}

} // namespace quell::controller::turns
