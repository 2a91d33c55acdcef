// The body of `POST /v1/ui/chat`, as the AI SDK's `useChat` sends it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/records/records.hpp"
#include "gateway/compat/prior_messages.hpp"
#include "protocol/fault.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::http {

struct ui_request {
  std::string agent; ///< "" = the one that serves the scope
  std::optional<scope_path> scope;
  std::optional<records::person> author;
  sent_conversation conversation;
  std::string chat;             ///< the page's id of it; "" = none
  std::string message;          ///< the page's id of the last message; "" = none
  std::string request;          ///< its name, different for each of this chat; "" = it has none
  bool regenerates = false;     ///< the last message is asked again
  bool edits = false;           ///< it replaces the one of its id
  bool outlives_client = false; ///< a disconnect stops nothing
};

tl::expected<ui_request, problem> read_ui_chat(std::string_view text);

} // namespace quell::controller::http
