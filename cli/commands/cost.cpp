// `quell cost`: what model calls have used, by day, scope, author, agent or model.
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/table.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

/// Prices have any currency, so an amount has none.
std::string amount(const json& sums) {
  const auto& cost = member(sums, "cost");
  return cost.is_number() ? cost.dump() : "-";
}

std::vector<std::string> cells(const std::string& key, const json& sums) {
  const auto estimated = number_of(sums, "estimated_calls");
  const auto calls = std::to_string(number_of(sums, "model_calls"));
  return {key,
          estimated == 0 ? calls : calls + " (" + std::to_string(estimated) + " estimated)",
          std::to_string(number_of(sums, "input_tokens")),
          std::to_string(number_of(sums, "cached_input_tokens")),
          std::to_string(number_of(sums, "output_tokens")),
          amount(sums)};
}

} // namespace

exit_code execute(session& s, const cost_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  const auto path = with_query("/v1/cost", {{"by", o.by},
                                            {"scope", o.scope.value_or("")},
                                            {"from", o.from.value_or("")},
                                            {"to", o.to.value_or("")},
                                            {"limit", "1000"}});
  auto all = (*controller)->get(path);
  if (!all) return s.fail(all.error());
  auto rows = (*controller)->all_pages(path, "cost");
  if (!rows) return s.fail(rows.error());
  (*all)["cost"] = *rows;
  (*all)["next_cursor"] = nullptr;
  if (s.json()) {
    s.print_document(*all);
    return exit_code::done;
  }
  if (rows->empty()) {
    s.hint("no model call of these days is known");
    return exit_code::done;
  }
  std::string head = o.by;
  head[0] = static_cast<char>(head[0] - 'a' + 'A');
  table shown({head, "CALLS>", "INPUT>", "CACHED>", "OUTPUT>", "COST>"});
  for (const auto& row : *rows) shown.add(cells(printable(text_of(row, o.by.c_str())), row));
  shown.add(cells("all", member(*all, "total")));
  s.print(shown.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

} // namespace quell::cli
