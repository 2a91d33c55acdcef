// The turn scheduler of a process: takes messages, runs one turn after the other in each scope, passes approvals on,
// and after a restart resumes operations that wait for a human or for their turn.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/approvers.hpp"
#include "actors/turns/changed_input.hpp"
#include "actors/turns/history_order.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/lost_clients.hpp"
#include "actors/turns/mcp_accounts.hpp"
#include "actors/turns/standing_rules.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/message_order.hpp"
#include "controller/open_questions.hpp"
#include "controller/service.hpp"

namespace quell::controller::turns {

struct mcp_parts;
/// Makes the MCP host of the process (mcp_host.hpp).
using make_mcp_host = std::function<std::shared_ptr<mcp_host>(mcp_parts parts)>;

struct turn_scheduler_options {
  std::string state_directory; ///< of the logins at MCP servers
  std::string secret_key;      ///< seals the ids of remote agents; must not be empty
  controller::open_store open_store;
  /// False: no tool call lives, so no question of one is looked for among all live operations.
  bool has_live_calls = true;
  make_executor executor;
  turn_settings settings;
  core_link core;
  output_store* output = nullptr; ///< outlives it until `stop`
  blob_store* blobs = nullptr;    ///< the same; nullptr: there are none
  std::function<std::shared_ptr<actors::agent_handle>(actors::agent_start)> spawn;
  make_step_loop loop;
  make_mcp_host mcp;
  std::function<void(const records::event_record&)> tell_live; ///< see `agent_runtime`
};

/// Any thread.
class turn_scheduler {
 public:
  static result<std::unique_ptr<turn_scheduler>> start(turn_scheduler_options o);
  /// Takes existing parts; `repeats` as in `message_router`. Resumes interrupted work at once.
  static std::unique_ptr<turn_scheduler> make(std::shared_ptr<agent_runtime> runtime,
                                              std::unique_ptr<blocking_executor> repeats);
  virtual ~turn_scheduler() = default;

  /// Answers once the decision is durable.
  virtual void take(message_order order, reply<outcome<message_answer>> done) = 0;
  /// Changes the conversation of a scope while none of its turns runs or waits. Answers once that is durable, and once
  /// the operation that it starts is. Faults: `turn_running`, `history_changed`, `message_not_found`, `not_changeable`,
  /// `history_in_use`, `stale_start`, and those of a message.
  virtual void rewrite(history_order order, reply<outcome<history_answer>> done) = 0;
  /// Approves or denies. `call`'s name is not needed: a denied call gets the usual result.
  virtual void decide(operation_id call, decision d, reply<outcome<operation_id>> done) = 0;
  /// Answers the question of a running call. Faults: `invalid_values` (the question stays open), `not_paused`.
  virtual void answer(operation_id call, human_answer given, reply<outcome<operation_id>> done) = 0;
  /// The same for a chat user, if they may decide (`why_not_decide`).
  virtual void decide_in_chat(operation_id call, decision d, chat_approver who, reply<outcome<operation_id>> done) = 0;
  /// Whether a token of role chat may decide, by its id.
  virtual bool may_decide(const std::string& token) const = 0;
  /// Calls `what` on a thread that can wait, with what approvers have allowed for good; nullptr: nothing can be.
  virtual void with_rules(std::function<void(standing_rules*)> what) = 0;
  /// Whether a cancel with this id was ever accepted, including in an earlier life.
  virtual void find_cancel(cancel_id id, reply<result<bool>> done) = 0;
  /// The message that was decided with this client id in the first of these scopes that has one, its newest edit
  /// (`<id>/…`) if that was decided, too. Faults of the store.
  virtual void find_message(std::vector<scope_path> scopes, std::string client_id,
                            reply<result<std::optional<records::message_record>>> done) = 0;
  /// The client that owned the turn has disconnected.
  virtual void disconnected(operation_id turn) = 0;
  /// Whose clients may return after the last restart; valid as long as this object.
  virtual lost_clients* clients() = 0;
  virtual std::optional<turn_now> look(const operation_id& turn) const = 0;

  /// Logins at MCP servers; valid as long as this object.
  virtual mcp_accounts* accounts() = 0;
  /// For voice and for files of chats, which use the same ledger, tasks and background reads.
  virtual std::shared_ptr<agent_runtime> runtime() = 0;

  // Notices from the controller, on its thread.
  virtual void signal(const actor_signal& s) = 0;
  virtual void ended(const ended_operation& e) = 0;
  virtual void on_event(const records::event_record& e) = 0;

  /// The settings of every agent that begins from now on, and of approvals, words and places at once. The MCP servers
  /// must be the same as before. Any thread.
  virtual void reload(turn_settings settings) = 0;

  /// Closes all model connections and ends all actors; running work is interrupted. Nothing is reported afterwards.
  virtual void stop() = 0;
};

} // namespace quell::controller::turns
