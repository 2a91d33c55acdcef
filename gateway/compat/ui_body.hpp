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
  bool regenerates = false; ///< the last message is asked again
};

tl::expected<ui_request, problem> read_ui_chat(std::string_view text);

} // namespace quell::controller::http
