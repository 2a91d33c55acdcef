// Merges the settings of places along the path of a scope.
#include "actors/turns/place_settings.hpp"

#include <algorithm>

#include "actors/turns/settings.hpp"

namespace quell::controller::turns {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

} // namespace

chat_options options_in(const chat_options& everywhere, const scope_path& scope) {
  std::vector<const place_settings*> above;
  for (const auto& p : everywhere.places)
    if (scope.is_at_or_below(p.scope)) above.push_back(&p);
  std::sort(above.begin(), above.end(),
            [](const auto* a, const auto* b) { return a->scope.depth() < b->scope.depth(); });
  auto here = everywhere;
  here.places.clear();
  for (const auto* p : above) {
    append(here.words.words, p->words.words);
    append(here.words.lead_ins, p->words.lead_ins);
    append(here.words.followers, p->words.followers);
    append(here.bot_names, p->bot_names);
    if (p->approvers) here.approvers = *p->approvers;
    if (p->approve_own) here.approve_own = *p->approve_own;
  }
  return here;
}

words_by_place::words_by_place(const chat_options& options) : everywhere_(options.words, options.bot_names) {
  for (const auto& p : options.places) {
    const auto here = options_in(options, p.scope);
    places_.emplace_back(p.scope, chat::cancel_words(here.words, here.bot_names));
  }
  std::sort(places_.begin(), places_.end(),
            [](const auto& a, const auto& b) { return a.first.depth() > b.first.depth(); });
}

const chat::cancel_words& words_by_place::of(const scope_path& scope) const {
  const auto narrowest = std::find_if(places_.begin(), places_.end(),
                                      [&](const auto& place) { return scope.is_at_or_below(place.first); });
  return narrowest == places_.end() ? everywhere_ : narrowest->second;
}

} // namespace quell::controller::turns
