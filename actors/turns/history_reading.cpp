// Reads backwards, page by page. Turns of a scope run one after the other, so messages of people above the turn's own
// belong to later turns; answers there belong to this turn or earlier ones.
#include "actors/turns/history_reading.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "actors/turns/steering.hpp"
#include "actors/turns/summary.hpp"

namespace quell::controller::turns {
namespace {

/// The length of its texts, inputs and results.
std::size_t stored_bytes(const records::kept_message& m) {
  std::size_t bytes = m.message.text.size();
  for (const auto& c : m.calls)
    bytes += m.message.role == records::message_role::tool ? (c.outcome ? c.outcome->result.size() : 0)
                                                           : c.name.size() + c.input.size();
  return bytes;
}

/// The messages of turns whose answer is among them: the end of the others was not read.
std::vector<records::kept_message> answered_only(std::vector<records::kept_message> start) {
  std::set<operation_id> answered;
  for (const auto& m : start)
    if (m.message.turn && m.message.role == records::message_role::assistant && m.calls.empty())
      answered.insert(*m.message.turn);
  std::erase_if(start, [&](const auto& m) { return m.message.turn && !answered.contains(*m.message.turn); });
  return start;
}

/// `own`: the message of the turn, if it is not to be read.
result<stored_history> read(store_reader& store, const scope_path& scope, const std::optional<operation_id>& turn,
                            const records::message_record* own, const reading_limits& limits) {
  stored_history found;
  auto mark = store.message_of_client(scope, std::string(summary_client_id));
  if (!mark) return tl::unexpected(mark.error());
  const bool has_mark = *mark && is_summary(**mark);
  records::message_filter f;
  if (has_mark) f.above_seq = summary_of(**mark).up_to;
  f.scope = scope;
  f.ascending = false;
  f.limit = limits.page;
  std::size_t bytes = 0, read = 0;
  bool is_own_seen = !turn || own, is_full = false;
  if (own) {
    f.after_seq = own->seq;
    found.kept.push_back({*own, {}});
    bytes = stored_bytes(found.kept.back());
    is_full = found.kept.size() >= limits.messages || bytes >= limits.bytes;
  }
  while (!is_full && read < limits.most_read) {
    auto page = store.messages(f);
    if (!page) return tl::unexpected(page.error());
    read += page->size();
    for (auto& m : *page) {
      f.after_seq = m.message.seq;
      if (is_summary(m.message)) continue;
      const bool is_user = m.message.role == records::message_role::user;
      const bool is_own = is_user && turn && m.message.turn == turn;
      // Of a later turn. A message that steered another turn stands behind this one's message if that turn ran while it
      // waited.
      if (is_user && m.message.turn && !is_own_seen && !is_own && !is_steering(m.message)) continue;
      is_own_seen = is_own_seen || (is_own && !is_steering(m.message));
      bytes += stored_bytes(m);
      found.kept.push_back(std::move(m));
      is_full = is_own_seen && (found.kept.size() >= limits.messages || bytes >= limits.bytes);
      if (is_full) break;
    }
    if (page->size() < f.limit) break;
    is_full = is_full || (read >= limits.most_read && !found.kept.empty());
  }
  std::reverse(found.kept.begin(), found.kept.end());
  if (has_mark) {
    if (is_full) {
      f.limit = 1;
      const auto more = store.messages(f);
      if (!more) return tl::unexpected(more.error());
      if (!more->empty()) found.gap_behind = std::max<std::uint64_t>(1, *f.above_seq);
    }
    found.kept.insert(found.kept.begin(), {std::move(**mark), {}});
    return found;
  }
  if (!is_full || found.kept.empty()) return found;
  f.ascending = true;
  f.after_seq = 0;
  f.limit = limits.from_start;
  auto start = store.messages(f);
  if (!start) return tl::unexpected(start.error());
  const auto oldest = found.kept.front().message.seq;
  std::erase_if(*start, [&](const auto& m) { return m.message.seq >= oldest; });
  const bool meets = start->size() < limits.from_start; // the rest of them is in `kept` already
  auto beginning = meets ? std::move(*start) : answered_only(std::move(*start));
  if (beginning.empty()) return found;
  if (!meets) found.gap_behind = beginning.back().message.seq;
  found.kept.insert(found.kept.begin(), std::make_move_iterator(beginning.begin()),
                    std::make_move_iterator(beginning.end()));
  return found;
}

} // namespace

result<stored_history> read_history(store_reader& store, const scope_path& scope,
                                    const std::optional<operation_id>& turn, const reading_limits& limits) {
  return read(store, scope, turn, nullptr, limits);
}

result<stored_history> read_history_behind(store_reader& store, const records::message_record& own,
                                           const reading_limits& limits) {
  return read(store, own.scope, own.turn, &own, limits);
}

result<std::optional<records::message_record>> with_newest_edit(store_reader& store, const scope_path& scope,
                                                                const std::string& client_id) {
  auto known = store.message_of_client(scope, client_id);
  if (!known || !*known) return known;
  auto edit = store.newest_edit_of_client(scope, client_id);
  if (!edit || *edit) return edit;
  return known;
}

} // namespace quell::controller::turns
