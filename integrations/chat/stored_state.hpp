// The text that a connector stores over a restart: the state of its outbox, and its own. Pure.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"

namespace quell::integrations::chat {

struct stored_state {
  std::string shown; ///< of `outbox::kept`
  std::string more;  ///< the connector's own
};

/// `shown` is JSON text and is taken as it is: this is written at every change.
inline std::string text_of(const stored_state& s) {
  const nlohmann::json more = s.more;
  return R"({"more":)" + more.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + R"(,"shown":)" +
         s.shown + "}";
}

/// Both are "" if the text is not one that `text_of` made.
inline stored_state read_stored_state(std::string_view text) {
  const auto known = nlohmann::json::parse(text, nullptr, false);
  const auto& shown = member_of(known, "shown");
  return {shown.is_null() ? std::string() : shown.dump(), text_of(known, "more")};
}

} // namespace quell::integrations::chat
