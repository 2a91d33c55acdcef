// Settings of one place (a guild, a channel) and everything below it, which differ from those of the whole cluster.
// Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/cancel_words.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::turns {

struct chat_options;

/// `[[place]]`. Lists add to those of the places above it and of `[chat]`, but for `approvers`, which replace them.
struct place_settings {
  scope_path scope;
  chat::vocabulary words;
  std::vector<std::string> bot_names;
  std::optional<std::vector<std::string>> approvers;
  std::optional<bool> approve_own;
  friend bool operator==(const place_settings&, const place_settings&) = default;
};

/// `[chat]` as it holds in `scope`: the settings of each place above it, from the widest to the narrowest.
chat_options options_in(const chat_options& everywhere, const scope_path& scope);

/// The cancel words of every place. Any thread.
class words_by_place {
 public:
  explicit words_by_place(const chat_options& options);
  const chat::cancel_words& of(const scope_path& scope) const;

 private:
  chat::cancel_words everywhere_;
  std::vector<std::pair<scope_path, chat::cancel_words>> places_; ///< the narrowest first
};

} // namespace quell::controller::turns
