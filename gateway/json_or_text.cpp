// Keeps JSON as it is, and quotes the rest.
#include "gateway/json_or_text.hpp"

#include <nlohmann/json.hpp>

#include "protocol/json_nesting.hpp"

namespace quell::controller::http {

void put_json_or_text(json_writer& to, const std::string& text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF"; // the parser skips it; inside a document it is not JSON
  std::string_view value = text;
  if (value.starts_with(byte_order_mark)) value.remove_prefix(byte_order_mark.size());
  // The parser would skip another mark, too, and ends at a NUL, whatever comes behind it.
  const bool is_whole = !value.starts_with(byte_order_mark) && value.find('\0') == std::string_view::npos;
  if (is_whole && json_nesting(value) <= most_json_levels && nlohmann::json::accept(value))
    to.raw(value);
  else
    to.put(text);
}

} // namespace quell::controller::http
