// Texts of models and tools, which can be JSON, as values of an answer.
#pragma once

#include <string>

#include "controller/json/json_writer.hpp"

namespace quell::controller::http {

/// JSON text goes in unchanged (without a byte order mark), any other text as a string; so does JSON that nests so
/// deeply that a client's parser could fail.
void put_json_or_text(json_writer& to, const std::string& text);

} // namespace quell::controller::http
