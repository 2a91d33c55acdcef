// The queues of turns, and the authors of those that have begun.
#include "controller/conversations.hpp"

#include <algorithm>
#include <utility>

namespace quell::controller::turns {

std::size_t conversations::length(const scope_path& scope) const {
  const auto at = scopes_.find(scope.text());
  return at == scopes_.end() ? std::size_t{0} : at->second.size();
}

bool conversations::enter(queued_turn which) {
  auto& queue = scopes_[which.scope.text()];
  queue.push_back(std::move(which));
  return queue.size() == 1;
}

bool conversations::is_idle(const scope_path& scope,
                            const std::function<bool(const operation_id& turn)>& has_ended) const {
  const auto at = scopes_.find(scope.text());
  return at == scopes_.end() || std::all_of(at->second.begin(), at->second.end(),
                                            [&](const queued_turn& q) { return !q.is_change && has_ended(q.turn); });
}

void conversations::enter_idle(queued_turn change) {
  auto& queue = scopes_[change.scope.text()];
  queue.clear();
  queue.push_back(std::move(change));
}

std::optional<begun_turn> conversations::running(const scope_path& scope) const {
  const auto queue = scopes_.find(scope.text());
  if (queue == scopes_.end()) return std::nullopt;
  const auto found = begun_.find(queue->second.front().turn);
  return found == begun_.end() ? std::nullopt : std::optional(found->second);
}

bool conversations::is_alone(const operation_id& turn, const scope_path& scope) const {
  const auto at = scopes_.find(scope.text());
  return at != scopes_.end() && at->second.size() == 1 && at->second.front().turn == turn;
}

std::optional<queued_turn> conversations::leave(const operation_id& turn, const scope_path& scope) {
  const auto at = scopes_.find(scope.text());
  if (at == scopes_.end()) return std::nullopt;
  auto& queue = at->second;
  const bool was_first = !queue.empty() && queue.front().turn == turn;
  std::erase_if(queue, [&](const queued_turn& q) { return q.turn == turn; });
  if (queue.empty()) {
    scopes_.erase(at);
    return std::nullopt;
  }
  return was_first ? std::optional(queue.front()) : std::nullopt;
}

void conversations::note_begun(const operation_id& turn, const std::string& owner, const scope_path& scope,
                               turn_of what, const std::string& agent, brought_by way) {
  begun_.insert_or_assign(turn, begun_turn{turn, owner, scope, what, agent, way});
}

conversations::ownership conversations::of(const std::string& owner, const scope_path& scope) const {
  auto found = ownership::unknown;
  for (const auto& [id, turn] : begun_) {
    if (turn.owner != owner) continue;
    if (turn.what == turn_of::refused_stop)
      found = ownership::was_refused;
    else if (turn.scope.is_at_or_below(scope))
      return ownership::has_turn;
  }
  return found;
}

} // namespace quell::controller::turns
