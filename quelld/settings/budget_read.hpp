// Budgets of agents and of days, and the guard against repeated calls, from their tables.
#pragma once

#include <string>

#include "actors/turns/settings.hpp"
#include "quelld/settings/toml_file.hpp"
#include "quelld/settings/toml_table.hpp"

namespace quell::controller::turns {

/// `[[agents]] budget = { … }`
agent_budget read_agent_budget(toml_table& t, const std::string& place, file_trouble& trouble);
/// `[[place]] budget = { max_cost, max_tokens, model_calls }`, of each turn there, and `slots`.
void read_place_limits(toml_table& t, place_settings& into, file_trouble& trouble);
/// `[[agents]] repetition = { warn, stop, within }` or `"off"`.
actors::repetition_limits read_repetition(toml_table& t, const std::string& place, file_trouble& trouble);
/// A table of `[[budgets]]`.
void read_day_budget(toml_table& t, costs::cost_settings& into);
/// `[costs]`
void read_costs(toml_table& t, costs::cost_settings& into);

/// The same as TOML.
std::string agent_budget_text(const agent_budget& b);
/// "" = no limit.
std::string place_budget_text(const costs::tree_limits& b);
std::string repetition_text(const actors::repetition_limits& r);
/// The sections `[[budgets]]` and `[costs]`.
std::string costs_text(const costs::cost_settings& c);

} // namespace quell::controller::turns
