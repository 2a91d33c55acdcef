// Access control of the interactions endpoint: signed by Discord, recent, and not repeated. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat::discord {

class interaction_verifier {
 public:
  /// `public_key`: 32 raw bytes. Interactions signed before `opened`, or within that second, are refused: nothing
  /// records whether they were delivered then. Nobody waits for their answers any more, since Discord itself waits
  /// for 3 s.
  interaction_verifier(std::string public_key, std::chrono::sys_seconds opened);

  /// The answer that refuses a call; nullopt: Discord signed it within the last five minutes.
  std::optional<web_answer> refusal(const web_call& call, std::chrono::sys_seconds now) const;

  /// Whether this interaction id is new. Ids are remembered as long as their signature is valid.
  bool is_first(const std::string& id, std::chrono::sys_seconds now);

 private:
  const std::string public_key_;
  const std::chrono::sys_seconds opened_;
  std::map<std::string, std::chrono::sys_seconds> seen_;
};

} // namespace quell::integrations::chat::discord
