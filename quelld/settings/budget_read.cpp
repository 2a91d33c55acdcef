// TOML to limits and back.
#include "quelld/settings/budget_read.hpp"

#include <cmath>

#include "protocol/duration.hpp"
#include "quelld/settings/toml_lines.hpp"

namespace quell::controller::turns {

namespace {

constexpr double most_cost = 1e9;
constexpr std::uint32_t most_tokens = 4'000'000'000, most_slots = 1'000'000;
constexpr std::chrono::hours a_day{24};

/// Absent: no limit.
std::uint64_t cost_limit(toml_table& t) {
  const auto amount = t.real_if("max_cost", 0, most_cost);
  if (!amount) return 0;
  const auto nanos = static_cast<std::uint64_t>(std::llround(*amount * 1e9));
  if (nanos == 0) t.wrong("max_cost", "must be above 0, or be left out: without it there is no limit");
  return nanos;
}

std::uint64_t token_limit(toml_table& t) { return t.has("max_tokens") ? t.number("max_tokens", 1, 1, most_tokens) : 0; }

std::string limits_text(std::uint64_t cost_nanos, std::uint64_t tokens, const std::string& separator) {
  std::string text;
  if (cost_nanos > 0) text += separator + "max_cost = " + costs::amount_text(cost_nanos);
  if (tokens > 0) text += separator + "max_tokens = " + std::to_string(tokens);
  return text;
}

} // namespace

agent_budget read_agent_budget(toml_table& t, const std::string& place, file_trouble& trouble) {
  agent_budget b;
  const auto* table = t.table("budget");
  if (!table) return b;
  toml_table inner(*table, place + ": budget", trouble);
  b.model_calls = inner.number("model_calls", b.model_calls, 1, 10'000);
  b.depth = inner.number("depth", b.depth, 0, 32);
  b.width = inner.number("width", b.width, 0, 256);
  b.background = inner.number("background", b.background, 0, 256);
  b.timeout = inner.duration("timeout", b.timeout, milliseconds{0});
  b.max_cost_nanos = cost_limit(inner);
  b.max_tokens = token_limit(inner);
  inner.end();
  return b;
}

void read_place_limits(toml_table& t, place_settings& into, file_trouble& trouble) {
  if (t.has("slots")) into.slots = t.number("slots", 1, 1, most_slots);
  if (into.slots > 0 && into.scope.depth() != 2)
    t.wrong("slots", "is a number of a whole guild: its scope has two segments, such as \"discord/GUILD\"");
  const auto* table = t.table("budget");
  if (!table) return;
  toml_table inner(*table, "[[place]] \"" + into.scope.text() + "\": budget", trouble);
  auto& b = into.budget;
  if (inner.has("model_calls")) b.model_calls = inner.number("model_calls", 1, 1, 10'000);
  b.cost_nanos = cost_limit(inner);
  b.tokens = token_limit(inner);
  inner.end();
}

std::string place_budget_text(const costs::tree_limits& b) {
  std::string text = limits_text(b.cost_nanos, b.tokens, ", ");
  if (b.model_calls > 0) text += ", model_calls = " + std::to_string(b.model_calls);
  return text.empty() ? text : "{ " + text.substr(2) + " }";
}

actors::repetition_limits read_repetition(toml_table& t, const std::string& place, file_trouble& trouble) {
  actors::repetition_limits r;
  if (t.is_text("repetition")) {
    if (t.text("repetition", 16) != "off")
      t.wrong("repetition", "must be \"off\", or counts such as { warn = 3, stop = 5, within = 12 }");
    return {0, 0, 1};
  }
  const auto* table = t.table("repetition");
  if (!table) return r;
  toml_table inner(*table, place + ": repetition", trouble);
  r.warned = inner.number("warn", static_cast<std::uint32_t>(r.warned), 0, 1000);
  r.ended = inner.number("stop", static_cast<std::uint32_t>(r.ended), 0, 1000);
  r.within = inner.number("within", static_cast<std::uint32_t>(r.within), 1, 1000);
  if (r.ended == 1) inner.wrong("stop", "must be at least 2, or 0 to stop never");
  if (r.ended > r.within + 1) inner.wrong("within", "is too small for `stop`: so many calls are never seen together");
  if (r.warned > 0 && r.ended > 0 && r.warned >= r.ended)
    inner.wrong("warn", "must be below `stop`: the model is warned first");
  inner.end();
  return r;
}

void read_day_budget(toml_table& t, costs::cost_settings& into) {
  costs::day_budget b;
  if (const auto text = t.text_if("scope", 512)) {
    if (const auto scope = scope_path::parse(*text); scope)
      b.scope = *scope;
    else
      t.wrong("scope", "is not a scope: " + scope.error().detail);
  }
  const auto per = t.text("per", 16);
  if (per == "author") b.each = costs::budget_of::author;
  if (per == "child") b.each = costs::budget_of::child;
  if (t.has("per") && per != "all" && per != "author" && per != "child")
    t.wrong("per", "must be all (everybody together), author (each author) or child (each scope directly below)");
  b.cost_nanos = cost_limit(t);
  b.tokens = token_limit(t);
  if (!t.has("max_cost") && !t.has("max_tokens")) t.wrong("", "needs max_cost or max_tokens");
  t.end();
  into.budgets.push_back(std::move(b));
}

void read_costs(toml_table& t, costs::cost_settings& into) {
  const auto keep = t.duration("keep", a_day * into.keep_days, milliseconds{0});
  if (keep.count() > 0 && keep < a_day) t.wrong("keep", "must be at least 1d, or 0s to keep all");
  into.keep_days = std::chrono::duration_cast<std::chrono::days>(keep).count();
  t.end();
}

std::string agent_budget_text(const agent_budget& b) {
  return "{ model_calls = " + std::to_string(b.model_calls) + ", depth = " + std::to_string(b.depth) +
         ", width = " + std::to_string(b.width) + ", background = " + std::to_string(b.background) +
         ", timeout = " + toml_quoted(duration_text(b.timeout)) + limits_text(b.max_cost_nanos, b.max_tokens, ", ") +
         " }";
}

std::string repetition_text(const actors::repetition_limits& r) {
  if (r.warned == 0 && r.ended == 0) return "\"off\"";
  return "{ warn = " + std::to_string(r.warned) + ", stop = " + std::to_string(r.ended) +
         ", within = " + std::to_string(r.within) + " }";
}

std::string costs_text(const costs::cost_settings& c) {
  std::string text;
  for (const auto& b : c.budgets) {
    text += "\n[[budgets]]";
    if (b.scope) text += "\nscope = " + toml_quoted(b.scope->text());
    if (b.each == costs::budget_of::author) text += "\nper = \"author\"";
    if (b.each == costs::budget_of::child) text += "\nper = \"child\"";
    text += limits_text(b.cost_nanos, b.tokens, "\n") + "\n";
  }
  return text + "\n[costs]\nkeep = " + toml_quoted(duration_text(a_day * c.keep_days)) + "\n";
}

} // namespace quell::controller::turns
