// One fixed form of a small JSON object, as other rows of the core have it. Agents' names need no escapes.
#include "controller/costs/expected_use.hpp"

#include <charconv>
#include <string_view>

namespace quell::controller::costs {

namespace {

constexpr std::string_view before_tokens = R"({"input_tokens":)", before_cost = R"(,"cost_nanos":)",
                           before_agent = R"(,"agent":")", after_agent = R"("})";

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

bool take(std::string_view& text, std::uint64_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return read.ec == std::errc();
}

} // namespace

std::string text_of_expected(const expected_use& what) {
  return std::string(before_tokens) + std::to_string(what.usage.input_tokens) + std::string(before_cost) +
         std::to_string(what.usage.cost_nanos) + std::string(before_agent) + what.agent + std::string(after_agent);
}

std::optional<expected_use> read_expected(const std::string& text) {
  std::string_view rest = text;
  expected_use found;
  found.usage.estimated = true;
  if (!take(rest, before_tokens) || !take(rest, found.usage.input_tokens) || !take(rest, before_cost) ||
      !take(rest, found.usage.cost_nanos) || !take(rest, before_agent) || !rest.ends_with(after_agent))
    return std::nullopt;
  found.agent = rest.substr(0, rest.size() - after_agent.size());
  if (found.usage.input_tokens == 0) return std::nullopt;
  return found;
}

} // namespace quell::controller::costs
