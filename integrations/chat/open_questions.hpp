// Calls that wait for a human's decision, for services without buttons: people answer in text with the end of the
// call's id. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "integrations/chat/addressing.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"

namespace quell::integrations::chat {

class open_questions {
 public:
  /// The suffix of the question: ` (answer "approve 5d0f3e1a" or "deny 5d0f3e1a")`.
  std::string ask(const scope_path& place, const operation_id& call) {
    if (waiting_.size() >= most) waiting_.pop_front();
    waiting_.push_back({place, call});
    const auto text = call.text();
    const auto tail = text.substr(text.size() - 8);
    return " (answer \"approve " + tail + "\" or \"deny " + tail + "\")";
  }
  void answered(const operation_id& call) {
    std::erase_if(waiting_, [&](const auto& w) { return w.call == call; });
  }
  /// The one call asked about at this place whose id ends with `tail`.
  std::optional<operation_id> find(const scope_path& place, std::string_view tail) const {
    std::optional<operation_id> found;
    for (const auto& w : waiting_) {
      if (w.place != place || !w.call.text().ends_with(tail)) continue;
      if (found) return std::nullopt;
      found = w.call;
    }
    return found;
  }

 private:
  static constexpr std::size_t most = 256;
  struct one {
    scope_path place;
    operation_id call;
  };
  std::deque<one> waiting_;
};

} // namespace quell::integrations::chat
