// The turns that have begun, each with its place. For Stop buttons: anybody can press one with any id, so what it drops
// at once must be known to belong to the place of the press. Bounded: the oldest are forgotten. Pure.
#pragma once

#include <string>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/recent_set.hpp"

namespace quell::integrations::chat {

class begun_turns {
 public:
  void hear(const event& e) {
    if (e.operation && (e.type == event_type::turn_start || e.type == event_type::turn_resumed))
      all_.add(key(e.scope, *e.operation));
  }
  /// Whether the turn has begun at exactly this place. False for a turn that is forgotten: quelld judges its stop, and
  /// its text is dropped with the event of its end.
  bool is_at(const scope_path& place, const operation_id& turn) const { return all_.contains(key(place, turn)); }

 private:
  static std::string key(const scope_path& place, const operation_id& turn) { return place.text() + " " + turn.text(); }

  static constexpr std::size_t most = 5'000;
  recent_set all_{most};
};

} // namespace quell::integrations::chat
