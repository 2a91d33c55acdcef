// The client's side of ACP (agentclientprotocol.com) over a pair of byte streams, as a pure state machine: an agent is
// given one prompt after the other, says what it does, and asks for permissions. No I/O, clock or threads.
//
// A cancel is over on our side at once. The agent is told by `session/cancel`, and every permission that it waits for
// is answered `cancelled`, or it would wait for ever. What it answers to the prompt then is only a record: a stop
// reason proves nothing about its tools.
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
  std::string name; ///< for people
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
/// Of the answer to the prompt; whole UTF-8 characters.
struct text {
  std::string delta;
};
/// A tool of the agent's own has begun or changed.
struct activity {
  std::string title, status;
};
/// To be answered with `permit`; until then the agent waits.
struct permission {
  std::uint64_t number = 0;
  std::string title;
  std::vector<acp_option> options;
};
/// The prompt is answered. `why`: "end_turn", "max_tokens", "max_turn_requests", "refusal", or what else it says.
struct finished {
  std::string why;
};
/// Codes: `agent_unreachable`, `agent_refused`, `agent_broken`. `sent`: whether the prompt had left.
struct failed {
  fault why;
  bool sent = true;
};
/// Of a cancelled prompt, once; the words of mcp_late: `not_sent`, `done` (it says cancelled, or an error), `too_late`
/// (it says any other reason), `ignored` (nothing came).
struct late {
  std::string what;
};
struct complaint {
  std::string what;
};
} // namespace acp_effects

using acp_effect = std::variant<acp_effects::send, acp_effects::ready, acp_effects::text, acp_effects::activity,
                                acp_effects::permission, acp_effects::finished, acp_effects::failed, acp_effects::late,
                                acp_effects::complaint>;

class acp_session {
 public:
  /// `name`: how the configuration calls the agent; `directory`: absolute, where it works.
  acp_session(const std::string& name, std::string directory);

  /// Begins the handshake; once.
  void start();
  void receive(std::string_view bytes);
  /// Ends with exactly one `finished`, `failed` or, after a cancel, `late`. Waits for the handshake. Fails at once
  /// while another one is open.
  void prompt(std::string text);
  /// `option` is the id of one of those given; none, or one that was not given: `cancelled`. Twice: no effect.
  void permit(std::uint64_t number, const std::optional<std::string>& option);
  /// Of the open prompt; without one, or twice: false, and nothing happens. After it nothing is told but `late`.
  /// Until that is told no prompt is taken: what comes could not be told apart.
  bool cancel();
  /// The caller's bound for the `late` is over. The agent may still be at it: the session takes no prompt any more.
  void stop_waiting();
  /// The agent is gone. For good; twice: no effect.
  void close(const std::string& reason);

  std::vector<acp_effect> effects();

 private:
  enum class phase : std::uint8_t { unstarted, shaking, opening, ready, over };
  enum class asked : std::uint8_t { nothing, waiting, open, cancelled };
  struct question {
    std::string id; ///< of its request, as JSON
    std::vector<std::string> options;
  };
  struct incoming;

  void take_line(std::string_view line);
  void take_reply(incoming& one);
  void take_request(incoming& one);
  void take_update(incoming& one);
  void take_question(incoming& one);
  void take_end(incoming& one);
  void send_prompt();
  void send_line(std::string line);
  void answer_question(const std::string& id, const std::optional<std::string>& option);
  void end(fault why);
  void complain(std::string what);

  const std::string who_, directory_;
  phase phase_ = phase::unstarted;
  asked asked_ = asked::nothing;
  line_splitter lines_;
  std::uint64_t next_id_ = 0, control_id_ = 0, prompt_id_ = 0, next_question_ = 0;
  std::string session_, prompt_, name_, version_;
  std::map<std::uint64_t, question> questions_; ///< that wait for an answer
  std::size_t complaints_ = 0;
  fault over_;
  std::vector<acp_effect> effects_;
};

} // namespace quell::integrations
