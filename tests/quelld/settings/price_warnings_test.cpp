// A limit of money on a model without a price limits nothing: who reads the configuration is told.
#include <catch2/catch.hpp>

#include "actors/turns/settings.hpp"
#include "quelld/settings/reach.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

integrations::model_settings model_at(const std::string& name, double input, std::vector<std::string> fallback = {}) {
  integrations::model_settings m;
  m.name = name;
  m.prices.input = input;
  m.fallback = std::move(fallback);
  return m;
}

agent_settings agent_with(const std::string& name, const std::string& model, std::uint64_t max_cost_nanos) {
  agent_settings a;
  a.name = name;
  a.model = model;
  a.budget.max_cost_nanos = max_cost_nanos;
  return a;
}

/// "AGENT/MODEL AGENT/MODEL …" of the warnings, which name both in quotes, in this order.
std::string warned_of(const turn_settings& s) {
  std::string all;
  const auto quoted = [](const std::string& text, std::size_t from) {
    const auto begin = text.find('"', from) + 1;
    return text.substr(begin, text.find('"', begin) - begin);
  };
  for (const auto& text : what_costs_nothing(s))
    all += (all.empty() ? "" : " ") + quoted(text, 0) + "/" + quoted(text, text.find("of model"));
  return all;
}

} // namespace

TEST_CASE("max_cost on a model without a price is warned of, with agent and model", "[turns][settings]") {
  turn_settings s;
  s.models = {model_at("paid", 3, {"spare"}), model_at("local", 0), model_at("spare", 0)};
  s.agents = {agent_with("a", "local", 1'000'000'000), agent_with("b", "local", 0)};
  CHECK(warned_of(s) == "a/local");
  CHECK(what_costs_nothing(s).front().find("max_tokens") != std::string::npos);
  s.agents = {agent_with("c", "paid", 1)};
  CHECK(warned_of(s) == "c/spare"); // its fallback
  s.agents.front().models = {"local"};
  CHECK(warned_of(s) == "c/local c/spare"); // and what a message can ask for
  s.models[1].prices.output = 1;
  s.models[2].prices.cached = 0.1;
  CHECK(warned_of(s).empty());
  s.agents = {agent_with("d", "paid", 1)};
  s.agents.front().command = {"x"};
  s.models[2].prices = {};
  CHECK(warned_of(s).empty()); // a command asks no model of ours
}
