// The scheduler of turns. `turn_beginning.cpp` brings a turn to its agent; the rest is in `turn_scheduler.cpp`.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "actors/turns/approvers.hpp"
#include "actors/turns/decisions.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/history_editor.hpp"
#include "actors/turns/history_reading.hpp"
#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/message_router.hpp"
#include "actors/turns/project_memory.hpp"
#include "actors/turns/turn_scheduler.hpp"
#include "actors/turns/turn_workspaces.hpp"

namespace quell::controller::turns {

class real_turn_scheduler final : public turn_scheduler {
 public:
  real_turn_scheduler(std::shared_ptr<agent_runtime> runtime, std::unique_ptr<blocking_executor> repeats)
      : runtime_(std::move(runtime)),
        message_router_(std::make_shared<message_router>(runtime_, std::move(repeats), queue_of_turns())),
        editor_(
            std::make_shared<history_editor>(runtime_, message_router_, [this](const queued& next) { begin(next); })) {}
  ~real_turn_scheduler() override { runtime_->registry.forget_all(); }

  void take(message_order order, reply<outcome<message_answer>> done) override {
    message_router_->take(std::move(order), std::move(done));
  }
  void rewrite(history_order order, reply<outcome<history_answer>> done) override {
    editor_->take(std::move(order), std::move(done));
  }
  void decide(operation_id call, decision d, reply<outcome<operation_id>> done) override {
    decide_call(runtime_, call, std::move(d), std::move(done));
  }
  void answer(operation_id call, human_answer given, reply<outcome<operation_id>> done) override {
    answer_question(runtime_, call, std::move(given), std::move(done));
  }
  void decide_in_chat(operation_id call, decision d, chat_approver who, reply<outcome<operation_id>> done) override {
    turns::decide_in_chat(runtime_, call, std::move(d), std::move(who), std::move(done));
  }
  bool may_decide(const std::string& token) const override {
    return is_approving_token(runtime_->settings->chat, token);
  }
  void with_rules(std::function<void(standing_rules*)> what) override {
    runtime_->background_reads->run(
        [allowed = runtime_->allowed, what = std::move(what)](store_reader&) { what(allowed.get()); });
  }
  void find_cancel(cancel_id id, reply<result<bool>> done) override;
  void find_message(std::vector<scope_path> scopes, std::string client_id,
                    reply<result<std::optional<records::message_record>>> done) override;
  void disconnected(operation_id turn) override;
  std::optional<turn_now> look(const operation_id& turn) const override;
  void signal(const actor_signal& s) override;
  void ended(const ended_operation& e) override;
  void on_event(const records::event_record& e) override {
    if (e.type == event_type::cancel_settled && e.cancel) message_router_->settled(*e.cancel);
    if (e.type == event_type::operation_started && e.operation && e.worker)
      runtime_->registry.started(*e.operation, *e.worker);
  }
  std::shared_ptr<agent_runtime> runtime() override { return runtime_; }
  lost_clients* clients() override { return clients_.get(); }
  mcp_accounts* accounts() override { return &runtime_->mcp->accounts(); }
  void reload(turn_settings settings) override;
  void stop() override;
  void pick_up();

 private:
  using queued = queued_turn;
  /// A turn whose rows are on disk.
  void begin(const queued& next);
  void begin(std::shared_ptr<const first_turn> first);
  /// `is_noted`: the transaction of its message has named its author to the core.
  void prepare(const queued& next, const records::operation_record& row, result<stored_history> history, bool is_noted,
               store_reader& store);
  void prepare_with(const queued& next, const records::operation_record& row, const stored_history& history,
                    history_facts facts, bool is_noted, store_reader& store);
  void launch(const queued& next, const records::operation_record& row, model_history for_model,
              const std::optional<left_work>& left, tool_set tools, std::shared_ptr<turn_workspaces> workspaces,
              const project_memory::notes& project);
  void give_up(const queued& next, const std::string& why, const own_outcome& how);
  void give_up(const queued& next, const std::string& why) {
    give_up(next, why, {status::failed, records::own_error(failure_code::error, why)});
  }
  void leave(const operation_id& turn, const scope_path& scope);
  void recall_steering(const queued& waiting, store_reader& store);
  bool is_on_its_way(const operation_id& turn) const;
  void end_below_returning(const operation_id& stopped, store_reader& store);
  bool is_returning(const operation_id& turn) const {
    const std::lock_guard lock(guard_);
    return returning_.contains(turn);
  }
  std::optional<agent_settings> agent_of(const records::operation_record& row) const;

  turn_queue queue_of_turns();
  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<message_router> message_router_;
  std::shared_ptr<history_editor> editor_;
  const std::shared_ptr<lost_clients> clients_ = std::make_shared<lost_clients>();
  mutable std::mutex guard_;
  std::unordered_map<operation_id, scope_path> places_; ///< of queued turns
  std::unordered_map<operation_id, std::shared_ptr<turn_port>> running_;
  /// Turns from before a restart that have no agent yet, with what they have used.
  std::unordered_map<operation_id, tree_cost> returning_;
};

} // namespace quell::controller::turns
