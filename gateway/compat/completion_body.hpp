// The body of `POST /openai/v1/chat/completions`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/compat/prior_messages.hpp"
#include "protocol/fault.hpp"

namespace quell::controller::http {

struct completion_request {
  std::string agent; ///< the member `model`
  sent_conversation conversation;
  bool streams = false;
  bool wants_usage = false;        ///< `stream_options.include_usage`
  std::optional<std::string> user; ///< the human behind the request
};

tl::expected<completion_request, problem> read_completion(std::string_view text);

} // namespace quell::controller::http
