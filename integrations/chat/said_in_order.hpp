// Keeps what is said at one place in the order in which it was said. quelld looks a message with an id up before it
// decides, perhaps beside others, so a "stop" could overtake what was said before it, which would then start behind the
// cancel. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "integrations/chat/service_session.hpp"

namespace quell::integrations::chat {

class said_in_order {
 public:
  /// The message, if it may be handed over now; else it waits for those before it.
  std::optional<heard_message> next(heard_message m) {
    auto& at = places_[m.message.scope.text()];
    if (!at.waiting.empty() || (at.flying > 0 && (at.has_id || !m.message.id.empty()))) {
      at.waiting.push_back(std::move(m));
      return std::nullopt;
    }
    return begun(at, std::move(m));
  }
  /// A message of this mark was decided; what may be handed over next.
  std::optional<heard_message> decided(std::uint64_t mark) {
    const auto place = marks_.find(mark);
    if (place == marks_.end()) return std::nullopt;
    const auto it = places_.find(place->second);
    marks_.erase(place);
    auto& at = it->second;
    if (--at.flying > 0) return std::nullopt;
    if (at.waiting.empty()) {
      places_.erase(it);
      return std::nullopt;
    }
    auto m = std::move(at.waiting.front());
    at.waiting.pop_front();
    at.has_id = false;
    return begun(at, std::move(m));
  }

 private:
  struct place {
    std::deque<heard_message> waiting;
    std::size_t flying = 0;
    bool has_id = false; ///< one of those that fly
  };
  heard_message begun(place& at, heard_message m) {
    ++at.flying;
    at.has_id = at.has_id || !m.message.id.empty();
    marks_.emplace(m.mark, m.message.scope.text());
    return m;
  }
  std::map<std::string, place> places_;
  std::map<std::uint64_t, std::string> marks_;
};

} // namespace quell::integrations::chat
