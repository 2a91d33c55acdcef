// Merges the settings of places along the path of a scope.
#include "actors/turns/place_settings.hpp"

#include <algorithm>

#include "actors/turns/budget_json.hpp"
#include "actors/turns/settings.hpp"

namespace quell::controller::turns {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool has_words(const place_settings& p) {
  return !p.words.words.empty() || !p.words.lead_ins.empty() || !p.words.followers.empty() || !p.bot_names.empty();
}

/// Equal for equal words and names.
std::string key_of(const chat_options& here) {
  std::string key;
  for (const auto* list : {&here.words.words, &here.words.lead_ins, &here.words.followers, &here.bot_names}) {
    for (const auto& one : *list) key += std::to_string(one.size()) + ":" + one;
    key += ";";
  }
  return key;
}

} // namespace

chat_options options_in(const chat_options& everywhere, const scope_path& scope) {
  auto here = everywhere;
  here.places = {};
  for (const auto* p : everywhere.places.above(scope)) {
    append(here.words.words, p->words.words);
    append(here.words.lead_ins, p->words.lead_ins);
    append(here.words.followers, p->words.followers);
    append(here.bot_names, p->bot_names);
    if (p->approvers) here.approvers = *p->approvers;
    if (p->approve_own) here.approve_own = *p->approve_own;
  }
  return here;
}

const std::vector<std::string>* agents_in(const chat_options& everywhere, const scope_path& scope) {
  const std::vector<std::string>* narrowest = nullptr;
  for (const auto* p : everywhere.places.above(scope))
    if (!p->agents.empty()) narrowest = &p->agents;
  return narrowest;
}

const place_settings* closed_by(const chat_options& everywhere, const scope_path& scope) {
  for (const auto* p : everywhere.places.above(scope)) {
    if (!p->channels || scope == p->scope) continue;
    const auto channel = scope.segments()[p->scope.depth()];
    if (std::find(p->channels->begin(), p->channels->end(), channel) == p->channels->end()) return p;
  }
  return nullptr;
}

costs::tree_limits limits_in(const chat_options& everywhere, const scope_path& scope, costs::tree_limits limits) {
  for (const auto* p : everywhere.places.above(scope)) limits = tighter(limits, p->budget);
  return limits;
}

slots_by_guild slots_of_guilds(const chat_options& everywhere) {
  slots_by_guild all;
  for (const auto& p : everywhere.places)
    if (p.slots > 0) all.emplace(p.scope.text(), p.slots);
  return all;
}

words_by_place::words_by_place(const chat_options& options)
    : everywhere_(std::make_shared<const chat::cancel_words>(options.words, options.bot_names)) {
  std::map<std::string, shared_words> known;
  for (const auto& p : options.places) {
    if (!has_words(p)) continue;
    const auto here = options_in(options, p.scope);
    auto& words = known[key_of(here)];
    if (!words) words = std::make_shared<const chat::cancel_words>(here.words, here.bot_names);
    places_.emplace(p.scope.text(), words);
  }
}

const chat::cancel_words& words_by_place::of(const scope_path& scope) const {
  for (std::string_view text = scope.text(); !places_.empty();) {
    if (const auto at = places_.find(text); at != places_.end()) return *at->second;
    const auto end = text.rfind('/');
    if (end == std::string_view::npos) break;
    text = text.substr(0, end);
  }
  return *everywhere_;
}

} // namespace quell::controller::turns
