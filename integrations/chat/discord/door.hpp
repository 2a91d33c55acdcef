// Who may come in through the interactions endpoint: signed by Discord, fresh, and only once. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::discord {

class interaction_door {
 public:
  /// `public_key`: 32 raw bytes. What was signed before `opened`, or within that second, is refused: whether it was
  /// delivered then, nobody remembers. Nobody waits for such an answer any more, since Discord itself waits for 3 s.
  interaction_door(std::string public_key, std::chrono::sys_seconds opened);

  /// The answer to a call that may not come in; nullopt: Discord signed it within the last five minutes.
  std::optional<web_answer> refusal(const web_call& call, std::chrono::sys_seconds now) const;

  /// Whether no interaction of this id came in before. Remembers as long as its signature is good.
  bool is_first(const std::string& id, std::chrono::sys_seconds now);

 private:
  const std::string public_key_;
  const std::chrono::sys_seconds opened_;
  std::map<std::string, std::chrono::sys_seconds> seen_;
};

} // namespace quell::integrations::chat::discord
