// One fixed form of a small JSON object, as other rows of the core have it. Agents' names need no escapes.
#include "controller/costs/expected_use.hpp"

#include <string_view>

#include "controller/json/fixed_form.hpp"

namespace quell::controller::costs {

namespace {

using http::take_number;
using http::take_part;

constexpr std::string_view before_tokens = R"({"input_tokens":)", before_cost = R"(,"cost_nanos":)",
                           before_agent = R"(,"agent":")", after_agent = R"("})";

} // namespace

std::string text_of_expected(const expected_use& what) {
  return std::string(before_tokens) + std::to_string(what.usage.input_tokens) + std::string(before_cost) +
         std::to_string(what.usage.cost_nanos) + std::string(before_agent) + what.agent + std::string(after_agent);
}

std::optional<expected_use> read_expected(const std::string& text) {
  std::string_view rest = text;
  expected_use found;
  found.usage.estimated = true;
  if (!take_part(rest, before_tokens) || !take_number(rest, found.usage.input_tokens) ||
      !take_part(rest, before_cost) || !take_number(rest, found.usage.cost_nanos) || !take_part(rest, before_agent) ||
      !rest.ends_with(after_agent))
    return std::nullopt;
  found.agent = rest.substr(0, rest.size() - after_agent.size());
  if (found.usage.input_tokens == 0) return std::nullopt;
  return found;
}

} // namespace quell::controller::costs
