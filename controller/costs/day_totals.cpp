// One sum for each day, budget and holder.
#include "controller/costs/day_totals.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace quell::controller::costs {

std::string amount_text(std::uint64_t nanos) {
  const std::uint64_t micros = nanos / 1'000 + (nanos % 1'000 >= 500 ? 1 : 0);
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%06llu", static_cast<unsigned long long>(micros / 1'000'000),
                static_cast<unsigned long long>(micros % 1'000'000));
  std::string amount(text);
  amount.erase(amount.find_last_not_of('0') + 1);
  if (amount.back() == '.') amount.pop_back();
  return amount;
}

day_totals::day_totals(std::vector<day_budget> budgets) : budgets_(std::move(budgets)) {
  for (std::size_t i = 0; i < budgets_.size(); ++i)
    (budgets_[i].scope ? by_scope_[budgets_[i].scope->text()] : everywhere_).push_back(i);
}

std::vector<std::size_t> day_totals::budgets_of(const scope_path& scope) const {
  auto found = everywhere_;
  if (by_scope_.empty()) return found;
  const std::string_view text = scope.text();
  for (auto end = text.find('/');; end = text.find('/', end + 1)) {
    if (const auto at = by_scope_.find(text.substr(0, end)); at != by_scope_.end())
      found.insert(found.end(), at->second.begin(), at->second.end());
    if (end == std::string_view::npos) break;
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::string> day_totals::whose(const day_budget& budget, const scope_path& scope,
                                             const std::string& author) {
  if (budget.scope && !scope.is_at_or_below(*budget.scope)) return std::nullopt;
  switch (budget.each) {
  case budget_of::all:
    return std::string();
  case budget_of::author:
    return author;
  case budget_of::child: {
    const auto segments = scope.segments();
    const std::size_t depth = budget.scope ? budget.scope->depth() : 0;
    if (segments.size() <= depth) return std::nullopt; // the scope itself is none of its children
    return std::string(segments[depth]);
  }
  }
  return std::nullopt;
}

void day_totals::add(utc_day day, const scope_path& scope, const std::string& author, const model_usage& used) {
  for (const auto i : budgets_of(scope)) {
    const auto holder = whose(budgets_[i], scope, author);
    if (!holder) continue;
    auto [at, is_new] = sums_.try_emplace(key{day, i, *holder});
    at->second.cost_nanos = sum_of_use(at->second.cost_nanos, used.cost_nanos);
    at->second.tokens = sum_of_use(at->second.tokens, tokens_of(used));
    if (!is_new) continue;
    sums_.erase(sums_.begin(), sums_.lower_bound(key{day - 1, 0, {}}));
    sums_.erase(sums_.lower_bound(key{day + 2, 0, {}}), sums_.end());
  }
}

std::optional<std::string> day_totals::why_exhausted(const scope_path& scope, const std::string& author,
                                                     wall_time now) const {
  const utc_day today = day_of(now);
  for (const auto i : budgets_of(scope)) {
    const auto& budget = budgets_[i];
    const auto holder = whose(budget, scope, author);
    if (!holder) continue;
    const auto at = sums_.find(key{today, i, *holder});
    const sum used = at == sums_.end() ? sum{} : at->second;
    const bool has_no_money = budget.cost_nanos > 0 && used.cost_nanos >= budget.cost_nanos;
    const bool has_no_tokens = budget.tokens > 0 && used.tokens >= budget.tokens;
    if (!has_no_money && !has_no_tokens) continue;
    std::string who = budget.scope ? "scope " + budget.scope->text() : std::string("all scopes");
    if (budget.each == budget_of::author) who = "author " + *holder + " in " + who;
    if (budget.each == budget_of::child) who = "scope " + (budget.scope ? budget.scope->text() + "/" : "") + *holder;
    const std::string what =
        has_no_money
            ? amount_text(used.cost_nanos) + " of its " + amount_text(budget.cost_nanos) + " (max_cost)"
            : std::to_string(used.tokens) + " of its " + std::to_string(budget.tokens) + " tokens (max_tokens)";
    return "the budget of today is used up: " + who + " has used " + what + "; it begins anew at " +
           day_text(today + 1) + "T00:00:00Z";
  }
  return std::nullopt;
}

} // namespace quell::controller::costs
