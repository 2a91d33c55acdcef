// Keeps JSON as it is, and quotes the rest.
#include "gateway/json_or_text.hpp"

#include <nlohmann/json.hpp>

namespace quell::controller::http {

void put_json_or_text(json_writer& to, const std::string& text) {
  if (nlohmann::json::accept(text))
    to.raw(text);
  else
    to.put(text);
}

} // namespace quell::controller::http
