// The client's side of ACP (agentclientprotocol.com) over a pair of byte streams, as a pure state machine: the agent
// gets one prompt after the other, reports what it does, and asks for permissions. No I/O, clock or threads.
//
// On our side a cancel takes effect at once. The session sends `session/cancel` and answers every open permission with
// `cancelled`, because the agent would otherwise wait for ever. The agent's answer to the cancelled prompt is then only
// recorded: a stop reason proves nothing about its tools.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "integrations/mcp/lines.hpp"
#include "protocol/fault.hpp"

namespace quell::integrations {

struct acp_option {
  std::string id;
  std::string name; ///< display name
  std::string kind; ///< "allow_once", "allow_always", "reject_once", "reject_always"
  friend bool operator==(const acp_option&, const acp_option&) = default;
};

namespace acp_effects {
struct send {
  std::string bytes; ///< whole lines for the agent's standard input
};
/// The handshake is over.
struct ready {
  std::string name, version;
};
/// Part of the answer to the prompt; whole UTF-8 characters.
struct text {
  std::string delta;
};
/// One of the agent's own tools has started or changed.
struct activity {
  std::string title, status;
};
/// Must be answered with `permit`; until then the agent waits.
struct permission {
  std::uint64_t number = 0;
  std::string title; ///< whole, for rules; "" = the agent has never named this call, or at too great a length
  std::vector<acp_option> options;
};
/// The prompt has been answered. `why`: "end_turn", "max_tokens", "max_turn_requests", "refusal", or another reason
/// that the agent gives.
struct finished {
  std::string why;
};
/// Codes: `agent_unreachable`, `agent_refused`, `agent_broken`. `sent`: whether the prompt was already sent.
struct failed {
  fault why;
  bool sent = true;
};
/// Outcome of a cancelled prompt, reported once, in the words of mcp_late: `not_sent`, `done` (the agent answers
/// cancelled, or an error), `too_late` (it gives any other reason), `ignored` (it did not answer).
struct late {
  std::string what;
};
struct bad_message {
  std::string what;
};
} // namespace acp_effects

using acp_effect = std::variant<acp_effects::send, acp_effects::ready, acp_effects::text, acp_effects::activity,
                                acp_effects::permission, acp_effects::finished, acp_effects::failed, acp_effects::late,
                                acp_effects::bad_message>;

class acp_session {
 public:
  /// `name`: the agent's name in the configuration; `directory`: its working directory, absolute.
  acp_session(const std::string& name, std::string directory);

  /// Starts the handshake; call once.
  void start();
  void receive(std::string_view bytes);
  /// Ends with exactly one `finished`, `failed` or, after a cancel, `late`. Waits for the handshake. Fails at once
  /// while another prompt is open.
  void prompt(std::string text);
  /// `option`: the id of one of the offered options; nullopt or an unknown id means `cancelled`. Idempotent.
  void permit(std::uint64_t number, const std::optional<std::string>& option);
  /// Cancels the open prompt. Returns false and does nothing if no prompt is open or it is already cancelled. After it
  /// the session reports only `late`. Until then it takes no prompt, because answers to the two could not be told
  /// apart.
  bool cancel();
  /// The caller's wait for `late` has timed out. The agent may still be working, so the session takes no more prompts.
  void stop_waiting();
  /// The agent is gone for good. Idempotent.
  void close(const std::string& reason);

  std::vector<acp_effect> effects();

 private:
  enum class phase : std::uint8_t { unstarted, shaking, opening, ready, over };
  enum class prompt_phase : std::uint8_t { nothing, waiting, open, cancelled };
  struct question {
    std::string id; ///< of the permission request, as JSON
    std::vector<std::string> options;
  };
  struct incoming;

  void take_line(std::string_view line);
  void take_reply(incoming& one);
  void take_request(incoming& one);
  void take_update(incoming& one);
  void keep_title(const std::string& call, const std::string& title);
  void take_question(incoming& one);
  void take_end(incoming& one);
  void send_prompt();
  void send_line(std::string line);
  void answer_question(const std::string& id, const std::optional<std::string>& option);
  void end(fault why);
  void complain(std::string what);

  const std::string who_, directory_;
  phase phase_ = phase::unstarted;
  prompt_phase prompt_phase_ = prompt_phase::nothing;
  line_splitter lines_;
  std::uint64_t next_id_ = 0, control_id_ = 0, prompt_id_ = 0, next_question_ = 0;
  std::string session_, prompt_, name_, version_;
  std::map<std::uint64_t, question> questions_; ///< not answered yet
  std::map<std::string, std::string> titles_;   ///< of this prompt's calls, by `toolCallId`
  std::size_t title_bytes_ = 0;
  std::size_t bad_messages_ = 0;
  fault over_;
  std::vector<acp_effect> effects_;
};

} // namespace quell::integrations
