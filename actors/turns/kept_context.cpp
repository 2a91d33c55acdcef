// An agent's conversation only grows at its end, so what was replaced stays a prefix.
#include "actors/turns/kept_context.hpp"

#include <algorithm>
#include <iterator>

namespace quell::controller::turns {

placed_conversation kept_context::view(conversation all, const operation_id& agent) const {
  const auto from = static_cast<std::ptrdiff_t>(std::min(replaced_, all.size()));
  placed_conversation shown = prefix_;
  shown.messages.insert(shown.messages.end(), std::make_move_iterator(all.begin() + from),
                        std::make_move_iterator(all.end()));
  if (replaced_ < begins_.size())
    shown.begins.insert(shown.begins.end(), begins_.begin() + static_cast<std::ptrdiff_t>(replaced_), begins_.end());
  shown.before = before_;
  shown.turn = agent;
  shown.people = people_;
  return shown;
}

void kept_context::take(const placed_conversation& now, const compaction& plan) {
  replaced_ += plan.rest - prefix_.messages.size();
  const std::ptrdiff_t kept = plan.own ? 2 : 1;
  prefix_.messages.assign(now.messages.begin(), now.messages.begin() + kept);
  prefix_.begins.assign(now.begins.begin(), now.begins.begin() + kept);
  before_ = now.before;
}

} // namespace quell::controller::turns
