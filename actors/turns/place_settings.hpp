// Settings of one place (a guild, a channel) and everything below it, which differ from those of the whole cluster.
// Pure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/turns/cancel_words.hpp"
#include "controller/costs/limits.hpp"
#include "controller/slot_limits.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::turns {

struct chat_options;

/// `[[place]]`. Words and names add to those of the places above it and of `[chat]`; `approvers` and `agents` replace
/// them; of budgets the smallest holds, and a channel must be open in every place above it. Only guilds have `slots`.
struct place_settings {
  scope_path scope;
  chat::vocabulary words;
  std::vector<std::string> bot_names;
  std::optional<std::vector<std::string>> approvers;
  std::optional<bool> approve_own;
  std::vector<std::string> agents; ///< that answer there, the first if none is named; empty: as above
  std::optional<std::vector<std::string>> channels{}; ///< segments directly below where people may speak; absent: all
  costs::tree_limits budget{};                        ///< of each turn there
  std::uint32_t slots = 0; ///< of workers that the guild holds at once; 0: `limits.slots_per_guild`
  friend bool operator==(const place_settings&, const place_settings&) = default;
};

/// `[chat]` as it holds in `scope`: the settings of each place above it, from the widest to the narrowest.
chat_options options_in(const chat_options& everywhere, const scope_path& scope);

/// The agents that may answer in `scope`; nullptr: no place limits them.
const std::vector<std::string>* agents_in(const chat_options& everywhere, const scope_path& scope);
/// The place above `scope` that lists channels, and not the one that leads there; nullptr: people may speak.
const place_settings* closed_by(const chat_options& everywhere, const scope_path& scope);
/// `limits`, and what the places above `scope` allow a turn, whichever is smaller.
costs::tree_limits limits_in(const chat_options& everywhere, const scope_path& scope, costs::tree_limits limits);

/// The guilds that have a number of their own.
slots_by_guild slots_of_guilds(const chat_options& everywhere);

/// The cancel words of every place. Places with the same words share them. Any thread.
class words_by_place {
 public:
  explicit words_by_place(const chat_options& options);
  /// Costs one probe for each segment of the scope.
  const chat::cancel_words& of(const scope_path& scope) const;

 private:
  using shared_words = std::shared_ptr<const chat::cancel_words>;
  shared_words everywhere_;
  std::map<std::string, shared_words, std::less<>> places_; ///< by scope; only those that have words of their own
};

} // namespace quell::controller::turns
