// Errors in OpenAI's shape, for everything below /openai/.
#pragma once

#include <string_view>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// Whether requests for this path expect OpenAI's errors.
inline bool speaks_openai(std::string_view path) { return path.starts_with("/openai/"); }

response openai_error_answer(const problem& p, const request_id& id);

} // namespace quell::controller::http
