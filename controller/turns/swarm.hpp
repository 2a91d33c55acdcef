// The turns of a process: takes messages, begins one turn after the other in each scope, hands approvals on, picks up
// after a restart what waits for a human or for its turn.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "controller/question_books.hpp"
#include "controller/service.hpp"
#include "controller/turns/message_order.hpp"
#include "controller/turns/parts.hpp"
#include "controller/turns/turn_json.hpp"

namespace quell::controller::turns {

class mcp_accounts;

struct swarm_options {
  std::string store_directory;
  turn_settings settings;
  heart_link heart;
  output_store* output = nullptr; ///< outlives it until `stop`
  std::function<std::shared_ptr<actors::agent_line>(actors::agent_start)> spawn;
};

/// Any thread.
class swarm {
 public:
  static result<std::unique_ptr<swarm>> start(swarm_options o);
  /// With parts that are there already; `repeats` as of `message_desk`. Picks up at once.
  static std::unique_ptr<swarm> make(std::shared_ptr<shared_parts> parts, std::unique_ptr<errands> repeats);
  virtual ~swarm() = default;

  /// Answers once what was decided is durable.
  virtual void take(message_order order, reply<outcome<message_answer>> done) = 0;
  /// Approves or denies. `call`'s name is not needed: a denied call gets the usual result.
  virtual void decide(operation_id call, decision d, reply<outcome<operation_id>> done) = 0;
  /// Answers what a begun call asks. Faults: `invalid_values` (the question stays open), `not_paused`.
  virtual void answer(operation_id call, human_answer said, reply<outcome<operation_id>> done) = 0;
  /// Either for somebody in a chat, if they may (`why_not_decide`); `place` and `account` as there.
  virtual void decide_in_chat(operation_id call, decision d, scope_path place, std::string account,
                              reply<outcome<operation_id>> done) = 0;
  /// Whether a token of role chat may decide, by its id.
  virtual bool may_decide(const std::string& token) const = 0;
  /// Whether a cancel of this id was ever accepted, also in an earlier life.
  virtual void find_cancel(cancel_id id, reply<result<bool>> done) = 0;
  /// The client that owned the turn has gone.
  virtual void disconnected(operation_id turn) = 0;
  virtual std::optional<turn_now> look(const operation_id& turn) const = 0;

  /// Logins at MCP servers; as long as this lives.
  virtual mcp_accounts* accounts() = 0;
  /// For what else works beside the turns with the same ledger, tasks and errands: voice.
  virtual std::shared_ptr<shared_parts> parts() = 0;

  // What the controller tells, on its thread.
  virtual void signal(const actor_signal& s) = 0;
  virtual void ended(const ended_operation& e) = 0;
  virtual void heard(const storage::event_record& e) = 0;

  /// Hangs up on all models and ends all actors; what ran is interrupted. Nothing is told any more.
  virtual void stop() = 0;
};

} // namespace quell::controller::turns
